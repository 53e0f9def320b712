"""What became of a variant, in words: of its trial without a figure, of its final with the figure that is the result."""

from __future__ import annotations

from kernelband.explain.figures import Figures
from kernelband.history.records import FinalRow, RunRow, TrialRow

OTHER = {"device": "call", "call": "device"}


def word(t: TrialRow) -> str:
    """Of a trial."""
    if t.fault != "none":
        return {"compile_error": "did not compile", "oom": "out of memory"}.get(t.fault, t.fault)
    if t.performance == "equal":
        return "equal"
    if t.correctness in ("wrong", "nondeterministic", "untested"):
        return t.correctness
    if t.integrity != "ok":
        return t.integrity
    return t.performance


def verdict(f: FinalRow | None) -> str:
    """Of a final, in one line."""
    if f is None:
        return ""
    if f.verified and f.score is not None and f.low is not None and f.high is not None:
        return f"verified {f.score:.2f}x ({f.low:.2f} to {f.high:.2f})"
    return "not verified"


def trial_line(run: RunRow, t: TrialRow) -> str:
    """What screening said. Its figures chose the finalists and so flatter them: they are not repeated here."""
    said = f"Screening: {word(t)}."
    if t.fault != "none" or t.correctness != "passed" or t.integrity != "ok":
        return f"{said} {t.reason}".rstrip()
    if t.performance == "inconclusive" and "not called faster" in t.reason:
        return f"{said} Faster in {run.objective} time, but slower in {OTHER.get(run.objective, 'the other')} time."
    return said


def final_lines(f: FinalRow, figures: Figures | None) -> tuple[str, ...]:
    """What the fresh processes said, and why when that isn't "verified"."""
    rest = _rest(f, figures)
    if f.verified:
        return (f"Final: {verdict(f)}", *([rest] if rest else []))
    performance = f.result.get("performance")
    why = "slower in fresh processes." if performance == "slower" else "not surely faster in fresh processes."
    return (f"Final: not verified: {rest or why}",)


def _rest(f: FinalRow, figures: Figures | None) -> str:
    """The judge's sentences without those that the table says itself, by the names of cases."""
    reason = str(f.result.get("reason") or "")
    if figures is None:
        return reason
    for case in figures.cases:
        for ratio in (case.device, case.call):
            reason = reason.replace(f"On case {case.case[:8]} it is slower: {ratio.value:.2f}x.", "")
        if case.disturbed is not None:
            reason = reason.replace(f"Measured while the GPU was disturbed: {case.disturbed}", "")
    return " ".join(reason.split())
