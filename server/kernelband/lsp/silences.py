"""``# kernelband: ignore[CODE]`` at the end of a line: read, put in, and left out where texts are compared."""

from __future__ import annotations

import ast
import re

from attrs import field, frozen

from kernelband.lsp.text import Lines
from kernelband.source.model import Edit, Span
from kernelband.source.syntax import syntax_tree

IGNORE = re.compile(r"#\s*kernelband:\s*ignore(?:\[([^\]\r\n]*)\])?", re.IGNORECASE)
_AT_END = re.compile(rf"(?<=\S)[ \t]*{IGNORE.pattern}[ \t]*(?=[\r\n]|\Z)", re.IGNORECASE)


def ignored(lines: Lines, offset: int) -> set[str]:
    """The codes that a comment on the line of that offset silences; ``*`` for all."""
    line = lines.line(offset)
    found: set[str] = set()
    for m in IGNORE.finditer(lines.text[lines.starts[line] : lines.end(line)]):
        found |= {"*"} if m.group(1) is None else {c.strip() for c in m.group(1).split(",")}
    return found


def silencing(lines: Lines, offset: int, code: str) -> Edit | None:
    """Puts the comment on the line of that offset; None where a comment there would be something else, as within a string."""
    line = lines.line(offset)
    start, end = lines.starts[line], lines.end(line)
    piece = lines.text[start:end]
    comment = IGNORE.search(piece)
    if comment is not None and comment.group(1) is not None:
        at = start + comment.end(1)
        edit = Edit(Span(at, at), f", {code}" if comment.group(1).strip() else code)
    else:
        at = start + len(piece.rstrip())
        edit = Edit(Span(at, at), f"  # kernelband: ignore[{code}]")
    after = lines.text[: edit.span.start] + edit.new + lines.text[edit.span.end :]
    same = _tree(lines.text)
    return edit if same is not None and same == _tree(after) else None


def _tree(text: str) -> str | None:
    try:
        return ast.dump(syntax_tree(text.removeprefix("\ufeff")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@frozen
class Quiet:
    """A text without these comments: where it is compared with another, they don't count."""

    original: str = field(repr=False)
    left_out: tuple[Span, ...]

    @classmethod
    def of(cls, text: str) -> Quiet:
        """Of any text."""
        return cls(text, tuple(Span(*m.span()) for m in _AT_END.finditer(text)) if "ignore" in text.lower() else ())

    @property
    def text(self) -> str:
        """What is left."""
        out: list[str] = []
        at = 0
        for span in self.left_out:
            out.append(self.original[at : span.start])
            at = span.end
        return "".join([*out, self.original[at:]])

    def inwards(self, edit: Edit) -> Edit:
        """An edit of the original, as one of what is left."""
        return Edit(Span(self._in(edit.span.start), self._in(edit.span.end)), edit.new)

    def outwards(self, edit: Edit) -> Edit:
        """An edit of what is left, as one of the original. A comment amid what is replaced goes with it, one beside it stays."""
        start, end = self._out(edit.span.start), self._out(edit.span.end)
        return Edit(Span(start, max(start, end)), edit.new)

    def _in(self, offset: int) -> int:
        return offset - sum(min(span.end, offset) - span.start for span in self.left_out if span.start < offset)

    def _out(self, offset: int) -> int:
        for span in self.left_out:
            if span.start >= offset:
                break
            offset += span.end - span.start
        return offset
