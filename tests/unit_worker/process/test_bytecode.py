"""What importing the libraries changes in the process, and what it leaves as the user's program expects it."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from kernelband_worker.environment import require

SERVER = Path(__file__).resolve().parents[3] / "server"
PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
sys.dont_write_bytecode = True
from kernelband_worker.environment import require
require()
import theirs
"""


@pytest.mark.parametrize("before", [True, False])
def test_no_collection_while_the_libraries_come_and_then_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    for name in ("torch", "triton"):
        (tmp_path / f"{name}.py").write_text("import gc\n__version__ = '9.0.0'\ncollects = gc.isenabled()\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    was = gc.isenabled()
    try:
        gc.enable() if before else gc.disable()
        torch, triton = require()
        assert gc.isenabled() is before
    finally:
        gc.unfreeze()
        gc.enable() if was else gc.disable()
        for name in ("torch", "triton"):
            sys.modules.pop(name, None)
    assert (torch.collects, triton.collects) == (False, False)  # a third of the time that torch takes


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
