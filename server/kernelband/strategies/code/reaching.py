"""Which assignments a name may stand for at a place of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.kernel import KernelView


def reaching(kernel: KernelView, name: str, place: ast.AST) -> list[ast.stmt]:
    """The statements that may have bound the name where the code at ``place`` reads it: the last one above it in its own block, those in
    branches and loops since then, and those further down in a loop around both. A parameter's own value isn't among them.
    """
    found: list[ast.stmt] = []
    inner: ast.AST = place
    for outer in kernel.module.around(place):
        for block in _blocks(outer):
            if inner not in block:
                continue
            at = next(i for i, s in enumerate(block) if s is inner)
            if _above(block[:at], name, found):
                return found
            if isinstance(outer, ast.For | ast.While):
                found += [s for t in block[at:] for s in _within(t, name)]
        if isinstance(outer, ast.For) and name in bound_names(outer):
            return [*found, outer]
        if outer is kernel.node:
            return found
        if isinstance(outer, ast.stmt):
            inner = outer
    return found


def _above(statements: Sequence[ast.stmt], name: str, found: list[ast.stmt]) -> bool:
    """Add those that bind the name, the last first, until one that does in any case."""
    for statement in reversed(statements):
        found += _within(statement, name)
        if name in bound_names(statement) and not isinstance(statement, ast.For):
            return True
    return False


def _within(statement: ast.stmt, name: str) -> Iterator[ast.stmt]:
    return (s for s in all_nodes(statement) if isinstance(s, ast.stmt) and name in bound_names(s))


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    return [block for block in (getattr(node, part, None) for part in ("body", "orelse", "finalbody")) if isinstance(block, list)]


def masks_of(kernel: KernelView, node: ast.expr) -> set[str]:
    """The mask, as code, of the loads that an expression is made of, those behind its names too; empty where they have several."""
    found: set[str] = set()
    queue: list[ast.AST] = [node]
    seen: set[ast.AST] = set()
    while queue:
        part = queue.pop()
        if part in seen:
            continue
        seen.add(part)
        for n in all_nodes(part):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                queue += [s.value for s in reaching(kernel, n.id, n) if isinstance(s, ast.Assign | ast.AugAssign)]
            if isinstance(n, ast.Call) and kernel.tl(n) == "load":
                mask = next((k.value for k in n.keywords if k.arg == "mask"), n.args[1] if len(n.args) > 1 else None)
                found.add("" if mask is None else ast.unparse(mask))
    return found if len(found) == 1 else set()
