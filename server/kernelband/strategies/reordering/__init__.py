"""Reordering: which program does which tile, and when."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.reordering.axis import AxisInLoop
from kernelband.strategies.reordering.contiguous import ContiguousRows
from kernelband.strategies.reordering.grouped import GroupedOrder
from kernelband.strategies.reordering.heavy import HeavyFirst
from kernelband.strategies.reordering.persistent import Persistent
from kernelband.strategies.reordering.products import PersistentProducts
from kernelband.strategies.reordering.resident import ResidentPrograms
from kernelband.strategies.reordering.row_blocks import RowBlocks
from kernelband.strategies.reordering.rows import PersistentRows
from kernelband.strategies.reordering.split_loop import SplitLoop
from kernelband.strategies.reordering.split_passes import SplitPasses
from kernelband.strategies.reordering.split_walk import SplitWalk
from kernelband.strategies.reordering.swap import SwapAxes

REORDERING = Strategy(
    Card(
        name="reordering",
        target="sm",
        what="Changes the order in which programs take tiles, lets a fixed number take them in turn, or splits long walks among more.",
        when="Programs could share operands in L2, work is uneven, there are many tiny programs, or few that each walk far.",
        why="Neighbouring tiles read the same rows and columns; starting a program costs more than the next iteration of a loop.",
    ),
    (
        SplitLoop(),
        SplitPasses(),
        SplitWalk(),
        ResidentPrograms(),
        RowBlocks(),
        GroupedOrder(),
        HeavyFirst(),
        SwapAxes(),
        PersistentRows(),
        AxisInLoop(),
        PersistentProducts(),
        Persistent(),
        ContiguousRows(),
    ),
)
