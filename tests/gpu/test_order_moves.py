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
from tests.unit.strategies.order_samples import TEXTS, captured
from tests.unit.strategies.samples import H200, made_by, program_of

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


def test_programs_that_take_many_tiles_of_a_product(tmp_path):
    """In one loop the next tile's loads begin while this one is stored: sizes of whole blocks, others, and rows of no neighbours."""
    sizes = "for b, m, n, k in ((2, 64, 128, 64), (3, 50, 70, 40)):"
    assert sizes in TEXTS["batched"]
    text = TEXTS["batched"].replace(sizes, "for b, m, n, k in ((40, 256, 512, 96), (40, 256, 520, 100), (7, 250, 70, 33)):")
    program = program_of(text, tmp_path, "batched.py")
    path = program.kernel.place.path
    found = made_by("persistent_products", program, captured("batched", program, device=H200))
    assert len(found) == 3
    texts = [text, text.replace(*BROKEN["batched"]), *(p.patch.apply(program.texts)[path] for p in found)]
    told = differences(texts, "cuda", PYTHON)
    assert told[1] is not None
    assert [told[0], *told[2:]] == [None] * 4
