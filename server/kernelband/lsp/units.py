"""A program's text by its statements: on which lines each stands and what it says. For texts that Python parses."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from functools import lru_cache
from typing import cast

from attrs import evolve, frozen

from kernelband.lsp.items import DECORATOR, DEFINITIONS, FUNCTIONS, PARAMETER, Item, Scope, bindings, item_of
from kernelband.source.syntax import syntax_tree
from kernelband.source.tree import BOM


@frozen
class Unit:
    """A simple statement, or the head of one with a block. Lines count from 0, both ends included.

    ``function``: the qualname of the innermost function or class around it. ``opens``: of a head its kind and column; ``end``: the last
    line of its blocks.
    """

    first: int
    last: int
    function: str
    items: tuple[Item, ...]
    opens: tuple[str, int] | None = None
    end: int = -1


@frozen
class Units:
    """The units of a text in order, and the parameters of its functions by bare name."""

    units: tuple[Unit, ...]
    parameters: dict[str, tuple[str, ...]]


@lru_cache(maxsize=8)
def read_units(text: str) -> Units | None:
    """None where this Python can't parse it."""
    tree = parsed(text)
    if tree is None:
        return None
    reader = _Reader(text.removeprefix(BOM))
    try:
        reader.block(tree.body, reader.module)
    except RecursionError:
        return None
    return Units(tuple(sorted(reader.units, key=lambda u: (u.first, u.last))), reader.parameters)


def parsed(text: str) -> ast.Module | None:
    """Its tree; None where this Python can't parse it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an invalid escape is the user's business
        try:
            return syntax_tree(text.removeprefix(BOM))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


class _Reader:
    def __init__(self, text: str) -> None:
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.module = Scope("", False, frozenset(), frozenset(), None)
        self.units: list[Unit] = []
        self.parameters: dict[str, tuple[str, ...]] = {}

    def block(self, body: Iterable[ast.stmt], scope: Scope) -> None:
        """The statements of a block."""
        for statement in body:
            if isinstance(statement, FUNCTIONS):
                self._function(statement, scope)
            elif isinstance(statement, ast.ClassDef):
                self._class(statement, scope)
            elif _is_simple(statement):
                self._simple(statement, scope)
            else:
                self._compound(statement, scope)

    def _simple(self, node: ast.stmt, scope: Scope) -> None:
        item = item_of(scope, node)
        if isinstance(node, ast.Return):
            item = evolve(item, part="return", of=scope.name.rpartition(".")[2])
        self._add(node, node.lineno, node.end_lineno or node.lineno, scope, (item,))

    def _compound(self, node: ast.stmt, scope: Scope) -> None:
        body, head = list[ast.stmt](), list[ast.AST]()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                body.append(child)
            elif isinstance(child, ast.ExceptHandler):
                self._branch(child, child.body, [child.type] if child.type else [], [child.name] if child.name else [], scope)
            elif isinstance(child, ast.match_case):
                self._branch(child, child.body, [child.pattern, *([child.guard] if child.guard else [])], [], scope)
            else:
                head.append(child)
        first = min((s.lineno for s in body), default=(node.end_lineno or node.lineno) + 1)
        item = item_of(scope, *head, code=type(node).__name__)
        self._add(node, node.lineno, self._head_end(node.lineno, _first_line(body), first), scope, (item,))
        self.block(body, scope)

    def _branch(self, node: ast.AST, body: list[ast.stmt], head: list[ast.AST], names: list[str], scope: Scope) -> None:
        """An ``except`` or a ``case``."""
        line = getattr(node, "lineno", None) or cast("ast.expr", head[0]).lineno
        item = item_of(scope, *head, code=type(node).__name__)
        binds = item.binds | {scope.resolve(name) for name in names}
        item = evolve(item, code=f"{item.code} as {names}", binds=frozenset(binds))
        self._add(node, line, self._head_end(line, _first_line(body), body[0].lineno), scope, (item,))
        self.block(body, scope)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
        bound, passed = bindings(node.body)
        given = node.args
        every = [*given.posonlyargs, *given.args, *([given.vararg] if given.vararg else []), *given.kwonlyargs]
        every += [given.kwarg] if given.kwarg else []
        inner = Scope(scope.inner(node.name), False, bound | {a.arg for a in every}, passed, scope)
        self.parameters[node.name] = tuple(a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs))
        positional = [*given.posonlyargs, *given.args]
        defaults = dict(zip((a.arg for a in positional[len(positional) - len(given.defaults) :]), given.defaults, strict=True))
        defaults |= {a.arg: d for a, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None}
        items = [item_of(scope, d, code=DECORATOR, part="signature", of=node.name) for d in node.decorator_list]
        for argument in every:
            said = [x for x in (argument.annotation, defaults.get(argument.arg)) if x is not None]
            item = item_of(scope, *said, code=f"{PARAMETER}{argument.arg} {'with' if argument.arg in defaults else 'without'} default")
            items.append(evolve(item, binds=frozenset({(inner.name, argument.arg)}), part="signature", of=node.name))
        order = ", ".join(f"{kind}: {[a.arg for a in them]}" for kind, them in (("/", given.posonlyargs), ("*", given.kwonlyargs)))
        order += f" {given.vararg.arg if given.vararg else ''} {given.kwarg.arg if given.kwarg else ''}"
        returns = [node.returns] if node.returns is not None else []
        item = item_of(scope, *returns, code=f"{type(node).__name__} {node.name} {order}")
        items.append(evolve(item, binds=frozenset({scope.resolve(node.name)}), part="signature", of=node.name))
        begin = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self._add(node, begin, self._head_end(node.lineno, _first_line(node.body), node.body[0].lineno), scope, tuple(items))
        self.block(node.body, inner)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        bound, passed = bindings(node.body)
        item = item_of(scope, *node.decorator_list, *node.bases, *node.keywords, code=f"class {node.name}")
        item = evolve(item, binds=frozenset({scope.resolve(node.name)}))
        begin = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        self._add(node, begin, self._head_end(node.lineno, _first_line(node.body), node.body[0].lineno), scope, (item,))
        self.block(node.body, Scope(scope.inner(node.name), True, bound, passed, scope))

    def _head_end(self, line: int, body: int, default: int) -> int:
        """The last line of a head that begins on ``line``, of a block that begins on ``body``: without the comments between them."""
        end = (body or default) - 1
        while end > line and (not self.lines[end - 1].strip() or self.lines[end - 1].lstrip().startswith("#")):
            end -= 1
        return max(end, line)

    def _add(self, node: ast.AST, first: int, last: int, scope: Scope, items: tuple[Item, ...]) -> None:
        simple = isinstance(node, ast.stmt) and _is_simple(node)
        end = getattr(node, "end_lineno", None) or last
        if isinstance(node, ast.match_case):
            end = node.body[-1].end_lineno or last
        opens = None if simple else (type(node).__name__, int(getattr(node, "col_offset", 0)))
        self.units.append(Unit(first - 1, last - 1, scope.name, items, opens, -1 if simple else end - 1))


def _is_simple(node: ast.stmt) -> bool:
    return not isinstance(node, DEFINITIONS) and not any(
        isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)) for child in ast.iter_child_nodes(node)
    )


def _first_line(body: Iterable[ast.stmt]) -> int:
    """Where a block begins: at its first decorator, where it begins with one. 0 for no block."""
    first = next(iter(body), None)
    if first is None:
        return 0
    return min([first.lineno, *(d.lineno for d in first.decorator_list)]) if isinstance(first, DEFINITIONS) else first.lineno
