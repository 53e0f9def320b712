"""Tiling: how much of the output one program makes, with how many warps and stages.

Beside the moves there is ``by_size``, which needs two measured variants: the search asks for it (``search.choice_by_size``).
``fixed_blocks`` says which blocks the moves can't change.
"""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.tiling.fixed import fixed_blocks as fixed_blocks
from kernelband.strategies.tiling.heuristics import HeuristicBlocks
from kernelband.strategies.tiling.move import Tiles
from kernelband.strategies.tiling.programs import MorePrograms
from kernelband.strategies.tiling.registers import RegisterCap

TILING = Strategy(
    Card(
        name="tiling",
        target="l2",
        what="Chooses block sizes, warps and stages together, and the grid with them.",
        when="Block sizes are written as numbers in the launch or the host function, or the kernel has a list of configurations.",
        why="A larger tile reads each operand fewer times; a smaller one fills more multiprocessors; warps and stages must fit the tile.",
    ),
    (Tiles(), HeuristicBlocks(), MorePrograms(), RegisterCap()),
)
