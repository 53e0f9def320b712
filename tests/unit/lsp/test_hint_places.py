"""Hints in the text of now: on the line that moved, and never outside of the text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.explain.hints import CODES, Hint
from kernelband.lsp import hint_places
from kernelband.lsp.hint_places import Placed, functions, placed, wanted
from kernelband.lsp.text import Lines
from kernelband.source import IncrementalKernels

PATH = "/w/k.py"
KERNEL = '''import triton
import triton.language as tl


@triton.jit
def helper(x, i, n):
    return tl.load(x + i, mask=i < n)


@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    """Twice."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * helper(x, i, n), mask=i < n)


def run(x, y, n):
    scale[(n // 64,)](x, y, n, BLOCK=64)
'''
STORE = KERNEL.splitlines().index("    tl.store(y + i, 2.0 * helper(x, i, n), mask=i < n)") + 1
LOAD = KERNEL.splitlines().index("    return tl.load(x + i, mask=i < n)") + 1


def at(line: int, code: str = "mask-always-true", path: str = PATH) -> Hint:
    return Hint(code, "line", "It is so.", path, line)


def found(hints: list[Hint], now: str = KERNEL, base: str = KERNEL, path: str = PATH) -> tuple[Placed, ...]:
    kernels = IncrementalKernels().read(PATH, now)
    kernel = next(k for k in kernels if k.place.qualname == "scale")
    return placed(hints, (path, base), kernel, kernels, Lines(now))


def shown(hints: list[Hint], now: str = KERNEL, base: str = KERNEL, path: str = PATH) -> list[str]:
    return [now[p.span.start : p.span.end] for p in found(hints, now, base, path)]


def test_a_hint_stands_on_its_line_its_kernel_or_its_launch() -> None:
    hints = [at(STORE), at(LOAD), Hint("spills", "kernel", "m"), Hint("too-few-programs", "launch", "m")]
    assert shown(hints) == [
        "tl.store(y + i, 2.0 * helper(x, i, n), mask=i < n)",
        "return tl.load(x + i, mask=i < n)",
        "scale",
        "scale[(n // 64,)](x, y, n, BLOCK=64)",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import triton\n", "# above\n\nimport triton\n"),
        ("\n", "\r\n"),
        ("    i = tl.program_id(0)", "    # a comment within\n    i = tl.program_id(0)"),
        ("(x, y, n, BLOCK: tl.constexpr)", "(\n    x, y, n, BLOCK: tl.constexpr\n)"),
        ("def run(x, y, n):", "def other():\n    pass\n\n\ndef run(x, y, n):"),
    ],
)
def test_lines_move_with_their_function(old: str, new: str) -> None:
    now = KERNEL.replace(old, new)
    assert now != KERNEL
    assert shown([at(STORE), at(LOAD)], now) == shown([at(STORE), at(LOAD)])


def test_a_function_too_long_to_compare_has_its_hints_at_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    now = KERNEL.replace("i = tl.program_id(0)", "i = 1 + tl.program_id(0)")
    assert shown([at(STORE)], now)[0].startswith("tl.store(")
    monkeypatch.setattr(hint_places, "MOST_TOKENS", 5)
    assert shown([at(STORE)], now) == ["scale"]
    assert shown([at(STORE)])[0].startswith("tl.store(")


def test_a_method_and_a_statement_over_several_lines() -> None:
    now = KERNEL.replace("tl.store(y + i, 2.0", "tl.store(\n        y + i, 2.0")
    assert shown([at(STORE)], now) == ["tl.store("]
    base = "class A:\n    @staticmethod\n    def f(x):\n        return x\n"
    assert functions(base) == {"A.f": (2, 4)}
    assert functions("def broken(:\n") == {}


def test_what_is_elsewhere_is_said_at_the_kernel() -> None:
    (one,) = found([at(3, path="/w/helpers.py")])
    assert one.message.startswith("It is so. ")
    assert "line 3 of helpers.py" in one.message
    assert KERNEL[one.span.start : one.span.end] == "scale"
    assert shown([at(1)]) == ["scale"]  # outside of its functions
    assert shown([at(1, "out-of-bounds"), at(STORE, "out-of-bounds")]) == ["tl.store(y + i, 2.0 * helper(x, i, n), mask=i < n)"]
    twice = KERNEL + "    scale[(1,)](x, y, n, BLOCK=64)\n"
    assert shown([Hint("too-few-programs", "launch", "m")], twice) == ["scale"]  # which of the two?
    assert shown([at(STORE, path="/w/old.py")], path="/w/old.py")[0].startswith("tl.store(")  # the file had another name


def test_the_setting_lets_through() -> None:
    two = found([at(STORE), Hint("spills", "kernel", "m")])
    assert wanted(two, True) == two
    assert wanted(two, False) == ()
    assert wanted(two, ["spills"]) == two[:1]


PIECE = st.text(alphabet='ab:=#[](),"\\\n\r\t \x0c\x00\ufeff\ud800\U0001d538', max_size=30)
SOME_HINT = st.builds(
    Hint, st.sampled_from([*CODES]), st.sampled_from(["line", "kernel", "launch"]), st.text(max_size=5), st.just(PATH), st.integers(-3, 40)
)


@settings(max_examples=50)
@given(st.lists(SOME_HINT, max_size=4), PIECE, PIECE, PIECE, PIECE)
def test_no_text_and_no_fact_leads_outside(hints: list[Hint], above: str, within: str, below: str, base: str) -> None:
    now = above + "\n" + KERNEL.replace('"""Twice."""', within) + below
    lines = Lines(now)
    kernels = IncrementalKernels().read(PATH, now)
    for kernel in kernels:
        for old in (KERNEL, base, now):
            for p in placed(hints, (PATH, old), kernel, kernels, lines):
                assert 0 <= p.span.start <= p.span.end <= len(now)
                assert lines.line(p.span.start) == lines.line(max(p.span.end - 1, p.span.start))
