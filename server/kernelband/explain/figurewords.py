"""What is said of a final: where its figures are from, which case lost, what a reader must know; and of a trial, without figures."""

from __future__ import annotations

import math
import re

from kernelband.explain.figures import QUANTITIES, Figures, is_slower, ratio_of, times_of
from kernelband.explain.kept import Kept
from kernelband.explain.words import verdict
from kernelband.history.outcome import MEASURED, Outcome, of_final, outcome
from kernelband.history.records import FinalRow, RunRow, TrialRow
from kernelband.judge.protocol import Quantity
from kernelband.judge.result import CaseResult, Ratio

WHERE: dict[Quantity, str] = {"device": "on the device", "call": "per call"}
OTHER = {"device": "call", "call": "device"}


def judged_lines(kept: Kept, trial: TrialRow, figures: Figures | None) -> tuple[str, ...]:
    """What screening and the fresh processes said of a variant; nothing where nothing was measured."""
    final = kept.finals.get(trial.variant)
    return (_trial_line(kept.run, trial), *(_final_lines(final, figures) if final is not None else ())) if kept.measured else ()


def _trial_line(run: RunRow, t: TrialRow) -> str:
    """What screening said. Its figures chose the finalists and so flatter them: they are not repeated here."""
    found = outcome(t)
    said = f"Screening: {found.word}."
    if found not in MEASURED:
        return f"{said} {t.reason}".rstrip()
    if found is Outcome.INCONCLUSIVE and "not called faster" in t.reason:
        return f"{said} Faster in {run.objective} time, but slower in {OTHER.get(run.objective, 'the other')} time."
    return said


def _final_lines(f: FinalRow, figures: Figures | None) -> tuple[str, ...]:
    """What the fresh processes said, and why when that isn't "verified"."""
    rest = _rest(f, figures)
    if f.verified:
        return (f"Final: {verdict(f)}", *([rest] if rest else []))
    why = "slower in fresh processes." if of_final(f) is Outcome.SLOWER else "not surely faster in fresh processes."
    return (f"Final: not verified: {rest or why}",)


def _rest(f: FinalRow, figures: Figures | None) -> str:
    """The judge's sentences without those that the table says itself, by the names of cases."""
    reason = str(f.result.get("reason") or "")
    if figures is None:
        return reason
    for case in figures.cases:
        # The remark on a case is a row of the table; what decided stays, by the case's name.
        reason = re.sub(rf"On case {case.case[:8]} it (?:is|may be) slower: [0-9.]+[x×]\.", "", reason)
        reason = reason.replace(f"case {case.case[:8]}", figures.names[case.case])
        if case.disturbed is not None:
            reason = reason.replace(f"Measured while the GPU was disturbed: {case.disturbed}", "")
    return " ".join(reason.split())


def title(figures: Figures) -> str:
    """Where the figures are from."""
    processes = f"{figures.processes} fresh process{'es' if figures.processes != 1 else ''}"
    return (
        f"Measured in {processes} of {figures.pairs} pairs a case. Ratio: original over variant, above 1 is faster.\n"
        "Interval: where the ratio would lie in one more fresh process, with at least 95 % certainty."
    )


def interval(ratio: Ratio) -> str:
    """Such as ``1.07 to 1.10``."""
    return "unknown" if math.isinf(ratio.high) else f"{ratio.low:.2f} to {ratio.high:.2f}"


def slower(figures: Figures) -> list[str]:
    """A sentence for each case that is surely slower in one of the two times, whatever the score says."""
    out: list[str] = []
    for case in figures.cases:
        lost: list[Quantity] = [q for q in QUANTITIES if is_slower(ratio_of(case, q))]
        if lost:
            said = " and ".join(f"{percent(ratio_of(case, q))} slower {WHERE[q]}" for q in lost)
            won = [_beside(case, q) for q in QUANTITIES if q not in lost]
            out.append(f"{figures.names[case.case]}: {', '.join([said, *won])}.")
    return out


def _beside(case: CaseResult, quantity: Quantity) -> str:
    """The other time of a case that lost in one."""
    ratio = ratio_of(case, quantity)
    if ratio.low > 1:
        return f"though {ratio.value:.2f}× faster {WHERE[quantity]}"
    return f"with no sure difference {WHERE[quantity]}"


def percent(ratio: Ratio) -> str:
    """How much longer the variant takes: ``12 %``."""
    return f"{100 * (1 / ratio.value - 1):.0f} %"


def notes(figures: Figures) -> list[str]:
    """What a reader must know of the figures."""
    out = [
        f"{figures.names[c.case]}: measured while the GPU was disturbed. {c.disturbed}" for c in figures.cases if c.disturbed is not None
    ]
    if any("wall" in c.method for c in figures.cases):
        out.append("Device time by wall: the call waits for the GPU, or works where events don't see it, so wall time stands in.")
    if any(_strays(c, q) for c in figures.cases for q in QUANTITIES):
        out.append(
            "A ratio is that of pairs measured right after each other, averaged over processes; the times are medians of all, so it isn't "
            "always their quotient."
        )
    return out


def _strays(case: CaseResult, quantity: Quantity) -> bool:
    """Whether a reader who divides the two times gets clearly another ratio."""
    before, after = times_of(case, quantity)
    return abs(math.log(before / after / ratio_of(case, quantity).value)) > 0.02
