"""Final figures for a terminal: a table with two rows for each case, device and call time, and what has to be said of them."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelband.explain.figures import QUANTITIES, Figures, Whole, is_slower, method_of, ratio_of, times_of
from kernelband.explain.figurewords import interval, notes, slower, title
from kernelband.hardware.units import duration
from kernelband.judge.result import Ratio


def render(figures: Figures) -> RenderableType:
    """Table and sentences."""
    said = [Text(line, style="yellow") for line in slower(figures)] + [Text(line) for line in notes(figures)]
    return Group(Text(title(figures)), table(figures), *said)


def table(figures: Figures) -> Table:
    """Every figure with its method; the score and what stands beside it at the end."""
    out = Table(box=None, pad_edge=False, header_style="bold")
    out.add_column("case", overflow="fold")
    out.add_column("time", no_wrap=True)
    for name in ("original", "variant", "ratio"):
        out.add_column(name, justify="right", no_wrap=True)
    out.add_column("interval", no_wrap=True)
    for case in figures.cases:
        for quantity in QUANTITIES:
            before, after = times_of(case, quantity)
            ratio = ratio_of(case, quantity)
            out.add_row(
                Text(figures.names[case.case]) if quantity == QUANTITIES[0] else "",
                f"{quantity}, {method_of(case, quantity)}",
                duration(before),
                duration(after),
                Text(f"{ratio.value:.2f}×", style=_style(ratio)),
                interval(ratio),
            )
    out.add_row("")
    for i, whole in enumerate(figures.wholes):
        _whole(out, figures, whole, "score: geometric mean" if i == 0 else "geometric mean")
    return out


def _whole(out: Table, figures: Figures, whole: Whole, name: str) -> None:
    time = f"{whole.quantity}, {whole.method}"
    out.add_row(Text(name, style="bold"), time, "", "", Text(f"{whole.mean.value:.2f}×", style="bold"), interval(whole.mean))
    out.add_row("  time-weighted", time, "", "", f"{whole.weighted:.2f}×", "")
    worst = whole.worst_ratio
    case = Text(f"  worst: {figures.names[whole.worst.case]}")
    out.add_row(case, time, "", "", Text(f"{worst.value:.2f}×", style=_style(worst)), interval(worst))


def _style(ratio: Ratio) -> str:
    return "green" if ratio.low > 1 else "red" if is_slower(ratio) else ""
