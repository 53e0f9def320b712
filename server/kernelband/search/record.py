"""From what the loop holds to rows, and back from rows to what a resumed loop needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from kernelband.hardware.work import Work
from kernelband.history.records import FactsRow, FinalRow, MeasurementRow, PullRow, TrialRow, VariantRow
from kernelband.history.values import finite, works_to_json
from kernelband.judge.protocol import Measurement, Verdict
from kernelband.judge.result import Ratio, Result
from kernelband.search._base import Member, Pull
from kernelband.search.candidate import Candidate
from kernelband.search.preparer import identity_key
from kernelband.source import patch_to_json
from kernelband_worker.wire import CompileFacts


def variant_row(run: str, number: int, candidate: Candidate, member: Member | None, mean: float | None, *, form: str | None) -> VariantRow:
    """A variant that was executed, or predicted."""
    p = candidate.proposal
    return VariantRow(
        run,
        number,
        candidate.parent,
        p.strategy,
        p.move,
        p.parameters,
        key=p.key,
        numerics=p.numerics,
        what=p.what,
        why=p.why,
        author=candidate.author,
        patch=patch_to_json(candidate.patch),
        identity=identity_key(candidate.identity),
        forecast=(attrs.asdict(candidate.forecast) if candidate.forecast is not None else {})
        | {"gains": list(candidate.gains), "costs": list(candidate.costs)}
        | ({"parent_gains": list(candidate.step[0]), "parent_costs": list(candidate.step[1])} if candidate.step is not None else {})
        | ({"launches": works_to_json(candidate.works)} if candidate.works is not None else {}),
        seconds=member.seconds if member else None,
        mean_seconds=mean,
        features=list(member.features) if member else None,
        headroom=dict(member.headroom) if member else None,
        form=form,
    )


def original_row(
    run: str,
    member: Member,
    mean: float,
    works: Sequence[Work] = (),
    out_of_bounds: Sequence[Mapping[str, Any]] = (),
    *,
    form: str | None,
) -> VariantRow:
    """The original as variant 0, with its launches, and with the accesses out of bounds that the interpreter saw (``CaptureResult``)."""
    return VariantRow(
        run,
        0,
        None,
        "",
        "",
        {},
        key="",
        numerics="exact",
        what="the original",
        why="",
        author="you",
        patch=[],
        identity="",
        forecast={"launches": works_to_json(works), "out_of_bounds": [dict(x) for x in out_of_bounds]},
        seconds=member.seconds,
        mean_seconds=mean,
        features=list(member.features),
        headroom=dict(member.headroom),
        form=form,
    )


def member_of(row: VariantRow) -> Member | None:
    """The frontier's member that the row was; None when it wasn't on the frontier."""
    if row.seconds is None or row.features is None:
        return None
    score = row.forecast.get("score")
    return Member(row.id, row.seconds, tuple(row.features), dict(row.headroom or {}), forecast=1.0 if score is None else float(score))


def trial_row(run: str, number: int, result: Result, started: float, took: tuple[float, Mapping[str, float]]) -> TrialRow:
    """Trial ``number`` executed the variant of the same number. ``took``: seconds in all, and by span."""
    score, low, high = _score(result)
    return TrialRow(
        run,
        number,
        number,
        result.correctness,
        result.performance,
        result.fault,
        result.integrity,
        result.reason,
        score,
        low,
        high,
        finite(attrs.asdict(result)),
        started=started,
        seconds=took[0],
        clock=dict(took[1]),
    )


def ratios(result: Mapping[str, Any], objective: str) -> dict[str, Ratio]:
    """Of a result as its row has it: the ratio in the objective by timing case, but for those whose spread is unknown."""
    found = {c["case"]: (c[objective]["value"], c[objective]["low"], c[objective]["high"]) for c in result["cases"]}
    return {case: Ratio(*values) for case, values in found.items() if None not in values and values[1] > 0}


def final_row(run: str, number: int, verdict: Verdict) -> FinalRow:
    """What the final processes said, and under ``stress`` what they tried it with beside its cases."""
    result = verdict.result
    score, low, high = _score(result)
    stress = verdict.check.get("stress", []) if verdict.check is not None else []
    said = finite(attrs.asdict(result)) | {"stress": finite(stress)}
    return FinalRow(run, number, result.verified, score, low, high, said, seconds=verdict.seconds)


def measurement_rows(run: str, variant: int, stage: str, found: Sequence[Measurement]) -> tuple[MeasurementRow, ...]:
    """Every pair."""
    return tuple(
        MeasurementRow(
            run,
            variant,
            stage,
            m.process,
            m.case,
            m.method,
            m.quantity,
            m.pair,
            m.input_set,
            m.original_us,
            m.variant_us,
            m.disturbed,
            m.superseded,
        )
        for m in found
    )


def facts_rows(run: str, variant: int, facts: Mapping[str, CompileFacts]) -> tuple[FactsRow, ...]:
    """Compile facts of a variant."""
    return tuple(FactsRow(run, variant, key, dict(value)) for key, value in facts.items())


def pull_row(run: str, position: int, pull: Pull, key: str, reason: str) -> PullRow:
    """One entry of the log."""
    return PullRow(
        run,
        position,
        pull.step,
        pull.parent,
        pull.strategy,
        pull.move,
        key,
        pull.variant,
        pull.executed,
        pull.reward_paper,
        pull.reward,
        pull.outcome,
        pull.incumbent,
        pull.propensity,
        reason,
    )


def pull_of(row: PullRow) -> Pull:
    """The inverse."""
    return Pull(
        row.step,
        row.parent,
        row.strategy,
        row.variant,
        row.executed,
        row.reward_paper,
        row.reward,
        row.outcome,
        row.move,
        row.incumbent,
        row.propensity,
    )


def _score(result: Result) -> tuple[float | None, float | None, float | None]:
    if result.score is None:
        return None, None, None
    return finite(result.score.value), finite(result.score.low), finite(result.score.high)
