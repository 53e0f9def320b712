"""The order of things: pairs over input sets, and original (A) against variant (B) inside a pair."""

from __future__ import annotations

from statistics import median
from typing import Callable, Dict, List, Tuple


def by_input_set(pairs: int, input_sets: int) -> List[Tuple[int, List[int]]]:
    """Pair i uses set i mod n; grouped by set, so that only one set is on the device at a time."""
    used = min(pairs, input_sets)
    return [(s, list(range(s, pairs, input_sets))) for s in range(used)]


def order(pair: int, quads: int) -> str:
    """ABBA inside a pair cancels a drift that is linear over it; the side that begins changes from pair to pair."""
    if quads == 0:
        return "AB" if pair % 2 == 0 else "BA"
    return ("ABBA" if pair % 2 == 0 else "BAAB") * quads


def run_pair(sides: str, sample: Callable[[str], float]) -> Tuple[float, float]:
    """Takes one sample per letter; the medians of both sides."""
    seen: Dict[str, List[float]] = {"A": [], "B": []}
    for side in sides:
        seen[side].append(sample(side))
    return median(seen["A"]), median(seen["B"])
