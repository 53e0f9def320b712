r"""LSP's lines and columns: \n, \r\n and \r end lines and nothing else does; columns are code units."""

from __future__ import annotations

import sys

import pytest
from lsprotocol.types import (
    Position,
    PositionEncodingKind,
    Range,
    TextDocumentContentChangePartial,
    TextDocumentContentChangeWholeDocument,
)

from kernelband.lsp.text import Lines, changed, units
from kernelband.source.model import Span

UTF8, UTF16, UTF32 = PositionEncodingKind.Utf8, PositionEncodingKind.Utf16, PositionEncodingKind.Utf32
ENCODINGS = [UTF8, UTF16, UTF32]
ODD = "\f\v\x1c\x1d\x1e\x85\u2028\u2029"


def partial(start: tuple[int, int], end: tuple[int, int], text: str) -> TextDocumentContentChangePartial:
    return TextDocumentContentChangePartial(range=Range(Position(*start), Position(*end)), text=text)


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", (0,)),
        ("a", (0,)),
        ("a\n", (0, 2)),
        ("a\r\nb\rc\n", (0, 3, 5, 7)),
        ("\r\r\n\n\r", (0, 1, 3, 4, 5)),
        ("\n\r", (0, 1, 2)),
        ("a\r\nb\r\n", (0, 3, 6)),
        (ODD + "\n" + ODD, (0, 9)),
    ],
)
def test_line_starts(text: str, starts: tuple[int, ...]) -> None:
    assert Lines(text).starts == starts


@pytest.mark.parametrize(
    ("text", "line", "end"), [("ab\ncd", 0, 2), ("ab\r\ncd", 0, 2), ("ab\rcd", 0, 2), ("ab\ncd", 1, 5), ("\r\n", 0, 0), ("\r\r\n", 1, 1)]
)
def test_a_line_ends_before_its_terminator(text: str, line: int, end: int) -> None:
    assert Lines(text).end(line) == end


@pytest.mark.parametrize(
    ("encoding", "characters"), [(UTF8, [0, 1, 3, 6, 10, 11]), (UTF16, [0, 1, 2, 3, 5, 6]), (UTF32, [0, 1, 2, 3, 4, 5])]
)
def test_columns_are_code_units(encoding: PositionEncodingKind, characters: list[int]) -> None:
    lines = Lines("x\naé中😀b\n")
    for offset, character in enumerate(characters, start=2):
        assert lines.position(offset, encoding) == Position(1, character)
        assert lines.offset(Position(1, character), encoding) == offset


def test_a_plain_string_names_an_encoding() -> None:
    assert Lines("😀b").position(1, "utf-16") == Position(0, 2)
    assert Lines("😀b").position(1, "utf-8") == Position(0, 4)


@pytest.mark.parametrize(("encoding", "inside"), [(UTF8, [2, 3, 4]), (UTF16, [2])])
def test_a_place_within_a_character_is_before_it(encoding: PositionEncodingKind, inside: list[int]) -> None:
    assert [Lines("a😀b").offset(Position(0, c), encoding) for c in inside] == [1] * len(inside)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("line", ["ab", "é😀"])
def test_places_outside_are_the_ends(encoding: PositionEncodingKind, line: str) -> None:
    lines = Lines(f"{line}\r\ncd")
    assert lines.offset(Position(0, 99), encoding) == 2
    assert lines.offset(Position(1, 99), encoding) == 6
    assert lines.offset(Position(7, 0), encoding) == 6
    assert lines.position(99, encoding) == Position(1, 2)
    assert lines.position(-1, encoding) == Position(0, 0)
    assert lines.position(3, encoding) == lines.position(2, encoding)  # between \r and \n is no place
    assert lines.position(4, encoding) == Position(1, 0)


def test_spans_and_ranges() -> None:
    lines = Lines("a😀\nbc")
    range_ = lines.range(Span(1, 4), UTF16)
    assert range_ == Range(Position(0, 1), Position(1, 1))
    assert lines.span(range_, UTF16) == Span(1, 4)
    assert lines.span(Range(Position(1, 1), Position(0, 1)), UTF16) == Span(4, 4)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", ["\ud83d", "a\ude00b", "\0", "x\0\ud83d\n\ude00", "\ufeffa"])
def test_half_characters_and_zeros_are_characters(text: str, encoding: PositionEncodingKind) -> None:
    lines = Lines(text)
    for offset in range(len(text) + 1):
        assert lines.offset(lines.position(offset, encoding), encoding) == offset
    assert units("\ud83d", encoding) == {UTF8: 3, UTF16: 1, UTF32: 1}[encoding]


@pytest.mark.parametrize(
    "change",
    [partial((0, 1), (0, 1), "\ude00"), partial((0, 1), (0, 2), "\ude00"), partial((0, 0), (0, 1), "😀"), partial((0, 0), (0, 0), "")],
)
def test_halves_that_meet_are_one_character(change: TextDocumentContentChangePartial) -> None:
    text = changed("\ud83dx", [change], UTF16)
    assert "\ud83d\ude00" not in text
    assert Lines(text).position(len(text), UTF16) == Position(0, len(text.encode("utf-16-le", "surrogatepass")) // 2)


def test_halves_that_a_deletion_brings_together() -> None:
    assert changed("\ud83dx\ude00", [partial((0, 1), (0, 2), "")], UTF16) == "😀"


def test_changes_count_in_what_the_ones_before_left() -> None:
    assert changed("abc\n", [partial((0, 1), (0, 2), "x\ny"), partial((1, 0), (1, 1), "z")], UTF16) == "ax\nzc\n"
    assert changed("abc", [TextDocumentContentChangeWholeDocument(text="é"), partial((0, 2), (0, 2), "!")], UTF8) == "é!"
    assert changed("abc", [], UTF8) == "abc"


@pytest.mark.parametrize(
    ("text", "span", "new"),
    [
        ("a\rb\nc\nd", Span(2, 3), ""),  # \r and \n meet
        ("a\r\nb\nc", Span(2, 2), "x"),  # and are parted
        ("a\r\nb", Span(2, 3), ""),
        ("a\n\nb", Span(1, 1), "\r"),
        ("a\nb\nc", Span(0, 5), ""),
        ("", Span(0, 0), "\r\n\r"),
        ("a\nb\nc\n", Span(6, 6), "d"),
        ("\r", Span(1, 1), "\n"),
    ],
)
def test_an_edit_leaves_the_line_starts_of_its_text(text: str, span: Span, new: str) -> None:
    after = Lines(text).replaced(span, new)
    assert after.text == text[: span.start] + new + text[span.end :]
    assert after.starts == Lines(after.text).starts


def test_an_edit_of_a_large_file_reads_the_lines_around_it_only() -> None:
    """Counted in calls, which are the same on any machine."""

    def calls(lines: Lines, change: TextDocumentContentChangePartial) -> int:
        found: list[str] = []
        before = sys.getprofile()
        # Only our own: the garbage collector may call whatever is left over from other tests.
        sys.setprofile(lambda frame, event, argument: found.append(event) if "kernelband" in frame.f_code.co_filename else None)
        try:
            lines.changed(change, UTF16)
        finally:
            sys.setprofile(before)
        return len(found)

    small, large = (Lines("    x = tl.load(ptr + offsets, mask=offsets < n, other=0.0)  # é\n" * count) for count in (50, 5000))
    for change in (partial((10, 4), (10, 5), "y"), partial((10, 4), (11, 2), "é\n\n")):
        assert calls(small, change) == calls(large, change) > 0
