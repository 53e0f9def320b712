"""Vectorization: how many elements each thread holds, in one row or several, of one step or many."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.vectorization.divisible import DivisibilityHints
from kernelband.strategies.vectorization.elements import ElementsPerThread
from kernelband.strategies.vectorization.offsets import Int32Offsets
from kernelband.strategies.vectorization.rows import RowsPerProgram
from kernelband.strategies.vectorization.steps import StepsAtOnce

VECTORIZATION = Strategy(
    Card(
        name="vectorization",
        target="dram",
        what="Gives each thread enough elements for wide accesses: warps that follow the block, several rows or steps, known divisors.",
        when="The block follows from the shape (next_power_of_2) while the warps stay fixed, rows are short, or steps wait for each other.",
        why="A thread moves up to 16 bytes in one access; with too few elements accesses are narrow, with too many registers spill.",
    ),
    (ElementsPerThread(), RowsPerProgram(), StepsAtOnce(), DivisibilityHints(), Int32Offsets()),
)
