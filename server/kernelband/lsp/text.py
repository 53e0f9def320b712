r"""Positions by LSP's rules: lines end at ``\n``, ``\r\n`` and ``\r`` and nowhere else, columns count code units of the encoding agreed on.

Everything else in the engine counts characters of the decoded text (``kernelband.source.model.Span``); this file is where the two meet.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from attrs import Factory, field, frozen
from lsprotocol import types

from kernelband.source.model import Span

UTF8, UTF32 = types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf32  # UTF-16 is what is left
TERMINATOR = re.compile(r"\r\n?|\n")

#: How characters are counted: a ``PositionEncodingKind`` or its value, as ``pygls.workspace.Workspace.position_encoding`` has it.
Encoding = types.PositionEncodingKind | str


def _starts(lines: Lines) -> tuple[int, ...]:
    text = lines.text
    if text.count("\r") == text.count("\r\n"):  # by far the faster way, and a lone \r is rare
        return (0, *accumulate(len(line) + 1 for line in text.split("\n")[:-1]))
    return (0, *[m.end() for m in TERMINATOR.finditer(text)])


@frozen
class Lines:
    """A text with the offsets at which its lines start. The last line has no terminator; the text "" is one empty line."""

    text: str = field(repr=False)
    starts: tuple[int, ...] = field(repr=False, eq=False, kw_only=True, default=Factory(_starts, takes_self=True))

    def line(self, offset: int) -> int:
        """The line, from 0, that the character at ``offset`` is on. A terminator is on the line that it ends."""
        return max(bisect_right(self.starts, offset) - 1, 0)

    def end(self, line: int) -> int:
        """Offset of the end of that line, before its terminator."""
        if line + 1 >= len(self.starts):
            return len(self.text)
        after = self.starts[line + 1]
        return after - (2 if self.text.startswith("\r\n", after - 2) else 1)

    def offset(self, position: types.Position, encoding: Encoding) -> int:
        """Offset of a client's position.

        A character past its line's end is that end, a line past the text's end is the text's end; within a character it is before it.
        """
        if position.line >= len(self.starts):
            return len(self.text)
        start = self.starts[position.line]
        piece = self.text[start : min(start + position.character, self.end(position.line))]  # a character is at least one unit
        return start + (len(piece) if encoding == UTF32 or piece.isascii() else _fitting(piece, position.character, encoding))

    def position(self, offset: int, encoding: Encoding) -> types.Position:
        """The client's position of an offset; offsets outside the text are its ends, one within a terminator is before it."""
        offset = min(max(offset, 0), len(self.text))
        line = self.line(offset)
        return types.Position(line, units(self.text[self.starts[line] : min(offset, self.end(line))], encoding))

    def range(self, span: Span, encoding: Encoding) -> types.Range:
        """The client's range of a span."""
        return types.Range(self.position(span.start, encoding), self.position(span.end, encoding))

    def span(self, range_: types.Range, encoding: Encoding) -> Span:
        """The span of a client's range; empty at its start where the end comes first."""
        start = self.offset(range_.start, encoding)
        return Span(start, max(self.offset(range_.end, encoding), start))

    def replaced(self, span: Span, new: str) -> Lines:
        """The text with ``span`` replaced. Reads no line anew but those around it, so many edits of one message stay cheap."""
        start, end = span.start, span.end
        # Halves of one character that meet become it, as they are for the client.
        if "\ud800" <= self.text[start - 1 : start] <= "\udbff":
            start, new = start - 1, self.text[start - 1] + new
        if "\udc00" <= self.text[end : end + 1] <= "\udfff":
            end, new = end + 1, new + self.text[end]
        if not new.isascii():
            new = new.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        text = self.text[:start] + new + self.text[end:]
        # A line more on each side: a \r and a \n may meet there, or be parted.
        first, after = max(self.line(start) - 1, 0), self.line(end) + 2
        moved = len(text) - len(self.text)
        stop = self.starts[after] + moved if after < len(self.starts) else len(text)
        inside = [m.end() for m in TERMINATOR.finditer(text, self.starts[first], stop)]
        if after < len(self.starts):
            inside.pop()  # that is where the line after starts
        return Lines(text, starts=(*self.starts[: first + 1], *inside, *[s + moved for s in self.starts[after:]]))

    def changed(self, change: types.TextDocumentContentChangeEvent, encoding: Encoding) -> Lines:
        """The lines after one change of ``textDocument/didChange``, partial or whole."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            return self.replaced(self.span(change.range, encoding), change.text)
        return Lines(change.text)


def changed(text: str, changes: Iterable[types.TextDocumentContentChangeEvent], encoding: Encoding) -> str:
    """The text after the changes of one message, each of which counts in the text that the ones before left."""
    lines = Lines(text)
    for change in changes:
        lines = lines.changed(change, encoding)
    return lines.text


def units(piece: str, encoding: Encoding) -> int:
    """Length of ``piece`` in code units. Half a surrogate pair counts one in UTF-16 and three in UTF-8."""
    if encoding == UTF32 or piece.isascii():
        return len(piece)
    if encoding == UTF8:
        return len(piece.encode("utf-8", "surrogatepass"))
    return len(piece.encode("utf-16-le", "surrogatepass")) // 2


def _fitting(piece: str, most: int, encoding: Encoding) -> int:
    """How many characters of ``piece`` fit whole into that many code units."""
    return bisect_right(range(1, len(piece) + 1), most, key=lambda count: units(piece[:count], encoding))
