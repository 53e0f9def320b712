"""From measurements to a result: pure, and the same for screening and final but for where the spread comes from.

Screening: one process, the spread is that between pairs. Final: several fresh processes, each gives one median, the spread is that between
them. Within one process everything shares its addresses, clocks and allocator, so pairs alone would make the interval too narrow.

In the final the interval that is shown, the prediction for one more fresh process, is the one that decides, and nothing that was timed may
lose: no case in either time, not all calls together, no size beside the timing cases. Screening looks at the score alone, since a case that
loses there may still be rescued by a choice by size.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from statistics import fmean, median

from attrs import frozen

from kernelband.judge.protocol import Measurement, Objective, Quantity, Stage
from kernelband.judge.remarks import remarks, unmeasured, unsure
from kernelband.judge.result import CaseResult, Performance, Ratio
from kernelband.judge.sizes import LEAST_US, SURELY, Lost, lost_at
from kernelband.judge.statistics import MARGIN, Interval, average, log_ratio, of_pairs, of_processes, prediction
from kernelband_worker.wire import Case

ERROR = 0.05  # that any of a final's finalists is called faster, or slower, by chance
NEAR = 0.97  # of the leader's ratio: what may be so near is measured as long as the leader was, for it may be in the final beside it
WHERE: dict[Quantity, str] = {"device": "on the device", "call": "per call"}

Pairs = dict[str, dict[int, list[Measurement]]]  # by case and process
Spread = Callable[[Sequence[float]], Interval]  # between processes, of one figure each


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
    """Of one quantity: the interval that is shown and decides, those of each case, and that of the time of all calls, before over after."""

    whole: Interval
    cases: dict[str, Interval]
    total: Interval


@frozen
class _Margins:
    """Differences that are none yet, as log-ratios: 2 %, or as far as the original differs from itself (A/A).

    A/A counts with the interval of its mean, at the confidence of the variant's own: how far off the method may be for no reason at all.
    How much one process differs from the next is in the variant's prediction interval already, and to count it twice is needlessly hard:
    of true gains of 1.10x at 1 % between processes, three finalists would miss 31 % instead of 3 %.

    ``total`` is A/A alone, without the 2 %: cases that each lose less than that may not add up to a loss.
    """

    whole: float
    cases: Mapping[str, float]
    total: float

    def of(self, case: str) -> float:
        return self.cases.get(case, math.log1p(MARGIN))


Scores = Mapping[Quantity, _Score]
Margins = Mapping[Quantity, _Margins]


@frozen
class _Rules:
    """What a decision needs besides the figures. ``confidence`` is that of every interval, two-sided."""

    objective: Objective
    stage: Stage
    confidence: float
    calls: Mapping[str, int]

    @property
    def other(self) -> Quantity:
        return "call" if self.objective == "device" else "device"

    def low(self, interval: Interval) -> float:
        return interval.bound((1 - self.confidence) / 2)

    def high(self, interval: Interval) -> float:
        return interval.bound((1 + self.confidence) / 2)

    def loses(self, interval: Interval, margin: float) -> bool:
        """Surely slower, and by more than the margin. The margin is held against the middle: held against the end that is nearer to 1, a
        loss would be free up to the width of a prediction interval.
        """
        return self.high(interval) < 0 and interval.centre < -margin


def counted(measurements: Iterable[Measurement]) -> tuple[Measurement, ...]:
    """Without the blocks that were measured again."""
    return tuple(m for m in measurements if not m.superseded)


def upper_bound(measurements: Sequence[Measurement], quantity: Quantity, probability: float = 0.9) -> float:
    """Of the score, after a first block: the ratio that the true one stays below with ``probability``."""
    bound = _screening(_grouped(counted(measurements), quantity), {}).whole.bound(probability)
    return math.inf if bound == math.inf else math.exp(bound)


def may_lead(measurements: Sequence[Measurement], quantity: Quantity, lead: Mapping[str, float], probability: float = 0.9) -> bool:
    """Whether, after a first block, its ratio may come near that of ``lead`` in some case; in what isn't in ``lead`` it may."""
    cases = dict.fromkeys(m.case for m in measurements)
    return any(upper_bound([m for m in measurements if m.case == c], quantity, probability) >= NEAR * lead.get(c, 0.0) for c in cases)


def compare(
    measurements: Sequence[Measurement],
    cases: Sequence[Case],
    objective: Objective,
    *,
    stage: Stage,
    baseline: Sequence[Measurement] = (),
    shares: Mapping[str, float] | None = None,
    finalists: int = 1,
    sizes: Sequence[Measurement] = (),
    made_up: Collection[str] = (),
) -> Comparison:
    """Judges one variant.

    Args:
        measurements: of the variant, in both quantities.
        cases: the timing cases, for their weights.
        objective: what the variant was to improve.
        stage: where the spread comes from.
        baseline: the original against itself, measured the same way: a difference that no change at all can produce is not a difference.
        shares: of the device time in the target kernel, by case.
        finalists: how many variants the same final judges: one of many is easily lucky, so each has intervals at 1 - 0.05 / finalists.
        sizes: of the variant at cases that are checked but aren't timing cases, perhaps of one process and few pairs. Final only.
        made_up: those of them that the program wasn't seen to call.

    Raises:
        ValueError: there is nothing to compare.
    """
    rules = _Rules(objective, stage, 1 - ERROR / finalists, {c["id"]: max(1, c["calls"]) for c in cases})
    found, noise = counted(measurements), counted(baseline)
    both: tuple[Quantity, Quantity] = (objective, rules.other)
    scores: dict[Quantity, _Score] = {q: _score(found, q, rules, prediction) for q in both}
    margins: dict[Quantity, _Margins] = {
        q: _margins(_score(noise, q, rules, of_processes) if noise else None, rules.confidence) for q in both
    }
    rows = _rows(found, cases, scores, rules.confidence)
    missing = [c["id"] for c in cases if any(c["id"] not in scores[q].cases for q in both)]
    if missing:
        performance, reason = "inconclusive", unmeasured(missing)
    else:
        performance, reason = _decide(scores, margins, rows, rules, lost_at(counted(sizes), objective, made_up))
    score = scores[objective]
    return Comparison(
        performance,
        " ".join(s for s in (reason, *remarks(rows, shares or {})) if s),
        rows,
        score=score.whole.ratio(rules.confidence),
        weighted=math.exp(score.total.centre),
        worst=math.exp(min(i.centre for i in score.cases.values())),
    )


def _grouped(measurements: Iterable[Measurement], quantity: Quantity) -> Pairs:
    out: dict[str, dict[int, list[Measurement]]] = defaultdict(lambda: defaultdict(list))
    for m in measurements:
        if m.quantity == quantity:
            out[m.case][m.process].append(m)
    return {case: out[case] for case in sorted(out)}


def _logs(pairs: Iterable[Measurement]) -> list[float]:
    return [log_ratio(m.original_us, m.variant_us) for m in pairs]


def _score(measurements: Sequence[Measurement], quantity: Quantity, rules: _Rules, spread: Spread) -> _Score:
    pairs = _grouped(measurements, quantity)
    if not pairs:
        raise ValueError(f"No {quantity} time was measured, so there is nothing to compare.")
    return _final(pairs, rules.calls, spread) if rules.stage == "final" else _screening(pairs, rules.calls)


def _screening(pairs: Pairs, calls: Mapping[str, int]) -> _Score:
    cases = {case: of_pairs([x for block in by.values() for x in _logs(block)]) for case, by in pairs.items()}
    return _Score(average(list(cases.values())), cases, of_processes([_total(pairs, calls, p) for p in _complete(pairs)]))


def _final(pairs: Pairs, calls: Mapping[str, int], spread: Spread) -> _Score:
    medians = {case: {p: median(_logs(by[p])) for p in sorted(by)} for case, by in pairs.items()}
    complete = _complete(pairs)
    scores = [fmean(by[p] for by in medians.values()) for p in complete]
    cases = {case: spread(list(by.values())) for case, by in medians.items()}
    return _Score(spread(scores), cases, spread([_total(pairs, calls, p) for p in complete]))


def _complete(pairs: Pairs) -> list[int]:
    """The processes that measured every case: one that didn't (it died) can't stand for the whole score."""
    found = sorted(set[int].intersection(*(set(by) for by in pairs.values())))
    if not found:
        raise ValueError("No process measured every case, so there is no score.")
    return found


def _total(pairs: Pairs, calls: Mapping[str, int], process: int) -> float:
    """Of one process: log of the time of all calls, before over after. What a case takes afterwards is its time before over its ratio, not
    the median of what was measured: two medians of times that jump may have come from different pairs.
    """
    before = {case: calls.get(case, 1) * median(m.original_us for m in by[process]) for case, by in pairs.items()}
    after = math.fsum(us * math.exp(-median(_logs(pairs[case][process]))) for case, us in before.items())
    return math.log(math.fsum(before.values()) / after)


def _margins(noise: _Score | None, confidence: float) -> _Margins:
    least = math.log1p(MARGIN)
    if noise is None:
        return _Margins(least, {}, 0.0)
    cases = {case: max(least, i.farthest(confidence)) for case, i in noise.cases.items()}
    return _Margins(max(least, noise.whole.farthest(confidence)), cases, noise.total.farthest(confidence))


def _decide(scores: Scores, margins: Margins, rows: Sequence[CaseResult], rules: _Rules, elsewhere: Lost | None) -> tuple[Performance, str]:
    score, margin = scores[rules.objective], margins[rules.objective]
    if rules.high(score.whole) < -margin.whole:
        return "slower", ""
    if rules.low(score.whole) <= margin.whole:
        return "inconclusive", unsure(rules.low(score.whole), rules.high(score.whole), margin.whole) if rules.stage == "final" else ""
    lost = _lost_on_average(scores[rules.other], margins[rules.other], rows, rules)
    if rules.stage == "final":
        lost = (
            _lost_case(rules.objective, scores, margins, rows, rules)
            or _lost_in_total(score, margin, rows, rules)
            or (elsewhere.sentence if elsewhere is not None and elsewhere.decides else "")
            or lost
            or _lost_case(rules.other, scores, margins, rows, rules)
        )
    if lost:
        return "inconclusive", lost
    said = (_worst_case(score, margin, rules), elsewhere.sentence if elsewhere is not None else "")
    return "faster", " ".join(s for s in said if s)


def _lost_case(quantity: Quantity, scores: Scores, margins: Margins, rows: Sequence[CaseResult], rules: _Rules) -> str:
    """A case that loses in this time; in the one that wasn't to be improved, by more than it takes to notice."""
    score, margin = scores[quantity], margins[quantity]
    least_us, where = (0.0, "") if quantity == rules.objective else (LEAST_US, f" {WHERE[quantity]}")
    lost = {
        r.case: score.cases[r.case].centre
        for r in rows
        if rules.loses(score.cases[r.case], margin.of(r.case)) and _loss_us(r, quantity, score) > least_us
    }
    return _said(lost, where)


def _worst_case(score: _Score, margin: _Margins, rules: _Rules) -> str:
    """Beside "faster": a case that loses in screening, or for all that is known in the final."""
    worst = min(score.cases, key=lambda c: score.cases[c].centre)
    if score.cases[worst].centre >= -margin.of(worst):
        return ""
    slower = "is slower" if rules.high(score.cases[worst]) < 0 else "may be slower"
    return f"On case {worst[:8]} it {slower}: {math.exp(score.cases[worst].centre):.2f}×."


def _lost_in_total(score: _Score, margin: _Margins, rows: Sequence[CaseResult], rules: _Rules) -> str:
    if score.total.centre >= -margin.total:
        return ""
    worst = max(rows, key=lambda r: rules.calls.get(r.case, 1) * _loss_us(r, rules.objective, score)).case
    return (
        f"All calls together take {math.expm1(-score.total.centre):.1%} longer, most of it on case {worst[:8]} "
        f"({math.exp(score.cases[worst].centre):.2f}×), so it isn't called faster."
    )


def _lost_on_average(score: _Score, margin: _Margins, rows: Sequence[CaseResult], rules: _Rules) -> str:
    """The score of the time that wasn't to be improved."""
    loss_us = fmean(_time(r, rules.other, "after") - _time(r, rules.other, "before") for r in rows)
    # Of one process: its few pairs must show the loss, or scatter of a few per cent takes good candidates out of the search.
    loses = score.whole.centre if rules.stage == "final" else score.whole.bound(SURELY)
    if loses >= -margin.whole or loss_us <= LEAST_US:
        return ""
    return f"Faster {WHERE[rules.objective]}, but {math.expm1(-score.whole.centre):.0%} slower {WHERE[rules.other]}: not called faster."


def _said(lost: Mapping[str, float], where: str) -> str:
    """Of the worst of these cases."""
    if not lost:
        return ""
    worst = min(lost, key=lambda case: lost[case])
    return f"On case {worst[:8]} it is slower{where}: {math.exp(lost[worst]):.2f}×, so it isn't called faster."


def _loss_us(row: CaseResult, quantity: Quantity, score: _Score) -> float:
    """What a call takes longer, by the ratio of its pairs."""
    return _time(row, quantity, "before") * math.expm1(-score.cases[row.case].centre)


def _rows(
    measurements: Sequence[Measurement], cases: Sequence[Case], scores: Mapping[Quantity, _Score], confidence: float
) -> tuple[CaseResult, ...]:
    order = [c["id"] for c in cases]
    groups: dict[str, list[Measurement]] = defaultdict(list)
    for m in measurements:
        if all(m.case in score.cases for score in scores.values()):  # half a row is none
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
            device=scores["device"].cases[case].ratio(confidence),
            call=scores["call"].cases[case].ratio(confidence),
            disturbed=next((m.disturbed for m in groups[case] if m.disturbed), None),
        )
        for case in sorted(groups, key=lambda c: (order.index(c) if c in order else len(order), c))
    )


def _time(row: CaseResult, quantity: Quantity, when: str) -> float:
    if quantity == "device":
        return row.device_before_us if when == "before" else row.device_after_us
    return row.call_before_us if when == "before" else row.call_after_us
