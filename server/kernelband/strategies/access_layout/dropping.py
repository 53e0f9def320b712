"""A loop's body without the masks that are true throughout: of loads and stores, of ``where``, and the lines that only they needed."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies.access_layout.full import resolved
from kernelband.strategies.code import Loop, View
from kernelband.strategies.code.linear import definition, dimension
from kernelband.strategies.code.shapes import Shapes, broadcast, shape_of, shapes

ALWAYS = ast.Constant(True)

Holds = Callable[[ast.Compare], bool]  # a comparison is true for the whole of every block that is handled without masks


def needless(view: View, call: ast.Call, holds: Holds, known: Shapes | None = None) -> bool:
    """``where(mask, x, y)`` is ``x``, and as large: what a mask of more rows made of one row would count once where it counted for each."""
    kernel = view.kernel
    if len(call.args) != 3 or call.keywords or _left(view, call.args[0], holds) is not ALWAYS:
        return False
    known = shapes(kernel) if known is None else known
    whole, first = shape_of(kernel, call, known), shape_of(kernel, call.args[1], known)
    outer = kernel.module.parents.get(call)
    if whole is None or first is None or whole == first:
        return whole is not None and whole == first
    beside: ast.expr | None = None
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub | ast.Mult):
        beside = outer.right if outer.left is call else outer.left
    elif isinstance(outer, ast.AugAssign):
        beside = outer.target
    other = shape_of(kernel, beside, known) if beside is not None else None
    return other is not None and broadcast(other, first) == broadcast(other, whole) == whole


def unmasked(view: View, loop: Loop, holds: Holds) -> list[Edit] | None:
    """Edits of the body: masks that are true throughout are dropped from accesses and ``where``; at least one, else nothing."""
    module = view.kernel.module
    edits: list[Edit] = []
    dropped: list[ast.expr] = []
    for access in loop.accesses:
        mask = access.mask
        if mask is None:
            continue
        left = _left(view, mask, holds)
        if left is None:
            continue
        kept = set(all_nodes(left)) if left is not ALWAYS else set[ast.AST]()
        dropped += [n for n in all_nodes(mask) if isinstance(n, ast.Name) and n not in kept]
        if left is ALWAYS:
            removed = _without(view, access.call, [m for m in (mask, access.other) if m is not None])
            if removed is None:
                return None
            edits += removed
        else:
            edits.append(module.replace(mask, module.code(left)))
    for statement in loop.node.body:
        left = _left(view, statement.value, holds) if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) else None
        if left is not None and left is not ALWAYS and isinstance(statement, ast.Assign):
            edits.append(module.replace(statement.value, module.code(left)))
    edits += _selections(view, loop, holds, dropped)
    return edits + _unused(view, loop, dropped) if edits else None


def _selections(view: View, loop: Loop, holds: Holds, dropped: list[ast.expr]) -> list[Edit]:
    """``where(mask, x, y)`` becomes ``x``, and nothing where that is what it was assigned to."""
    kernel, module = view.kernel, view.kernel.module
    known = shapes(kernel)
    idle: list[ast.stmt] = []
    edits: dict[ast.Call, list[Edit]] = {}
    for call in (n for s in loop.node.body for n in all_nodes(s) if isinstance(n, ast.Call)):
        mask = call.args[0] if kernel.tl(call) == "where" and len(call.args) == 3 and not call.keywords else None
        left = _left(view, mask, holds) if mask is not None else None
        if mask is None or left is None:
            continue
        if left is not ALWAYS:
            edits[call] = [module.replace(mask, module.code(left))]
        elif needless(view, call, holds, known):
            kept, span, outer = module.span(call.args[1]), module.span(call), module.parents.get(call)
            bare = isinstance(call.args[1], ast.Name | ast.Call | ast.Constant) or isinstance(outer, ast.Assign | ast.AugAssign)
            edits[call] = [Edit(Span(span.start, kept.start), "" if bare else "("), Edit(Span(kept.end, span.end), "" if bare else ")")]
            dropped += [n for n in all_nodes(mask) if isinstance(n, ast.Name)]
            if isinstance(outer, ast.stmt) and _idle(outer, call):
                idle.append(outer)
    for branch in (n for s in loop.node.body for n in all_nodes(s) if isinstance(n, ast.If)):
        if not branch.orelse and set(branch.body) <= set(idle):
            idle = [branch, *(s for s in idle if s not in branch.body)]
    gone = [(s, line) for s in idle if (line := _line(view, s)) is not None and module.parents.get(s) is loop.node]
    within = {n for s, _ in gone for n in all_nodes(s)}
    return [line for _, line in gone] + [e for call, found in edits.items() if call not in within for e in found]


def _idle(statement: ast.stmt, call: ast.Call) -> bool:
    """``x = where(mask, x, y)`` or ``x += where(mask, 0, y)``, which change nothing where the mask is true."""
    first = call.args[1]
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        return isinstance(first, ast.Name) and ast.unparse(statement.targets[0]) == first.id
    adds = isinstance(statement, ast.AugAssign) and statement.value is call and isinstance(statement.op, ast.Add)
    return adds and isinstance(first, ast.Constant) and first.value == 0


def _left(view: View, mask: ast.expr, holds: Holds) -> ast.expr | None:
    """The mask without its always true part: ``ALWAYS`` for nothing left; None when no part of it is always true."""
    placed = dimension(mask)
    if placed is not None:  # ``mask[None, :]``
        return ALWAYS if _left(view, placed[1], holds) is ALWAYS else None
    found = resolved(view.kernel, mask)
    if found is not mask and isinstance(found, ast.BinOp):
        parts = [_left(view, side, holds) for side in (found.left, found.right)] if isinstance(found.op, ast.BitAnd) else [None]
        return ALWAYS if all(part is ALWAYS for part in parts) else None  # what is left of it is written where it is bound
    if isinstance(found, ast.Compare):
        return ALWAYS if holds(found) else None
    if isinstance(found, ast.BinOp) and isinstance(found.op, ast.BitAnd):
        first, second = _left(view, found.left, holds), _left(view, found.right, holds)
        if first is ALWAYS:
            return second if second is ALWAYS else found.right
        return found.left if second is ALWAYS else None
    return None


def _without(view: View, call: ast.Call, values: list[ast.expr]) -> list[Edit] | None:
    """The call without these arguments, each with the comma before it."""
    module = view.kernel.module
    items = sorted([*call.args, *call.keywords], key=module.span)
    edits: list[Edit] = []
    for before, item in itertools.pairwise(items):
        value = item.value if isinstance(item, ast.keyword) else item
        if value in values:
            edits.append(Edit(Span(module.span(before).end, module.span(item).end), ""))
    positional = [a for a in call.args if a in values]
    if len(edits) != len(values) or (positional and call.args[-len(positional) :] != positional):
        return None
    return edits


def _unused(view: View, loop: Loop, dropped: list[ast.expr]) -> list[Edit]:
    """The lines that bind masks which nothing in the body reads any more."""
    kernel = view.kernel
    edits: list[Edit] = []
    for mask in {m.id: m for m in dropped if isinstance(m, ast.Name)}.values():
        bound = definition(kernel, mask.id, mask)
        inside = [n for s in loop.node.body for n in all_nodes(s) if isinstance(n, ast.Name) and n.id == mask.id]
        reads = [n for n in inside if isinstance(n.ctx, ast.Load)]
        if bound is None or bound not in loop.node.body or any(r not in dropped for r in reads):
            continue
        line = _line(view, bound)
        if line is not None:
            edits.append(line)
    return edits


def _line(view: View, statement: ast.stmt) -> Edit | None:
    """Without the lines of a statement; None where something else is on them."""
    module = view.kernel.module
    span = module.span(statement)
    end = module.line_end(span.end)
    if module.indent(statement) is None or module.text[span.end : end].strip():
        return None
    return Edit(Span(module.line_start(span.start), end + (2 if module.text[end : end + 2] == "\r\n" else 1)), "")
