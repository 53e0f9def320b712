"""The code cells of a notebook as one Python text: in order, each on lines of its own, IPython's lines made comments of the same length.

Every character of a cell has its place in the text, so offsets and edits go both ways.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache

from attrs import Factory, field, frozen

from kernelband.errors import SourceError
from kernelband.source.model import Edit, Span

JOIN = "\n"
KEEP = "apply its patch by hand"  # what is left to a person

_CELL_MAGIC = re.compile(r"\s*%%(?!(?:time|capture)\b)\w")  # those two run the rest of the cell as part of the notebook
_OWN = re.compile(
    r"[ \t\f]*(?:[%!?,;/]"  # %magic, !shell, ?help, and the calls without brackets
    r"|[\w*\[][\w.,*\[\] \t]*=[ \t]*[%!]"  # files = !ls
    r"|[^\W\d][\w*]*(?:\.[\w*]+|\[-?\d+\])*\?\??[ \t]*(?=[\r\n]|\Z))"  # scale?
)
_MAYBE = re.compile(r"(?:\A|[\r\n])[ \t\f]*[%!?,;/]|=[ \t]*[%!]|\?[ \t]*(?:[\r\n]|\Z)")  # in most cells nothing looks like one
_PIECE = re.compile(r"(?P<comment>#[^\r\n]*)|(?P<string>'''|\"\"\"|'|\")|(?P<open>[(\[{])|(?P<close>[)\]}])|\\\r?\n|\\\r|(?P<end>\r\n?|\n)")
_RAW_END = re.compile(r"(?<!\\)(?<!\\\r)(?=[\r\n])|\Z")
_LINE = re.compile(r"[^\r\n]+")
_STRINGS = {  # from behind the opening quotes; one in single quotes that isn't closed ends with its line
    **{q: re.compile(rf"(?:\\(?:\r\n|[\s\S])|[^\\\r\n{q}])*{q}?") for q in "'\""},
    **{q: re.compile(rf"(?:\\[\s\S]|(?!{q})[^\\])*(?:{q})?") for q in ("'''", '"""')},
}


@frozen
class Cells:
    """Code cells in order. ``text``: the program; ``spans``: of the cells in it; ``own``: of the lines that are IPython's."""

    sources: tuple[str, ...] = field(converter=tuple[str, ...])
    text: str = field(init=False, repr=False, default=Factory(lambda self: JOIN.join(_python(s)[0] for s in self.sources), takes_self=True))
    spans: tuple[Span, ...] = field(init=False, repr=False, default=Factory(lambda self: tuple(_spans(self.sources)), takes_self=True))
    own: tuple[Span, ...] = field(init=False, repr=False, default=Factory(lambda self: tuple(self._own()), takes_self=True))

    def _own(self) -> Iterator[Span]:
        for source, at in zip(self.sources, self.spans, strict=True):
            yield from (Span(at.start + s.start, at.start + s.end) for s in _python(source)[1])

    def at(self, offset: int) -> int:
        """The number, from 0, of the cell that an offset of the text is in; its end is in it too. -1 where there are no cells."""
        return bisect_right(self.spans, offset, key=lambda span: span.start) - 1

    def split(self, edits: Iterable[Edit]) -> dict[int, tuple[Edit, ...]]:
        """Edits of ``text``, which don't overlap, as edits of the sources by the number of the cell: only those that have any.

        The sources with them are the cells of the text with ``edits``.

        Raises:
            SourceError: an edit changes a line that is IPython's, or what two cells hold can't be told apart in it.
        """
        found: dict[int, list[Edit]] = {}
        edits = tuple(edits)
        for edit in edits:
            self._require_python(edit)
            for number, piece in self._pieces(edit):
                start = self.spans[number].start
                found.setdefault(number, []).append(Edit(Span(piece.span.start - start, piece.span.end - start), piece.new))
        out = {number: tuple(sorted(found[number], key=lambda e: e.span)) for number in sorted(found)}
        if Cells(self.changed(out)).text != applied(self.text, edits):
            names = ", ".join(str(n + 1) for n in out)
            raise SourceError(f"The variant meets lines of IPython in code cell {names}: move them to a cell of their own, or {KEEP}.")
        return out

    def changed(self, edits: dict[int, tuple[Edit, ...]]) -> tuple[str, ...]:
        """The sources with what ``split`` gave."""
        return tuple(applied(source, edits.get(number, ())) for number, source in enumerate(self.sources))

    def _require_python(self, edit: Edit) -> None:
        for span in self.own:
            if edit.span.start < span.end and span.start < edit.span.end:
                number = self.at(span.start)
                line = self.sources[number][span.start - self.spans[number].start :].splitlines()[0].strip()
                raise SourceError(f"The variant changes {line!r} in code cell {number + 1}, which is IPython's and not Python: {KEEP}.")

    def _pieces(self, edit: Edit) -> Iterator[tuple[int, Edit]]:
        """The parts of an edit in each cell, by offsets of the text. Lines are told apart where there are as many after it as before it."""
        first, last = self.at(edit.span.start), self.at(edit.span.end)
        if first == last >= 0:
            yield first, edit
            return
        old, new = self.text[edit.span.start : edit.span.end].split("\n"), edit.new.split("\n")
        if first < 0 or len(old) != len(new):
            raise SourceError(
                f"The variant changes lines of code cells {first + 1} to {last + 1} as one, so they can't be told apart: "
                f"join the cells, or {KEEP}."
            )
        at, line = edit.span.start, 0
        for number in range(first, last + 1):
            end = min(self.spans[number].end, edit.span.end)
            count = self.text.count("\n", at, end) + 1
            yield number, Edit(Span(at, end), "\n".join(new[line : line + count]))
            at, line = end + len(JOIN), line + count


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text with edits that don't overlap."""
    for edit in sorted(edits, key=lambda e: e.span, reverse=True):
        text = text[: edit.span.start] + edit.new + text[edit.span.end :]
    return text


def _spans(sources: Iterable[str]) -> Iterator[Span]:
    at = 0
    for source in sources:
        yield Span(at, at + len(source))
        at += len(source) + len(JOIN)


@lru_cache(maxsize=2048)
def _python(source: str) -> tuple[str, tuple[Span, ...]]:
    """A cell with its own lines as comments, and where they are."""
    spans = tuple(_ipython(source))
    out, at = list[str](), 0
    for span in spans:
        out += [source[at : span.start], _comments(source, span)]
        at = span.end
    return "".join([*out, source[at:]]), spans


def _ipython(source: str) -> Iterator[Span]:
    """The logical lines of a cell that are IPython's, without the end of the last line; the whole cell where its first line says so."""
    if _CELL_MAGIC.match(source):
        yield Span(0, len(source))
        return
    at = 0 if _MAYBE.search(source) is not None else len(source)
    while at < len(source):
        if _OWN.match(source, at):
            end = _end(source, at)
            yield Span(at, end)
            at = end
        at = _next_line(source, at)


def _end(source: str, at: int) -> int:
    """Of a line that goes on after a backslash."""
    found = _RAW_END.search(source, at)
    assert found is not None
    return found.start()


def _next_line(source: str, at: int) -> int:
    """Where the next logical line of Python starts: brackets, strings and backslashes hold lines together."""
    depth = 0
    while (piece := _PIECE.search(source, at)) is not None:
        at = piece.end()
        if piece.lastgroup == "string":
            ended = _STRINGS[piece.group()].match(source, at)
            at = ended.end() if ended is not None else at
        elif piece.lastgroup == "open":
            depth += 1
        elif piece.lastgroup == "close":
            depth = max(depth - 1, 0)
        elif piece.lastgroup == "end" and not depth:
            return at
    return len(source)


def _comments(source: str, span: Span) -> str:
    """As many characters, with the same ends of lines. An indented line becomes a statement: a block may have no other."""
    old = source[span.start : span.end]
    bare = old.lstrip(" \t\f")
    indent, first = old[: len(old) - len(bare)], _LINE.match(bare)
    if not indent or first is None or _CELL_MAGIC.match(source):
        return _LINE.sub(lambda line: "#" + line.group()[1:], old)
    size = first.end()
    return indent + ("0#" + bare[2:size])[:size] + _LINE.sub(lambda line: "#" + line.group()[1:], bare[size:])
