"""Access layout: how each load and store goes through the caches, and what the compiler knows of its addresses."""

from kernelband.strategies._base import Card, Strategy
from kernelband.strategies.access_layout.constants import ConstantStrides
from kernelband.strategies.access_layout.even import EvenBlocks
from kernelband.strategies.access_layout.hints import CacheHints

ACCESS_LAYOUT = Strategy(
    Card(
        name="access_layout",
        target="dram",
        what="Cache hints on loads and stores, strides and sizes as constants, no masks where the size is a multiple of the block.",
        when="Data is streamed once beside data that is read again, or addresses are computed from run-time strides.",
        why="Streamed data that is kept evicts what will be read again; constants fold into addresses and masks.",
    ),
    (CacheHints(), ConstantStrides(), EvenBlocks()),
)
