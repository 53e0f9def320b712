"""Names and what they stand for: Python's scopes over an error-tolerant tree.

A ``Scopes`` knows every binding of a text (imports, assignments, functions, parameters, loops). It answers what a name means at a place
as Python would look it up: own function, enclosing functions, module; class bodies only for their own statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal, cast

from attrs import frozen
from parso.tree import NodeOrLeaf

from kernelband.source.chunks import Chunk, Key, chunks
from kernelband.source.tree import ancestors, assigned_names, children, node_span, own_statements, parse, statements, value, walk

SCOPES = ("funcdef", "classdef", "file_input")
IMPORTS = ("import_from", "import_name")
LOCALS = "<locals>"

Parser = Callable[[str], NodeOrLeaf]
Kind = Literal["import", "star", "assign", "augment", "loop", "with", "def", "class", "parameter"]


@frozen(eq=False)
class Binding:
    """One place that gives a name a meaning."""

    name: str
    kind: Kind
    scope: NodeOrLeaf
    statement: NodeOrLeaf  # import, expr_stmt, for_stmt, with_item, namedexpr_test, funcdef, classdef or param
    value: NodeOrLeaf | None = None  # the expression that is bound; for loops what is iterated over
    dotted: str = ""  # of imports: what is imported, absolute or with leading dots


class Scopes:
    """The bindings of one text, read scope by scope as they are asked for: most functions of a text never are.

    Made by ``scopes(text)``, which keeps them, or over the trees of a parser of one's own.

    Args:
        text: any text.
        parser: makes its tree.
        known: what is known of pieces of it, from other versions.
    """

    def __init__(self, text: str, parser: Parser = parse, known: Mapping[Key, bool] | None = None) -> None:
        self.text, self.module, self.chunks = readable(text, parser, known or {})
        self._tables: dict[int, dict[str, list[Binding]]] = {}

    @cached_property
    def stars(self) -> list[str]:
        """Modules of the module's ``from x import *``."""
        imports = (n for n in own_statements(self.module, self.text) if n.type == "import_from" and value(children(n)[-1]) == "*")
        return [dotted for node in imports for _, dotted in _imported(node)]

    def bindings(self, scope: NodeOrLeaf, name: str) -> list[Binding]:
        """The bindings of ``name`` made in ``scope`` itself, in source order."""
        return self._table(scope).get(name, [])

    def lookup(self, name: str, at: NodeOrLeaf) -> list[Binding]:
        """What ``name`` may mean at ``at``: the bindings of the nearest scope that has any, in source order."""
        own = True
        for scope in (at, *ancestors(at)) if at.parent is None else ancestors(at):
            if scope.type not in SCOPES:
                continue
            if scope.type == "classdef" and not own:
                continue
            found = self.bindings(scope, name)
            own = False
            if found:
                return found
        return []

    def member(self, qualname: str) -> list[Binding]:
        """The bindings behind a qualname as Python writes it: ``f``, ``C.f``, ``f.<locals>.g``."""
        scope, found = self.module, cast("list[Binding]", [])
        for part in qualname.split("."):
            if part == LOCALS:
                continue
            found = self.bindings(scope, part)
            if not found:
                return []
            scope = found[-1].statement
        return found

    def aliases(self, scopes_: Iterable[NodeOrLeaf]) -> list[tuple[str, str]]:
        """(name, dotted name) of every ``name = dotted.name`` in these scopes."""
        bound = [b for s in scopes_ for bs in self._table(s).values() for b in bs if b.kind == "assign" and b.value is not None]
        return [(b.name, dotted) for b in bound if b.value is not None and (dotted := dotted_name(b.value)) is not None]

    def imports(self) -> list[tuple[str, str]]:
        """(name, dotted name) of all that the text imports, anywhere in it; leading dots kept."""
        return [pair for n in statements(self.module, self.text) if n.type in IMPORTS for pair in _imported(n)]

    def imported(self) -> frozenset[str]:
        """First components of the absolute names that the text imports, anywhere in it."""
        return frozenset(dotted.partition(".")[0] for _, dotted in self.imports() if not dotted.startswith("."))

    # ------------------------------------------------------------ reading
    def _table(self, scope: NodeOrLeaf) -> dict[str, list[Binding]]:
        table = self._tables.get(id(scope))
        if table is None:
            table = dict[str, list[Binding]]()
            if scope.type in SCOPES:
                for binding in self._read(scope):
                    table.setdefault(binding.name, []).append(binding)
            self._tables[id(scope)] = table  # whole: threads share the bindings of a text
        return table

    def _read(self, scope: NodeOrLeaf) -> Iterator[Binding]:
        for node in own_statements(scope, self.text):
            kind = node.type
            if kind in ("funcdef", "classdef"):
                yield Binding(value(cast("NodeOrLeaf", cast("Any", node).name)), "def" if kind == "funcdef" else "class", scope, node)
            elif kind == "param":
                owner = node.search_ancestor("funcdef", "lambdef", "lambdef_nocond")
                if owner is scope:
                    parameter = cast("Any", node)
                    yield Binding(value(parameter.name), "parameter", scope, node, cast("NodeOrLeaf | None", parameter.default))
            elif kind in IMPORTS:
                yield from (Binding(name, "import", scope, node, dotted=dotted) for name, dotted in _imported(node) if name != "*")
            elif kind in ("expr_stmt", "for_stmt", "with_item", "namedexpr_test"):
                yield from _assigned(node, scope)


def _imported(node: NodeOrLeaf) -> Iterator[tuple[str, str]]:
    """Name and dotted name of what an import binds; the name of ``from x import *`` is ``*``, and what it imports x."""
    statement = cast("Any", node)
    dots = "." * int(statement.level)
    if node.type == "import_from" and value(children(node)[-1]) == "*":
        yield "*", dots + ".".join(value(n) for n in statement.get_from_names())
        return
    for path, bound in zip(statement.get_paths(), statement.get_defined_names(), strict=True):
        # ``import a.b as c`` binds a.b, ``import a.b`` binds a
        parts = path if node.type == "import_from" or bound is not path[0] else path[:1]
        yield value(bound), dots + ".".join(value(n) for n in parts)


def _assigned(node: NodeOrLeaf, scope: NodeOrLeaf) -> Iterator[Binding]:
    inside = children(node)
    if len(inside) == 3 and inside[0].type == "name" and value(inside[1]) == "=":  # nearly all of them
        yield Binding(value(inside[0]), "assign", scope, node, inside[2])
        return
    kind: Kind = "assign"
    if node.type == "for_stmt":
        kind, bound = "loop", inside[3] if len(inside) > 3 else None
    elif node.type == "with_item":
        kind, bound = "with", inside[0]
    elif node.type == "namedexpr_test":
        bound = inside[-1]
    elif inside[1].type == "annassign":
        parts = children(inside[1])
        if len(parts) < 4:  # an annotation alone binds nothing
            return
        bound = parts[3]
    else:
        bound = inside[-1]
        kind = "assign" if value(inside[1]) == "=" else "augment"
    for leaf in assigned_names(node):
        yield Binding(value(leaf), kind, scope, node, _unpacked(leaf, node, bound) if kind == "assign" else bound)


def _unpacked(leaf: NodeOrLeaf, statement: NodeOrLeaf, bound: NodeOrLeaf | None) -> NodeOrLeaf | None:
    """``b`` of ``x, y = a, b`` for y; the whole right side where the two sides don't line up."""
    target = leaf.parent
    if bound is None or target is None or target is statement:
        return bound
    left, right = _elements(target), _elements(bound)
    if target.parent is not statement and not (
        target.type == "testlist_comp" and target.parent is not None and target.parent.parent is statement
    ):
        return bound
    if len(left) != len(right) or any(x.type == "star_expr" for x in left + right):
        return bound
    return next((r for x, r in zip(left, right, strict=True) if x is leaf), bound)


def _elements(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    if node.type == "atom" and len(children(node)) == 3 and value(children(node)[0]) in "([":
        node = children(node)[1]
    if node.type in ("testlist_star_expr", "testlist_comp", "testlist", "exprlist") and not any(
        "comp_for" in c.type for c in children(node)
    ):
        return [c for c in children(node) if value(c) != ","]
    return [node]


def readable(text: str, parser: Parser, known: Mapping[Key, bool]) -> tuple[str, NodeOrLeaf, list[Chunk]]:
    """The text, its tree and its pieces; where triple quotes are open to the end of the file, those that were just typed are blanked.

    One quote too many turns strings into code and code into strings from there on. It is the first one whose string holds a line that only
    code has, and the open one at the end when there is none.
    """
    module = parser(text)
    pieces = chunks(module, text, known)
    broken = (n for c in pieces if c.broken for n in statements(c.node, c.text))
    open_ = next((n for n in broken if n.type == "error_leaf" and _opening(value(n))), None)
    if open_ is None:
        return text, module, pieces
    strings = (n for n in walk(module) if n.type == "string" and _opening(value(n)) and _holds_code(value(n)))
    leaf = next(strings, open_)
    start, size = node_span(leaf, text).start, len(_opening(value(leaf)))
    text = text[:start] + " " * size + text[start + size :]
    module = parser(text)
    return text, module, chunks(module, text, known)


def _opening(literal: str) -> str:
    """Prefix and quotes of a triple-quoted literal; empty for others."""
    body = literal.lstrip("rRbBuUfF")
    return literal[: len(literal) - len(body) + 3] if body.startswith(('"""', "'''")) else ""


def _holds_code(literal: str) -> bool:
    return any(line.startswith(("def ", "class ", "@", "import ", "from ")) for line in literal.splitlines()[1:])


@lru_cache(maxsize=128)
def scopes(text: str) -> Scopes:
    """The bindings of ``text``; read once per text."""
    return Scopes(text)


def qualname(node: NodeOrLeaf) -> str:
    """Python's ``__qualname__`` of a funcdef or classdef node."""
    parts = [value(cast("NodeOrLeaf", cast("Any", node).name))]
    for parent in ancestors(node):
        if parent.type in ("funcdef", "classdef"):
            if parent.type == "funcdef":
                parts.append(LOCALS)
            parts.append(value(cast("NodeOrLeaf", cast("Any", parent).name)))
    return ".".join(reversed(parts))


def dotted_name(node: NodeOrLeaf) -> str | None:
    """``a.b.c`` of a name or a chain of attributes; None of anything else."""
    if node.type == "name":
        return value(node)
    if node.type == "dotted_name":
        return ".".join(value(c) for c in children(node) if c.type == "name")
    if node.type == "atom_expr":
        return dotted_chain(children(node))
    return None


def dotted_chain(nodes: list[NodeOrLeaf]) -> str | None:
    """``a.b.c`` of a name leaf followed by attribute trailers."""
    if not nodes or nodes[0].type != "name":
        return None
    parts = [value(nodes[0])]
    for trailer in nodes[1:]:
        inside = children(trailer)
        if trailer.type != "trailer" or value(inside[0]) != "." or len(inside) != 2:
            return None
        parts.append(value(inside[1]))
    return ".".join(parts)


def absolute(dotted: str, at: NodeOrLeaf, known: Scopes, depth: int = 8) -> list[str]:
    """What a dotted name at ``at`` stands for, through imports and plain aliases (``jit = triton.jit``).

    Imported things come as their own dotted names (leading dots kept), functions and classes of this text as ``:qualname``.
    A name without any binding stands for itself: that is how broken text, whose imports are gone, still reads.
    """
    head, _, rest = dotted.partition(".")
    found = known.lookup(head, at)
    if not found:
        return [dotted]
    out: list[str] = []
    for binding in found:
        if binding.kind == "import":
            out.append(f"{binding.dotted}.{rest}" if rest else binding.dotted)
        elif binding.kind in ("def", "class"):
            own = ":" + qualname(binding.statement)
            out.append(f"{own}.{rest}" if rest else own)
        elif binding.kind == "assign" and binding.value is not None and depth:
            name = dotted_name(binding.value)
            if name is not None and name != dotted and binding.value is not at:
                out += absolute(f"{name}.{rest}" if rest else name, binding.value, known, depth - 1)
    return list(dict.fromkeys(out))
