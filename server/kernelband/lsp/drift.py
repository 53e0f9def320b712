"""The kernels of a moment ago in the text of now: answers from memory must not point a line off while somebody types."""

from __future__ import annotations

from attrs import Factory, field, frozen
from lsprotocol import types

from kernelband.lsp.index import Snapshot
from kernelband.lsp.text import Encoding, Lines
from kernelband.source.model import Span


@frozen
class View:
    """A snapshot, seen from a later text. What lies before and after all changes moves as one; what lies in them is at their start."""

    snapshot: Snapshot
    now: Lines
    _before: int = field(init=False, default=Factory(lambda self: _common(self.snapshot.text, self.now.text), takes_self=True))
    _after: int = field(init=False, default=Factory(lambda self: self._suffix(), takes_self=True))

    def _suffix(self) -> int:
        old, new = self.snapshot.text, self.now.text
        return min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - self._before) if old is not new else 0

    def offset(self, position: types.Position, encoding: Encoding) -> int:
        """The offset in the snapshot's text of a position in the text of now."""
        at, old, new = self.now.offset(position, encoding), len(self.snapshot.text), len(self.now.text)
        if at <= self._before:
            return at
        return at + old - new if at >= new - self._after else self._before

    def range(self, span: Span, encoding: Encoding) -> types.Range:
        """The range in the text of now of a span of the snapshot."""
        return self.now.range(Span(self._now(span.start), self._now(span.end)), encoding)

    def _now(self, offset: int) -> int:
        old, new = len(self.snapshot.text), len(self.now.text)
        if offset <= self._before:
            return offset
        return offset + new - old if offset >= old - self._after else self._before


def _common(first: str, second: str) -> int:
    """How many characters two texts begin with in common; by halves, since comparing slices is much faster than characters."""
    if first == second:
        return len(first)
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
