"""On a real GPU: parts run at the same time there, and compute what the original computes."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.strategies.test_split_results import compare
from tests.unit.strategies.machine_samples import SAMPLES

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="needs a real GPU: this machine has no NVIDIA driver"),
]
PYTHON = os.environ.get("KERNELBAND_TEST_WORKER", sys.executable)


@pytest.mark.parametrize("name", SAMPLES)
def test_equal_results(name, tmp_path):
    told = compare(name, tmp_path, "cuda", PYTHON)
    assert told.pop("broken") is not None
    assert {k: r for k, r in told.items() if r is not None} == {}
