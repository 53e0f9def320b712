"""Kernels in text that is broken mid-edit: what the parser dropped, found again from the tokens around a ``def``.

An unclosed bracket above a kernel swallows its ``@triton.jit`` as an operator, and a ``def`` line without a body becomes loose tokens.
Both are read again from their own characters alone, at the line and column where they stand, so that positions stay those of the text.
"""

from __future__ import annotations

from typing import Any, cast

from parso.tree import Leaf, NodeOrLeaf

from kernelband.source.model import Span
from kernelband.source.tree import ancestors, children, line_column, node_span, parse, value, walk


class Tokens:
    """The leaves of a broken text in order, with the questions that recovery asks of them."""

    def __init__(self, module: NodeOrLeaf, text: str) -> None:
        self.text = text
        self.leaves = [leaf for leaf in walk(module) if isinstance(leaf, Leaf) and (value(leaf) or leaf.type == "endmarker")]
        self._index = {id(leaf): i for i, leaf in enumerate(self.leaves)}

    def decorators(self, keyword: NodeOrLeaf) -> list[Span]:
        """The expressions after each ``@`` that starts a line right above the ``def`` keyword, top first."""
        column, found = keyword.start_pos[1], cast("list[Span]", [])
        end: int | None = None
        for at in range(self._index[id(keyword)] - 1, -1, -1):
            leaf = self.leaves[at]
            if leaf.type == "newline":
                continue
            end = node_span(leaf, self.text).end if end is None else end
            if leaf.start_pos[1] > column or not self._starts_line(leaf):
                continue
            if value(leaf) == "@" and leaf.start_pos[1] == column:
                found.append(Span(node_span(leaf, self.text).end, end))
                end = None
            elif value(leaf) not in ")]}":
                break
        return found[::-1]

    def block_end(self, keyword: NodeOrLeaf, start: int) -> int:
        """Where the block of a ``def`` ends: before the first line that starts no deeper, without the blanks before it."""
        last = start
        for leaf in self.leaves[self._index[id(keyword)] + 1 :]:
            span = node_span(leaf, self.text)
            if span.start >= start and self._starts_line(leaf) and leaf.start_pos[1] <= keyword.start_pos[1]:
                break
            if span.start >= start and leaf.type not in ("newline", "endmarker"):
                last = span.end
        return last

    def _starts_line(self, leaf: NodeOrLeaf) -> bool:
        start = node_span(leaf, self.text).start
        line = max(self.text.rfind("\n", 0, start), self.text.rfind("\r", 0, start)) + 1
        return not self.text[line:start].strip(" \t\f\ufeff")


def may_have_lost_decorators(keyword: NodeOrLeaf, text: str) -> bool:
    """Whether the statement before ``keyword``, or what can't be read there, holds an ``@``. Quick: most functions have none."""
    before: Any = cast("Any", keyword).get_previous_leaf()
    while before is not None and (before.type == "newline" or not before.value):
        before = before.get_previous_leaf()
    if before is None:
        return False
    first: Any = next(n for n in (before, *ancestors(before)) if n.parent is None or n.parent.type in ("suite", "file_input"))
    while first.type in ("error_node", "error_leaf") and (sibling := first.get_previous_sibling()) is not None:
        first = sibling
    return "@" in text[node_span(first, text).start : node_span(keyword, text).start]


def expression_at(text: str, span: Span) -> NodeOrLeaf | None:
    """The first expression of that piece of text, parsed alone, with the positions of the whole text."""
    module = parse(_placed(text, span) + "\n")
    for node in walk(module):
        if node.type not in ("file_input", "simple_stmt", "error_node", "error_leaf", "newline", "endmarker") and node is not module:
            return node
    return None


def loose_parameters(keyword: NodeOrLeaf, text: str) -> tuple[NodeOrLeaf, NodeOrLeaf, NodeOrLeaf] | None:
    """(name leaf, funcdef node of the header parsed alone, colon) of a ``def`` whose line stands; None when it doesn't."""
    parent = keyword.parent
    siblings = children(parent) if parent is not None else []
    at = next((i for i, s in enumerate(siblings) if s is keyword), len(siblings))
    rest = siblings[at + 1 :]
    if len(rest) < 2 or rest[0].type != "name" or rest[1].type != "parameters" or value(children(rest[1])[-1]) != ")":
        return None
    end = next((s for s in rest[2:] if value(s) == ":"), None)
    if end is None:
        return None
    start, stop = node_span(keyword, text).start, node_span(rest[1], text).end
    lone = parse(_placed(text, Span(start, stop)) + ": pass\n")
    header = next((n for n in walk(lone) if n.type == "funcdef"), None)
    return None if header is None else (rest[0], header, end)


def _placed(text: str, span: Span) -> str:
    """The characters of ``span`` at the same line and column, with nothing before them."""
    line, column = line_column(text, span.start)
    return "\n" * (line - 1) + " " * column + text[span.start : span.end]
