"""Fusion: fewer passes over memory, fewer operations for each element."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.fusion.arithmetic import Exp2, Reciprocal
from kernelband.strategies.fusion.one_block import OneBlock

FUSION = Strategy(
    Card(
        name="fusion",
        target="dram",
        what="Keeps a row in registers instead of walking over it again; folds constants and divisions out of the elements.",
        when="The kernel reads the same memory in several loops, or does for each element what it could do once a row.",
        why="Bytes that are not moved again and operations that are not repeated are the only ones that cost nothing.",
    ),
    (OneBlock(), Exp2(), Reciprocal()),
)
