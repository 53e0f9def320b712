"""Which variant a text is, however it was formatted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernelband.errors import SourceError, StaleText
from kernelband.source import between, form, transplant
from tests.unit.source.test_transplant import BASE, FASTER, PATH, WIDER, find


def formatted(text: str) -> str:
    """As ``ruff format`` writes it, with other lengths than this project's."""
    command = [str(Path(sys.executable).with_name("ruff")), "format", "--isolated", "--line-length", "60", "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True, check=True, timeout=200).stdout


def form_of(text: str) -> str:
    return form(find()({PATH: text}))


FORMS = {form_of(BASE): 0, form_of(FASTER): 1, form_of(WIDER): 2}


def who(text: str) -> int | None:
    try:
        return FORMS.get(form_of(text))
    except SourceError:
        return None


def back(base: str, edited: str, current: str) -> str:
    """The original in place of a variant that is in the current text."""
    texts = {PATH: current}
    return transplant(between({PATH: edited}, {PATH: base}), {PATH: edited}, texts, find()).apply(texts)[PATH]


@pytest.mark.parametrize(("text", "number"), [(BASE, 0), (FASTER, 1), (WIDER, 2)])
def test_formatted_text_is_recognised(text: str, number: int) -> None:
    new = formatted(text)
    assert new != text
    assert "Indented by hand. \n" not in new, "the formatter changed the docstring, which is part of the syntax tree"
    assert who(text) == number
    assert who(new) == number
    assert who(new.replace("'", '"').replace("\n", "\r\n")) == number


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_of_a_formatted_variant_the_original_comes_back(ends: str) -> None:
    current = formatted(WIDER.replace("return a + 1", "return  a - 1")).replace("\n", ends)
    after = back(BASE, WIDER, current)
    assert "other=0.0" not in after
    assert "1024" not in after
    assert who(after) == 0
    assert "return a - 1" in after  # what is elsewhere stays as it is


def test_what_is_no_formatted_variant_is_left_alone() -> None:
    for other in (FASTER, formatted(WIDER).replace("x * 2", "x * 3")):
        with pytest.raises(StaleText):
            back(BASE, WIDER, other)
    outside = WIDER.replace("WARPS = 4", "WARPS = 8")
    assert who(back(BASE, outside, formatted(outside))) == 0
    with pytest.raises(StaleText, match="where the variant edits it"):
        back(BASE, outside, formatted(outside).replace("WARPS = 8", "WARPS = (8)"))


def test_something_else_is_not_recognised() -> None:
    assert who(WIDER.replace("1024", "512")) is None
    assert who(BASE.replace("x * 2", "x * 4")) is None
    assert who(BASE.replace("scale_kernel", "renamed")) is None
    assert who(WIDER.replace("unrelated", "elsewhere")) == 2
