"""Fusion: fewer passes over memory, fewer operations for each element."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.fusion.accumulate_late import AccumulateLate
from kernelband.strategies.fusion.arithmetic import Exp2, Reciprocal
from kernelband.strategies.fusion.contiguous_copy import ContiguousCopy
from kernelband.strategies.fusion.dot_accumulate import DotAccumulate
from kernelband.strategies.fusion.merged_passes import MergedPasses
from kernelband.strategies.fusion.one_block import OneBlock
from kernelband.strategies.fusion.one_pass_moments import OnePassMoments
from kernelband.strategies.fusion.online_softmax import OnlineSoftmax
from kernelband.strategies.fusion.rsqrt import Rsqrt
from kernelband.strategies.fusion.split_k import SplitK
from kernelband.strategies.fusion.split_reduction import SplitReduction
from kernelband.strategies.fusion.zeros_to_empty import ZerosToEmpty

FUSION = Strategy(
    Card(
        name="fusion",
        target="dram",
        what="Keeps a row in registers instead of walking over it again; folds constants and divisions out of the elements.",
        when="The kernel reads the same memory in several loops, or does for each element what it could do once a row.",
        why="Bytes that are not moved again and operations that are not repeated are the only ones that cost nothing.",
    ),
    (
        OneBlock(),
        SplitReduction(),
        SplitK(),
        MergedPasses(),
        OnlineSoftmax(),
        OnePassMoments(),
        AccumulateLate(),
        Exp2(),
        Rsqrt(),
        Reciprocal(),
        ZerosToEmpty(),
        ContiguousCopy(),
        DotAccumulate(),
    ),
)
