"""What is compiled ahead is what a launch in another process finds: the keys of Triton's cache agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def launching(mode: str, kernel: str, cache: Path) -> dict:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache)}
    command = [sys.executable, str(HERE / "launching.py"), mode, kernel, str(HERE / "sample_kernels.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("kernel", ["add", "matmul"])
def test_a_launch_finds_what_was_compiled_ahead(compiled, make, cache, kernel):
    spec = launching("spec", kernel, cache)["spec"]
    launch = make.add(5000) if kernel == "add" else make.matmul(64, 64, 32)
    launch["specialization_data"] = spec
    facts = compiled(launch, instructions=False)
    assert not facts["cache_hit"]
    assert launching("launch", kernel, cache)["hits"] == [True]
