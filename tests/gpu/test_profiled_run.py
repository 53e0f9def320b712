"""A run says once what the original's counters are, or that they can't be read; either way it goes on.

Run with an engine Python: KERNELBAND_TEST_PYTHON=PYTHON-WITH-TORCH python -m pytest -s tests/gpu/test_profiled_run.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture
from tests.gpu.test_optimize import BENCH

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]


def test_the_source_of_the_headroom_is_said(tmp_path: Path, worker_python: str) -> None:  # noqa: F811  # the fixture
    home = Home(tmp_path, worker_python)
    home.file.write_text(KERNEL + BENCH)
    done = home.optimize("scale.py", "--trials", "3", seconds=200)
    assert done.code == 0, done.err
    said = [e["text"] for e in done.named("noted") if "Nsight Compute" in e["text"] or "torch's profiler" in e["text"]]
    print(said, done.named("run_ended")[0]["clock"])
    assert 1 <= len(said) <= 3
    assert done.named("run_ended")[0]["clock"].get("profile", 0.0) < 10.0
