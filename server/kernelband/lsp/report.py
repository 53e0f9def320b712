"""What is known of one variant, as Markdown: every figure with its interval, device and date, none where nothing is measured."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kernelband.explain.figures import QUANTITIES, Figures, method_of, ratio_of, times_of
from kernelband.explain.figurewords import interval, notes, slower, title
from kernelband.explain.why import items, tell
from kernelband.explain.words import verdict
from kernelband.hardware.units import duration
from kernelband.history import Store, trials
from kernelband.history.records import RunRow, VariantRow
from kernelband.judge.result import Ratio
from kernelband.lsp.markdown import as_code, escaped
from kernelband.lsp.remedies import words


def report(store: Store, run: RunRow, variant: VariantRow, commands: Sequence[str], remarks: Sequence[str]) -> str:
    """What ``kernelband show RUN/VARIANT`` says, with the circumstances.

    Args:
        store: open to read.
        run: the run's row.
        variant: of the run.
        commands: that make the run again and show the variant.
        remarks: sentences about them.
    """
    told = tell(store, run, variant)
    final = next((f for f in trials.finals(store, run.id) if f.variant == variant.id), None) if run.mode == "measured" else None
    decision = next((d.decision for d in reversed(trials.decisions(store, run.id)) if d.variant == variant.id), "")
    worth = "predicted, not measured" if run.mode == "predicted" else verdict(final) or "not verified"
    parts = [f"# Variant {variant.id} of {escaped(run.kernel)}: {worth}", _circumstances(run, variant, decision)]
    parts += ["## What was changed, and why", "\n".join(_lines(told.lines))]
    if run.mode == "predicted":
        parts.append("None of this was measured: a prediction says what compiled code and counted traffic make likely.")
    if told.judged:
        parts += ["## What was measured", *map(escaped, told.judged)]
    if told.figures is not None:
        parts += [escaped(" ".join(title(told.figures).split())), _table(told.figures)]
        parts += [f"- {escaped(line)}" for line in (*slower(told.figures), *notes(told.figures))]
    parts += ["## The patch", _fenced(told.patch, "diff")]
    parts += ["## Again", _fenced("\n".join(commands) + "\n", "sh"), *map(escaped, remarks)]
    return "\n\n".join(parts) + "\n"


def _circumstances(run: RunRow, variant: VariantRow, decision: str) -> str:
    """Where, when, with what: a figure is worth nothing without them."""
    known = run.environment
    device = ", ".join(sorted(run.gpus)) or run.device if run.mode == "measured" else f"predicted for {run.device}; no GPU was used"
    versions = [f"{name} {known[key]}" for name, key in (("Triton", "triton"), ("torch", "torch"), ("driver", "driver")) if known.get(key)]
    facts = {
        "file": as_code(run.path),
        "run": f"{run.id}, {run.state}" + (f": {escaped(words(run.reason))}" if run.reason else ""),
        "device": escaped(device),
        "date": time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created)),
        "versions": escaped(", ".join([f"KernelBand {run.version}", *versions])),
        "search": escaped(f"{run.policy} policy, seed {run.seed}, {run.objective} time"),
        "made from": f"variant {variant.parent}" if variant.parent else "the original",
        "numerics": escaped(variant.numerics),
        "author": escaped(variant.author),
    }
    if decision:
        facts["decision"] = escaped(decision)
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())])


def _lines(told: Sequence[str]) -> list[str]:
    """As list items."""
    return [f"{'  ' if item.below else ''}- {escaped(item.text)}" for item in items(told)]


def _table(figures: Figures) -> str:
    """Two rows for each case, then the score and what stands beside it."""
    rows = [["case", "time", "original", "variant", "ratio", "interval"], ["---", "---", "---:", "---:", "---:", "---"]]
    for case in figures.cases:
        for quantity in QUANTITIES:
            before, after = times_of(case, quantity)
            how = f"{quantity}, {method_of(case, quantity)}"
            rows.append([as_code(figures.names[case.case]), how, duration(before), duration(after), *_ratio(ratio_of(case, quantity))])
    for i, whole in enumerate(figures.wholes):
        how = f"{whole.quantity}, {whole.method}"
        rows.append(["**score: geometric mean**" if i == 0 else "geometric mean", how, "", "", *_ratio(whole.mean)])
        rows.append(["time-weighted", how, "", "", f"{whole.weighted:.2f}×", ""])
        rows.append([f"worst: {as_code(figures.names[whole.worst.case])}", how, "", "", *_ratio(whole.worst_ratio)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _ratio(ratio: Ratio) -> list[str]:
    return [f"{ratio.value:.2f}×", interval(ratio)]


def _fenced(text: str, language: str) -> str:
    """As a block of code that nothing in it ends."""
    longest = max((len(run) for run in "".join(c if c == "`" else " " for c in text).split()), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text if text.endswith(chr(10)) or not text else text + chr(10)}{fence}"
