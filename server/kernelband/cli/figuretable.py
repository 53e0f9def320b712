"""Final figures for a terminal: a table with two rows for each case, device and call time, and what has to be said of them."""

from __future__ import annotations

import math

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from kernelband.cli.figures import QUANTITIES, Figures, Whole, is_slower, method_of, ratio_of, times_of
from kernelband.hardware.units import duration
from kernelband.judge.protocol import Quantity
from kernelband.judge.result import CaseResult, Ratio

WHERE: dict[Quantity, str] = {"device": "on the device", "call": "per call"}


def render(figures: Figures) -> RenderableType:
    """Table and sentences."""
    said = [Text(line, style="yellow") for line in slower(figures)] + [Text(line) for line in notes(figures)]
    return Group(Text(title(figures)), table(figures), *said)


def title(figures: Figures) -> str:
    """Where the figures are from."""
    processes = f"{figures.processes} fresh process{'es' if figures.processes != 1 else ''}"
    return (
        f"Measured in {processes} of {figures.pairs} pairs a case. Ratio: original over variant, above 1 is faster.\n"
        "Interval: where the ratio would lie in one more fresh process, with 95 % certainty."
    )


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
                Text(f"{ratio.value:.2f}x", style=_style(ratio)),
                interval(ratio),
            )
    out.add_row("")
    for i, whole in enumerate(figures.wholes):
        _whole(out, figures, whole, "score: geometric mean" if i == 0 else "geometric mean")
    return out


def _whole(out: Table, figures: Figures, whole: Whole, name: str) -> None:
    time = f"{whole.quantity}, {whole.method}"
    out.add_row(Text(name, style="bold"), time, "", "", Text(f"{whole.mean.value:.2f}x", style="bold"), interval(whole.mean))
    out.add_row("  time-weighted", time, "", "", f"{whole.weighted:.2f}x", "")
    worst = whole.worst_ratio
    case = Text(f"  worst: {figures.names[whole.worst.case]}")
    out.add_row(case, time, "", "", Text(f"{worst.value:.2f}x", style=_style(worst)), interval(worst))


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
        return f"though {ratio.value:.2f}x faster {WHERE[quantity]}"
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


def _style(ratio: Ratio) -> str:
    return "green" if ratio.low > 1 else "red" if is_slower(ratio) else ""
