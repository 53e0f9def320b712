"""What is cut away can't matter: the program, its key and what it reads are those of the whole text."""

from __future__ import annotations

import pytest

from kernelband.lsp.parts import needed, parses
from kernelband.source import form, program_in

PATH = "/nowhere/k.py"
TEXT = '''"""A module."""
import torch
import triton
import triton.language as tl

SIZE = 64
OTHER = 3


def unrelated(a):
    """Says
    import nothing."""
    return a


@triton.jit
def twice(x):
    return 2 * x


@triton.autotune(
    configs=[triton.Config({})],
    key=["n"],
)
@triton.jit
def scale(x, n, BLOCK: tl.constexpr):
    tl.store(x, twice(tl.load(x)))


@triton.jit
def second(x):
    tl.store(x, 0.0)


alias = scale


class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        alias[(1,)](x, 64, BLOCK=SIZE)
        return x


def run(x):
    scale[(1,)](x, 64, BLOCK=SIZE)


def reset(x):
    second[(1,)](x)


if run:
    print(OTHER)
else:
    print()
'''


def key(texts: dict[str, str], kernel: str) -> str:
    return form(program_in(texts, PATH, kernel))


@pytest.mark.parametrize("kernel", ["scale", "second", "twice"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_program_is_that_of_the_whole_text(kernel: str, end: str) -> None:
    whole = {PATH: TEXT.replace("\n", end)}
    small = needed(whole, kernel)
    assert parses(small)
    assert len(small[PATH]) < len(TEXT)
    assert "def unrelated" not in small[PATH]
    one, other = (program_in(texts, PATH, kernel) for texts in (whole, small))
    assert [h.place for h in one.hosts] == [h.place for h in other.hosts]
    assert [h.place for h in one.helpers] == [h.place for h in other.helpers]
    assert key(whole, kernel) == key(small, kernel)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("return a", "return a + 1", True),
        ("tl.store(x, 0.0)", "tl.store(x, 1.0)", True),
        ("second[(1,)](x)", "second[(2,)](x)", True),
        ("return 2 * x", "return 3 * x", False),
        ("SIZE = 64", "SIZE = 128", False),
        ("alias[(1,)]", "alias[(2,)]", False),
        ("second[(1,)](x)", "scale[(1,)](x, 64, BLOCK=8)", False),
        ('key=["n"]', 'key=["m"]', False),
    ],
)
def test_what_matters_makes_a_difference_and_the_rest_none(old: str, new: str, same: bool) -> None:
    assert TEXT.count(old) == 1
    before, after = {PATH: TEXT}, {PATH: TEXT.replace(old, new)}
    assert (needed(before, "scale") == needed(after, "scale")) is same


def test_launches_in_other_files_stay() -> None:
    far = (
        "import k\nfrom k import scale as s\n\n\ndef a(x):\n    s[(1,)](x)\n\n\ndef b(x):\n    k.scale[(1,)](x)\n\n\ndef c(x):\n    pass\n"
    )
    small = needed({PATH: TEXT, "/nowhere/far.py": far}, "scale")["/nowhere/far.py"]
    assert ["def a" in small, "def b" in small, "def c" in small] == [True, True, False]


def test_text_at_the_left_margin_of_a_string_shows_as_odd() -> None:
    odd = {PATH: TEXT.replace("import nothing.", "\ndef of nothing.\n")}
    assert parses(odd)
    assert not parses(needed(odd, "scale")) or key(needed(odd, "scale"), "scale") == key(odd, "scale")
    assert not parses({PATH: "def f(:\n"})
