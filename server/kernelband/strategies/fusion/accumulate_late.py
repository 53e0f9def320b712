"""``accumulate_late``: a loop adds up blocks and reduces once at its end, instead of reducing each block.

``acc += tl.sum(x, axis=0)`` in a loop makes the warps meet at every step: shuffles, shared memory, a barrier, and the next loads wait.
The same for ``m = tl.maximum(m, tl.max(x, axis=0))``, where the result is the same to the bit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod

from attrs import frozen

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Numerics, Proposal
from kernelband.strategies.code import At, KernelView, Loop, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import block_end, lines, names_bound, names_read, siblings
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.shapes import Shape, axis_of, shape_of, shapes
from kernelband.strategies.code.view import moving

PER_THREAD = 64  # float32 values of the accumulator that a thread can hold beside the block itself
PAIRS = {"maximum": "max", "minimum": "min"}


class AccumulateLate:
    """Block-shaped float32 accumulators, reduced behind the loop."""

    name = "accumulate_late"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


@frozen(eq=False)
class Reduction:
    """``name`` is combined with ``call``, a reduction of ``value``, in every step of a loop."""

    statement: ast.stmt
    name: str
    call: ast.Call
    value: ast.expr
    combined: str  # "sum" | "max" | "min"


def reduction(kernel: KernelView, statement: ast.stmt) -> Reduction | None:
    """``acc += tl.sum(x, axis)``, ``acc = acc + tl.sum(...)``, ``m = tl.maximum(m, tl.max(x, axis))``; operands in either order."""
    name: str | None = None
    operands: list[ast.expr] = []
    wanted = "sum"
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and isinstance(statement.target, ast.Name):
        name, operands = statement.target.id, [statement.target, statement.value]
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        name, value = statement.targets[0].id, statement.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            operands = [value.left, value.right]
        elif isinstance(value, ast.Call) and (called := kernel.tl(value)) in PAIRS and len(value.args) == 2 and not value.keywords:
            operands, wanted = value.args, PAIRS[called or ""]
    own = [o for o in operands if isinstance(o, ast.Name) and o.id == name]
    calls = [o for o in operands if isinstance(o, ast.Call) and kernel.tl(o) == wanted and o.args]
    if name is None or len(own) != 1 or len(calls) != 1 or axis_of(calls[0]) == "?" or name in names_read(calls[0]):
        return None
    return Reduction(statement, name, calls[0], calls[0].args[0], wanted)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    known = shapes(view.kernel)
    edits: Edits = []
    told: list[str] = []
    numerics: Numerics = "exact"
    for loop in view.kernel.loops():
        for statement in loop.node.body:
            found = reduction(view.kernel, statement)
            more = None if found is None else _late(view, loop, found, known)
            if found is None or more is None:
                continue
            edits += more
            told.append(found.name)
            numerics = "reassociates" if found.combined == "sum" else numerics
    yield at.proposal(
        {},
        edits,
        numerics,
        f"{' and '.join(told)} {'collect' if len(told) > 1 else 'collects'} whole blocks and {'are' if len(told) > 1 else 'is'} reduced "
        "once, behind the loop.",
        "A reduction inside the loop makes all warps wait for each other at each step.",
    )


def _late(view: View, loop: Loop, found: Reduction, known: dict[str, Shape]) -> Edits | None:
    kernel, module = view.kernel, view.kernel.module
    begin = beginning(view.kernel, loop, found.name, found.statement)
    shape, result = shape_of(kernel, found.value, known), shape_of(kernel, found.call, known)
    reads = [n for n in all_nodes(loop.node) if isinstance(n, ast.Name) and n.id == found.name and isinstance(n.ctx, ast.Load)]
    if begin is None or not shape or result != shape_of(kernel, begin, known) or "1" in shape:
        return None
    if len(reads) > (0 if isinstance(found.statement, ast.AugAssign) else 1) or not _fits(view, shape):
        return None
    start = _start(kernel, begin, found.combined, shape)
    end, indent = block_end(module, loop.node), module.indent(loop.node)
    if start is None or end is None or indent is None or lines(module, found.statement) is None:
        return None
    tl, value = kernel.language, module.code(found.value)
    if found.combined != "sum":
        step = f"{found.name} = {tl}.{next(k for k, v in PAIRS.items() if v == found.combined)}({found.name}, {value})"
    else:
        step = f"{found.name} += {value}"
    axis = axis_of(found.call)
    after = f"{found.name} = {tl}.{found.combined}({found.name}{'' if axis is None else f', axis={axis}'})"
    edits = [
        module.replace(begin, start),
        module.replace(found.statement, step),
        Edit(Span(end, end), f"{module.newline}{indent}{after}"),
    ]
    return [(module.path, e) for e in edits]


def beginning(kernel: KernelView, loop: Loop, name: str, step: ast.stmt) -> ast.expr | None:
    """What ``name`` holds before the loop: bound once, in the same block, and otherwise only by ``step``."""
    block = siblings(kernel.module, loop.node)
    others = [s for s in kernel.bindings(name) if s is not step]
    if len(others) != 1 or others[0] not in block or block.index(others[0]) > block.index(loop.node) or name in kernel.parameters:
        return None
    first = others[0]
    between = block[block.index(first) + 1 : block.index(loop.node)]
    if not isinstance(first, ast.Assign) or bound_names(first) != [name] or any(name in names_read(s) for s in between):
        return None
    return first.value if len(first.targets) == 1 and name not in names_bound(between) else None


def _start(kernel: KernelView, begin: ast.expr, combined: str, shape: Shape) -> str | None:
    """The block that the accumulator begins with; None where it does not begin as a float32 nothing."""
    sides, tl = ", ".join(shape), kernel.language
    zeros = is_zero(kernel, begin)
    if combined == "sum":
        return f"{tl}.zeros([{sides}], dtype={tl}.float32)" if zeros else None
    if kernel.tl(begin) == "full" and isinstance(begin, ast.Call) and len(begin.args) >= 2 and "float32" in ast.unparse(begin):
        begin = begin.args[1]
    if kernel.tl(begin) == "full":
        return None  # of another type
    if zeros:
        return f"{tl}.zeros([{sides}], dtype={tl}.float32)"
    written = ast.unparse(begin)
    floating = "float(" in written or any(isinstance(n, ast.Constant) and isinstance(n.value, float) for n in all_nodes(begin))
    return f"{tl}.full([{sides}], {kernel.module.code(begin)}, dtype={tl}.float32)" if floating else None


def is_zero(kernel: KernelView, node: ast.expr) -> bool:
    """``0.0``, or zeros of float32."""
    if isinstance(node, ast.Constant):
        return type(node.value) is float and node.value == 0.0
    return kernel.tl(node) == "zeros" and "float32" in ast.unparse(node)


def _fits(view: View, shape: Shape) -> bool:
    """The accumulator's elements, as far as their number is known, fit in the program's registers."""
    sizes = [int(s) if s.isdigit() else max(view.sizes(s), default=1) for s in shape]
    return prod(sizes) <= PER_THREAD * 32 * view.option("num_warps", 4)
