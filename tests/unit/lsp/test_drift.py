"""Kernels of a moment ago, in the text of now."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from kernelband.lsp.drift import View
from kernelband.lsp.index import Snapshot
from kernelband.lsp.text import Lines
from kernelband.source.model import Span

UTF16 = types.PositionEncodingKind.Utf16
PIECE = st.text(alphabet="ab\n\U0001d538", max_size=12)


def view(old: str, new: str) -> View:
    return View(Snapshot("file:///k.py", 1, old, Lines(old), ()), Lines(new))


@given(PIECE, PIECE, PIECE, PIECE)
def test_what_stands_around_a_change_moves_as_one(before: str, old: str, new: str, after: str) -> None:
    seen = view(f"{before}<{old}>{after}", f"{before}<{new}>{after}")
    lines = seen.now
    for offset in range(len(before) + 1):
        assert lines.offset(lines.position(offset, UTF16), UTF16) == seen.offset(lines.position(offset, UTF16), UTF16)
    for distance in range(len(after) + 1):  # counted from the end
        now, then = len(lines.text) - distance, len(seen.snapshot.text) - distance
        assert seen.offset(lines.position(now, UTF16), UTF16) == then
        assert seen.range(Span(then, then), UTF16).start == lines.position(now, UTF16)


@given(PIECE, PIECE)
def test_nothing_is_outside_of_either_text(old: str, new: str) -> None:
    seen = view(old, new)
    for offset in range(len(new) + 1):
        assert 0 <= seen.offset(seen.now.position(offset, UTF16), UTF16) <= len(old)
    for offset in range(len(old) + 1):
        found = seen.range(Span(offset, len(old)), UTF16)
        assert 0 <= seen.now.offset(found.start, UTF16) <= seen.now.offset(found.end, UTF16) <= len(new)
