"""The outline of a long text: as long as the text, shorter to read, and with the kernels where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.source import find_kernels
from kernelband.source.outline import outline, outlined_kernels

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.py"))
HEAD = "import triton\nimport triton.language as tl\n\n\n"
KERNEL = "@triton.jit\ndef kernel(x, N: tl.constexpr):\n    tl.store(x + tl.arange(0, N), 0.0)\n\n\n"
PLAIN = 'def plain(\n    x,\n):\n    """A word."""\n    return [x, 1]\n\n\n'


def places(text: str, *, quick: bool) -> list[tuple[str, str]]:
    found = outlined_kernels("/w/k.py", text) if quick else find_kernels("/w/k.py", text)
    return [(k.place.qualname, text[k.name_span.start : k.name_span.end]) for k in found]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_every_example_keeps_its_kernels(path: Path) -> None:
    text = path.read_text()
    assert len(outline(text)) == len(text)
    assert places(text, quick=True) == places(text, quick=False) != []


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_bodies_that_hold_no_kernel_are_left_out(ends: str) -> None:
    text = (HEAD + PLAIN * 50 + KERNEL + PLAIN * 50).replace("\n", ends)
    short = outline(text)
    assert len(short) == len(text)
    assert short.count("return") == 0
    assert short.count("tl.store") == 1
    assert places(text, quick=True) == [("kernel", "kernel")]


@pytest.mark.parametrize(
    "kept",
    [
        "@decorated\ndef plain(x):\n    return x\n",
        "class Host:\n    @staticmethod\n    def run(x):\n        return x\n",
        "def made():\n    def inner(x):\n        pass\n    return triton.jit(inner)\n",
        'def documented(x):\n    """Text\nat the margin\n\n    goes on."""\n    return x\n',
        "def cut(x, y=(\n",
        "def short(x): return x\n",
    ],
)
def test_what_may_hold_a_kernel_or_cant_be_told_stays(kept: str) -> None:
    text = HEAD + kept + "\n\n" + KERNEL
    assert outline(text) == text
