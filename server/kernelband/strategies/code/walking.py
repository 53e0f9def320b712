"""Loops that have a turn for each block, and what they move on: pointers and offsets that go on by one block in each turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import paired, target_names
from kernelband.strategies.code.blocks import reads
from kernelband.strategies.code.kernel import KernelView, Loop
from kernelband.strategies.code.linear import definition
from kernelband.strategies.code.numbering import other_side
from kernelband.strategies.code.quotients import divisor


def by_blocks(kernel: KernelView, loop: Loop, block: str) -> bool:
    """Whether a loop has a turn for each block: ``range(0, N, BLOCK)``, ``range(tl.cdiv(N, BLOCK))``; not ``range((pid + 1) * BLOCK)``,
    which ends there in steps of another.
    """
    queue, seen = [n for n in (loop.step, loop.stop, loop.start) if n is not None], set[str]()  # from behind, the start counts them
    if loop.step is not None and reads(loop.step, {block}):
        return True
    while queue:
        inside = list(all_nodes(queue.pop()))
        quotients = [n.right for n in inside if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv)]
        quotients += [n.args[1] for n in inside if isinstance(n, ast.Call) and len(n.args) == 2 and kernel.tl(n) == "cdiv"]
        if any(reads(n, {block}) for n in quotients):
            return True
        names = {n.id for n in inside if isinstance(n, ast.Name)} - seen
        seen |= names
        bound = [p for n in names for b in kernel.bindings(n) if isinstance(b, ast.Assign) for p in paired(b.targets[0], b.value)]
        queue += [value for target, value in bound if names & set(target_names(target)) and not other_side(kernel, value)]
    return False


def number_of_blocks(kernel: KernelView, loop: Loop) -> tuple[ast.expr, ast.expr] | None:
    """(n, block) of a loop up to ``tl.cdiv(n, block)``, or up to a name for that."""
    end = _end(kernel, loop)
    if isinstance(end, ast.Call):
        return (end.args[0], end.args[1]) if kernel.tl(end) == "cdiv" and len(end.args) == 2 and not end.keywords else None
    return divisor(end)


def walks(kernel: KernelView, loop: Loop, name: str, block: str) -> bool:
    """Each turn of the loop adds to the name once what hangs on the block, and nothing else binds it there."""
    inside = [b for b in kernel.bindings(name) if loop.node in kernel.module.around(b)]
    one = inside[0] if len(inside) == 1 else None
    return isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add) and one in loop.node.body and block in kernel.tokens(one.value)


def read_behind(kernel: KernelView, block: str, pointing: Set[str]) -> Iterator[ast.expr | ast.stmt]:
    """Where a pointer is read that a loop has moved on by blocks: so many of them as it had turns. After whole blocks, ``n // BLOCK`` of
    them, another loop may go on with what is left.
    """
    around = kernel.module.around
    for loop in (x for x in kernel.loops() if by_blocks(kernel, x, block)):
        moved = {n for n in pointing if any(loop.node in around(b) for b in kernel.bindings(n))}
        moved = {n for n in moved if {block, f"#{block}"} & kernel.depends.get(n, frozenset())}
        outer = [n for n in around(loop.node) if isinstance(n, ast.For | ast.While)]
        for name in (n for n in moved if outer and _steps_on(kernel, loop, n)):
            begun = definition(kernel, name, loop.node)
            if begun is None or outer[0] not in around(begun):
                yield loop.node  # where the last turn of the loop around it has left it
        rest = _end(kernel, loop) if _leaves_rest(kernel, loop, block) else None
        for node in (n for n in kernel.nodes if isinstance(n, ast.Name | ast.AugAssign) and _read_name(n) in moved):
            after = [n for n in around(node) if isinstance(n, ast.For)]
            goes_on = rest is not None and any(_begins_at(kernel, x, rest) for x in kernel.loops() if x.node in after)
            behind = getattr(node, "lineno", 0) > (loop.node.end_lineno or 0) or bool({*outer} & {*around(node)})
            at = next((n for n in (node, *around(node)) if isinstance(n, ast.stmt)), node)
            if behind and not goes_on and loop.node not in around(node) and definition(kernel, _read_name(node), at) is None:
                yield node


def _steps_on(kernel: KernelView, loop: Loop, name: str) -> bool:
    return any(isinstance(b, ast.AugAssign) and loop.node in kernel.module.around(b) for b in kernel.bindings(name))


def _end(kernel: KernelView, loop: Loop) -> ast.expr:
    """What the loop's end is, behind a name."""
    bound = definition(kernel, loop.stop.id, loop.node) if isinstance(loop.stop, ast.Name) else None
    return loop.stop if bound is None else bound.value


def _leaves_rest(kernel: KernelView, loop: Loop, block: str) -> bool:
    """Only whole blocks: ``n // BLOCK``."""
    end = _end(kernel, loop)
    whole = isinstance(end, ast.BinOp) and isinstance(end.op, ast.FloorDiv) and ast.unparse(end.right) == block
    return whole and isinstance(end, ast.BinOp) and block not in kernel.tokens(end.left)


def _begins_at(kernel: KernelView, loop: Loop, end: ast.expr) -> bool:
    start = loop.start
    bound = definition(kernel, start.id, loop.node) if isinstance(start, ast.Name) else None
    return start is not None and ast.unparse(end) in (ast.unparse(start), "" if bound is None else ast.unparse(bound.value))


def _read_name(node: ast.AST) -> str:
    """The name that is read there, or changed by what is added to it; "" where none is."""
    if isinstance(node, ast.AugAssign):
        return node.target.id if isinstance(node.target, ast.Name) else ""
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else ""
