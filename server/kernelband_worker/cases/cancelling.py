"""float32 results of which rounding leaves little, because terms cancel out: gradients of a normalisation, say.

Which products and sums the compiler contracts changes with any edit, an eviction hint included, and what is left of such a result changes
with it, by more than a fixed tolerance allows. Where there is no float64 reference, each element outside of the tolerance must be within
a few times what one more rounding of the float32 inputs does to the original's own (backward error, as in ``rounding``). That says nothing
of an original that jumps: inputs that hold nothing but whole numbers (flags, indices, counts) are left as they are, and where the
results as a whole change by more than rounding could, nothing is excused. (A few elements may: a nearly constant column, normalised.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import List, Optional, Sequence, Tuple

import torch

from kernelband_worker.cases import effects
from kernelband_worker.tolerances import Tolerance

#: Ways to round the inputs once more after which it is looked whether that is enough.
WAYS = (1, 4, 16)
#: Times an element's own scale: original and variant both round on the way, several times.
EACH = 4.0
#: Times the largest scale of all elements: what is farther away is wrong, however many ways more are tried.
HOPELESS = 16.0
#: Of the RMS of a result, that of its changes: what leaves less than six bits of it is no rounding, but a jump.
JUMP = 1 / 64


@dataclass
class Scales:
    """By output, how far one more rounding of the inputs brings each element, in the worst of some ways; None: of no float32 results."""

    ways: int = 0
    apart: List[Optional[torch.Tensor]] = field(default_factory=list)

    def add(self, originals: Sequence[Tuple[str, torch.Tensor]], rounded: Sequence[Tuple[str, torch.Tensor]]) -> None:
        """One more way; what isn't finite in both is infinitely far apart."""
        self.apart = self.apart or [torch.zeros_like(t) if t.dtype == torch.float32 else None for _, t in originals]
        for apart, (_, a), (_, b) in zip(self.apart, originals, rounded):
            if apart is not None:
                same = (a == b) | (torch.isnan(a) & torch.isnan(b))
                difference = torch.where(same, torch.zeros_like(a), (b - a).abs())
                torch.maximum(apart, torch.nan_to_num(difference, nan=torch.inf, posinf=torch.inf), out=apart)
        self.ways += 1


def left_by_rounding(
    original: torch.Tensor, mine: torch.Tensor, apart: torch.Tensor, ignored: torch.Tensor, allowed: Tolerance
) -> Optional[bool]:
    """Whether what is outside of the tolerance is no more than rounding leaves; None where more ways to round could tell otherwise.

    Args:
        original: what the original gives, float32.
        mine: what the variant gives.
        apart: how far rounding the inputs brings each element of the original's.
        ignored: mask of the elements that don't count.
        allowed: the tolerance.
    """
    largest = float(torch.where(ignored, torch.zeros_like(apart), apart).max()) if apart.numel() else 0.0
    if not (0 < largest < math.inf and effects.rms(apart, ignored) <= JUMP * effects.rms(original, ignored)):
        return False
    bad = ~torch.isclose(mine, original, rtol=allowed.rtol, atol=allowed.atol, equal_nan=True) & ~ignored
    difference, scale = (mine[bad].double() - original[bad].double()).abs(), apart[bad].double()
    if bool((difference == 0).any()):  # unequal without a difference: somebody subtracts for us
        return False
    if not bool((difference <= HOPELESS * largest).all()):  # or what isn't finite
        return False
    return True if bool((difference <= EACH * scale).all()) else None
