"""Pipeline: how loads and arithmetic of a loop overlap."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.pipeline.accumulator import SingleAccumulator
from kernelband.strategies.pipeline.flatten import Flatten
from kernelband.strategies.pipeline.invariants import KeepInLoop
from kernelband.strategies.pipeline.prefetch import Prefetch
from kernelband.strategies.pipeline.specialize import WarpSpecialize
from kernelband.strategies.pipeline.stages import LoopStages
from kernelband.strategies.pipeline.unroll import StaticRange, Unroll

PIPELINE = Strategy(
    Card(
        name="pipeline",
        target="sm",
        what="Changes how a loop's loads and arithmetic overlap: stages, prefetching, unrolling, fixed trip counts, one loop made of two.",
        when="The kernel walks over memory in a loop.",
        why="While one iteration waits for memory, the next ones' loads can be on their way.",
    ),
    (StaticRange(), Unroll(), LoopStages(), Prefetch(), Flatten(), WarpSpecialize(), SingleAccumulator(), KeepInLoop()),
)
