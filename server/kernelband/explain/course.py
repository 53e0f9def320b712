"""How a search went: what each trial found, and what was the best so far, over trials and over seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attrs import frozen

from kernelband.explain.kept import Kept
from kernelband.explain.words import tier
from kernelband.history.outcome import MEASURED, TIERS, outcome
from kernelband.history.records import TrialRow

PAUSED_S = 1.0  # from which on a run was stopped in between: less is rounding, and what a process takes to end


@frozen
class Step:
    """One trial. ``seconds_s`` since the run began, at its end, without the time in which the run was stopped.

    Scores are of screening, original over variant: they chose what was verified, and are no results. None where nothing is measured;
    tiers None where something is. ``best_variant`` 0 is the original.
    """

    trial: int
    variant: int
    seconds_s: float
    outcome: str
    best_variant: int
    screening_score: float | None = None
    best_screening_score: float | None = None
    tier: str | None = None
    best_tier: str | None = None
    stage: Literal["screening", "predicted"] = "screening"


def course(kept: Kept) -> tuple[Step, ...]:
    """In the order of the trials. The best is what the search itself took for it: the fastest that is right."""
    out: list[Step] = []
    original = kept.variants.get(0)
    base = original.seconds if original is not None else None
    best, best_s, best_tier = 0, base, ""
    for trial, seconds in zip(kept.trials, _seconds(kept), strict=True):
        variant = kept.variants[trial.variant]
        if variant.seconds is not None and (best_s is None or variant.seconds < best_s):
            best, best_s = variant.id, variant.seconds
        said = tier(trial, variant) if not kept.measured else None
        best_tier = min((t for t in (best_tier, said) if t in TIERS), key=TIERS.index, default="")
        if kept.measured:
            ratio = base / best_s if base and best_s else None
            step = Step(trial.number, variant.id, seconds, outcome(trial).word, best, _score(trial), ratio)
        else:
            word = said or outcome(trial).word
            step = Step(trial.number, variant.id, seconds, word, best, tier=said, best_tier=best_tier or None, stage="predicted")
        out.append(step)
    return tuple(out)


def _score(trial: TrialRow) -> float | None:
    """What screening made of a variant that is right."""
    return trial.score if outcome(trial) in MEASURED else None


def _seconds(kept: Kept) -> list[float]:
    """The end of each trial. A run that was resumed has a gap: as much of the longest ones is left out as it wasn't running."""
    run = kept.run
    begin = run.created - run.clock.get("start", 0.0)
    ends = [t.started + t.seconds - begin for t in kept.trials]
    starts = [t.started - begin for t in kept.trials]
    stopped = run.heartbeat - begin - run.seconds_used
    gaps = [start - end for start, end in zip(starts, [0.0, *ends], strict=False)]
    left_out = [0.0] * len(gaps)
    for i in sorted(range(len(gaps)), key=lambda i: -gaps[i]) if stopped > PAUSED_S else ():
        left_out[i] = max(0.0, min(stopped - sum(left_out), gaps[i]))
    return _without(ends, left_out)


def _without(ends: Sequence[float], left_out: Sequence[float]) -> list[float]:
    out: list[float] = []
    skipped = 0.0
    for end, gap in zip(ends, left_out, strict=True):
        skipped += gap
        out.append(round(max(end - skipped, out[-1] if out else 0.0), 3))
    return out
