"""Libraries keep their bytecode, as in any run of that Python; what is imported after them, the user's program, leaves none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SERVER = Path(__file__).resolve().parents[3] / "server"
PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
sys.dont_write_bytecode = True
from kernelband_worker.environment import require
require()
import theirs
"""


@pytest.mark.parametrize("wanted", [True, False])
def test_only_libraries_leave_bytecode(tmp_path: Path, wanted: bool) -> None:
    for name in ("torch", "triton", "theirs"):
        (tmp_path / f"{name}.py").write_text("__version__ = '9.0.0'\n")
    options = [] if wanted else ["-B"]
    env = {"PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, *options, "-c", PROGRAM, str(tmp_path), str(SERVER)], check=True, timeout=250, env=env)
    cached = {p.name.split(".")[0] for p in tmp_path.glob("__pycache__/*.pyc")}
    assert cached == ({"torch", "triton"} if wanted else set())
