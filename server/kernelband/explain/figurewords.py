"""What is said of final figures in sentences: where they are from, which case lost, what a reader must know."""

from __future__ import annotations

import math

from kernelband.explain.figures import QUANTITIES, Figures, is_slower, ratio_of, times_of
from kernelband.judge.protocol import Quantity
from kernelband.judge.result import CaseResult, Ratio

WHERE: dict[Quantity, str] = {"device": "on the device", "call": "per call"}


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
