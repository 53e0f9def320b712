"""The judge that the search calls: checks first, then times, and answers with a verdict whatever the variant does."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from attrs import evolve

from kernelband.errors import KernelBandError
from kernelband.hardware import Device
from kernelband.judge.blocks import Block, Place, measure
from kernelband.judge.check import check
from kernelband.judge.comparison import compare, counted, may_lead, upper_bound
from kernelband.judge.faults import fault_of
from kernelband.judge.numerics import judge_check
from kernelband.judge.protocol import Candidate, Case, Executor, Measurement, Settings, Task, Verdict
from kernelband.judge.result import Result
from kernelband.judge.speed_of_light import too_fast
from kernelband_worker.wire import CheckResult

#: Programs of a launch of the smallest case that are interpreted, of as many as there are, where its replay took no longer than that.
THOROUGH = 64
THOROUGH_S = 3.0


class Judge:
    """Judges candidates on a task. Keeps nothing of a candidate; of the task, what was learnt about the original (methods, shares).

    Args:
        task: cases, objective, entry.
        gpu: UUID of the GPU whose lock is held during checks and timing; None where there is none.
        device: the ceilings for the speed of light; None: not checked.
        settings: the protocol's numbers.
        tell: hears one sentence about each longer step.
    """

    def __init__(
        self,
        task: Task,
        *,
        gpu: str | None = None,
        device: Device | None = None,
        settings: Settings | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.task = task
        self.gpu = gpu
        self.device = device
        self.settings = settings or Settings()
        self.tell = tell
        self.shares: dict[str, float] = {}
        self.profiled: set[str] = set()

    def screen(self, executor: Executor, candidate: Candidate, process: int = 0, lead: Mapping[str, float] | None = None) -> Verdict:
        """A trial: check on all cases of role check and time, then 5 pairs per timing case, then 10 more unless it is surely slower than
        the original, or than the leader in each case.

        Args:
            executor: where it runs.
            candidate: what is judged.
            process: a number for that executor.
            lead: the leader's ratio by case.

        Raises:
            KernelBandError: what isn't the variant's fault (no GPU, a case that can't be replayed, the worker is gone).
        """
        start = time.monotonic()
        cases = self.task.timed()
        found: list[Measurement] = []
        checked: list[CheckResult] = []
        try:
            checked.append(self.check(executor, candidate, self.task.of_role("check", "time"), sets=self.settings.check_sets))
            correctness, reason = judge_check(checked[-1])
            if correctness != "passed":
                return self._verdict(candidate, Result(correctness=correctness, reason=reason, stage="screening"), [], checked, start)
            block = self.measure(executor, candidate, cases, self.settings.first_pairs, Place("screening", process))
            found += block.measurements
            if upper_bound(found, self.task.objective) >= 1.0 and may_lead(found, self.task.objective, lead or {}):
                rest = self.settings.pairs - self.settings.first_pairs
                place = Place("screening", process, after=self.settings.first_pairs)
                found += self.measure(executor, candidate, cases, rest, place).measurements
            result = self.result(found, checked[-1], reason)
            result = self.doubt(executor, candidate, result, checked)
        except KernelBandError as error:
            return self._verdict(candidate, self.faulty(error, bool(checked)), found, checked, start)
        return self._verdict(candidate, result, found, checked, start)

    def interpret(self, executor: Executor, candidate: Candidate) -> Verdict:
        """Without a GPU: correctness by the interpreter on sampled programs, and no performance at all.

        The smallest case is run whole where it has few programs: what a grid that is too small leaves out shows in no sample.

        Raises:
            KernelBandError: what isn't the variant's fault.
        """
        start = time.monotonic()
        checked: list[CheckResult] = []
        try:
            cases = self.task.of_role("check", "time")
            smallest = min(cases, key=lambda c: c["memory_bytes"])["id"]

            def programs(case: Case) -> int:
                quick = case["id"] == smallest and case.get("replay_s", 0.0) <= THOROUGH_S
                return THOROUGH if quick else self.settings.programs

            checked.append(check(executor, candidate, cases, sets=1, settings=self.settings, programs=programs))
            correctness, reason = judge_check(checked[-1])
        except KernelBandError as error:
            return self._verdict(candidate, self.faulty(error, bool(checked)), [], checked, start)
        not_exercised = tuple(checked[-1]["not_exercised"])
        return self._verdict(candidate, Result(correctness=correctness, reason=reason, not_exercised=not_exercised), [], checked, start)

    # ------------------------------------------------------------ the steps, also those of the final

    def check(
        self,
        executor: Executor,
        candidate: Candidate,
        cases: Sequence[Case],
        *,
        sets: int | None,
        shared: bool = False,
        stress: bool = False,
    ) -> CheckResult:
        return check(executor, candidate, cases, sets=sets, settings=self.settings, lock=self.gpu, shared=shared, stress=stress)

    def measure(self, executor: Executor, candidate: Candidate, cases: Sequence[Case], pairs: int, place: Place) -> Block:
        """A block. The first one in the search also learns the target kernel's share of each case."""
        ids = {c["id"] for c in cases}
        profile = place.stage == "screening" and not ids <= self.profiled
        block = measure(executor, candidate, cases, pairs=pairs, place=place, settings=self.settings, lock=self.gpu, profile=profile)
        if profile:
            self.profiled |= ids
        self.shares.update(block.shares)
        return block

    def result(
        self,
        found: Sequence[Measurement],
        checked: CheckResult,
        said: str,
        baseline: Sequence[Measurement] = (),
        *,
        sizes: Sequence[Measurement] = (),
        finalists: int = 1,
    ) -> Result:
        """The result of measurements that exist; ``baseline`` given means that they are those of a final with so many finalists."""
        compared = compare(
            found,
            self.task.timed(),
            self.task.objective,
            stage="final" if baseline else "screening",
            baseline=baseline,
            shares=self.shares,
            sizes=sizes,
            made_up={c["id"] for c in self.task.cases if c.get("neighbour_of")},
            finalists=finalists,
        )
        evidence = self.evidence(found)
        return Result(
            correctness="passed",
            performance=compared.performance,
            integrity="suspect" if evidence else "ok",
            stage="final" if baseline else "screening",
            reason=self._named(" ".join(s for s in (evidence, said, compared.reason) if s)),
            cases=compared.cases,
            score=compared.score,
            weighted=compared.weighted,
            worst=compared.worst,
            not_exercised=tuple(checked["not_exercised"]),
        )

    def _named(self, reason: str) -> str:
        """A case that isn't timed has no row in any table: a sentence about it says what it is."""
        for case in self.task.of_role("check", "held_out"):
            reason = reason.replace(f"case {case['id'][:8]}", f"case {case['id'][:8]} ({case['arguments']})")
        return reason

    def evidence(self, found: Sequence[Measurement]) -> str:
        """The sentence that makes a result suspect, or nothing."""
        if self.device is None:
            return ""
        for case in self.task.of_role("time"):
            times = [m for m in counted(found) if m.case == case["id"] and m.quantity == "device" and m.method != "wall"]
            if not times:
                continue
            said = too_fast(case, self.device, median(m.variant_us for m in times), median(m.original_us for m in times))
            if said:
                return said
        return ""

    def doubt(self, executor: Executor, candidate: Candidate, result: Result, checked: list[CheckResult]) -> Result:
        """A suspect is checked again on every input set that there is, held-out cases included. It stays suspect whatever that shows."""
        if result.integrity != "suspect":
            return result
        self.tell(f"{candidate.id[:8]} is faster than the hardware allows: checking it again on all inputs.")
        checked.append(self.check(executor, candidate, self.task.of_role("check", "time", "held_out"), sets=None))
        correctness, reason = judge_check(checked[-1])
        if correctness == "passed":
            return evolve(result, reason=f"{result.reason} It passed a second check on all {len(checked[-1]['cases'])} inputs.")
        return evolve(result, correctness=correctness, reason=f"{result.reason} {reason}")

    def faulty(self, error: KernelBandError, checked: bool) -> Result:
        """The result of a trial that ended in an error.

        Raises:
            KernelBandError: the error itself, when the variant isn't to blame.
        """
        fault = fault_of(error)
        if fault is None:
            raise error
        return Result(correctness="passed" if checked else "untested", fault=fault, reason=error.message)

    def _verdict(
        self, candidate: Candidate, result: Result, found: Sequence[Measurement], checked: Sequence[CheckResult], start: float
    ) -> Verdict:
        return Verdict(candidate.id, result, tuple(found), checked[-1] if checked else None, time.monotonic() - start)
