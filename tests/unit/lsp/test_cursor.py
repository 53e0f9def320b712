"""Which kernels a cursor is at."""

from __future__ import annotations

import pytest

from kernelband.lsp.document_view import View
from kernelband.lsp.features.cursor import here
from kernelband.lsp.index import Snapshot
from kernelband.lsp.text import Lines
from kernelband.source import find_kernels

TEXT = """import triton
import triton.language as tl


@triton.jit
def first(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)  # in first
    tl.store(x + i, i)


@triton.jit
def second(x):
    tl.store(x, 0)


def host(
    x,
):
    first[(1,)](x, 3, BLOCK=4)  # launches first

    if x:
        second [(1,)](x)
    return x


def other(x):
    return x  # launches nothing


first[(2,)](None, 0, BLOCK=1)  # at the top
"""


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("@triton.jit\ndef first", ["first"]),
        ("in first", ["first"]),
        ("second(x):", ["second"]),
        ("def host", ["first", "second"]),
        ("launches first", ["first", "second"]),
        ("if x:", ["first", "second"]),
        ("return x\n\n\ndef other", ["first", "second"]),
        ("launches nothing", []),
        ("import triton\n", []),
    ],
)
def test_a_kernel_is_at_its_lines_and_at_those_that_launch_it(words: str, names: list[str]) -> None:
    lines = Lines(TEXT)
    snapshot = Snapshot("file:///k.py", 1, TEXT, lines, find_kernels("/k.py", TEXT))
    assert here(View(snapshot, lines), TEXT.index(words)) == names
