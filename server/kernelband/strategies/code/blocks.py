"""Statements in a row: what they read and bind, what memory they touch, and their text with some nodes replaced.

Names decide order here (unlike the kernel's dependence, which ignores it): a statement may move past another only when neither
binds what the other reads or binds, and memory allows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from attrs import frozen

from kernelband.source.model import Edit, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.kernel import ATOMICS, KernelView
from kernelband.strategies.code.module import Module, Placed

PURE_BUILTINS = frozenset({"range", "float", "int", "bool", "min", "max", "abs", "len"})
OPAQUE = frozenset({"inline_asm_elementwise", "debug_barrier", "device_print", "device_assert", "map_elementwise", "rand", "randn"})
STRAIGHT = ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr | ast.Pass
PLAIN = STRAIGHT | ast.For | ast.If


@frozen
class Memory:
    """What statements do to memory. ``opaque``: a helper, assembly or a barrier, which may do anything."""

    loads: bool
    stores: bool
    opaque: bool


def names_read(node: ast.AST) -> set[str]:
    """Names that the code reads anywhere in it; the target of ``x += 1`` is one."""
    found = {n.id for n in all_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return found | {n.target.id for n in all_nodes(node) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}


def reads(node: ast.AST, names: Iterable[str]) -> bool:
    """Whether the code has one of these names in it, read or bound."""
    wanted = set(names)
    return any(isinstance(n, ast.Name) and n.id in wanted for n in all_nodes(node))


def unconverted(node: ast.expr) -> ast.expr:
    """What ``x.to(...)`` converts."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        node = node.func.value
    return node


def names_bound(statements: Iterable[ast.AST]) -> set[str]:
    """Names that the statements, and those in them, bind."""
    found = {name for s in statements for n in all_nodes(s) for name in bound_names(n)}
    return found | {n.target.id for s in statements for n in all_nodes(s) if isinstance(n, ast.NamedExpr)}


def dependent(nodes: Iterable[ast.AST], names: Iterable[str]) -> set[str]:
    """The names, and those that assignments among the nodes make of them."""
    found, grown = set(names), True
    bindings = [n for n in nodes if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign)]
    while grown:
        fresh = {name for n in bindings if n.value is not None and reads(n.value, found) for name in bound_names(n)} - found
        found, grown = found | fresh, bool(fresh)
    return found


def beside_value(store: ast.Call) -> list[ast.expr]:
    """What a store or an atomic is told beside its value: where, and under which mask."""
    return [*store.args[:1], *store.args[2:], *(k.value for k in store.keywords if k.arg not in ("val", "value"))]


def exposed(statements: Sequence[ast.stmt]) -> set[str]:
    """Names that are read before the statements themselves have bound them: what comes in from outside.

    What ``if FLAG:`` has bound a later ``if FLAG:`` may read, as long as nothing has bound FLAG.
    """
    found: set[str] = set()
    bound: set[str] = set()
    under: dict[str, tuple[ast.expr, set[str]]] = {}  # a test and what is bound where it is true, by its code
    for statement in statements:
        if isinstance(statement, ast.For):
            inside = names_read(statement.iter) | (exposed(statement.body) - set(bound_names(statement))) | exposed(statement.orelse)
        elif isinstance(statement, ast.If):
            _, true = under.get(ast.unparse(statement.test), (None, set[str]()))
            inside = names_read(statement.test) | (exposed(statement.body) - true) | exposed(statement.orelse)
        else:
            inside = names_read(statement)
        found |= inside - bound
        bound |= surely_bound([statement])
        fresh = names_bound([statement])
        under = {code: (test, names) for code, (test, names) in under.items() if not reads(test, fresh)}
        if isinstance(statement, ast.If) and not reads(statement.test, fresh):
            code = ast.unparse(statement.test)
            if not any(isinstance(n, ast.Call) for n in all_nodes(statement.test)):  # what is loaded anew may be something else
                _, before = under.get(code, (None, set[str]()))
                under[code] = statement.test, before | surely_bound(statement.body)
    return found


def surely_bound(statements: Iterable[ast.stmt]) -> set[str]:
    """Names that the statements bind whatever branches they take."""
    found: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.If):
            found |= surely_bound(statement.body) & surely_bound(statement.orelse)
        elif isinstance(statement, STRAIGHT):
            found |= set(bound_names(statement))
    return found


def plain(statements: Iterable[ast.stmt]) -> bool:
    """Nothing but assignments, calls, counted loops and branches: no break, return, while or walrus."""
    return all(
        not isinstance(n, ast.stmt | ast.NamedExpr | ast.Lambda | ast.comprehension) or isinstance(n, PLAIN)
        for s in statements
        for n in all_nodes(s)
    )


def memory(kernel: KernelView, statements: Iterable[ast.AST]) -> Memory:
    """What the statements do to memory."""
    loads = stores = opaque = False
    for call in (n for s in statements for n in all_nodes(s) if isinstance(n, ast.Call)):
        name = kernel.tl(call)
        if name == "load" or (name is not None and "gather" in name):
            loads = True
        elif name == "store" or name in ATOMICS or (name is not None and "scatter" in name):
            stores = True
        elif name in OPAQUE:
            opaque = True
        elif name is None and isinstance(call.func, ast.Name):
            opaque |= call.func.id not in PURE_BUILTINS and not kernel.is_id(call)
        elif name is None and isinstance(call.func, ast.Attribute):
            loads |= call.func.attr in ("load", "gather")
            stores |= call.func.attr in ("store", "scatter") or call.func.attr.startswith("atomic")
    return Memory(loads, stores, opaque)


def siblings(module: Module, statement: ast.stmt) -> list[ast.stmt]:
    """The statements of the block that this one stands in, itself included."""
    parent = module.parents.get(statement)
    found = suites(parent) if parent is not None else []
    return next((block for block in found if statement in block), list[ast.stmt]())


def suites(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks that a statement has: what is done, and what else; none for an expression."""
    found = (getattr(node, "body", None), getattr(node, "orelse", None))
    return [cast("list[ast.stmt]", x) for x in found if isinstance(x, list)]


def lines(module: Module, statement: ast.stmt, *, comments: bool = False) -> Span | None:
    """Whole lines of a statement, line break included, with the comment lines right above it if asked; None when it shares a line."""
    indent = module.indent(statement)
    span = module.span(statement)
    end = module.line_end(span.end)
    rest = module.text[span.end : end].strip(" \t\f")
    if indent is None or (rest and not rest.startswith("#")):
        return None
    start = module.line_start(span.start)
    while comments and start > 0:
        above = module.line_start(start - 1)
        if not module.text[above:start].lstrip(" \t\f").startswith("#"):
            break
        start = above
    if module.text[end : end + 2] == "\r\n":
        end += 1
    return Span(start, min(end + 1, len(module.text)))


def removed(module: Module, statement: ast.stmt) -> Edit | None:
    """The statement goes, with the comment above it and the blank line before that."""
    span = lines(module, statement, comments=True)
    if span is None:
        return None
    start = span.start
    while start > 0 and not module.text[(above := module.line_start(start - 1)) : start].strip():
        start = above
    following = module.text[span.end : module.line_end(span.end)]
    return Edit(Span(start if following.strip() else span.start, span.end), "")


def rewritten(module: Module, statement: ast.stmt, new: Mapping[ast.AST, str], indent: str) -> list[str] | None:
    """The statement's lines with nodes replaced, at another indentation, its own comment kept; None when it shares a line."""
    span, own = lines(module, statement), module.indent(statement)
    if span is None or own is None:
        return None
    inside = sorted(((module.span(n), code) for n, code in new.items() if isinstance(n, Placed)), key=lambda x: x[0].start)
    at, out = span.start, ""
    for place, code in inside:
        if place.start < at or place.end > span.end:
            return None
        out += module.text[at : place.start] + code
        at = place.end
    out += module.text[at : span.end]
    rows = out.splitlines()
    return [indent + row.removeprefix(own) if row.strip() else row for row in rows]


def block_end(module: Module, statement: ast.stmt) -> int | None:
    """Offset of the line break after a statement and the comment on its line: where more lines of its block go."""
    span = lines(module, statement)
    return None if span is None else module.line_end(module.span(statement).end)
