"""A kernel that nothing launches: its launch is drafted from how it indexes, where one axis of the grid is all that it asks for."""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen

from kernelband.workload.draft.code import Definition
from kernelband.workload.draft.host_body import Followed
from kernelband.workload.draft.kernel_value import RANGE, Use
from kernelband.workload.draft.shapes import settle
from kernelband.workload.draft.signature import parameters
from kernelband.workload.draft.values import Param, Several, Size

BLOCK = "1024"  # elements that a program goes over, where all are in one row


@frozen
class Grid:
    """One axis: as many programs as ``over``, or, where each goes over a block, ``by`` so many. ``tuned``: autotune chooses the block."""

    over: Size
    by: str = ""
    tuned: bool = False


def read_kernel(followed: Followed, kernel: Definition, chosen: Collection[str]) -> tuple[list[Param], Grid] | None:
    """Its parameters and the grid; None where that can't be told.

    Args:
        followed: reads it.
        kernel: the kernel.
        chosen: parameters that autotune and heuristics set.
    """
    function = kernel.function
    assert function is not None
    params = [p for p in parameters(function, bound=False) if p.name not in chosen]
    rows = Size(names=["rows"])
    followed.launched(kernel, {p.name: p for p in params}, Several((rows,)))
    launch = followed.launches[-1]
    uses = {name: use for name, use in launch.uses.items() if use.pointer}
    if not uses or any(use.programs not in ([], [0]) for use in uses.values()):
        return None
    constants = launch.constants | set(chosen)
    flat = _flat(uses, constants)
    strides = {s: name for name, use in uses.items() for s in use.strides - constants}
    if flat and not strides:
        for param in (p for p in params if p.name == flat):
            param.is_a("int", "")
            param.value, param.why = BLOCK, "by its name"
    settle(params, followed.launches)
    by_name = {p.name: p for p in params}
    for stride, pointer in strides.items():
        shape = by_name[pointer].tensor.shape
        if shape.root.rank != 2 or stride not in by_name:
            return None
        by_name[stride].size.merge(shape.dim(1))
    if strides:
        return params, Grid(rows)
    over = next((by_name[n].tensor.shape.dim(0) for n, use in uses.items() if RANGE in use.parts and use.programs), None)
    return (params, Grid(over, flat, flat in chosen)) if over is not None and flat else None


def _flat(uses: dict[str, Use], constants: Collection[str]) -> str:
    """The constant by which the number of a program is multiplied."""
    steps = {name for use in uses.values() for name, _ in use.steps}
    found = sorted(steps & set(constants))
    return found[0] if len(found) == 1 else ""
