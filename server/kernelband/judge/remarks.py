"""What a verdict says in words besides its figures: why it isn't "faster", and what a reader of the ratio should know."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from kernelband.judge.result import CaseResult
from kernelband.judge.statistics import MARGIN


def unsure(low: float, high: float, margin: float) -> str:
    """Neither faster nor slower, whatever one more process might show. All three are log-ratios."""
    if math.isinf(low) or math.isinf(high):
        return "It was measured in too few processes to be called faster."
    itself = ", by which the original differs from itself," if margin > math.log1p(MARGIN) else ""
    return (
        f"One more process would show {math.exp(low):.3f}× to {math.exp(high):.3f}×, "
        f"and only what is always above {math.exp(margin):.3f}×{itself} is called faster."
    )


def unmeasured(missing: Sequence[str]) -> str:
    """A score says nothing of a timing case that isn't in it, in one of the two times or in both."""
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    return f"Case {missing[0][:8]}{more} wasn't measured, so there is no verdict on all cases."


def remarks(rows: Sequence[CaseResult], shares: Mapping[str, float]) -> list[str]:
    """Of small kernels in large calls, and of other programs on the GPU. ``shares``: as of ``compare``."""
    said: list[str] = []
    small = [r for r in rows if r.device_before_us * shares.get(r.case, 1.0) < 0.5 * r.call_before_us]
    if small:
        part = small[0].device_before_us * shares.get(small[0].case, 1.0) / small[0].call_before_us
        count = "the only case" if len(rows) == 1 else f"{len(small)} of {len(rows)} cases"
        said.append(f"The kernel is {part:.0%} of a call of the original on {count}: the rest is submission and other work.")
    if any(r.disturbed for r in rows):
        said.append("Measured while the GPU was disturbed: " + next(r.disturbed for r in rows if r.disturbed))
    return said
