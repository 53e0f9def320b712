"""The kernels of a moment ago in the text of now: answers from memory must not point a line off while somebody types."""

from __future__ import annotations

from attrs import frozen
from lsprotocol import types

from kernelband.lsp.edits import Edit
from kernelband.lsp.index import Snapshot
from kernelband.lsp.text import Encoding, Lines
from kernelband.source.model import Kernel, Span


@frozen
class View:
    """A snapshot, seen from a later text. What lies between edits moves with them; what was replaced is at the start of its edit.

    Args:
        snapshot: of an earlier version.
        now: the text of now.
        edits: what made it of the snapshot's text, in order (``edits.between``).
        start: where ``now`` starts in what the edits made: it is only a part of that, a cell of a notebook.
    """

    snapshot: Snapshot
    now: Lines
    edits: tuple[Edit, ...] = ()
    start: int = 0

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Those whose names are in the text of now."""
        return tuple(k for k in self.snapshot.kernels if self.holds(k.name_span))

    def holds(self, span: Span) -> bool:
        """Whether a span of the snapshot starts in the text of now."""
        return 0 <= self.span(span).start <= len(self.now.text)

    def offset(self, position: types.Position, encoding: Encoding) -> int:
        """The offset in the snapshot's text of a position in the text of now."""
        at = self.now.offset(position, encoding) + self.start
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
        return Span(start - self.start, end - self.start)
