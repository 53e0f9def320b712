"""Which variant a text is, however it was formatted."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from kernelband.lsp.placing import recognise, restored
from kernelband.source import between
from tests.unit.lsp.test_placing import BASE, FASTER, PATH, WIDER, find


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
