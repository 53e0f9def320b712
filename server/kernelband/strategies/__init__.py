"""The six strategies: what each is for, and the moves that do it. In the published order, which breaks ties."""

from kernelband.strategies._base import Card as Card
from kernelband.strategies._base import Facts as Facts
from kernelband.strategies._base import Move as Move
from kernelband.strategies._base import Numerics as Numerics
from kernelband.strategies._base import Other as Other
from kernelband.strategies._base import Proposal as Proposal
from kernelband.strategies._base import Strategy as Strategy
from kernelband.strategies.access_layout import ACCESS_LAYOUT
from kernelband.strategies.fusion import FUSION
from kernelband.strategies.pipeline import PIPELINE
from kernelband.strategies.reordering import REORDERING
from kernelband.strategies.tiling import TILING
from kernelband.strategies.tiling import fixed_blocks as fixed_blocks
from kernelband.strategies.vectorization import VECTORIZATION

STRATEGIES: tuple[Strategy, ...] = (TILING, VECTORIZATION, FUSION, PIPELINE, REORDERING, ACCESS_LAYOUT)


def strategy(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        KeyError: there is none.
    """
    for found in STRATEGIES:
        if found.card.name == name:
            return found
    raise KeyError(f"There is no strategy {name}: {', '.join(s.card.name for s in STRATEGIES)}.")
