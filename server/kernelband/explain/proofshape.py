"""What a proof of one variant holds: a run's word on it, and all that it rests on. What that proves, and what not: docs/judge.md.

A case goes by its hash, a file by its path below the project's folder: nothing in a proof says whose machine it was made on.
"""

from __future__ import annotations

from typing import Literal, cast

from attrs import field, frozen

from kernelband.history.outcome import Outcome, outcome
from kernelband.judge.comparison import Comparison, compare
from kernelband.judge.protocol import Measurement, Numerics, Objective, Quantity, Stage
from kernelband.judge.result import CaseResult, Correctness, Fault, Integrity, Performance, Ratio
from kernelband_worker.wire import Case


@frozen
class Change:
    """Characters ``start`` to ``end`` of the text before, which are ``old``, become ``new``."""

    start: int
    end: int
    old: str = field(repr=False)
    new: str = field(repr=False)


@frozen
class ProofFile:
    """A file of the program, by its path below the folder of the project. ``before``, ``after``: SHA-256 of its text as UTF-8."""

    path: str
    before: str
    after: str
    edits: tuple[Change, ...]


@frozen
class ProofCase:
    """``hash`` of function, source, arguments and layout. ``made_up``: a size beside those of the program, for checking only."""

    hash: str
    role: Literal["check", "time", "held_out"]
    made_up: bool
    calls: int
    arguments: str


@frozen
class World:
    """Where it ran. ``gpu`` as its driver calls it, "" where nothing ran on one; ``device``: measured on, or predicted for."""

    gpu: str
    device: str
    triton: str
    torch: str
    python: str
    cuda: str | None
    driver: str | None
    ptxas: str | None
    settings: dict[str, str]  # TRITON_*, but for paths


@frozen
class StressLine:
    """What a case was tried with. Not ``used``, and ``why``: the original can't do that, so no variant has to."""

    case: str
    name: str
    used: bool
    why: str | None


@frozen
class Pair:
    """One pair of times, an array in the file. ``baseline``: the original against a copy of itself; ``unseen``: beside the timing cases."""

    stage: Literal["final", "unseen", "baseline"]
    case: str
    process: int
    pair: int
    quantity: Quantity
    original_us: float
    variant_us: float
    method: str
    disturbed: str | None
    superseded: bool


@frozen
class ProofFigures:
    """Ratios with the interval of one more fresh process. ``cases``: the timing cases, by hash. ``finalists``: so many shared the final."""

    score: Ratio
    weighted: float
    worst: float
    finalists: int
    cases: tuple[CaseResult, ...]


@frozen
class Proof:
    """``figures`` and ``pairs`` are those of a measured run; ``tier``, ``fact`` of a predicted one. ``code``: of the machine code."""

    protocol: int
    kernelband: str
    date: str
    mode: Literal["measured", "predicted"]
    path: str
    kernel: str
    what: str
    author: str
    entry: str | None
    objective: Objective
    numerics: Numerics
    seed: int
    files: tuple[ProofFile, ...]
    cases: tuple[ProofCase, ...]
    world: World
    correctness: Correctness
    performance: Performance
    fault: Fault
    integrity: Integrity
    reason: str
    not_exercised: tuple[str, ...]
    figures: ProofFigures | None
    tier: str | None
    fact: str | None
    code: tuple[str, ...]
    stress: tuple[StressLine, ...]
    seconds: dict[str, float]
    pairs: tuple[Pair, ...] = field(repr=False)

    @property
    def measured(self) -> bool:
        return self.mode == "measured"

    @property
    def good(self) -> bool:
        """Whether it is of what its run calls better: verified, or interpreted and likely faster."""
        found = outcome(self, self.tier)
        better = found is Outcome.FASTER and self.figures is not None if self.measured else found is Outcome.LIKELY_FASTER
        return better and not self.not_exercised

    def compared(self) -> Comparison:
        """What the judge makes of the pairs.

        Raises:
            ValueError: they are not those of a final.
        """

        def of(stage: Stage, name: str) -> list[Measurement]:
            return [
                Measurement(
                    "v", p.case, stage, p.process, p.pair, 0, p.quantity, p.original_us, p.variant_us, p.method, p.disturbed, p.superseded
                )
                for p in self.pairs
                if p.stage == name
            ]

        return compare(
            of("final", "final"),
            [cast("Case", {"id": c.hash, "calls": c.calls}) for c in self.cases if c.role == "time"],
            self.objective,
            stage="final",
            baseline=of("final", "baseline"),
            finalists=self.figures.finalists if self.figures is not None else 1,
            sizes=of("unseen", "unseen"),
            made_up={c.hash for c in self.cases if c.made_up},
        )
