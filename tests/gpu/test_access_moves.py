"""On a real GPU: the moves of access layout and vectorization compile there and compute what the original computes, TMA included.

The descriptors are the reason for a test of their own: no interpreter shows what the hardware does with a shape, a stride or the allocator.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.strategies.comparing import differences
from tests.e2e.strategies.test_access_results import SAMPLES, variants

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="needs a real GPU: this machine has no NVIDIA driver"),
]
PYTHON = os.environ.get("KERNELBAND_TEST_WORKER", sys.executable)


@pytest.mark.parametrize("name", SAMPLES)
def test_equal_results(name, tmp_path):
    text, given, wanted, (before, after) = SAMPLES[name]
    moves, texts = variants(text, given, tmp_path)
    assert moves >= wanted
    results = dict(zip([*texts, "broken"], differences([*texts.values(), text.replace(before, after)], "cuda", PYTHON), strict=True))
    assert results.pop("broken") is not None
    assert {k: r for k, r in results.items() if r is not None} == {}
