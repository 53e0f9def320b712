"""On a real GPU: tiles, pipelines and orders compile there and compute what the original computes.

The interpreter runs one program after another and knows nothing of stages, register caps or flattened loops: this is where they show.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.e2e.strategies.comparing import differences
from tests.e2e.strategies.test_order_results import BROKEN, chosen
from tests.unit.strategies.order_samples import TEXTS
from tests.unit.strategies.samples import H200, program_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="needs a real GPU: this machine has no NVIDIA driver"),
]
PYTHON = os.environ.get("KERNELBAND_TEST_WORKER", sys.executable)


@pytest.mark.parametrize("name", TEXTS)
def test_equal_results(name, tmp_path):
    program = program_of(TEXTS[name], tmp_path, f"{name}.py")
    path = program.kernel.place.path
    proposals = chosen(name, program, device=H200)
    texts = [TEXTS[name], TEXTS[name].replace(*BROKEN[name]), *(p.patch.apply(program.texts)[path] for p in proposals.values())]
    told = dict(zip(["original", "broken", *proposals], differences(texts, "cuda", PYTHON), strict=True))
    assert told.pop("broken") is not None
    assert {k: r for k, r in told.items() if r is not None} == {}
