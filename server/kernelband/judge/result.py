"""The result of a trial: four fields (JUDGING, section 2) and the numbers behind them."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

Correctness = Literal["untested", "interpreted", "passed", "wrong", "nondeterministic"]
Performance = Literal["not_measured", "faster", "slower", "inconclusive", "equal"]
Fault = Literal["none", "compile_error", "timeout", "crashed", "oom"]
Integrity = Literal["ok", "rejected", "suspect"]


@frozen
class Ratio:
    """Time of the original over time of the variant. Above 1 is faster.

    ``low`` and ``high`` bound it: in screening a confidence interval at 95 %, in the final the prediction interval for one more fresh
    process, at 1 - 0.05 / finalists (95 % for one, 98.3 % for each of three). "Faster" is decided by ``low``.
    """

    value: float
    low: float
    high: float


@frozen
class CaseResult:
    """One timing case of a result. Times are medians in microseconds."""

    case: str
    method: str
    device_before_us: float
    device_after_us: float
    call_before_us: float
    call_after_us: float
    device: Ratio
    call: Ratio
    disturbed: str | None = None


@frozen
class Result:
    """What a trial showed. ``stage`` is ``screening`` or ``final``; only a final figure is ever shown as a result."""

    correctness: Correctness = "untested"
    performance: Performance = "not_measured"
    fault: Fault = "none"
    integrity: Integrity = "ok"
    stage: Literal["none", "screening", "final"] = "none"
    reason: str = ""  # one sentence when something is not as hoped
    cases: tuple[CaseResult, ...] = ()
    score: Ratio | None = None  # geometric mean over timing cases, in the objective
    weighted: float | None = None  # time of all calls before over after, in the objective
    worst: float | None = None  # the case with the lowest ratio
    not_exercised: tuple[str, ...] = ()

    @property
    def checked(self) -> bool:
        """Right by the interpreter, where nothing is measured, and not the original itself."""
        return self.correctness == "interpreted" and self.performance != "equal" and self.fault == "none" and self.integrity == "ok"

    @property
    def verified(self) -> bool:
        """Passed + faster + ok, from the final processes. Only verified is called an improvement."""
        return (
            self.stage == "final"
            and self.correctness == "passed"
            and self.performance == "faster"
            and self.fault == "none"
            and self.integrity == "ok"
            and not self.not_exercised
        )
