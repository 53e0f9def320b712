"""A module in pieces: its top-level statements, and which of them hold anything that can't be read.

Most of a text that is being typed is the same from one version to the next. What is told here of a piece is told by its characters, so it
can be kept, and whole pieces need no walk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from attrs import field, frozen
from parso.tree import NodeOrLeaf

from kernelband.source.model import FilePatch, Span
from kernelband.source.tree import children, offset_at, statements

#: Type, column and characters of a piece.
Key = tuple[str, int, str]


@frozen(eq=False)
class Chunk:
    """A top-level node with its characters and those up to the next one. ``broken``: it is, or holds, what the parser can't read."""

    node: NodeOrLeaf
    text: str = field(repr=False)
    key: Key = field(repr=False)
    broken: bool


def chunks(module: NodeOrLeaf, text: str, known: Mapping[Key, bool]) -> list[Chunk]:
    """All of them, in source order.

    Args:
        module: the tree of ``text``.
        text: its characters.
        known: which pieces are broken, from other versions of the text.
    """
    nodes = children(module)
    starts = [offset_at(text, *node.start_pos) for node in nodes]
    out: list[Chunk] = []
    for node, start, end in zip(nodes, starts, (*starts[1:], len(text)), strict=True):
        piece = text[start:end]
        key = (node.type, node.start_pos[1], piece)
        broken = known.get(key)
        if broken is None:
            broken = any(n.type in ("error_node", "error_leaf") for n in statements(node, piece))
        out.append(Chunk(node, piece, key, broken))
    return out


def touched(pieces: Sequence[Chunk], text: str, file: FilePatch) -> list[str]:
    """The pieces that a patch edits or borders on, as they will be: where these can be read, so can the whole text, if it could before.

    Args:
        pieces: of ``text``.
        text: before.
        file: its patch.
    """
    first = len(text) - sum(len(piece.text) for piece in pieces)  # before it there may be comments
    bounds = [0, *accumulate((len(piece.text) for piece in pieces), initial=first)]
    parts: list[tuple[Span, int]] = []  # of the text before, and by how much each has grown
    for edit in file.edits:
        start = bounds[max(bisect_left(bounds, edit.span.start) - 1, 0)]
        end = bounds[min(bisect_right(bounds, edit.span.end), len(bounds) - 1)]
        grown = len(edit.new) - (edit.span.end - edit.span.start)
        if parts and start < parts[-1][0].end:
            before, more = parts.pop()
            start, grown = before.start, grown + more
        parts.append((Span(start, end), grown))
    after, moved = file.apply(text), 0
    out: list[str] = []
    for span, grown in parts:
        out.append(after[span.start + moved : span.end + moved + grown])
        moved += grown
    return out
