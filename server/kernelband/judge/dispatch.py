"""Whether a choice by size is worth its branches (JUDGING, section 3): figures of the final only, and a sentence where it isn't.

Each side must gain 5 % on its timing cases over what would run there without the choice: the best single version, or the other side's where
that is the best single version itself. And the choice must not lose where nobody looked when the threshold was set: on each side of it one
size that no timing case has is timed, and there it may be slower neither than the original nor than the best single version.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from kernelband.judge.comparison import counted
from kernelband.judge.protocol import ORIGINAL, Dispatch, Measurement, Quantity, Rival, Side
from kernelband.judge.sizes import LEAST_US
from kernelband.judge.statistics import MARGIN, Interval, log_ratio, of_processes

GAIN = 0.05  # of each side on its cases

Logs = dict[str, dict[int, float]]  # by case and process: the median log-ratio against the original


def refusal(dispatch: Dispatch, candidate: str, found: Mapping[str, Sequence[Measurement]], quantity: Quantity) -> str:
    """One sentence why the choice isn't worth it; nothing when it is.

    Args:
        dispatch: the choice.
        candidate: the id of the one that makes it.
        found: the measurements of the final by candidate, those at unseen sizes too.
        quantity: the objective.
    """
    logs = {name: _logs(measurements, quantity) for name, measurements in found.items()}
    for side in dispatch.sides:
        gains = [_advantage(logs, candidate, side.rival, (case,)) for case in side.timed]
        gain = _advantage(logs, candidate, side.rival, side.timed)
        if gain is None:
            return f"It chooses by size, and where {side.says} there is no time of {side.rival.name} to compare with: not called faster."
        if gain.centre < math.log1p(GAIN) or gain.bound(0.025) <= math.log1p(MARGIN):
            least = f"a choice must gain {100 * GAIN:.0f} % on each side"
            return f"It chooses by size, and where {side.says} it is {_said(gain)} {side.rival.name}: {least}, so it isn't called faster."
        lost = next((c for c, g in zip(side.timed, gains, strict=True) if g is not None and g.centre < -math.log1p(MARGIN)), None)
        if lost is not None:
            return f"It chooses by size, and on case {lost[:8]} ({side.says}) it is slower than {side.rival.name}: not called faster."
    for side in dispatch.sides:
        said = _unseen(side, dispatch.single, candidate, found, quantity=quantity)
        if said:
            return said
    return ""


def _unseen(side: Side, single: Rival, candidate: str, found: Mapping[str, Sequence[Measurement]], *, quantity: Quantity) -> str:
    if side.unseen is None:
        return f"It chooses by size, and where {side.says} there is no other size to time than those it was chosen by: not called faster."
    logs = {name: _logs(measurements, quantity) for name, measurements in found.items()}
    for rival in (Rival(ORIGINAL, "the original"), single):
        gain = _advantage(logs, candidate, rival, (side.unseen,))
        if gain is None or gain.degrees < 1:
            return f"It chooses by size, and where {side.says} it could not be timed at a size that it wasn't chosen by: not called faster."
        before, mine = _middle(found[candidate], side.unseen, quantity)
        theirs = before if rival.id == ORIGINAL else _middle(found[rival.id], side.unseen, quantity)[1]
        if gain.centre < -math.log1p(MARGIN) and mine - theirs > LEAST_US:
            return (
                f"It chooses by size, and at one that it wasn't chosen by ({side.says}, case {side.unseen[:8]}) it is {_said(gain)} "
                f"{rival.name}: not called faster."
            )
    return ""


def _logs(measurements: Sequence[Measurement], quantity: Quantity) -> Logs:
    found: dict[str, dict[int, list[float]]] = {}
    for m in counted(measurements):
        if m.quantity == quantity:
            found.setdefault(m.case, {}).setdefault(m.process, []).append(log_ratio(m.original_us, m.variant_us))
    return {case: {process: median(logs) for process, logs in by.items()} for case, by in found.items()}


def _advantage(logs: Mapping[str, Logs], candidate: str, rival: Rival, cases: Sequence[str]) -> Interval | None:
    """Log of the rival's time over the candidate's, geometric mean over cases, process by process; None where no process has both.

    Both were timed against the original in the same process, so what differs between processes is in neither.
    """
    if not cases or any(case not in logs.get(name, {}) for case in cases for name in (candidate, rival.id) if name != ORIGINAL):
        return None
    theirs = None if rival.id == ORIGINAL else logs[rival.id]
    mine = logs[candidate]
    processes = sorted(p for p in mine[cases[0]] if all(p in mine[case] and (theirs is None or p in theirs[case]) for case in cases))
    values = [fmean(mine[case][p] - (0.0 if theirs is None else theirs[case][p]) for case in cases) for p in processes]
    return of_processes(values) if values else None


def _middle(measurements: Sequence[Measurement], case: str, quantity: Quantity) -> tuple[float, float]:
    """Median times of original and variant in microseconds."""
    mine = [m for m in counted(measurements) if m.case == case and m.quantity == quantity]
    return median(m.original_us for m in mine), median(m.variant_us for m in mine)


def _said(gain: Interval) -> str:
    """``3.1 % faster than``."""
    percent = 100 * math.expm1(abs(gain.centre))
    return f"{percent:.1f} % {'faster' if gain.centre >= 0 else 'slower'} than"
