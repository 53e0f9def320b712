"""What importing the libraries changes in the process, and what it leaves as the user's program expects it."""

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


COLLECTIONS = """
import gc, sys
sys.path[:0] = sys.argv[2:]
if sys.argv[1] == "off":
    gc.disable()
from kernelband_worker.environment import require
torch, _ = require()
assert torch.collects is False, "a collection in between takes a third of the time"
print("on" if gc.isenabled() else "off")
"""


@pytest.mark.parametrize("before", ["on", "off"])
def test_collections_go_on_when_the_libraries_are_there(tmp_path: Path, before: str) -> None:
    for name in ("torch", "triton"):
        (tmp_path / f"{name}.py").write_text("import gc\n__version__ = '9.0.0'\ncollects = gc.isenabled()\n")
    command = [sys.executable, "-c", COLLECTIONS, before, str(tmp_path), str(SERVER)]
    done = subprocess.run(command, check=True, timeout=250, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.stdout.strip() == before


@pytest.mark.parametrize("wanted", [True, False])
def test_only_libraries_leave_bytecode(tmp_path: Path, wanted: bool) -> None:
    """As in any run of that Python; what is imported after them, the user's program, leaves none."""
    for name in ("torch", "triton", "theirs"):
        (tmp_path / f"{name}.py").write_text("__version__ = '9.0.0'\n")
    options = [] if wanted else ["-B"]
    env = {"PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, *options, "-c", PROGRAM, str(tmp_path), str(SERVER)], check=True, timeout=250, env=env)
    cached = {p.name.split(".")[0] for p in tmp_path.glob("__pycache__/*.pyc")}
    assert cached == ({"torch", "triton"} if wanted else set())
