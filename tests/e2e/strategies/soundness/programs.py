"""Random programs by seed."""

from __future__ import annotations

from collections.abc import Callable

from tests.e2e.strategies.soundness import elements, loops, machines, places, products, recurrences, rows, walks
from tests.e2e.strategies.soundness.pieces import Pick, Sample

FAMILIES: tuple[Callable[[Pick], Sample], ...] = (
    elements.line,
    elements.tile,
    rows.block,
    rows.blocks,
    products.product,
    loops.recurrence,
    elements.line,
    rows.block,
    rows.blocks,
    products.product,
    rows.columns,
    elements.heads,
    loops.states,
    elements.table,
    loops.running,
    elements.tile,
    loops.triangle,
    rows.groups,
    loops.walk,
    products.eight_bits,
)


#: In the place of another in every second turn.
OTHERS: dict[Callable[[Pick], Sample], Callable[[Pick], Sample]] = {
    rows.columns: walks.carried,
    elements.heads: machines.counted,
    elements.table: machines.gates,
    rows.groups: machines.computed,
    loops.walk: places.placed,
    loops.running: recurrences.linear,
    loops.states: recurrences.single,
}


def generate(seed: int) -> Sample:
    """The program of a seed; the families take turns."""
    turn, place = divmod(seed, len(FAMILIES))
    family = FAMILIES[place]
    return (OTHERS.get(family, family) if turn % 2 else family)(Pick(seed))
