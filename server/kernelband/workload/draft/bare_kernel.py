"""A kernel that nothing launches: its launch is drafted from how it indexes, where one axis of the grid is all that it asks for."""

from __future__ import annotations

from collections.abc import Collection

from attrs import frozen

from kernelband.workload.draft.code import Definition
from kernelband.workload.draft.kernel_use import RANGE
from kernelband.workload.draft.reading import Reader
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


def read_kernel(reader: Reader, kernel: Definition, chosen: Collection[str]) -> tuple[list[Param], Grid] | None:
    """Its parameters and the grid; None where that can't be told.

    Args:
        reader: reads it.
        kernel: the kernel.
        chosen: parameters that autotune and heuristics set.
    """
    params = [p for p in parameters(kernel, bound=False) if p.name not in chosen]
    by_name = {p.name: p for p in params}
    rows = Size(["rows"])
    reader.launched(kernel, dict(by_name), Several((rows,)))
    uses = {name: use.places for name, use in reader.launches[-1].uses.items() if use.pointer}
    if not uses or any(at.programs not in ([], [0]) for at in uses.values()):
        return None
    constants = kernel.constants | set(chosen)
    strides = {s: name for name, at in uses.items() for s in at.strides - constants}
    blocks = {name for at in uses.values() for name, _ in at.steps} & constants  # by which the number of a program is multiplied
    block = blocks.pop() if len(blocks) == 1 else ""
    if block in by_name and not strides:
        by_name[block].is_a("int", "")
        by_name[block].value, by_name[block].why = BLOCK, "by its name"
    settle(params, reader.launches)
    for stride, pointer in strides.items():
        shape = by_name[pointer].tensor.shape
        if shape.root.rank != 2 or stride not in by_name:
            return None
        by_name[stride].size.merge(shape.dim(1))
    if strides:
        return params, Grid(rows)
    over = next((by_name[n].tensor.shape.dim(0) for n, at in uses.items() if RANGE in at.parts and at.programs), None)
    return (params, Grid(over, block, block in chosen)) if over is not None and block else None
