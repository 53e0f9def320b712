"""On a real GPU: the edits of every move compile there and compute what the original computes.

Run with an engine's Python; KERNELBAND_TEST_WORKER names the Python that has torch and triton, when that is another one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.strategies.comparing import differences
from tests.e2e.strategies.test_equal_results import NAMES, ROWS, chosen
from tests.unit.strategies import step_samples, whole_samples
from tests.unit.strategies import test_heuristic_blocks as heuristic_blocks
from tests.unit.strategies import test_single_elements as single_elements
from tests.unit.strategies.samples import example, example_facts, facts, launch, made_by, program_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="needs a real GPU: this machine has no NVIDIA driver"),
]
PYTHON = os.environ.get("KERNELBAND_TEST_WORKER", sys.executable)


def unequal(name, program, proposals):
    path = program.kernel.place.path
    texts = [program.texts[path], *(p.patch.apply(program.texts)[path] for p in proposals.values())]
    found = differences(texts, "cuda", PYTHON, name)
    return {k: r for k, r in zip(["original", *proposals], found, strict=True) if r is not None}


@pytest.mark.parametrize("name", NAMES)
def test_every_move_of_the_examples(name, tmp_path):
    program = example(name, tmp_path)
    assert not unequal(name, program, chosen(program, example_facts(name, program)))


def test_several_rows_per_program(tmp_path):
    program = program_of(ROWS, tmp_path)
    scalars = {"stride": 96, "n_cols": 96, "eps": 1e-6}
    given = facts(launch(program, [5000, 1, 1], {"BLOCK": 128}, scalars, {"x_ptr": ([5000, 96], "float32")}))
    assert not unequal("", program, chosen(program, given))


def test_blocks_that_a_heuristic_computes(tmp_path):
    program, given = heuristic_blocks.given(tmp_path)
    proposals = {p.key: p for p in made_by("heuristic_blocks", program, given)}
    assert len(proposals) == 4
    assert not unequal("", program, proposals)


@pytest.mark.parametrize("name", sorted(step_samples.TEXTS))
def test_many_steps_of_a_recurrence_at_once(name, tmp_path):
    program, given = step_samples.given(name, tmp_path)
    proposals = {p.key: p for p in made_by("steps_at_once", program, given)}
    assert proposals
    assert not unequal("", program, proposals)


@pytest.mark.parametrize("name", [*whole_samples.TEXTS, "elements"])
def test_kernels_without_masks_and_without_blocks(name, tmp_path):
    program, given = single_elements.given(tmp_path) if name == "elements" else whole_samples.given(name, tmp_path)
    found = made_by("rows_per_program" if name == "elements" else "tiles", program, given)
    proposals = {p.key: p for p in (*found[:4], *found[-2:])}
    assert proposals
    assert not unequal("", program, proposals)
