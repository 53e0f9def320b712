"""The kernels of a moment ago in the text of now: answers from memory must not point a line off while somebody types."""

from __future__ import annotations

from attrs import frozen
from lsprotocol import types

from kernelband.lsp.edits import Edit
from kernelband.lsp.index import Snapshot
from kernelband.lsp.text import Encoding, Lines
from kernelband.source.model import Span


@frozen
class View:
    """A snapshot, seen from a later text. What lies between edits moves with them; what was replaced is at the start of its edit.

    Args:
        snapshot: of an earlier version.
        now: the text of now.
        edits: what made it of the snapshot's text, in order (``edits.between``).
    """

    snapshot: Snapshot
    now: Lines
    edits: tuple[Edit, ...] = ()

    def offset(self, position: types.Position, encoding: Encoding) -> int:
        """The offset in the snapshot's text of a position in the text of now."""
        at = self.now.offset(position, encoding)
        for edit in reversed(self.edits):
            at = edit.back(at)
        return at

    def range(self, span: Span, encoding: Encoding) -> types.Range:
        """The range in the text of now of a span of the snapshot."""
        return self.now.range(self.span(span), encoding)

    def span(self, span: Span) -> Span:
        """A span of the snapshot in the text of now."""
        start, end = span.start, span.end
        for edit in self.edits:
            start, end = edit.forward(start), edit.forward(end)
        return Span(start, end)
