"""From measurements to a result: pure, and the same for screening and final but for where the spread comes from.

Screening: one process, the spread is that between pairs. Final: several fresh processes, each gives one median, the spread is that between
them. Within one process everything shares its addresses, clocks and allocator, so pairs alone would make the interval too narrow.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median

from attrs import frozen

from kernelband.judge.protocol import Measurement, Objective, Quantity, Stage
from kernelband.judge.result import CaseResult, Performance, Ratio
from kernelband.judge.statistics import MARGIN, Interval, average, log_ratio, of_pairs, of_processes, prediction
from kernelband_worker.wire import Case

LEAST_US = 1.0  # an absolute loss below this is not one


@frozen
class Comparison:
    """Everything that follows from the measurements of one variant."""

    performance: Performance
    reason: str
    cases: tuple[CaseResult, ...]
    score: Ratio
    weighted: float
    worst: float


@frozen
class _Score:
    """Of one quantity: the interval that decides, the one that is shown, and those of each case."""

    decides: Interval
    shown: Interval
    cases: dict[str, Interval]


def counted(measurements: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """Without the blocks that were measured again."""
    return tuple(m for m in measurements if not m.superseded)


def upper_bound(measurements: Sequence[Measurement], quantity: Quantity, probability: float = 0.9) -> float:
    """Of the score, after a first block: the ratio that the true one stays below with ``probability``."""
    bound = _screening(counted(measurements), quantity).decides.bound(probability)
    return math.inf if bound == math.inf else math.exp(bound)


def compare(
    measurements: Sequence[Measurement],
    cases: Sequence[Case],
    objective: Objective,
    *,
    stage: Stage,
    baseline: Sequence[Measurement] = (),
    shares: Mapping[str, float] | None = None,
) -> Comparison:
    """Judges one variant.

    Args:
        measurements: of the variant, in both quantities.
        cases: the timing cases, for their weights.
        objective: what the variant was to improve.
        stage: where the spread comes from.
        baseline: the original against itself, measured the same way: a difference that no change at all can produce is not a difference.
        shares: of the device time in the target kernel, by case.

    Raises:
        ValueError: there is nothing to compare.
    """
    other: Quantity = "call" if objective == "device" else "device"
    found, noise = counted(measurements), counted(baseline)
    score = _final if stage == "final" else _screening
    scores: dict[Quantity, _Score] = {q: score(found, q) for q in (objective, other)}
    margins: dict[Quantity, float] = {
        q: math.log1p(max(MARGIN, math.expm1(score(noise, q).decides.reach) if noise else 0.0)) for q in (objective, other)
    }
    rows = _rows(found, cases, scores)
    performance, reason = _decide(scores, margins, rows, objective, stage)
    said = [reason, *_remarks(rows, scores[objective], margins[objective], performance, shares or {})]
    weights = {c["id"]: max(1, c["calls"]) for c in cases}
    before, after = (math.fsum(weights.get(r.case, 1) * _time(r, objective, when) for r in rows) for when in ("before", "after"))
    return Comparison(
        performance,
        " ".join(s for s in said if s),
        rows,
        scores[objective].shown.ratio(),
        before / after,
        math.exp(min(i.centre for i in scores[objective].cases.values())),
    )


def _logs(measurements: Sequence[Measurement], quantity: Quantity) -> dict[str, dict[int, list[float]]]:
    """By case and process."""
    out: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for m in measurements:
        if m.quantity == quantity:
            out[m.case][m.process].append(log_ratio(m.original_us, m.variant_us))
    if not out:
        raise ValueError(f"No {quantity} time was measured, so there is nothing to compare.")
    return {case: out[case] for case in sorted(out)}


def _screening(measurements: Sequence[Measurement], quantity: Quantity) -> _Score:
    cases = {case: of_pairs([x for logs in by.values() for x in logs]) for case, by in _logs(measurements, quantity).items()}
    whole = average(list(cases.values()))
    return _Score(whole, whole, cases)


def _final(measurements: Sequence[Measurement], quantity: Quantity) -> _Score:
    medians = {case: {p: median(logs) for p, logs in by.items()} for case, by in _logs(measurements, quantity).items()}
    # A process that didn't measure every case (it died) can't stand for the whole score.
    whole = sorted({p for by in medians.values() for p in by if all(p in other for other in medians.values())})
    if not whole:
        raise ValueError("No process measured every case, so there is no score.")
    scores = [fmean(by[p] for by in medians.values()) for p in whole]
    return _Score(of_processes(scores), prediction(scores), {case: prediction([by[p] for p in sorted(by)]) for case, by in medians.items()})


def _decide(
    scores: Mapping[Quantity, _Score], margins: Mapping[Quantity, float], rows: Sequence[CaseResult], objective: Objective, stage: Stage
) -> tuple[Performance, str]:
    decides, margin = scores[objective].decides, margins[objective]
    if decides.bound(0.975) < -margin:
        return "slower", ""
    if decides.bound(0.025) <= margin:
        return "inconclusive", ""
    other: Quantity = "call" if objective == "device" else "device"
    loss_us = fmean(_time(r, other, "after") - _time(r, other, "before") for r in rows)
    # Of one process: its few pairs must show the loss, or scatter of a few per cent takes good candidates out of the search.
    loses = scores[other].decides.centre if stage == "final" else scores[other].decides.bound(0.95)
    if loses < -margins[other] and loss_us > LEAST_US:
        named = {"device": "on the device", "call": "per call"}
        return "inconclusive", (
            f"Faster {named[objective]}, but {math.expm1(-scores[other].decides.centre):.0%} slower {named[other]}: not called faster."
        )
    return "faster", ""


def _rows(measurements: Sequence[Measurement], cases: Sequence[Case], scores: Mapping[Quantity, _Score]) -> tuple[CaseResult, ...]:
    order = [c["id"] for c in cases]
    groups: dict[str, list[Measurement]] = defaultdict(list)
    for m in measurements:
        groups[m.case].append(m)

    def middle(case: str, quantity: Quantity, attribute: str) -> float:
        return median(getattr(m, attribute) for m in groups[case] if m.quantity == quantity)

    return tuple(
        CaseResult(
            case=case,
            method=", ".join(sorted({m.method for m in groups[case]})),
            device_before_us=middle(case, "device", "original_us"),
            device_after_us=middle(case, "device", "variant_us"),
            call_before_us=middle(case, "call", "original_us"),
            call_after_us=middle(case, "call", "variant_us"),
            device=scores["device"].cases[case].ratio(),
            call=scores["call"].cases[case].ratio(),
            disturbed=next((m.disturbed for m in groups[case] if m.disturbed), None),
        )
        for case in sorted(groups, key=lambda c: (order.index(c) if c in order else len(order), c))
    )


def _remarks(rows: Sequence[CaseResult], score: _Score, margin: float, performance: Performance, shares: Mapping[str, float]) -> list[str]:
    said: list[str] = []
    worst = min(score.cases, key=lambda c: score.cases[c].centre)
    if performance == "faster" and score.cases[worst].centre < -margin:
        said.append(f"On case {worst[:8]} it is slower: {math.exp(score.cases[worst].centre):.2f}x.")
    small = [r for r in rows if r.device_before_us * shares.get(r.case, 1.0) < 0.5 * r.call_before_us]
    if small:
        part = small[0].device_before_us * shares.get(small[0].case, 1.0) / small[0].call_before_us
        said.append(f"The kernel is {part:.0%} of a call of the original on {_count(small, rows)}: the rest is submission and other work.")
    if any(r.disturbed for r in rows):
        said.append("Measured while the GPU was disturbed: " + next(r.disturbed for r in rows if r.disturbed))
    return said


def _count(some: Sequence[CaseResult], all_: Sequence[CaseResult]) -> str:
    return "the only case" if len(all_) == 1 else f"{len(some)} of {len(all_)} cases"


def _time(row: CaseResult, quantity: Quantity, when: str) -> float:
    if quantity == "device":
        return row.device_before_us if when == "before" else row.device_after_us
    return row.call_before_us if when == "before" else row.call_after_us
