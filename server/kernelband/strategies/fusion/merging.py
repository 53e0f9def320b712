"""Two loops over the same range as one: which statements move, which are there already, and the text that comes of it.

The second loop's body goes behind the first's. A statement of it that computes what the first body holds under some name (the same
load, say) is left out, and that name is read instead. Statements between the loops that the second one needs move up.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from attrs import field, frozen

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies.code import KernelView, Loop, View
from kernelband.strategies.code.blocks import (
    STRAIGHT,
    block_end,
    exposed,
    lines,
    memory,
    names_bound,
    names_read,
    plain,
    removed,
    rewritten,
    siblings,
)


@frozen(eq=False)
class Pair:
    """Two loops of one block that run over the same range. ``between``, ``behind``: the block's statements there."""

    first: Loop
    second: Loop
    between: list[ast.stmt] = field(repr=False)
    behind: list[ast.stmt] = field(repr=False)


@frozen(eq=False)
class Merged:
    """``body``: lines for the end of the first loop's body. ``names``: what the second body's names are called there."""

    body: list[str]
    names: dict[str, str]
    shared: int  # loads of the second body that are left out
    seen: dict[ast.stmt, dict[str, str]]  # ``names`` as they are before each statement


def pairs(view: View) -> list[Pair]:
    """Loops over the same range, each with the next one of its block; none with stores, barriers, helpers, break or while."""
    kernel = view.kernel
    found: list[Pair] = []
    loops = {x.node: x for x in kernel.loops()}
    for node, first in loops.items():
        block = siblings(kernel.module, node)
        later = [s for s in block[block.index(node) + 1 :] if isinstance(s, ast.For | ast.While)] if node in block else []
        second = loops.get(later[0]) if later and isinstance(later[0], ast.For) else None
        if second is None or node.orelse or second.node.orelse or ast.unparse(node.iter) != ast.unparse(second.node.iter):
            continue
        at, to = block.index(node), block.index(second.node)
        between = block[at + 1 : to]
        touched = memory(kernel, [*node.body, *second.node.body])
        outside = memory(kernel, between)
        bounds = names_read(second.node.iter) & names_bound([*node.body, *between])
        if touched.stores or touched.opaque or outside.opaque or bounds or not plain([*node.body, *between, *second.node.body]):
            continue
        if not isinstance(kernel.module.parents.get(node), ast.FunctionDef):
            continue  # inside another loop, names live from one round to the next
        found.append(Pair(first, second, between, block[to + 1 :]))
    return found


def moved_up(kernel: KernelView, pair: Pair, results: frozenset[str] = frozenset()) -> list[ast.stmt] | None:
    """The statements between the loops that bind names which the second one needs, to go before the first loop; None when one can't.

    ``results`` of the first loop are left where they are: the caller has the second loop do without them.
    """
    needed = exposed(pair.second.node.body) - {pair.second.variable} - results
    up: list[ast.stmt] = []
    stay: list[ast.stmt] = []
    for statement in reversed(pair.between):
        binds = names_bound([statement])
        if binds & needed:
            up.insert(0, statement)
            needed = (needed - binds) | names_read(statement)
        else:
            stay.insert(0, statement)
    first = {pair.first.variable} | names_bound(pair.first.node.body)
    second_reads, second_binds = names_read(pair.second.node), names_bound([pair.second.node])
    for statement in up:
        reads, binds = names_read(statement), names_bound([statement])
        touched = memory(kernel, [statement])
        passed = stay_before(pair.between, statement, stay)
        crossed = names_bound(passed), {n for s in passed for n in names_read(s)}
        if touched.stores or (touched.loads and memory(kernel, passed).stores) or not isinstance(statement, STRAIGHT):
            return None
        if reads & (first | crossed[0]) or binds & (first | names_read(pair.first.node) | crossed[0] | crossed[1]):
            return None
    for statement in stay:
        reads, binds = names_read(statement), names_bound([statement])
        if (
            (binds & (second_reads | second_binds)) - results
            or (reads & second_binds) - {pair.first.variable}
            or memory(kernel, [statement]).stores
        ):
            return None
    return up


def stay_before(between: list[ast.stmt], statement: ast.stmt, stay: list[ast.stmt]) -> list[ast.stmt]:
    """The staying statements that a moving one passes."""
    return [s for s in stay if between.index(s) < between.index(statement)]


def merged(kernel: KernelView, pair: Pair, new: Mapping[ast.AST, str], without: set[ast.stmt]) -> Merged | None:
    """The second loop's body for the end of the first's: nodes in ``new`` replaced, statements in ``without`` left out."""
    module, body = kernel.module, pair.second.node.body
    indent = module.indent(pair.first.node.body[-1])
    if indent is None:
        return None
    held = _held(pair.first.node.body)
    names = {pair.second.variable: pair.first.variable}
    out: list[str] = []
    shared = 0
    seen: dict[ast.stmt, dict[str, str]] = {}
    for statement in body:
        seen[statement] = dict(names)
        if statement in without:
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        replaced = any(n in new for n in all_nodes(statement))
        if isinstance(target, ast.Name) and isinstance(statement, ast.Assign) and not replaced:
            name = held.get(_renamed(statement.value, names))
            if name is not None:
                names[target.id] = name
                shared += any(kernel.tl(n) == "load" for n in all_nodes(statement.value))
                continue
        binds = names_bound([statement])
        simple = isinstance(statement, STRAIGHT) and not isinstance(statement, ast.AugAssign)
        if not simple and any(names.get(n, n) != n for n in binds):
            return None
        changes: dict[ast.AST, str] = dict(new)
        for node in all_nodes(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and names.get(node.id, node.id) != node.id:
                changes[node] = names[node.id]
        rows = rewritten(module, statement, {n: c for n, c in changes.items() if n in set(all_nodes(statement))}, indent)
        if rows is None:
            return None
        out += rows
        for name in binds:
            names.pop(name, None)
            held = {code: n for code, n in held.items() if n != name and name not in _words(code)}
        if any(value in binds for value in names.values()):
            return None  # a name that stands for a dropped one is bound anew
    lost = {n for n, value in names.items() if value != n}
    return None if lost & exposed(pair.behind) else Merged(out, names, shared, seen)


def _held(body: list[ast.stmt]) -> dict[str, str]:
    """Values that the names of a body hold at its end, as code: of its own straight assignments, bound once."""
    held: dict[str, str] = {}
    for at, statement in enumerate(body):
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            name, code = statement.targets[0].id, _renamed(statement.value, {})
            changed = names_bound(body[at + 1 :])
            alone = sum(name in names_bound([s]) for s in body) == 1
            if alone and not (names_read(statement.value) & (changed | {name})):
                held.setdefault(code, name)
    return held


def _renamed(node: ast.expr, names: Mapping[str, str]) -> str:
    """An expression's code with names replaced."""
    copy = expression_tree(ast.unparse(node))
    for n in all_nodes(copy):
        if isinstance(n, ast.Name):
            n.id = names.get(n.id, n.id)
    return ast.unparse(copy)


def _words(code: str) -> set[str]:
    return {n.id for n in all_nodes(expression_tree(code)) if isinstance(n, ast.Name)}


def one_loop(
    kernel: KernelView, pair: Pair, up: list[ast.stmt], *, ahead: list[str], body: list[str], new: Mapping[ast.AST, str] | None = None
) -> list[Edit] | None:
    """The edits that put ``up`` and the lines ``ahead`` before the first loop, ``body`` at its end, and drop the second.

    ``new`` replaces nodes of what moves up.
    """
    module = kernel.module
    indent, start = module.indent(pair.first.node), lines(module, pair.first.node)
    end = block_end(module, pair.first.node)
    gone = [removed(module, s) for s in (*up, pair.second.node)]
    if indent is None or start is None or end is None or any(g is None for g in gone):
        return None
    before: list[str] = []
    for statement in up:
        rows = rewritten(module, statement, {n: c for n, c in (new or {}).items() if n in set(all_nodes(statement))}, indent)
        if rows is None:
            return None
        before += rows
    before += [indent + line for line in ahead]
    edits = [g for g in gone if g is not None]
    if before:
        edits.append(Edit(Span(start.start, start.start), "".join(row + module.newline for row in before)))
    if body:
        edits.append(Edit(Span(end, end), "".join(module.newline + row for row in body)))
    return edits


def free_of_results(pair: Pair) -> bool:
    """The second loop, and what it needs from between, reads nothing that the first one bound; nor the first what the second binds."""
    first = names_bound(pair.first.node.body)
    reads_second = exposed(pair.second.node.body) - {pair.second.variable}
    carried = exposed(pair.first.node.body) - {pair.first.variable}
    return not (reads_second & first) and not (carried & names_bound(pair.second.node.body))
