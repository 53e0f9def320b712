"""Other values for the storages of a case: the named changes that a finalist is stressed with. What they are tried on is in ``stress``.

Each gives new values for one view of a storage, as float64 of the view's shape. Made twice they are about the same, for views may overlap.
Sizes follow what can be told of the values themselves: an exponential overflows float32 above 88, and float64 above 709; epsilons lie
between 1e-5 and 1e-12, so that the mean square of values of 1e-3 and 1e-6 is about as large.
"""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

import torch

#: New values of a view, or None where the change means nothing for them.
Values = Callable[[torch.Tensor, torch.dtype, torch.Generator], Optional[torch.Tensor]]

_FEW = 8
_FLIPPED = 1 / 8  # of a mask
_SMALL = 1e-2  # numbers below are epsilons


def _rms(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())


def scaled_to_largest(largest: float, wide: float) -> Values:
    """The largest is ``largest``, or ``wide`` for float64."""

    def change(values: torch.Tensor, dtype: torch.dtype, _: torch.Generator) -> Optional[torch.Tensor]:
        most = float(values.abs().max())
        return values * ((wide if dtype == torch.float64 else largest) / most) if most > 0 else None

    return change


def scaled_to_rms(size: float) -> Values:
    """The root mean square is ``size``. Nothing for types whose normal numbers end above."""

    def change(values: torch.Tensor, dtype: torch.dtype, _: torch.Generator) -> Optional[torch.Tensor]:
        rms = _rms(values)
        return values * (size / rms) if rms > 0 and size > 4 * torch.finfo(dtype).tiny else None

    return change


def far(values: torch.Tensor, _: torch.dtype, __: torch.Generator) -> Optional[torch.Tensor]:
    """The same spread around a mean that is 64 times as large: differences of squares cancel out."""
    spread = float(values.std())
    return values - values.mean() + 64 * spread if spread > 0 else None


def constant(values: torch.Tensor, _: torch.dtype, __: torch.Generator) -> Optional[torch.Tensor]:
    """One number everywhere, a power of two, so that its sums are exact in any order and what should cancel out does."""
    return torch.full_like(values, 0.5)


def zeros(values: torch.Tensor, _: torch.dtype, __: torch.Generator) -> Optional[torch.Tensor]:
    return torch.zeros_like(values)


def outlier(times: float, *, first: bool) -> Values:
    """One element of each row so many times as large as the median: the first one, or one of the others at random."""

    def change(values: torch.Tensor, dtype: torch.dtype, generator: torch.Generator) -> Optional[torch.Tensor]:
        rows = values.reshape(-1, values.shape[-1]).clone()
        size = min(times * float(rows.abs().median()), torch.finfo(dtype).max / 64)
        if size <= 0 or rows.shape[1] < 2:
            return None
        at = torch.randint(1, rows.shape[1], (rows.shape[0], 1), generator=generator).to(rows.device)
        rows.scatter_(1, torch.zeros_like(at) if first else at, size)
        return rows.reshape(values.shape)

    return change


def some(value: float) -> Values:
    """That value at a few places of few rows."""

    def change(values: torch.Tensor, _: torch.dtype, generator: torch.Generator) -> Optional[torch.Tensor]:
        if values.numel() < _FEW:
            return None
        rows = values.reshape(-1, values.shape[-1]).clone()
        chosen = torch.randperm(rows.shape[0], generator=generator)[: max(1, min(_FEW, rows.shape[0] // 4))]
        at = torch.randint(0, rows.shape[1], chosen.shape, generator=generator)
        rows[chosen.to(rows.device), at.to(rows.device)] = value
        return rows.reshape(values.shape)

    return change


def looks_constant(values: torch.Tensor) -> bool:
    """Weights of ones, biases of zeros: what a variant could leave out unnoticed."""
    return values.numel() > 1 and bool((values == values.reshape(-1)[0]).all())


def drawn(values: torch.Tensor, _: torch.dtype, generator: torch.Generator) -> Optional[torch.Tensor]:
    """Between half and one and a half times the constant, or around zero."""
    fresh = torch.rand(values.shape, generator=generator, dtype=torch.float64).to(values.device)
    size = float(values.reshape(-1)[0])
    return (0.5 + fresh) * size if size else fresh - 0.5


def other_number(value: float) -> float:
    """In place of an epsilon one that shows; in place of another number one that is no special one."""
    if 0 < abs(value) < _SMALL:
        return 0.1 if value > 0 else -0.1
    return 0.75 * value if value else 0.25


# ---------------------------------------------------------------------- tables of integers, masks


def flipped(mask: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """A mask with an eighth of its elements the other way round."""
    return mask ^ (torch.rand(mask.shape, generator=generator) < _FLIPPED).to(mask.device)


def is_sorted(table: torch.Tensor) -> bool:
    """Whether a one-dimensional table ascends like cumulated lengths. One whose steps are all 1 counts nothing: it may be any index."""
    if table.dim() != 1 or table.numel() < 3:
        return False
    steps = table[1:].long() - table[:-1].long()
    return bool((steps >= 0).all()) and not bool((steps == 1).all())


def permuted(tables: Sequence[torch.Tensor], generator: torch.Generator) -> Optional[List[torch.Tensor]]:
    """The rows of the tables in another order, the same for tables of one length: starts keep their lengths. What ascends alone stays."""
    return _moved(tables, _moving(tables), lambda length: torch.randperm(length, generator=generator))


def drawn_anew(tables: Sequence[torch.Tensor], generator: torch.Generator) -> Optional[List[torch.Tensor]]:
    """Rows drawn from those that there are, the same for tables of one length, so that nothing is read that the original may not read.

    Not where all rows of one differ: they may be places to write to. A table that ascends keeps its ends and ascends; it is drawn only
    where there is no other, for lengths and what belongs to them hang together.
    """
    if len(tables) == 1 and is_sorted(tables[0]):
        table = tables[0]
        low, high = int(table[0]), int(table[-1])
        inner = torch.randint(low, high + 1, (table.numel() - 2,), generator=generator).sort().values.to(table)
        return [torch.cat((table[:1], inner, table[-1:]))]
    moving = _moving(tables)
    if any(len(torch.unique(t, dim=0)) == t.shape[0] for t, moves in zip(tables, moving) if moves):
        return None
    return _moved(tables, moving, lambda length: torch.randint(0, length, (length,), generator=generator))


def _moving(tables: Sequence[torch.Tensor]) -> List[bool]:
    """Which tables have rows that may stand elsewhere. One that ascends is taken for cumulated lengths, unless another one is as long: then
    it holds the starts of rows whose lengths or pages the other one holds.
    """
    lengths = [t.shape[0] if t.dim() else 0 for t in tables]
    return [length > 1 and (lengths.count(length) > 1 or not is_sorted(t)) for t, length in zip(tables, lengths)]


def _moved(tables: Sequence[torch.Tensor], moving: Sequence[bool], choose: Callable[[int], torch.Tensor]) -> Optional[List[torch.Tensor]]:
    orders = {length: choose(length) for length in sorted({t.shape[0] for t, moves in zip(tables, moving) if moves})}
    if not orders:
        return None
    return [t.index_select(0, orders[t.shape[0]].to(t.device)) if moves else t.clone() for t, moves in zip(tables, moving)]


#: Name, what the large tensors of floats are replaced by, and the name of what makes it needless where the original accepts that.
FINITE: Tuple[Tuple[str, Values, Optional[str]], ...] = (
    ("large values", scaled_to_largest(256.0, 1024.0), None),
    ("values less large", scaled_to_largest(32.0, 128.0), "large values"),
    ("tiny values", scaled_to_rms(2.0**-10), None),
    ("values that are tinier yet", scaled_to_rms(2.0**-20), None),
    ("values far from zero", far, None),
    ("constant values", constant, None),
    ("zeros", zeros, None),
    ("one outlier per row", outlier(1000.0, first=False), None),
    ("one lesser outlier per row", outlier(30.0, first=False), "one outlier per row"),
    ("an outlier in the first element", outlier(1000.0, first=True), None),
)
NAN = "NaN at a few places"
#: Those whose results needn't be finite.
NOT_FINITE: Tuple[Tuple[str, Values], ...] = (
    (NAN, some(float("nan"))),
    ("infinity at a few places", some(float("inf"))),
    ("minus infinity at a few places", some(-float("inf"))),
)
