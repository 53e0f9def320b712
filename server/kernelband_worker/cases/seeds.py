"""Seeds: every run of the entry starts from a known one, and each further run from another, even where the entry seeds itself."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import Any, Callable, Iterator, List, Tuple

import torch

_SPREAD = 1_000_003  # so that an entry that seeds with 0, 1, 2 ... never repeats an earlier run's seeds


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and torch's default generators."""
    random.seed(seed)
    torch.manual_seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


@contextlib.contextmanager
def shifted(run: int) -> Iterator[None]:
    """Add a shift to every seed that the block sets. Run 0 is as written.

    Covers torch.manual_seed and torch.cuda's, torch.Generator, random.seed, numpy.random.seed, default_rng and RandomState. Put back
    afterwards.
    """
    if run == 0:
        yield
        return
    shift = run * _SPREAD
    swaps: List[Tuple[Any, str, Any]] = []

    def swap(owner: Any, name: str, limit: int) -> None:
        original = getattr(owner, name)
        swaps.append((owner, name, original))
        setattr(owner, name, _shifting(original, shift, limit))

    swap(torch, "manual_seed", 2**63)
    swap(torch.cuda, "manual_seed", 2**63)
    swap(torch.cuda, "manual_seed_all", 2**63)
    swap(random, "seed", 2**63)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        for name in ("seed", "default_rng", "RandomState"):
            swap(numpy.random, name, 2**32)
    swaps.append((torch, "Generator", torch.Generator))
    torch.Generator = _generator(shift)
    try:
        yield
    finally:
        for owner, name, original in swaps:
            setattr(owner, name, original)


def _shifting(original: Callable[..., Any], shift: int, limit: int) -> Callable[..., Any]:
    def seed(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int):
            args = ((args[0] + shift) % limit, *args[1:])
        elif isinstance(kwargs.get("seed"), int):
            kwargs["seed"] = (kwargs["seed"] + shift) % limit
        return original(*args, **kwargs)

    return seed


def _generator(shift: int) -> Any:
    class Generator(torch.Generator):  # torch.Generator's own methods can't be replaced
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + shift)

    return Generator
