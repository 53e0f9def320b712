"""Reordering: which program does which tile, and when."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.reordering.grouped import GroupedOrder
from kernelband.strategies.reordering.persistent import Persistent

REORDERING = Strategy(
    Card(
        name="reordering",
        target="sm",
        what="Changes the order in which programs take tiles, or lets a fixed number of programs take them in turn.",
        when="Programs that run at the same time could share operands in L2, or there are many tiny programs.",
        why="Neighbouring tiles read the same rows and columns; starting a program costs more than the next iteration of a loop.",
    ),
    (GroupedOrder(), Persistent()),
)
