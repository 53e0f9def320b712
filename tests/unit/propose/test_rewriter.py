"""The author without a model: each proposal once, each text once, the same for the same."""

from __future__ import annotations

import pytest

from kernelband.propose import Rewriter
from kernelband.strategies import STRATEGIES
from tests.unit.strategies.samples import again, example, example_facts


def test_it_says_when_nothing_is_left(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    already: set[str] = set()
    turns = 0
    while True:
        draft = Rewriter().write(program, "tiling", given, already, 7)
        assert len(draft.proposals) <= 7
        assert not already & {p.key for p in draft.proposals}
        already |= {p.key for p in draft.proposals}
        turns += 1
        if draft.exhausted:
            break
    assert turns == -(-len(already) // 7)
    assert Rewriter().write(program, "tiling", given, already, 7).proposals == ()
    assert Rewriter().write(program, "vectorization", given, set(), 7).exhausted


def test_same_arguments_same_draft(tmp_path):
    program = example("vector_add", tmp_path)
    given = example_facts("vector_add", program)
    for strategy in STRATEGIES:
        first, second = (Rewriter().write(program, strategy.card.name, given, set(), 50) for _ in range(2))
        assert first == second


def test_a_variant_is_a_parent(tmp_path):
    """Fusion's child has other text, and pipeline has nothing to say of loops that are gone only for the compiler: it edits them still."""
    program = example("layer_norm", tmp_path)
    given = example_facts("layer_norm", program)
    first = Rewriter().write(program, "fusion", given, set(), 1).proposals[0]
    child = again(program, first.patch.apply(program.texts), tmp_path)
    assert child.texts != program.texts
    assert "vectorization.elements_per_thread(elements=16)" in {
        p.key for p in Rewriter().write(child, "vectorization", given, set(), 9).proposals
    }


def test_an_unknown_strategy_is_named(tmp_path):
    program = example("matmul", tmp_path)
    with pytest.raises(KeyError, match="no strategy magic"):
        Rewriter().write(program, "magic", example_facts("matmul", program), set(), 1)
