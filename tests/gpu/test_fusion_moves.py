"""On a real GPU: every fusion proposal compiles there and computes what the original computes, samples and examples alike.

Run with an engine's Python; KERNELBAND_TEST_WORKER names the Python that has torch and triton, when that is another one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from kernelband.strategies import strategy
from tests.e2e.strategies.comparing import differences
from tests.unit.strategies.fusion_samples import EXAMPLES, SAMPLES, example_variants, sample, sample_facts

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="needs a real GPU: this machine has no NVIDIA driver"),
]
PYTHON = os.environ.get("KERNELBAND_TEST_WORKER", sys.executable)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_proposal_of_the_samples(name, tmp_path):
    program = sample(name, tmp_path)
    path = program.kernel.place.path
    proposals = {p.key: p for p in strategy("fusion").propose(program, sample_facts(name, program))}
    texts = [program.texts[path], *(p.patch.apply(program.texts)[path] for p in proposals.values())]
    found = differences(texts, "cuda", PYTHON)
    assert {k: r for k, r in zip(["original", *proposals], found, strict=True) if r is not None} == {}


@pytest.mark.parametrize("kernel", EXAMPLES)
def test_variants_of_the_examples_pass_the_examples_own_tests(kernel, tmp_path):
    variants = example_variants(kernel, tmp_path, "cuda")
    found = differences([text for _, text in variants], "cuda", PYTHON)
    assert {key: r for (key, _), r in zip(variants, found, strict=True) if r is not None} == {}
