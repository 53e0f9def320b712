"""The numbers of the protocol and the words of the judge: what it is given, what it gives back (JUDGING, sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from attrs import field, frozen

from kernelband.errors import WorkloadError
from kernelband.hardware import Device
from kernelband.judge.result import Result
from kernelband_worker.wire import Case, CheckResult, Entry, Numerics, VariantFiles

Objective = Literal["device", "call"]
Quantity = Literal["device", "call"]
Stage = Literal["screening", "final", "unseen"]  # unseen: in the final, sizes that no choice between variants was made by

PROTOCOL = 2
"""Of how a final judges, as a proof has it: 1 was one shared process, with results that nobody looked at while they were timed."""

ORIGINAL = "original"  # the variant of a measurement that timed the original against itself


@frozen
class Settings:
    """The protocol's numbers. Times in seconds."""

    first_pairs: int = 5
    pairs: int = 15
    processes: int = 5
    finalists: int = 3
    sweeps: int = 6  # of each round of the final: turns of every process on every case
    repeats: int = 2  # of a disturbed block, or sweeps added for disturbed ones
    check_sets: int = 2  # input sets checked in the search; the final checks all
    programs: int = 8  # sampled programs per launch under the interpreter
    interpreted_s: float = 30.0  # at least, for a check by the interpreter
    entry_s: float = 60.0
    least_deadline_s: float = 10.0
    start_s: float = 30.0  # where a process may have to begin anew, or what it runs be compiled
    import_s: float = 120.0  # of a program that is large
    starts_at_once: int = 16  # of the final's processes, before anything is measured: importing torch takes seconds, mostly of waiting
    pauses_s: tuple[float, ...] = (5.0, 15.0, 30.0)  # before a final that ran out of memory begins again: another run's may end meanwhile
    crowd_share: float = 0.25  # of the GPU's memory, that what the final's processes do at once may take


class Executor(Protocol):
    """What the judge needs of ``worker.Executor``: by the time of a call its session is open and the variant of ``params`` is loaded."""

    def call(
        self, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False
    ) -> dict[str, Any]:
        """Runs an operation, in a fresh process if the last call ended the old one; ``shared``: beside others that share the lock.

        Raises:
            ExecutorFault: it timed out, died or ran out of memory.
            KernelBandError: the operation said no; ``kind`` says why.
        """
        ...

    def close(self) -> None:
        """Ends its process."""
        ...


class MakeExecutor(Protocol):
    """An executor of this name that is not yet started; names are not used twice."""

    def __call__(self, name: str) -> Executor: ...


@frozen
class Rival:
    """Another candidate of the same final, or the original, with the name that sentences give it."""

    id: str
    name: str


@frozen
class Side:
    """One side of a choice by size. ``says``: its condition, as the code has it. ``timed``: the timing cases that lie on it. ``unseen``: of
    the replayable cases of sizes that no timing case has the one nearest to the threshold; None where there is none. ``rival``: what would
    run there without the choice.
    """

    says: str
    timed: tuple[str, ...]
    unseen: str | None
    rival: Rival


@frozen
class Dispatch:
    """How a candidate chooses between two versions by a size. ``single``: the best version that makes no choice."""

    sides: tuple[Side, ...]
    single: Rival


@frozen
class Candidate:
    """A variant to be judged. ``files`` None is the original itself: an A/A run. ``dispatch`` where it chooses by a size. ``ours``: moves
    of ours made it, so it may share processes with others of that kind in the final; a person's or a model's has processes of its own.
    ``remark``: what must be said beside "faster", and no time shows.
    """

    files: VariantFiles | None = field(repr=False)
    numerics: Numerics = "exact"
    dispatch: Dispatch | None = None
    ours: bool = False
    remark: str = ""

    @property
    def id(self) -> str:
        return ORIGINAL if self.files is None else self.files["id"]

    @property
    def variant(self) -> str | None:
        return None if self.files is None else self.files["id"]


@frozen
class Measurement:
    """One pair, as measured. ``disturbed`` marks what was measured again, or would have been."""

    variant: str
    case: str
    stage: Stage
    process: int
    pair: int
    input_set: int
    quantity: Quantity
    original_us: float
    variant_us: float
    method: str
    disturbed: str | None = None
    superseded: bool = False  # a later block of the same process replaced it: kept, never counted


@frozen
class Verdict:
    """What the judge found of a candidate, with everything that it rests on; ``unseen`` are the times at sizes of no timing case."""

    candidate: str
    result: Result
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)
    check: CheckResult | None = field(default=None, repr=False)
    seconds: float = 0.0
    unseen: tuple[Measurement, ...] = field(default=(), repr=False)


@frozen
class FinalReport:
    """Verdicts in the order of the candidates, and the original against itself in the same processes.

    ``seconds``: wall time of check (processes start meanwhile), prepare, measure and proof.
    """

    verdicts: tuple[Verdict, ...]
    baseline: tuple[Measurement, ...] = field(repr=False)
    seconds: dict[str, float] = field(factory=dict[str, float])


@frozen
class Task:
    """What is judged on: the cases of a run, and the entry that winners must pass (``workload.choose_proof``)."""

    cases: tuple[Case, ...]
    objective: Objective = "device"
    entry: Entry | None = None

    def of_role(self, *roles: str) -> tuple[Case, ...]:
        """The replayable cases that have one of these roles."""
        return tuple(c for c in self.cases if c["role"] in roles and c["replayable"])

    def timed(self) -> tuple[Case, ...]:
        """The timing cases.

        Raises:
            WorkloadError: there is none.
        """
        cases = self.of_role("time")
        if cases:
            return cases
        why = next((c["reason"] for c in self.cases if c["reason"]), None)
        said = f" ({why})" if why else ""
        raise WorkloadError(f"None of the {len(self.cases)} recorded calls can be timed{said}: name another entry with --entry.")


def is_autotuned(task: Task) -> bool:
    """Whether a tuner chose a configuration for any launch of the original."""
    return any(launch["config"] is not None for case in task.cases for launch in case["launches"])


def can_work_together(task: Task, device: Device | None, settings: Settings, versions: int) -> bool:
    """Whether all of the final's processes may be there, check and prepare at the same time: in each round one for each of ``versions``.

    Each holds contents, buffers and results: about what the case says.
    """
    largest = max((c["memory_bytes"] for c in task.cases if c["replayable"]), default=0)
    return device is None or settings.processes * versions * largest <= settings.crowd_share * device.memory_bytes


def check_deadline(cases: Sequence[Case], sets: int, settings: Settings) -> float:
    """Seconds for a check: each comparison of a case gets half a second and fifty times its device time."""
    return settings.least_deadline_s + sum(max(1, sets) * (0.5 + 50 * _device_s(c)) for c in cases)


def interpreted_deadline(cases: Sequence[Case], settings: Settings) -> float:
    """Seconds for a check by the interpreter: about six replays of a case, and room for a machine that is busy and a variant that is slow
    to interpret. Only what hangs is ended.
    """
    return settings.start_s + settings.interpreted_s + 60 * sum(c.get("replay_s", 1.0) for c in cases)


def prepare_deadline(cases: Sequence[Case], settings: Settings) -> float:
    """Seconds for preparing a process: a few calls on each input set, beside others that do the same."""
    return settings.least_deadline_s + sum(max(1, c["input_sets"]) * (1.0 + 300 * _device_s(c)) for c in cases)


def time_deadline(cases: Sequence[Case], pairs: int, settings: Settings) -> float:
    """Seconds for timing: room for a variant that is several times slower than the original; slower still is a timeout."""
    return settings.least_deadline_s + sum(2.0 + 0.05 * pairs + 300 * _device_s(c) for c in cases)


def turn_deadline(cases: Sequence[Case], settings: Settings) -> float:
    """Seconds for a turn, or a first look: some dozens of calls on each case, and room for a variant that is several times slower."""
    return settings.least_deadline_s + settings.start_s + sum(2.0 + 300 * _device_s(c) for c in cases)


def _device_s(case: Case) -> float:
    return (case["device_us"] if case["device_us"] is not None else 10_000.0) * 1e-6
