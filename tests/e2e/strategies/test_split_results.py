"""Splits compute what the original computes: under Triton's interpreter, in the worker's Python."""

from __future__ import annotations

import pytest

from tests.e2e.strategies.comparing import PYTHON, differences
from tests.unit.strategies.machine_samples import SAMPLES
from tests.unit.strategies.samples import made_by, program_of


def compare(name, tmp_path, device="cpu", python=PYTHON):
    """Of the broken text and each proposal, what differs from the original's results."""
    split = SAMPLES[name]
    program = program_of(split.text, tmp_path, f"{name}.py")
    proposals = made_by(split.move, program, split.captured(program))
    assert proposals
    texts = [split.text, split.text.replace(*split.broken), *(p.patch.apply(program.texts)[program.kernel.place.path] for p in proposals)]
    return dict(zip(["broken", *(p.key for p in proposals)], differences(texts, device, python)[1:], strict=True))


@pytest.mark.parametrize("name", SAMPLES)
def test_equal_results(name, tmp_path):
    told = compare(name, tmp_path)
    assert told.pop("broken") is not None
    assert {k: r for k, r in told.items() if r is not None} == {}
