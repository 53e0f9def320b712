"""What became of a variant, in words: of its trial without a figure, of its final with the figure that is the result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, cast

from kernelband.explain.figures import Figures
from kernelband.explain.words import Step, changes, titles
from kernelband.history import Store, trials
from kernelband.history.records import FinalRow, RunRow, TrialRow, VariantRow

State = Literal[
    "verified", "not verified", "screened", "checked", "equal", "wrong", "nondeterministic", "untested", "rejected", "suspect", "failed"
]

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
        return f"verified {f.score:.2f}× ({f.low:.2f} to {f.high:.2f})"
    return "not verified"


def unwanted(t: TrialRow | None) -> str:
    """Why a variant is none that anybody would want, by its trial; "" where nothing says so."""
    return word(t) if t is not None and (t.fault != "none" or t.correctness in ("wrong", "nondeterministic")) else ""


def in_a_line(store: Store, row: RunRow, number: int) -> str:
    """A variant with what is known of it: ``Variant 3 of run 1a2b3c4d: BLOCK 16→64 · 8 warps: verified 1.84× (1.80 to 1.88) on H200``."""
    variants = {v.id: v for v in trials.variants(store, row.id)}
    tried = next((t for t in trials.trials(store, row.id) if t.variant == number), None)
    final = next((f for f in trials.finals(store, row.id) if f.variant == number), None)
    told = tier(tried, variants[number]) if tried is not None else None
    if final is not None and final.verified:
        known = f"{verdict(final)} on {row.device}"
    elif told is not None:
        known = f"{told} on {row.device}, predicted and not measured"
    else:
        known = f"not verified, its trial says: {unwanted(tried)}" if unwanted(tried) else "not verified"
    chain = [Step(v.move, v.parameters, v.what) for v in trials.lineage(variants, number)]
    return f"Variant {number} of run {row.id}: {changes(chain)}: {known}."


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
        # The remark on a case is a row of the table; what decided stays, by the case's name.
        reason = re.sub(rf"On case {case.case[:8]} it (?:is|may be) slower: [0-9.]+[x×]\.", "", reason)
        reason = reason.replace(f"case {case.case[:8]}", figures.names[case.case])
        if case.disturbed is not None:
            reason = reason.replace(f"Measured while the GPU was disturbed: {case.disturbed}", "")
    return " ".join(reason.split())


def state(t: TrialRow, f: FinalRow | None) -> State:
    """How far a variant came. ``checked``: interpreted, nothing measured; ``equal``: the machine code is the original's."""
    if t.fault != "none":
        return "failed"
    if t.performance == "equal":
        return "equal"
    if t.correctness in ("wrong", "nondeterministic", "untested"):
        return cast("State", t.correctness)
    if t.integrity != "ok":
        return cast("State", t.integrity)
    if t.correctness == "interpreted":
        return "checked"
    if f is None:
        return "screened"
    return "verified" if f.verified else "not verified"


def tier(t: TrialRow, v: VariantRow) -> str | None:
    """Of a variant that was interpreted and is right; None for any other."""
    right = t.correctness == "interpreted" and t.fault == "none"
    return str(v.forecast.get("tier") or "unclear") if right else None


def titles_of(variants: Mapping[int, VariantRow], tried: Iterable[TrialRow], finals: Mapping[int, FinalRow] | None) -> dict[int, str]:
    """The same of all that a run tried, where those that are worth showing stand in one list. ``finals``: None where it was predicted."""
    chains = {t.variant: [Step(v.move, v.parameters, v.what) for v in trials.lineage(variants, t.variant)] for t in tried}
    shown = [t.variant for t in tried if (tier(t, variants[t.variant]) if finals is None else _verified(finals.get(t.variant)))]
    return {n: changes(chain) for n, chain in chains.items()} | titles({n: chains[n] for n in shown})


def _verified(final: FinalRow | None) -> bool:
    return final is not None and final.verified
