"""Access layout: how each load and store goes through the caches, and what the compiler knows of its addresses."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.access_layout.constants import ConstantStrides
from kernelband.strategies.access_layout.descriptors import TensorDescriptors
from kernelband.strategies.access_layout.even import EvenBlocks
from kernelband.strategies.access_layout.guarded import GuardedFastPath
from kernelband.strategies.access_layout.hints import CacheHints
from kernelband.strategies.access_layout.hoisted import HoistedLoads
from kernelband.strategies.access_layout.tile_hints import TileHints
from kernelband.strategies.access_layout.unmasked import UnmaskedBody

ACCESS_LAYOUT = Strategy(
    Card(
        name="access_layout",
        target="dram",
        what="Tensor descriptors, cache hints, strides and sizes as constants, loads moved out of loops, no masks on blocks that are full.",
        when="Data is streamed once beside data that is read again, or addresses are computed from run-time strides.",
        why="Streamed data that is kept evicts what will be read again; constants fold into addresses and masks.",
    ),
    (TensorDescriptors(), CacheHints(), ConstantStrides(), EvenBlocks(), GuardedFastPath(), UnmaskedBody(), HoistedLoads(), TileHints()),
)
