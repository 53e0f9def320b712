"""The roofline as a small picture: the two roofs of a GPU, and where a kernel stands under them.

Williams, Waterman, Patterson: "Roofline: an insightful visual performance model for multicore architectures", CACM 2009.
"""

from __future__ import annotations

import math

from kernelband.hardware.units import operations

WIDTH, HEIGHT = 320, 180  # pixels
LEFT, RIGHT, TOP, BOTTOM = 12.0, 308.0, 26.0, 146.0  # of the axes
ROOM = 8.0  # times that the axes go beyond what is drawn
# Mid tones: they stand out from a white and from a black page, and a picture in a hover isn't told which one it is on.
ROOF, AXES, POINT = "#3b8eea", "#8a8a8a", "#e0732c"
FONT = "font-family='sans-serif' font-size='11'"


def roofline_picture(intensity: float, achieved: float | None, *, bytes_per_s: float, flops_per_s: float) -> str:
    """An SVG document of less than 4 kB, logarithmic on both axes.

    Args:
        intensity: FLOP for each byte that memory has to move.
        achieved: FLOP/s as measured; None where nothing is measured: then the intensity is a line up to the roof.
        bytes_per_s: the memory's peak.
        flops_per_s: the peak of the arithmetic that the kernel uses.

    Raises:
        ValueError: a number isn't finite and above zero: it has no place on a logarithmic axis.
    """
    numbers = [intensity, bytes_per_s, flops_per_s, *([] if achieved is None else [achieved])]
    if not all(math.isfinite(n) and n > 0 for n in numbers):
        raise ValueError(f"no place in a roofline for {numbers}")
    ridge = flops_per_s / bytes_per_s
    roof = min(flops_per_s, intensity * bytes_per_s)
    x0, x1 = min(intensity, ridge) / ROOM, max(intensity, ridge) * ROOM
    y0, y1 = min(x0 * bytes_per_s, achieved or math.inf), 2 * max(flops_per_s, achieved or 0.0)

    def x(value: float) -> float:
        return LEFT + (RIGHT - LEFT) * math.log(value / x0) / math.log(x1 / x0)

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * math.log(value / y0) / math.log(y1 / y0)

    roofs = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in ((x0, x0 * bytes_per_s), (ridge, flops_per_s), (x1, flops_per_s)))
    here = x(intensity)
    parts = [
        f"<path d='M{LEFT} {TOP}V{BOTTOM}H{RIGHT}' fill='none' stroke='{AXES}'/>",
        f"<polyline points='{roofs}' fill='none' stroke='{ROOF}' stroke-width='2'/>",
        _text(x(ridge), y(flops_per_s) - 6, f"{operations(flops_per_s)}/s", ROOF, "start" if x(ridge) < (LEFT + RIGHT) / 2 else "end"),
        _text(LEFT, HEIGHT - 20, f"memory {bytes_per_s / 1e9:.0f} GB/s", ROOF, "start"),
        _text(RIGHT, HEIGHT - 20, f"{intensity:.3g} FLOP per byte", AXES, "end"),
        f"<path d='M{here:.1f} {BOTTOM}V{y(roof):.1f}' stroke='{AXES}' stroke-dasharray='3 3'/>",
    ]
    if achieved is not None:
        parts.append(f"<circle cx='{here:.1f}' cy='{y(achieved):.1f}' r='4' fill='{POINT}'/>")
        parts.append(_text(RIGHT, HEIGHT - 5, f"measured {operations(achieved)}/s", POINT, "end"))
    head = f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' viewBox='0 0 {WIDTH} {HEIGHT}'>"
    return head + "".join(parts) + "</svg>"


def _text(x: float, y: float, words: str, colour: str, anchor: str) -> str:
    """``words`` are ours: figures and units, nothing to escape."""
    return f"<text x='{x:.1f}' y='{y:.1f}' fill='{colour}' text-anchor='{anchor}' {FONT}>{words}</text>"
