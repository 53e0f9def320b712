"""The six arms of a cluster and what each does to the hardware (notes of the published algorithm, version 2)."""

from __future__ import annotations

from attrs import frozen

from kernelband.strategies._base import Resource


@frozen
class ArmSpec:
    """A strategy as a policy sees it.

    ``cuts_demand``: it lowers the bytes or operations that are needed, so a saturated target is a reason for it, not against it.
    """

    name: str
    target: Resource
    cuts_demand: bool


#: In the published order: ties go to the lowest index.
ARMS = (
    ArmSpec("tiling", "l2", cuts_demand=True),
    ArmSpec("vectorization", "dram", cuts_demand=False),
    ArmSpec("fusion", "dram", cuts_demand=True),
    ArmSpec("pipeline", "sm", cuts_demand=False),
    ArmSpec("reordering", "sm", cuts_demand=False),
    ArmSpec("access_layout", "dram", cuts_demand=True),
)
