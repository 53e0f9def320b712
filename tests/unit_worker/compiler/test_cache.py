"""What is compiled ahead is what a launch in another process finds: the keys of Triton's cache agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import triton
from tests.unit_worker.compiler import launching
from triton._C import libtriton
from triton.compiler import compiler
from triton.runtime import cache
from triton.runtime.driver import driver

from kernelband_worker.triton_versions import current_driver, know_installation_by_its_library

HERE = Path(__file__).parent
SAMPLE = str(HERE / "sample_kernels.py")


def specialised(kernel: str) -> str:
    before = current_driver()
    driver.set_active(launching.Device())
    try:
        return launching.specialised(SAMPLE, kernel)
    finally:
        if before is not None:
            driver.set_active(before)


def test_a_launch_finds_what_was_compiled_ahead(compiled, make, cache):
    for kernel, launch in (("add", make.add(5000)), ("matmul", make.matmul(64, 64, 32))):
        launch["specialization_data"] = specialised(kernel)
        assert not compiled(launch, instructions=False)["cache_hit"]
    command = [sys.executable, str(HERE / "launching.py"), SAMPLE]
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [True, True]


def test_triton_is_known_without_being_read(monkeypatch):
    asked = [m for m in (cache, compiler) if hasattr(m, "triton_key")]
    assert asked
    for module in asked:
        monkeypatch.setattr(module, "triton_key", module.triton_key)  # given back in the end
    know_installation_by_its_library()
    monkeypatch.setattr("builtins.open", None)
    size = os.stat(libtriton.__file__).st_size
    assert all(str(size) in m.triton_key() and triton.__version__ in m.triton_key() for m in asked)
