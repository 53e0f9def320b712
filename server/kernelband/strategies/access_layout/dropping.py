"""A loop's body without the masks that are true throughout: of loads and stores, of ``where``, and the lines that only they needed."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies.access_layout.full import resolved
from kernelband.strategies.code import Loop, View
from kernelband.strategies.code.kernel import Access
from kernelband.strategies.code.kinds import kind_of, literal, whole
from kernelband.strategies.code.linear import definition, dimension
from kernelband.strategies.code.shapes import Shapes, broadcast, shape_of, shapes

ALWAYS = ast.Constant(True)

Holds = Callable[[ast.Compare], bool]  # a comparison is true for the whole of every block that is handled without masks


def needless(view: View, call: ast.Call, holds: Holds, known: Shapes | None = None) -> bool:
    """``where(mask, x, y)`` is ``x``, as large and of one type: what a mask of more rows made of one row would count once where it counted
    for each, and what was float32 beside ``y`` might overflow alone.
    """
    kernel = view.kernel
    if len(call.args) != 3 or call.keywords or _left(view, call.args[0], holds) is not ALWAYS:
        return False
    known = shapes(kernel) if known is None else known
    size, first = shape_of(kernel, call, known), shape_of(kernel, call.args[1], known)
    outer = kernel.module.parents.get(call)
    if size is None or first is None:
        return False
    if size == first and not literal(call.args[1]):
        kinds = [kind_of(view, a) for a in call.args[1:]]
        if literal(call.args[2]):
            return whole(call.args[2]) or kinds[0] is not None
        return kinds[0] == "float32" and kinds[1] is not None
    beside: ast.expr | None = None
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub | ast.Mult):
        beside = outer.right if outer.left is call else outer.left
    elif isinstance(outer, ast.AugAssign):
        beside = outer.target
    other = shape_of(kernel, beside, known) if beside is not None else None
    numbers = literal(call.args[1]) and literal(call.args[2]) and beside is not None and kind_of(view, beside) == "float32"
    return numbers and other is not None and broadcast(other, first) == broadcast(other, size) == size


def unmasked(view: View, loop: Loop, holds: Holds) -> list[Edit] | None:
    """Edits of the body: masks that are true throughout are dropped from accesses and ``where``; at least one, else nothing."""
    module, known = view.kernel.module, shapes(view.kernel)
    edits: list[Edit] = []
    dropped: list[ast.expr] = []
    for access in loop.accesses:
        mask = access.mask
        if mask is None:
            continue
        left = _left(view, mask, holds)
        if left is None or not _as_large(view, access, known):
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
        if left is None or left is ALWAYS or not isinstance(statement, ast.Assign):
            continue
        if _alike(view, statement.value, left, known) or _only_a_mask(view, statement, known):
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
            if shape_of(kernel, call, known) is None or shape_of(kernel, call, known) != shape_of(kernel, call.args[1], known):
                continue
            edits[call] = [module.replace(mask, module.code(left))]
        elif needless(view, call, holds, known):
            kept, span, outer = module.span(call.args[1]), module.span(call), module.parents.get(call)
            bare = isinstance(call.args[1], ast.Name | ast.Call | ast.Constant) or isinstance(outer, ast.Assign | ast.AugAssign)
            bare = bare and "\n" not in module.code(call.args[1])
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
            return second if second is ALWAYS else found.right if _boolean(view, found.right) else None
        return found.left if second is ALWAYS and _boolean(view, found.left) else None
    return None


def _boolean(view: View, node: ast.expr) -> bool:
    """True or false throughout: ``True & 2`` is 0."""
    placed = dimension(node)
    if placed is not None:
        return _boolean(view, placed[1])
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd | ast.BitOr) and _boolean(view, node.left) and _boolean(view, node.right)
    found = resolved(view.kernel, node)
    return isinstance(found, ast.Compare) or (found is not node and _boolean(view, found))


def _as_large(view: View, access: Access, known: Shapes) -> bool:
    """Without its mask it is of the same shape: that of its pointer, which a mask of more rows would be spread over."""
    pointer = shape_of(view.kernel, access.pointer, known)
    mask = shape_of(view.kernel, access.mask, known) if access.mask is not None else ()
    return pointer is not None and mask is not None and broadcast(pointer, mask) == pointer


def _alike(view: View, one: ast.expr, other: ast.expr, known: Shapes) -> bool:
    shape = shape_of(view.kernel, one, known)
    return shape is not None and shape == shape_of(view.kernel, other, known)


def _only_a_mask(view: View, statement: ast.Assign, known: Shapes) -> bool:
    """What it binds is nothing but a mask, or a part of one, of what is as large without it, so that it may be of fewer rows."""
    kernel, target = view.kernel, statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name) or len(kernel.bindings(target.id)) != 1:
        return False
    reads = [n for n in kernel.nodes if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)]
    masks: set[ast.AST | None] = {a.mask for a in kernel.accesses() if _as_large(view, a, known)}
    masks |= {c.args[0] for c in kernel.calls({"where"}) if len(c.args) == 3 and _alike(view, c, c.args[1], known)}
    return all(_all_of(view, n) in masks for n in reads)


def _all_of(view: View, node: ast.AST) -> ast.AST:
    """The mask that it is a part of."""
    outer = view.kernel.module.parents.get(node)
    return _all_of(view, outer) if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.BitAnd) else node


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
        reads = [n for n in inside if isinstance(n.ctx, ast.Load) or isinstance(kernel.module.parents.get(n), ast.AugAssign)]
        if bound is None or bound not in loop.node.body or any(r not in dropped for r in reads):
            continue
        if any(
            not _bound_elsewhere(view, loop, n) for n in kernel.nodes if isinstance(n, ast.Name) and n.id == mask.id and n not in inside
        ):
            continue
        line = _line(view, bound)
        if line is not None:
            edits.append(line)
    return edits


def _bound_elsewhere(view: View, loop: Loop, name: ast.Name) -> bool:
    """What is read there, if it is, isn't what the loop bound last."""
    bound = definition(view.kernel, name.id, name) if isinstance(name.ctx, ast.Load) else name
    return bound is not None and loop.node not in view.kernel.module.around(bound)


def _line(view: View, statement: ast.stmt) -> Edit | None:
    """Without the lines of a statement; None where something else is on them."""
    module = view.kernel.module
    span = module.span(statement)
    end = module.line_end(span.end)
    if module.indent(statement) is None or module.text[span.end : end].strip():
        return None
    return Edit(Span(module.line_start(span.start), end + (2 if module.text[end : end + 2] == "\r\n" else 1)), "")
