"""The same moves however a kernel spells the language's functions: ``tl.load(...)``, ``load(...)``, ``triton.language.load(...)``."""

from __future__ import annotations

import re

import pytest

from kernelband.strategies import STRATEGIES
from tests.unit.strategies import fusion_samples, order_samples
from tests.unit.strategies.samples import program_of
from tests.unit.strategies.split_samples import SPLITS
from tests.unit.strategies.split_samples import captured as split_captured

IMPORT = "import triton.language as tl\n"
CALLED = re.compile(r"\btl\.(?!range\b|max\b|min\b|sum\b|abs\b)(\w+)(?=\()")  # those are Python's too, and the host function's


def imported(text):
    """Each function by its bare name."""
    names = sorted(set(CALLED.findall(text)))
    return CALLED.sub(r"\1", text).replace(IMPORT, f"{IMPORT}from triton.language import {', '.join(names)}\n")


def renamed(text):
    """Names that say nothing."""
    names = sorted(set(CALLED.findall(text)))
    called = ", ".join(f"{n} as our_{n}" for n in names)
    return CALLED.sub(r"our_\1", text).replace(IMPORT, f"{IMPORT}from triton.language import {called}\n")


def in_full(text):
    return re.sub(r"\btl\.", "triton.language.", text.replace(IMPORT, ""))


def through_math(text):
    return re.sub(r"\btl\.(exp|exp2|log|sqrt|rsqrt)\(", r"tl.math.\1(", text)


def counted(text):
    """Loops that count their blocks, and say afterwards where each begins."""
    blocks = r"\1for \2_ in range(tl.cdiv(\3, \4)):\n\1    \2 = \2_ * \4"
    return re.sub(r"( +)for (\w+) in range\(0, (\w+), (B\w+)\):", blocks, text)


def proposed(text, facts_of, tmp_path):
    program = program_of(text, tmp_path)
    given = facts_of(program)
    return {(p.strategy, p.move, str(sorted(p.parameters.items()))) for s in STRATEGIES for p in s.propose(program, given)}


SAMPLES = {
    **{f"split {n}": (s.text, lambda p, n=n: split_captured(n, p)) for n, s in SPLITS.items()},
    **{f"order {n}": (t, lambda p, n=n: order_samples.captured(n, p)) for n, t in order_samples.TEXTS.items()},
    **{
        f"fusion {n}": (s.text, lambda p, s=s: fusion_samples.row_facts(p, columns=s.columns, block=s.block, dtype=s.dtype))
        for n, s in fusion_samples.SAMPLES.items()
    },
}


@pytest.mark.parametrize("spelled", [imported, renamed, in_full, through_math])
@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_moves(name, spelled, tmp_path):
    text, facts_of = SAMPLES[name]
    if spelled(text) == text:
        return
    (tmp_path / "other").mkdir()
    assert proposed(spelled(text), facts_of, tmp_path / "other") == proposed(text, facts_of, tmp_path)


def test_a_name_that_may_be_another_is_not_the_languages(tmp_path):
    text, facts_of = SAMPLES["split decode"]
    assert "split_walk" in {move for _, move, _ in proposed(imported(text), facts_of, tmp_path)}
    other = imported(text).replace("\n\n@triton.jit", "\nstore = mine.store\n\n@triton.jit", 1)
    assert "split_walk" not in {move for _, move, _ in proposed(other, facts_of, tmp_path)}


@pytest.mark.parametrize("name", [n for n, (text, _) in SAMPLES.items() if counted(text) != text])
def test_loops_that_count_blocks_are_offered_as_much(name, tmp_path):
    """But for loads ahead, which want the next block's beginning."""
    text, facts_of = SAMPLES[name]
    (tmp_path / "other").mkdir()
    moves = [{move for _, move, _ in proposed(t, facts_of, tmp_path / to)} for t, to in ((text, ""), (counted(text), "other"))]
    assert moves[0] - moves[1] <= {"prefetch"}
