"""A module in pieces: its top-level statements, and which of them hold anything that can't be read.

Most of a text that is being typed is the same from one version to the next. What is told here of a piece is told by its characters, so it
can be kept, and whole pieces need no walk.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import field, frozen
from parso.tree import NodeOrLeaf

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
