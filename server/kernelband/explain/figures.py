"""What the final's fresh processes measured of a variant, case by case: the figures that are results (JUDGING, section 3).

From final rows only. Screening chose the variant, so its figures flatter it; and where nothing was measured there is nothing here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from attrs import frozen

from kernelband.explain.casenames import case_names
from kernelband.explain.kept import Kept
from kernelband.history.records import FinalRow, MeasurementRow
from kernelband.judge.comparison import compare
from kernelband.judge.protocol import ORIGINAL, Measurement, Objective, Quantity
from kernelband.judge.result import CaseResult, Ratio
from kernelband.judge.statistics import MARGIN
from kernelband_worker.wire import Case

QUANTITIES: tuple[Quantity, ...] = ("device", "call")
CALL_METHOD = "wall"  # call time is steady wall time whatever the device time is measured with


@frozen
class Whole:
    """One quantity over all cases. ``mean``: the geometric mean; ``weighted``: total time before over after; ``worst``: a case."""

    quantity: Quantity
    method: str
    mean: Ratio
    weighted: float
    worst: CaseResult

    @property
    def worst_ratio(self) -> Ratio:
        """Of the worst case."""
        return ratio_of(self.worst, self.quantity)


@frozen
class Figures:
    """``wholes``: the objective first; its mean is the score. ``names`` by case id."""

    cases: tuple[CaseResult, ...]
    names: dict[str, str]
    wholes: tuple[Whole, ...]
    processes: int
    pairs: int


def figures(kept: Kept, number: int) -> Figures | None:
    """The figures of a variant; None unless the final timed it and it is correct.

    What computes something else has no figures: its times say nothing about this program.
    """
    final = kept.finals.get(number)
    if final is None or final.result.get("stage") != "final" or final.result.get("correctness") != "passed" or final.score is None:
        return None
    cases = tuple(_case(c) for c in final.result["cases"])
    found = [m for m in kept.measurements if m.stage == "final" and m.variant == number]
    counted = [m for m in found if not m.superseded]
    ids = {c.case for c in cases}
    timed = [cast("Case", c.facts) for c in kept.cases if c.id in ids]
    objective: Objective = "call" if kept.run.objective == "call" else "device"
    other: Quantity = "device" if objective == "call" else "call"
    wholes = [_objective(final, cases, objective)]
    if found:
        # The result holds the score in the objective only; the other time's is as good, and comes from the same pairs.
        judged = sum(f.result.get("stage") == "final" for f in kept.finals.values())
        beside = compare([_measurement(m) for m in found], timed, other, stage="final", finalists=judged)
        wholes.append(Whole(other, _methods(cases, other), beside.score, beside.weighted, _worst(cases, other)))
    pairs = {(m.process, m.pair) for m in counted}
    processes = {m.process for m in counted}
    per_process = round(len(pairs) / len(processes)) if processes else 0
    names = {c.case: c.case[:8] for c in cases} | case_names([dict(c) for c in timed])
    return Figures(cases, names, tuple(wholes), len(processes), per_process)


def ratio_of(case: CaseResult, quantity: Quantity) -> Ratio:
    """Original over variant."""
    return case.device if quantity == "device" else case.call


def times_of(case: CaseResult, quantity: Quantity) -> tuple[float, float]:
    """Original and variant, microseconds."""
    return (case.device_before_us, case.device_after_us) if quantity == "device" else (case.call_before_us, case.call_after_us)


def method_of(case: CaseResult, quantity: Quantity) -> str:
    """How that time was measured."""
    return case.method if quantity == "device" else CALL_METHOD


def is_slower(ratio: Ratio) -> bool:
    """Whether the whole interval is on the slower side by more than 2 %."""
    return ratio.high < 1 / (1 + MARGIN)


def _objective(final: FinalRow, cases: Sequence[CaseResult], objective: Quantity) -> Whole:
    """As the judge wrote it down."""
    return Whole(objective, _methods(cases, objective), _ratio(final.result["score"]), final.result["weighted"], _worst(cases, objective))


def _worst(cases: Sequence[CaseResult], quantity: Quantity) -> CaseResult:
    return min(cases, key=lambda c: ratio_of(c, quantity).value)


def _methods(cases: Sequence[CaseResult], quantity: Quantity) -> str:
    return " and ".join(sorted({method_of(c, quantity) for c in cases}))


def _case(facts: Mapping[str, Any]) -> CaseResult:
    kept: dict[str, Any] = {**facts, "device": _ratio(facts["device"]), "call": _ratio(facts["call"])}
    return CaseResult(**kept)


def _ratio(facts: Mapping[str, Any]) -> Ratio:
    """An end that is unknown is kept as null: JSON has no infinity."""
    low, high = facts["low"], facts["high"]
    return Ratio(facts["value"], 0.0 if low is None else low, math.inf if high is None else high)


def _measurement(row: MeasurementRow) -> Measurement:
    return Measurement(
        ORIGINAL if row.variant == 0 else str(row.variant),
        row.case_id,
        "final",
        row.process,
        row.pair,
        row.input_set,
        "call" if row.kind == "call" else "device",
        row.original_us,
        row.variant_us,
        row.method,
        row.disturbed,
        row.superseded,
    )
