"""How far an output may be from the original's (JUDGING, section 2).

Elementwise ``|variant - original| <= atol + rtol * |original|`` with torch.testing's defaults per dtype, the absolute one scaled by the
output's root mean square and widened by what two runs of the original differ by. Integers and booleans are exact. Variants that
declare ``lowers_precision`` are held to what ten bits of mantissa (tf32, float16) can do. Where there is a float64 reference, a variant may
err by twice the original's error, or by what a sum of that length errs in an unlucky order: how lucky the original's own order was
decides nothing.

A type that is narrower than the accumulators hides much below its last place: a sum kept in float16, or an eighth of the terms left out,
moves each element by a few units at most. The mean square shows it, for what rounding once errs in the mean is known (``allowed_square``).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod, sqrt
from typing import Dict, Iterable, Iterator, Optional, Sequence, Tuple

import torch

from kernelband_worker.cases.effects import widen

#: rtol and atol of torch.testing.assert_close, by dtype; eight-bit floats by their spacing, which torch.testing doesn't cover.
DEFAULTS: Dict[str, Tuple[float, float]] = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float8_e4m3fn": (0.125, 1e-2),
    "float8_e4m3fnuz": (0.125, 1e-2),
    "float8_e5m2": (0.25, 1e-2),
    "float8_e5m2fnuz": (0.25, 1e-2),
}
#: For variants that lower precision: ten bits of mantissa, with room for the largest of many elements.
LOWERED = (1e-2, 1e-2)
#: A sum in another order may flip the last bit of a half type wherever it rounds, also near zero.
REASSOCIATED_ATOL: Dict[str, float] = {"float16": 1e-3, "bfloat16": 8e-3}
WIDEN = 2.0  # times the original's noise
ERROR_RATIO = 2.0  # against float64, over the original's
#: Standard deviations, about: a sum's error is the largest of many outputs'.
SUM_LUCK = 4.0
CHUNK = 1 << 24  # elements compared at a time, so that a comparison needs little memory beside the outputs
#: Root of the mean square error, over the original's or over that of rounding once: a second rounding would make it 1.41.
ROUNDING_RATIO = 1.5
#: Standard deviations of a mean square over few elements.
SQUARE_LUCK = 4.0
ULPS = 4.0  # an error of so many units in the last place of the RMS is never held against a variant


@dataclass(frozen=True)
class Tolerance:
    """Absolute and relative tolerance of one output."""

    atol: float
    rtol: float


def tolerance(dtype: torch.dtype, numerics: str, rms: float, noise: float) -> Tolerance:
    """What an output of this dtype may differ by.

    Args:
        dtype: of the output.
        numerics: ``exact``, ``reassociates`` or ``lowers_precision``.
        rms: root mean square of the original's output.
        noise: largest difference of two runs of the original over the RMS.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        return Tolerance(0.0, 0.0)
    name = str(dtype).rpartition(".")[2]
    rtol, atol = DEFAULTS.get(name, (0.25, 1e-2))
    if numerics != "exact":
        atol = max(atol, REASSOCIATED_ATOL.get(name, 0.0))
    if numerics == "lowers_precision":
        rtol, atol = max(rtol, LOWERED[0]), max(atol, LOWERED[1])
    return Tolerance((atol + WIDEN * noise) * rms, rtol)


def allowed_error(dtype: torch.dtype, original: float, rms: float, length: int) -> float:
    """How large the error against float64 may be: twice the original's, or that of a sum in any order, and a few units in the last place.

    The rounding errors of n additions with an accumulator of unit roundoff u add up to about ``u * sqrt(n)`` times the size of the partial
    sums, with a probability that hangs on the factor before it (N. Higham and T. Mary, "A New Approach to Probabilistic Rounding Error
    Analysis", SIAM J. Sci. Comput. 41(5), 2019, theorem 2.4). The partial sums are taken to be as large as the outputs; where they are
    larger, because they cancel out, the original's own error says so.

    Args:
        dtype: of the output. Sums are kept in float32, those of 64-bit outputs in float64.
        original: the original's error.
        rms: root mean square of the original's output.
        length: of the longest sum behind an element.
    """
    info = torch.finfo(dtype)
    accumulator = torch.finfo(torch.float64 if info.bits == 64 else torch.float32)
    summing = SUM_LUCK * sqrt(length) * (accumulator.eps / 2) * rms
    return max(ERROR_RATIO * original, summing) + ULPS * info.eps * rms


def narrow(dtype: torch.dtype) -> bool:
    """Whether results of this type are summed in a wider one and rounded at the end."""
    return dtype.is_floating_point and torch.finfo(dtype).bits < 32


def allowed_square(found: Distance, *, rms: float, noise: float, length: int) -> float:
    """How large the sum of the squared errors of a narrow output may be, over all elements: against float64, or else against the original.

    An error of rounding to nearest is spread evenly over one unit in the last place, so its variance is a twelfth of that unit's square
    (B. Widrow and I. Kollár, "Quantization Noise", Cambridge 2008, chapter 5; N. Higham, Accuracy and Stability of Numerical Algorithms,
    section 2.8). The original's own errors say more where it rounds on the way, or sums in a narrow type itself. The mean of n squares is
    off by ``sqrt((kurtosis - 1) / n)`` of itself, and the kurtosis is at most 3 for what rounding and sums err; where few elements carry
    most of the variance, n is what they count for. What sums in float32 err in any order (``allowed_error``) and the original's noise are
    added.

    Args:
        found: what ``measure`` found.
        rms: root mean square of the original's output.
        noise: largest difference of two runs of the original over the RMS.
        length: of the longest sum behind an element.
    """
    together = found.unit + found.original_square
    count = together**2 / found.spread if found.spread > 0 else 1.0
    lucky = 1 + SQUARE_LUCK * sqrt(2 / count)
    summing = SUM_LUCK * sqrt(length) * (torch.finfo(torch.float32).eps / 2) * rms
    others = found.total * (summing**2 + (WIDEN * noise * rms) ** 2)
    return ROUNDING_RATIO**2 * max(found.unit, found.original_square) * lucky + others


def longest_sum(inputs: Iterable[Sequence[int]], output: Sequence[int]) -> int:
    """How many terms the longest sum behind an element of an output may have, as far as shapes tell.

    Those axes of an input are summed over that the output doesn't have. A row or a column may be summed, too, and be kept (a softmax, the
    product of square matrices): then it is the longest axis. Of one-dimensional buffers that keep their size nothing is known: 1.

    Args:
        inputs: shapes of the floating-point inputs.
        output: shape of the output.
    """
    longest = 1
    for shape in inputs:
        gone = Counter(shape) - Counter(output)
        longest = max(longest, prod(gone.elements()), max(shape, default=1) if len(shape) > 1 else 1)
    return longest


@dataclass
class Distance:
    """How far an output is from the original's, over the elements that count."""

    wrong: int = 0  # outside the tolerance
    total: int = 0
    gap: float = 0.0  # largest absolute difference where both are finite
    square: float = 0.0  # sum of the squares of those differences
    odd: bool = False  # somewhere one is infinite or NaN and the other isn't, or is in another way
    error: float = 0.0  # largest difference from the reference
    original_error: float = 0.0
    error_square: float = 0.0  # sums of the squares of those differences
    original_square: float = 0.0
    unit: float = 0.0  # of a narrow type: the variance of rounding each element once, summed
    spread: float = 0.0  # and the squares of what each element has of that and of the original's error, summed


def measure(
    original: torch.Tensor, mine: torch.Tensor, ignored: torch.Tensor, allowed: Tolerance, exact: Optional[torch.Tensor]
) -> Distance:
    """Compare two outputs of one shape and dtype, chunk by chunk.

    Args:
        original: what the original gives.
        mine: what the variant gives.
        ignored: mask of the elements that don't count.
        allowed: the tolerance.
        exact: a float64 reference, or None.
    """
    found = Distance()
    floats = original.dtype.is_floating_point or original.dtype.is_complex
    wide = torch.complex128 if original.dtype.is_complex else torch.float64
    for a, b, skip, reference in _chunks(original, mine, ignored, exact):
        a, b = widen(a), widen(b)  # noqa: PLW2901
        counts = ~skip
        close = torch.isclose(b, a, rtol=allowed.rtol, atol=allowed.atol, equal_nan=True) if floats else a == b
        found.wrong += int((~close & counts).sum())
        found.total += int(counts.sum())
        apart = b.to(wide) - a.to(wide)
        found.gap = max(found.gap, _largest(apart, counts))
        found.square += float(torch.where(counts & torch.isfinite(apart), apart.abs().square(), 0.0).sum())
        if floats:
            odd = (~torch.isfinite(a) | ~torch.isfinite(b)) & ~((a == b) | (torch.isnan(a) & torch.isnan(b)))
            found.odd |= bool((odd & counts).any())
        if reference is not None:
            found.error = max(found.error, _largest(b.to(wide) - reference, counts))
            found.original_error = max(found.original_error, _largest(a.to(wide) - reference, counts))
        if narrow(original.dtype):
            near = a.double() if reference is None else reference
            _add_squares(found, original.dtype, a.double(), b.double(), counts=counts, near=near)
    return found


def _add_squares(
    found: Distance, dtype: torch.dtype, a: torch.Tensor, b: torch.Tensor, *, counts: torch.Tensor, near: torch.Tensor
) -> None:
    """Add what the elements of a narrow type differ by from what is right, or taken to be: the variant's ``b``, the original's ``a``."""
    info = torch.finfo(dtype)
    exponent = torch.frexp(near.abs().clamp(min=info.tiny))[1] - 1
    unit = torch.ldexp(torch.full_like(near, info.eps), exponent).square() / 12
    counts = counts & torch.isfinite(near) & torch.isfinite(a) & torch.isfinite(b)
    mine, original = ((x - near).square()[counts] for x in (b, a))
    unit = unit[counts]
    found.error_square += float(mine.sum())
    found.original_square += float(original.sum())
    found.unit += float(unit.sum())
    found.spread += float((unit + original).square().sum())


def _largest(difference: torch.Tensor, counts: torch.Tensor) -> float:
    size = difference.abs()
    size = size[counts & torch.isfinite(size)]
    return float(size.max()) if size.numel() else 0.0


def _chunks(
    original: torch.Tensor, mine: torch.Tensor, ignored: torch.Tensor, exact: Optional[torch.Tensor]
) -> Iterator[Tuple[torch.Tensor, torch.Tensor, torch.Tensor, Optional[torch.Tensor]]]:
    flat = [t.reshape(-1) for t in (original, mine, ignored)]
    reference = None if exact is None else exact.reshape(-1)
    for start in range(0, original.numel(), CHUNK):
        part = slice(start, start + CHUNK)
        yield flat[0][part], flat[1][part], flat[2][part], None if reference is None else reference[part]
