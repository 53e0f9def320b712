"""``swap_axes``: the other axis runs fastest, so that programs in flight share the other operand."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Numerics, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.grouped import Order, one_dimension
from kernelband.strategies.reordering.ids import NAME, assigned, ids_by_axis, programs, waits

COMMENT = "# Programs are numbered anew, in the order in which they start: along axis {} first."


class SwapAxes:
    """The kernel takes two of its program ids from the order in which programs start, so that axis 1 or 2 runs fastest; the grid stays as
    it is, since these axes of a grid have room for 65,535 programs only. Of one program id, rows and columns trade places.
    """

    name = "swap_axes"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if waits(view) or programs(view) <= view.facts.device.multiprocessors:
        return  # all run at once: no order among them
    numerics: Numerics = "reassociates" if view.kernel.calls(ATOMICS) else "exact"
    pairs = {axis: pair for axis in (1, 2) if (pair := _two(view, axis)) is not None}
    for axis, (edits, fast, slow) in pairs.items():
        yield at.proposal(
            {} if axis == 1 else {"axis": axis},
            edits,
            numerics,
            f"{slow} runs fastest instead of {fast}: program ids are counted along axis {axis} first.",
            f"Programs in flight differ in {fast} and share what {slow} alone decides; swapped, they share what {fast} decides."
            if _shares(view, axis)
            else f"A loop's length follows {fast}: swapped, programs of one length start together.",
        )
    if pairs:
        return
    order = one_dimension(view) if view.kernel.calls({"dot", "dot_scaled"}) else None
    if order is not None:
        yield at.proposal(
            {},
            _columns_first(view, order),
            numerics,
            f"Tiles are taken column by column instead of row by row: {order.outer} runs fastest.",
            f"Programs in flight differ in {order.inner} and share a row of tiles; column by column they share the other operand.",
        )


def _two(view: View, axis: int) -> tuple[Edits, str, str] | None:
    """The edits, and what axis 0 and the other are called. Each pair of ids is some program's, before and after, whatever the grid."""
    kernel, module = view.kernel, view.kernel.module
    found = ids_by_axis(view)
    if found is None or not {0, axis} <= set(found) or kernel.calls({"num_programs"}):
        return None
    if not (_shares(view, axis) or (axis == 1 and _uneven(view))) or all(_along(x["grid"], axis) == 1 for x in view.target_launches):
        return None
    pair = (0, axis)
    names = {a: next((p[0] for s in kernel.node.body if (p := assigned(s)) and p[1] in found[a]), f"axis {a}") for a in pair}
    first = next((s for s in kernel.node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))), None)
    started, tl = kernel.free_name("started"), kernel.language
    # In 64 bits: a grid may have more programs than 32 bits can count.
    line = f"{started} = {tl}.program_id(0) + {tl}.program_id({axis}).to({tl}.int64) * {tl}.num_programs(0)"
    above = module.before(first, [COMMENT.format(axis), line]) if first is not None else None
    if above is None:
        return None
    edits: Edits = [(module.path, above)]
    for one, sign in ((0, "//"), (axis, "%")):
        edits += [
            (module.path, module.replace(call, f"({started} {sign} {tl}.num_programs({axis})).to({tl}.int32)")) for call in found[one]
        ]
    return edits, names[0], names[axis]


def _along(grid: Sequence[int], axis: int) -> int:
    return grid[axis] if axis < len(grid) else 1


def _shares(view: View, axis: int) -> bool:
    """Some load is the same for all programs along one of axes 0 and 1; along axis 2, for all that would run together."""
    for access in view.kernel.accesses():
        here, there = "@0" in access.depends, f"@{axis}" in access.depends
        if not access.store and here != there and (here or axis == 1):
            return True
    return False


def _uneven(view: View) -> bool:
    """Programs along axis 0 loop for different times."""
    return any("@0" in view.kernel.tokens(x.stop) for x in view.kernel.loops())


def _columns_first(view: View, order: Order) -> Edits | None:
    """``inner, outer = pid // rows, pid % rows``; the number of columns gives way where nothing else reads it."""
    kernel, module = view.kernel, view.kernel.module
    edits: Edits = []
    rows = order.size_outer
    if not rows.isidentifier():
        rows = kernel.free_name(f"num_{order.outer}")
        columns = next((s for s in kernel.node.body if (p := assigned(s)) and p[0] == order.size_inner), None)
        readers = [
            n for n in all_nodes(kernel.node) if isinstance(n, ast.Name) and n.id == order.size_inner and isinstance(n.ctx, ast.Load)
        ]
        if columns is None or order.size_inner in order.size_outer:
            return None
        line = f"{rows} = {order.size_outer}"
        if len(readers) == 2:  # the division and the remainder
            edits.append((module.path, module.replace(columns, line)))
        else:
            after = module.after(columns, [line])
            if after is None:
                return None
            edits.append((module.path, after))
    for statement in kernel.node.body:
        pair = assigned(statement)
        if pair is None or pair[0] not in (order.outer, order.inner) or not isinstance(pair[1], ast.BinOp):
            continue
        pid = module.code(pair[1].left)
        edits.append((module.path, module.replace(pair[1], f"{pid} % {rows}" if pair[0] == order.outer else f"{pid} // {rows}")))
    return edits
