"""Which variant a text is, however it was formatted, and whatever comments silence hints in it."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import StaleText
from kernelband.lsp.placing import place, recognise, restored
from kernelband.lsp.silences import Quiet
from kernelband.source import between
from kernelband.source.model import Edit, Span
from tests.unit.lsp.test_placing import BASE, FASTER, PATH, WIDER, find, variant


def formatted(text: str) -> str:
    """As ``ruff format`` writes it, with other lengths than this project's."""
    command = [str(Path(sys.executable).with_name("ruff")), "format", "--isolated", "--line-length", "60", "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True, timeout=200).stdout


VARIANTS = {1: between({PATH: BASE}, {PATH: FASTER}), 2: between({PATH: BASE}, {PATH: WIDER})}
who = partial(recognise, {PATH: BASE}, VARIANTS, program_of=find())


@pytest.mark.parametrize(("text", "number"), [(BASE, 0), (FASTER, 1), (WIDER, 2)])
def test_formatted_text_is_recognised(text: str, number: int) -> None:
    new = formatted(text)
    assert new != text
    assert "Indented by hand. \n" not in new, "the formatter changed the docstring, which is part of the syntax tree"
    assert who(current_texts={PATH: text}) == number
    assert who(current_texts={PATH: new}) == number
    assert who(current_texts={PATH: new.replace("'", '"').replace("\n", "\r\n")}) == number


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_of_a_formatted_variant_the_functions_go_back(ends: str) -> None:
    current = formatted(WIDER.replace("return a + 1", "return  a - 1")).replace("\n", ends)
    patch = restored({PATH: BASE}, {PATH: WIDER}, {PATH: current}, find())
    assert patch is not None
    after = patch.apply({PATH: current})[PATH]
    for name, begin, end in [
        ("scale_kernel", "@triton.jit\ndef scale_kernel", "\n\n\nclass"),
        ("run", "    def run", "\n\n\ndef unrelated"),
    ]:
        own = BASE[BASE.index(begin) : BASE.index(end)].replace("\n", ends)
        assert own in after, name
    assert who(current_texts={PATH: after}) == 0
    assert "return a - 1" in after  # what is elsewhere stays as it is


def test_what_is_no_formatted_variant_is_left_alone() -> None:
    assert restored({PATH: BASE}, {PATH: WIDER}, {PATH: FASTER}, find()) is None
    assert restored({PATH: BASE}, {PATH: WIDER}, {PATH: formatted(WIDER).replace("x * 2", "x * 3")}, find()) is None
    outside = WIDER.replace("WARPS = 4", "WARPS = 8")  # more than functions
    assert restored({PATH: BASE}, {PATH: outside}, {PATH: formatted(outside)}, find()) is None


def test_something_else_is_not_recognised() -> None:
    assert who(current_texts={PATH: WIDER.replace("1024", "512")}) is None
    assert who(current_texts={PATH: BASE.replace("x * 2", "x * 4")}) is None
    assert who(current_texts={PATH: BASE.replace("scale_kernel", "renamed")}) is None
    assert who(current_texts={PATH: WIDER.replace("unrelated", "elsewhere")}) == 2


QUIET = "  # kernelband: ignore[mask-always-true]"


def silenced(text: str, *lines: str) -> str:
    for line in lines:
        assert line + "\n" in text
        text = text.replace(line + "\n", line + QUIET + "\n")
    return text


SILENCED = (
    "def scale_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):",
    "x = tl.load(x_ptr + at, mask=at < n)",
    "scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64, num_warps=WARPS)",
    "return y",
)


@pytest.mark.parametrize("count", range(1, len(SILENCED) + 1))
def test_comments_that_silence_hints_do_not_count(count: int) -> None:
    now = silenced(BASE, *SILENCED[:count])
    after = place(variant(), {PATH: BASE}, {PATH: now}, find()).apply({PATH: now})[PATH]
    assert after.replace(QUIET, "") == WIDER
    assert after.count(QUIET) == count  # they stay beside what is edited
    back = place(variant(), {PATH: BASE}, {PATH: BASE}, find()).apply({PATH: BASE})[PATH]
    assert back == WIDER


def test_a_variant_of_a_text_with_such_comments_fits_one_without() -> None:
    base = silenced(BASE, *SILENCED)
    edited = base.replace("BLOCK=64", "BLOCK=1024").replace("cdiv(n, 64)", "cdiv(n, 1024)")
    made = between({PATH: base}, {PATH: edited})
    assert place(made, {PATH: base}, {PATH: BASE}, find()).apply({PATH: BASE})[PATH] == FASTER
    assert place(made, {PATH: base}, {PATH: base}, find()).apply({PATH: base})[PATH] == edited
    assert recognise({PATH: base}, {1: made}, {PATH: FASTER}, find()) == 1


def test_another_comment_is_a_change_still() -> None:
    now = (
        silenced(BASE, *SILENCED)
        .replace(QUIET + "\n    x =", QUIET + "\n    # of mine\n    x =")
        .replace("at < n)" + QUIET, "at < n)  # of mine" + QUIET)
    )
    with pytest.raises(StaleText):
        place(variant(), {PATH: BASE}, {PATH: now}, find())


@given(st.text(alphabet="ab#\n\r \t:=ignorekbl[]", max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_what_is_left_out_comes_back(text: str, start: int, end: int) -> None:
    text = text.replace("b#", "b  # kernelband: ignore[a]\n")
    quiet = Quiet.of(text)
    start, end = sorted((min(start, len(quiet.text)), min(end, len(quiet.text))))
    edit = Edit(Span(start, end), "new")
    out = quiet.outwards(edit)
    assert 0 <= out.span.start <= out.span.end <= len(text)
    assert quiet.inwards(out) == edit
    if not any(out.span.start < span.end and span.start < out.span.end for span in quiet.left_out):
        assert text[out.span.start : out.span.end] == quiet.text[start:end]
