"""A list says of a text what ``find_kernels`` finds in it, however the text is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.source import Listed, find_kernels, list_kernels

ROOT = Path(__file__).parents[3]
HEAD = "import triton\nimport triton.language as tl\n\n"
KERNEL = "@triton.jit\ndef {}(x, n, BLOCK: tl.constexpr):\n    tl.store(x, n)\n\n"
PLAIN = HEAD + KERNEL.format("one")
FILES = sorted(p for folder in ("examples", "tests/fixtures", "tests/redteam") for p in (ROOT / folder).rglob("*.py"))


def found(text: str) -> list[Listed]:
    kernels = find_kernels("k.py", text)
    return [
        Listed(k.place.qualname, k.line, tuple(p.name for p in k.parameters), tuple(p.name for p in k.parameters if p.constexpr))
        for k in kernels
    ]


def test_names_lines_and_parameters() -> None:
    text = (
        HEAD
        + "class Ops:\n    @triton.autotune(configs=[], key=[])\n    @triton.jit(do_not_specialize=['n'])\n"
        + ("    def scale(x, /, n: int, *rest, A: tl.constexpr, B: 'tl.constexpr' = 1, **more):\n        tl.store(x, n)\n")
    )
    assert list_kernels("k.py", text) == (Listed("Ops.scale", 7, ("x", "n", "rest", "A", "B", "more"), ("A", "B")),)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_of_all_kinds(path: Path) -> None:
    text = path.read_text()
    assert [*list_kernels(str(path), text)] == found(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (PLAIN, ["one"]),
        (PLAIN + KERNEL.format("two") + KERNEL.format("one"), ["one", "two", "one"]),
        (PLAIN + "# jit\nTEXT = '@triton.jit'\n'''\n@triton.jit\ndef said(): ...\n'''\n", ["one"]),
        (HEAD + "if True:\n    @triton.jit\n    def one(x): ...\nelse:\n    @triton.jit\n    def one(x, y): ...\n", ["one", "one"]),
        (
            HEAD + "def make():\n    with x as y:\n        for i in y:\n            @triton.jit\n            def one(x): ...\n",
            ["make.<locals>.one"],
        ),
        (
            HEAD + "try:\n    pass\nexcept E:\n    @triton.jit\n    def one(x): ...\nfinally:\n    @triton.jit\n    def two(x): ...\n",
            ["one", "two"],
        ),
        (HEAD + "from triton import jit\n@jit\ndef one(x): ...\n" + KERNEL.format("two"), ["one", "two"]),
        (HEAD + "fast = triton.jit\n@fast\ndef one(x): ...\n", ["one"]),
        (PLAIN + "def two(x): ...\ntwo = triton.jit(two)\n", ["one", "two"]),
        (PLAIN + "import functools\n@functools.partial(triton.jit, noinline=True)\ndef two(x): ...\n", ["one", "two"]),
        (PLAIN + "from numba import jit\n@jit\ndef other(x): ...\n", ["one"]),
        (PLAIN + "def use(kernel: triton.JITFunction): ...\n", ["one"]),
        ("import other as triton\n" + KERNEL.format("none"), []),
        ("from other import triton\n" + KERNEL.format("none"), []),
        ("def triton(): ...\n" + KERNEL.format("none"), []),
        ("class triton: ...\n" + KERNEL.format("none"), []),
        (HEAD + "def make(triton):\n    @triton.jit\n    def none(x): ...\n", []),
        ("import other\ntriton = other.thing\n" + KERNEL.format("none"), []),
        ("import other\n(a, triton), b = other.thing, 1\n" + KERNEL.format("none"), []),
        (KERNEL.format("one"), ["one"]),
        (PLAIN + "def broken(:\n    pass\n" + KERNEL.format("two"), ["one", "two"]),
        (HEAD + "@triton.jit\ndef one(x,", []),
        ("@numba.jit\ndef other(x): ...\n", []),
        ("print('nothing')\n", []),
        ("", []),
    ],
)
def test_every_spelling(text: str, names: list[str]) -> None:
    listed = [*list_kernels("k.py", text)]
    assert listed == found(text)
    assert [k.qualname for k in listed] == names


def test_a_long_text() -> None:
    text = PLAIN + "".join(KERNEL.format(f"kernel_{n}") for n in range(1000))
    assert len(text) > 64_000
    assert [*list_kernels("k.py", text)] == found(text)
    assert len(found(text)) == 1001


def test_a_text_that_is_nested_too_deep_to_be_read_has_none() -> None:
    assert list_kernels("k.py", PLAIN.replace("@triton.jit", "@triton.jit(x=" + "(" * 2000 + "1" + ")" * 2001)) == ()


def test_nothing_is_said_of_escapes(recwarn: pytest.WarningsRecorder) -> None:
    assert [k.qualname for k in list_kernels("k.py", PLAIN + "x = '\\d'\n")] == ["one"]
    assert not recwarn.list
