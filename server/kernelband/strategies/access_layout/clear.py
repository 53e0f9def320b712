"""Blocks of a loop that no mask touches, whatever its masks compare: keys before the last ones, and before the diagonal of attention.

``start + arange(0, BLOCK) < N`` is true throughout while ``start + BLOCK <= N``, and ``rows[:, None] >= (start + cols)[None, :]`` while
``start + BLOCK <= first_row + 1``. So each comparison that only grows falser along the loop has an end, up to which it need not be made.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from attrs import frozen

from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies.access_layout.limits import OPERATORS, PURE, Limits
from kernelband.strategies.code import KernelView, Loop, View
from kernelband.strategies.code.linear import ALIGNMENT_HINTS, Term, definition, difference, dimension, flatten, joined, vector, widens
from kernelband.strategies.code.literals import integer

#: Which side of a comparison is the smaller one, and what may lie between them at least.
LESS: dict[type[ast.cmpop], tuple[bool, int]] = {ast.Lt: (True, 0), ast.LtE: (True, 1), ast.Gt: (False, 0), ast.GtE: (False, 1)}


@frozen(eq=False)
class Blocks:
    """A loop in steps of ``block``: a constexpr or a number. ``counted``: its variable counts them."""

    loop: Loop
    block: str
    counted: bool


@frozen
class End:
    """Where the blocks end for which a comparison is true throughout: an element's index, as code before the loop. ``flags``: constexpr
    tests that decide whether it is made at all.
    """

    code: str
    flags: tuple[str, ...]


@frozen(eq=False)
class _Sum:
    terms: tuple[Term, ...]
    lanes: str | None  # of the ``arange(0, lanes)`` that is added to them


def blocks_of(kernel: KernelView, loop: Loop) -> Blocks | None:
    """The loop as one over blocks; None for any other, or one whose bounds couldn't be read twice."""
    bounds = [b for b in (loop.start, loop.stop) if b is not None]
    if any(isinstance(n, ast.NamedExpr) for n in kernel.nodes):
        return None
    if loop.kind not in ("builtin", "range") or not all(_invariant(kernel, b, loop.node, loop) for b in bounds) or _rebound(kernel, loop):
        return None
    if loop.step is not None and ast.unparse(loop.step) != "1":
        return Blocks(loop, ast.unparse(loop.step), False) if _number(kernel, loop.step) else None
    products = [n for s in loop.node.body for n in all_nodes(s) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult)]
    pairs = [(p.left, p.right) for p in products] + [(p.right, p.left) for p in products]
    found = {ast.unparse(b) for a, b in pairs if isinstance(a, ast.Name) and a.id == loop.variable and _number(kernel, b)}
    return Blocks(loop, found.pop(), True) if len(found) == 1 else None


def ends_of(view: View, blocks: Blocks) -> dict[ast.Compare, End]:
    """The ends of the comparisons in the loop's body that have one, and one that can be computed before the loop."""
    nodes = [n for s in blocks.loop.node.body for n in all_nodes(s) if isinstance(n, ast.Compare)]
    found = {n: end_of(view.kernel, blocks, n) for n in nodes}
    limits = Limits(view, blocks.loop)
    return {n: end for n, end in found.items() if end is not None and limits.comparable(end.code)}


def end_of(kernel: KernelView, blocks: Blocks, node: ast.Compare) -> End | None:
    """The end of a comparison in the loop's body; None where it has none, or one that the loop changes."""
    less = LESS.get(type(node.ops[0])) if len(node.ops) == 1 else None
    if less is None or blocks.loop.node not in kernel.module.around(node):
        return None
    sides = [_sum(kernel, side, node, blocks.loop, 8) for side in (node.left, node.comparators[0])]
    small, large = sides if less[0] else reversed(sides)
    if small is None or large is None:
        return None
    # All of small is below all of large: that of its last lane below that of the first, whose lane is 0.
    left = difference(list(large.terms), list(small.terms))
    along = [t for t in left if blocks.loop.variable in t.names()]
    step = (blocks.loop.variable, blocks.block) if blocks.counted else (blocks.loop.variable,)
    if len(along) != 1 or along[0].sign > 0 or along[0].key != tuple(sorted(step)) or (blocks.counted and small.lanes != blocks.block):
        return None
    rest = [t for t in left if t is not along[0]]
    if small.lanes != blocks.block:
        number = [expression_tree(code).body for code in (blocks.block, small.lanes or "1")]
        rest += [Term(sign, (n,), node) for sign, n in zip((1, -1), number, strict=True)]
    flags = _flags(kernel, node, blocks.loop)
    return End(_code(rest, less[1]), flags)


def first_of(ends: Iterable[str], language: str) -> str:
    """The smallest of these, as code."""
    first, *more = dict.fromkeys(ends)
    for end in more:
        first = f"{language}.minimum({first}, {end})"
    return first


def _code(terms: list[Term], more: int) -> str:
    numbers = [integer(t.factors[0]) if len(t.factors) == 1 else None for t in terms]
    more += sum(t.sign * n for t, n in zip(terms, numbers, strict=True) if n is not None)
    named = [t for t, n in zip(terms, numbers, strict=True) if n is None]
    if more:
        named.append(Term(1 if more > 0 else -1, (ast.Constant(abs(more)),), ast.Pass()))
    return joined(named)


def _sum(kernel: KernelView, node: ast.expr, read: ast.AST, loop: Loop, depth: int) -> _Sum | None:
    """Terms that are the same before the loop, its variable, and at most one ``arange``."""
    if depth == 0:
        return None
    placed = dimension(node)
    if placed is not None:
        return _sum(kernel, placed[1], read, loop, depth - 1)
    if isinstance(node, ast.Call):
        called = kernel.tl(node)
        if called in ALIGNMENT_HINTS and node.args:
            return _sum(kernel, node.args[0], read, loop, depth - 1)
        if isinstance(node.func, ast.Attribute) and widens(node) and vector(kernel, node):
            return _sum(kernel, node.func.value, read, loop, depth - 1)
        if called == "arange" and len(node.args) == 2 and ast.unparse(node.args[0]) == "0" and _number(kernel, node.args[1]):
            return _Sum((), ast.unparse(node.args[1]))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        first, second = (_sum(kernel, side, read, loop, depth - 1) for side in (node.left, node.right))
        if first is None or second is None or (second.lanes and (first.lanes or isinstance(node.op, ast.Sub))):
            return None
        sign = -1 if isinstance(node.op, ast.Sub) else 1
        return _Sum((*first.terms, *(Term(sign * t.sign, t.factors, t.read) for t in second.terms)), first.lanes or second.lanes)
    if isinstance(node, ast.Name) and (vector(kernel, node) or _inside(kernel, node, read, loop)):
        bound = definition(kernel, node.id, read)
        return None if bound is None else _sum(kernel, bound.value, bound, loop, depth - 1)
    if vector(kernel, node) or not _invariant(kernel, node, read, loop):
        return None
    return _Sum(tuple(flatten(kernel, node, read, frozenset())), None)


def _inside(kernel: KernelView, name: ast.Name, read: ast.AST, loop: Loop) -> bool:
    """It is bound in the body, and isn't the variable."""
    within = loop.node in kernel.module.around(read)
    return name.id != loop.variable and within and any(loop.node in kernel.module.around(b) for b in kernel.bindings(name.id))


def _invariant(kernel: KernelView, node: ast.expr, read: ast.AST, loop: Loop) -> bool:
    """It may be computed before the loop, and is the same there; or has the loop's variable where that has this iteration's value."""
    for part in all_nodes(node):
        if isinstance(part, ast.Name) and not _same(kernel, part.id, read, loop):
            return False
        if isinstance(part, ast.Call) and kernel.tl(part) not in PURE:
            return False
        if isinstance(part, ast.operator) and not isinstance(part, OPERATORS):
            return False
        if isinstance(part, ast.Constant) and type(part.value) is not int:
            return False
        if not isinstance(part, ast.Name | ast.Call | ast.Attribute | ast.BinOp | ast.Constant | ast.operator | ast.expr_context):
            return False
    return True


def _same(kernel: KernelView, name: str, read: ast.AST, loop: Loop) -> bool:
    bindings, around = kernel.bindings(name), set(kernel.module.around(read))
    if name == loop.variable:
        return loop.node in around and read is not loop.node
    if any(loop.node in kernel.module.around(b) for b in bindings):
        return False
    if not bindings or loop.node in around or read is loop.node:
        return True
    bound = definition(kernel, name, read)
    return bound is not None and bound is definition(kernel, name, loop.node)


def _rebound(kernel: KernelView, loop: Loop) -> bool:
    """The variable gets another value in the body: ``start = tl.multiple_of(start, BLOCK)`` is none."""
    for bound in kernel.bindings(loop.variable):
        if bound is loop.node or loop.node not in kernel.module.around(bound):
            continue
        value = bound.value if isinstance(bound, ast.Assign) else None
        hint = isinstance(value, ast.Call) and kernel.tl(value) in ALIGNMENT_HINTS and bool(value.args)
        if not hint or not isinstance(value, ast.Call) or ast.unparse(value.args[0]) != loop.variable:
            return True
    return False


def _number(kernel: KernelView, node: ast.expr) -> bool:
    """A constexpr of the kernel, or a number above 0."""
    if isinstance(node, ast.Name):
        return node.id in kernel.constexprs and not kernel.bindings(node.id)
    return (integer(node) or 0) > 0


def _flags(kernel: KernelView, node: ast.AST, loop: Loop) -> tuple[str, ...]:
    """Tests of constexprs around it in the body: without them it isn't made."""
    found: list[str] = []
    inner = node
    for around in kernel.module.around(node):
        if around is loop.node:
            break
        names = [n.id for n in all_nodes(around.test) if isinstance(n, ast.Name)] if isinstance(around, ast.If) else []
        fixed = all(n in kernel.constexprs and not kernel.bindings(n) for n in names)
        if isinstance(around, ast.If) and names and fixed and inner is not around.test:
            test = ast.unparse(around.test)
            found.append(f"not ({test})" if inner in around.orelse else f"({test})" if isinstance(around.test, ast.BoolOp) else test)
        inner = around
    return tuple(reversed(found))
