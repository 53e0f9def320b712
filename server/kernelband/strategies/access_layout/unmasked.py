"""``unmasked_body``: a loop over blocks handles the full ones without masks, and what is left in one masked iteration after it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.access_layout.full import Walk, always_in, resolved, walk_of
from kernelband.strategies.code import At, View
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.linear import definition
from kernelband.strategies.code.view import moving

MOST_LINES = 24  # a longer body is worse to read twice than a mask is to compute
ALWAYS = ast.Constant(True)


class UnmaskedBody:
    """``for off in range(0, N // BLOCK * BLOCK, BLOCK)`` without masks, then the loop as it was, from there on."""

    name = "unmasked_body"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    edits: Edits = []
    walks: list[Walk] = []
    for loop in view.kernel.loops():
        walk = walk_of(view.kernel, loop) if loop.innermost else None
        if walk is None or not _worth(view, walk) or loop.node.orelse:
            continue
        found = _split(view, walk)
        if found is not None:
            edits += [(view.kernel.module.path, e) for e in found]
            walks.append(walk)
    if not walks:
        return
    first = walks[0]
    yield at.proposal(
        {"loops": len(walks)},
        edits,
        "exact",
        f"Full blocks of {first.block} are handled without masks, what is left of {first.size} in one masked iteration.",
        f"{first.size} is {_list(view.timed(first.size))} in the cases: nearly all blocks of {first.block} are full.",
    )


def _list(values: list[int]) -> str:
    return " or ".join(map(str, values[:3]))


def _worth(view: View, walk: Walk) -> bool:
    """Every timed case has at least two full blocks."""
    sizes, blocks = view.timed(walk.size), view.sizes(walk.block)
    return bool(sizes) and bool(blocks) and min(sizes) >= 2 * max(blocks)


def _split(view: View, walk: Walk) -> list[Edit] | None:
    module, loop = view.kernel.module, walk.loop
    node = loop.node
    indent = module.indent(node)
    start, end = module.span(node).start, module.line_end(module.span(node).end)
    if indent is None or (node.end_lineno or 0) - node.lineno > MOST_LINES or node.body[0].lineno == node.lineno:
        return None
    inner = _unmasked(view, walk)
    if not inner:
        return None
    whole = f"{walk.size} // {walk.block}" + ("" if walk.counted else f" * {walk.block}")
    copy = [*inner, module.replace(loop.stop, whole)]
    text = _applied(module.text, Span(start, end), copy)
    if text is None:
        return None
    head = f"# Full blocks need no mask.{module.newline}{indent}"
    tail = f"{module.newline}{indent}# What is left of {walk.size} is less than a block.{module.newline}{indent}"
    rest = Edit(module.span(loop.start), whole) if loop.start is not None else _started(view, walk, whole)
    return [Edit(Span(start, start), head + text + tail), rest]


def _started(view: View, walk: Walk, whole: str) -> Edit:
    """``range(stop)`` gets its start."""
    at = view.kernel.module.span(walk.loop.stop).start
    return Edit(Span(at, at), f"{whole}, ")


def _applied(text: str, span: Span, edits: list[Edit]) -> str | None:
    out: list[str] = []
    at = span.start
    for edit in sorted(edits, key=lambda e: e.span):
        if edit.span.start < at or edit.span.end > span.end:
            return None
        out += [text[at : edit.span.start], edit.new]
        at = edit.span.end
    return "".join(out) + text[at : span.end]


def _unmasked(view: View, walk: Walk) -> list[Edit] | None:
    """Edits of the body: masks that are true throughout are dropped from accesses and ``where``; at least one, else nothing."""
    kernel, module = view.kernel, view.kernel.module
    edits: list[Edit] = []
    dropped: list[ast.expr] = []
    for access in walk.loop.accesses:
        mask = access.mask
        if mask is None:
            continue
        left = _left(view, mask, walk)
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
    for statement in walk.loop.node.body:
        left = _left(view, statement.value, walk) if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) else None
        if left is not None and left is not ALWAYS and isinstance(statement, ast.Assign):
            edits.append(module.replace(statement.value, module.code(left)))
    if not edits:
        return None
    for call in (n for s in walk.loop.node.body for n in all_nodes(s) if isinstance(n, ast.Call)):
        if kernel.tl(call) == "where" and len(call.args) == 3 and not call.keywords and _left(view, call.args[0], walk) is ALWAYS:
            kept, span, outer = module.span(call.args[1]), module.span(call), module.parents.get(call)
            bare = isinstance(call.args[1], ast.Name | ast.Call | ast.Constant) or isinstance(outer, ast.Assign | ast.AugAssign)
            edits += [Edit(Span(span.start, kept.start), "" if bare else "("), Edit(Span(kept.end, span.end), "" if bare else ")")]
            dropped.append(call.args[0])
    return edits + _unused(view, walk, dropped)


def _left(view: View, mask: ast.expr, walk: Walk) -> ast.expr | None:
    """The mask without its always true part: ``ALWAYS`` for nothing left; None when no part of it is always true."""
    found = resolved(view.kernel, mask)
    if isinstance(found, ast.Compare):
        return ALWAYS if always_in(view.kernel, found, walk) else None
    if isinstance(found, ast.BinOp) and isinstance(found.op, ast.BitAnd) and found is mask:
        first, second = _left(view, found.left, walk), _left(view, found.right, walk)
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


def _unused(view: View, walk: Walk, dropped: list[ast.expr]) -> list[Edit]:
    """The lines that bind masks which nothing in the body reads any more."""
    kernel, module = view.kernel, view.kernel.module
    edits: list[Edit] = []
    for mask in {m.id: m for m in dropped if isinstance(m, ast.Name)}.values():
        bound = definition(kernel, mask.id, mask)
        inside = [n for s in walk.loop.node.body for n in all_nodes(s) if isinstance(n, ast.Name) and n.id == mask.id]
        reads = [n for n in inside if isinstance(n.ctx, ast.Load)]
        if bound is None or bound not in walk.loop.node.body or any(r not in dropped for r in reads):
            continue
        start = module.line_start(module.span(bound).start)
        end = module.line_end(module.span(bound).end)
        after = end + (2 if module.text[end : end + 2] == "\r\n" else 1)
        if module.indent(bound) is not None and not module.text[module.span(bound).end : end].strip():
            edits.append(Edit(Span(start, after), ""))
    return edits
