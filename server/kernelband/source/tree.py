"""Text to parso trees and back to places: one parse per text, and positions as character offsets.

parso keeps going over broken text: what it can't read becomes ``error_node`` and ``error_leaf``, the rest stays a proper tree, and every
character of the text is in some leaf. Trees are shared and read-only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

from parso.python.tree import Module
from parso.tree import BaseNode, Leaf, NodeOrLeaf
from parso.utils import split_lines

from kernelband.source.model import Expression, Span
from kernelband.source.syntax import tolerant_grammar

BOM = "\ufeff"
COMPREHENSIONS = ("sync_comp_for", "comp_for")


@lru_cache(maxsize=128)
def parse(text: str) -> Module:
    """The tree of ``text``; parsed once per text. Never raises on broken text."""
    return cast("Module", tolerant_grammar().parse(text))


@lru_cache(maxsize=32)  # versions of a large text that is typed are all others, and half a megabyte each
def line_starts(text: str) -> tuple[int, ...]:
    r"""Offset of the first character of each line; lines end at ``\n``, ``\r\n`` or ``\r``, as Python and editors see them."""
    starts, at = [0], 0
    for line in split_lines(text, keepends=True):
        at += len(line)
        starts.append(at)
    return tuple(starts[:-1]) if len(starts) > 1 else (0,)


def offset_at(text: str, line: int, column: int) -> int:
    """Offset of a parso position: ``line`` from 1, ``column`` in characters from 0 (ast counts bytes of UTF-8 instead).

    A byte order mark counts for nothing.
    """
    starts = line_starts(text)
    if line > len(starts):
        return len(text)
    mark = 1 if line == 1 and text.startswith(BOM) else 0
    return min(starts[line - 1] + column + mark, len(text))


def line_column(text: str, offset: int) -> tuple[int, int]:
    """Line from 1 and column in characters from 0: the inverse of ``offset_at``."""
    starts = line_starts(text)
    line = bisect_right(starts, offset)
    mark = 1 if line == 1 and text.startswith(BOM) else 0
    return line, max(offset - starts[line - 1] - mark, 0)


def node_span(node: NodeOrLeaf, text: str) -> Span:
    """The characters of ``node``, without the blanks and comments before it. A suite or statement may end in its newline."""
    return Span(offset_at(text, *node.start_pos), offset_at(text, *node.end_pos))


def trimmed_span(node: NodeOrLeaf, text: str) -> Span:
    """``node_span`` without a newline at the end: what a person would select."""
    first, last = node.get_first_leaf(), cast("Any", node).get_last_leaf()
    while last.type in ("newline", "endmarker") and last is not first:
        last = last.get_previous_leaf()  # there is one: ``first`` comes before
    start = offset_at(text, *node.start_pos)
    return Span(start, max(offset_at(text, *cast("Leaf", last).end_pos), start))


def children(node: NodeOrLeaf) -> list[NodeOrLeaf]:
    """The node's children; none of a leaf."""
    return cast("list[NodeOrLeaf]", cast("Any", node).children) if isinstance(node, BaseNode) else []


def value(node: NodeOrLeaf) -> str:
    """The characters of a leaf; empty for a node with children."""
    return cast("str", cast("Any", node).value) if isinstance(node, Leaf) else ""


def code(node: NodeOrLeaf) -> str:
    """The node's own characters, as ``node_span`` has them."""
    return cast("str", node.get_code(include_prefix=False))


def walk(node: NodeOrLeaf) -> Iterator[NodeOrLeaf]:
    """``node`` and everything under it, in source order."""
    stack = [node]
    while stack:
        at = stack.pop()
        yield at
        inside = cast("list[NodeOrLeaf] | None", getattr(at, "children", None))  # not by isinstance: this is the inner loop of everything
        if inside:
            stack.extend(inside[::-1])


#: What may hold statements, and the parts that bind names. The parser puts what it can't read beside statements, into an error_node.
_BLOCKS = frozenset(
    {
        "file_input",
        "decorated",
        "async_stmt",
        "async_funcdef",
        "funcdef",
        "parameters",
        "classdef",
        "suite",
        "simple_stmt",
        "if_stmt",
        "while_stmt",
        "for_stmt",
        "try_stmt",
        "with_stmt",
        "error_node",
    }
)
_DEFINITIONS = frozenset({"funcdef", "classdef"})


def statements(module: NodeOrLeaf, text: str) -> Iterator[NodeOrLeaf]:
    """``walk`` without the insides of expressions, of which a text mostly consists: definitions, parameters, imports, statements that bind
    names, and all of what is broken.

    ``:=`` binds names inside expressions: where ``text`` has one, nothing is left out.
    """
    return walk(module) if ":=" in text else _blocks([module], frozenset())


def own_statements(scope: NodeOrLeaf, text: str) -> Iterator[NodeOrLeaf]:
    """``statements`` in a module, class or function, without what is inside the classes and functions in it."""
    inside = children(scope)[::-1]
    return _all(inside, _DEFINITIONS) if ":=" in text else _blocks(inside, _DEFINITIONS)


def _blocks(stack: list[NodeOrLeaf], closed: frozenset[str]) -> Iterator[NodeOrLeaf]:
    """The nodes of the stack with the blocks and the broken nodes under them; nothing under those that are ``closed``."""
    while stack:
        at = stack.pop()
        yield at
        kind = at.type
        if kind not in _BLOCKS or kind in closed:
            continue
        inside = cast("list[NodeOrLeaf]", cast("BaseNode", at).children)[::-1]
        if kind == "error_node":
            yield from _all(inside, closed)
        else:
            stack.extend(inside)


def _all(stack: list[NodeOrLeaf], closed: frozenset[str]) -> Iterator[NodeOrLeaf]:
    while stack:
        at = stack.pop()
        yield at
        if at.type not in closed:
            stack.extend(children(at)[::-1])


def ancestors(node: NodeOrLeaf) -> Iterator[BaseNode]:
    """The parents of ``node``, innermost first."""
    at = node.parent
    while at is not None:
        yield at
        at = at.parent


def expression(node: NodeOrLeaf, text: str) -> Expression:
    """The expression of ``node`` with the variables that it reads (attribute, keyword and bound names left out), in order of first use."""
    span = node_span(node, text)
    return Expression(text=text[span.start : span.end], span=span, names=read_names(node))


def read_names(node: NodeOrLeaf) -> tuple[str, ...]:
    """Variables that ``node`` reads: free names. Imported modules and built-ins are names like any other."""
    seen: dict[str, None] = {}
    _read(node, frozenset(), seen)
    return tuple(seen)


def _read(node: NodeOrLeaf, bound: frozenset[str], seen: dict[str, None]) -> None:
    if node.type == "name":
        if value(node) not in bound:
            seen.setdefault(value(node))
        return
    inside = children(node)
    if node.type == "trailer" and value(inside[0]) == ".":
        return
    if node.type == "argument" and len(inside) == 3 and value(inside[1]) == "=":
        inside = inside[2:]
    elif node.type == "fstring_conversion":
        return
    elif node.type in ("lambdef", "lambdef_nocond"):
        _read_function(node, bound, seen, body=inside[-1:])
        return
    elif node.type == "funcdef":
        locals_ = frozenset(value(n) for s in walk(inside[-1]) for n in assigned_names(s))
        _read_function(node, bound | locals_, seen, body=inside[-1:])
        return
    elif any(child.type in COMPREHENSIONS for child in inside):
        bound = bound | frozenset(
            value(n)
            for child in walk(node)
            if child.type in COMPREHENSIONS
            for t in children(child)[1:2]
            for n in walk(t)
            if n.type == "name"
        )
    for child in inside:
        _read(child, bound, seen)


def _read_function(node: NodeOrLeaf, bound: frozenset[str], seen: dict[str, None], *, body: list[NodeOrLeaf]) -> None:
    parameters = [p for p in walk(node) if p.type == "param" and p.search_ancestor("funcdef", "lambdef", "lambdef_nocond") is node]
    names = {value(cast("NodeOrLeaf", cast("Any", p).name)) for p in parameters}
    for parameter in parameters:
        default = cast("NodeOrLeaf | None", cast("Any", parameter).default)
        if default is not None:
            _read(default, bound, seen)
    for part in body:
        _read(part, bound | names, seen)


def assigned_names(statement: NodeOrLeaf) -> list[NodeOrLeaf]:
    """The name leaves that a statement binds by ``=``, ``for``, ``with`` or ``:=``; none of other nodes."""
    inside = children(statement)
    if statement.type == "expr_stmt":
        targets = [inside[i] for i in range(len(inside) - 1) if inside[i + 1].type == "annassign" or value(inside[i + 1]).endswith("=")]
    elif statement.type == "for_stmt":
        targets = inside[1:2]
    elif statement.type == "with_item":
        targets = inside[2:3]
    elif statement.type == "namedexpr_test":
        targets = inside[:1]
    else:
        return []
    return [leaf for target in targets for leaf in _targets(target)]


def _targets(node: NodeOrLeaf) -> Iterator[NodeOrLeaf]:
    if node.type == "name":
        yield node
    elif node.type in ("testlist_star_expr", "exprlist", "testlist", "testlist_comp", "atom", "star_expr"):
        for child in children(node):
            yield from _targets(child)
