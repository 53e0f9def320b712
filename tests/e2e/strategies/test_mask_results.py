"""Loops in two, without masks and with them, compute what one loop computes: on queries and keys of any number, with each kind of mask."""

from __future__ import annotations

import pytest

from tests.e2e.strategies.comparing import ROOT, differences
from tests.unit.strategies.mask_samples import ENDS, ODD, attention_facts, written
from tests.unit.strategies.samples import made_by, program_of


def split(changes, tmp_path):
    """The text with that mask, and what is made of it."""
    text = written(changes)
    program = program_of(text, tmp_path)
    [found] = made_by("unmasked_body", program, attention_facts(program))
    return text, found.patch.apply(program.texts)[program.kernel.place.path]


@pytest.mark.parametrize("worker", [".worker", ".worker-newest"])
def test_it_compiles(worker, tmp_path):
    """The interpreter adds numbers of any width: that the two loops go on with one type, only a compilation shows."""
    texts = split({**ENDS["a length that is loaded"][0], **ENDS["another first block"][0]}, tmp_path)
    assert differences(list(texts), "sm_90", str(ROOT / worker / "bin" / "python"))[1] is None


def test_equal_results(tmp_path):
    wrong = {}
    for name, (changes, _) in ENDS.items():
        found = differences(split(changes, tmp_path))[1]
        wrong |= {name: found} if found is not None else {}
    assert wrong == {}


def test_what_only_looks_like_a_mask_counts_as_before(tmp_path):
    wrong, offered = {}, set()
    for name, changes in ODD.items():
        program = program_of(written(changes), tmp_path)
        for found in made_by("unmasked_body", program, attention_facts(program)):
            offered.add(name)
            differs = differences([program.texts[program.kernel.place.path], found.patch.apply(program.texts)[program.kernel.place.path]])[
                1
            ]
            wrong |= {name: differs} if differs is not None else {}
    assert wrong == {}
    assert offered >= {"a start that is a sum", "a mask of numbers", "two lines", "a mask that is read afterwards"}


@pytest.mark.parametrize("name", ["the diagonal", "blocks that are counted", "another first block"])
def test_one_block_too_many_shows(name, tmp_path):
    text, first = split(ENDS[name][0], tmp_path)
    late = first.replace("// BLOCK_N * BLOCK_N\n    for", "// BLOCK_N * BLOCK_N + BLOCK_N\n    for")
    late = late.replace("// BLOCK_N), 0)\n    for", "// BLOCK_N + 1), 0)\n    for")
    assert late != first
    assert differences([text, late])[1] is not None
