"""Kernels of a moment ago, in the text of now."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from kernelband.lsp.document_view import View
from kernelband.lsp.edits import Edit, between
from kernelband.lsp.index import Snapshot
from kernelband.lsp.text import Lines
from kernelband.source.model import Span

UTF16 = types.PositionEncodingKind.Utf16
PIECE = st.text(alphabet="ab\n\U0001d538", max_size=12)


def view(old: str, new: str, *edits: Edit) -> View:
    return View(Snapshot("file:///k.py", 1, old, Lines(old), ()), Lines(new), between(old, new, edits))


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


@given(PIECE, PIECE, PIECE, PIECE, PIECE)
def test_what_stands_between_two_far_edits_moves_with_them(one: str, first: str, middle: str, second: str, other: str) -> None:
    old, new = f"<{one}>{middle}<{other}>", f"<{first}>{middle}<{second}>"
    edits = (Edit(1, 1 + len(one), len(first)), Edit(len(first) + len(middle) + 3, len(first) + len(middle) + 3 + len(other), len(second)))
    seen = view(old, new, *edits)
    then, now = len(one) + 1, len(first) + 1  # of what is between
    for distance in range(1, len(middle) + 2):
        assert seen.span(Span(then + distance, then + distance)).start == now + distance
        assert seen.offset(seen.now.position(now + distance, UTF16), UTF16) == then + distance


def test_edits_that_cannot_have_made_the_text_are_one_around_all() -> None:
    assert between("abcd", "aXbcdY", [Edit(1, 1, 1)]) == (Edit(1, 4, 5),)
    assert between("abcd", "aXbcdY", [Edit(1, 1, 1), Edit(5, 5, 1)]) == (Edit(1, 1, 1), Edit(5, 5, 1))
    assert between("abcd", "abcd", [Edit(1, 1, 1)]) == ()
