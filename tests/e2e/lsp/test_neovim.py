"""A real Neovim with its own client: open, lens, hover, optimize with progress, cancel, resume, take, undo,
a stale edit, and history after a restart.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp import matrix

SCRIPT = Path(__file__).with_name("session.lua")


@pytest.mark.skipif(shutil.which("nvim") is None, reason="there is no Neovim here, and only root can install it")
def test_a_session_in_neovim(home: Home, tmp_path: Path) -> None:
    seen_path = tmp_path / "seen.json"
    environment = {
        **home.environment,
        "SEEN": str(seen_path),
        "WORK": str(home.work),
        "WORKER": home.python,
        "SERVER": json.dumps([sys.executable, "-m", "kernelband", "lsp", "--db", str(home.db)]),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    done = subprocess.run(
        ["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", str(home.file), "-c", f"luafile {SCRIPT}"],
        env=environment,
        cwd=home.work,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1100,
        check=False,
    )
    assert seen_path.exists(), done.stderr
    seen = json.loads(seen_path.read_text())
    assert done.returncode == 0, (seen.get("failed"), done.stderr)
    assert "Nothing is measured or predicted" in seen["hover"]
    kinds = [p["kind"] for p in seen["progress"]]
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert any(re.search(r"[1-7]/8", p["message"]) for p in seen["progress"] if p["kind"] == "report")
    ends = [p["message"] for p in seen["progress"] if p["kind"] == "end"]
    assert ends[0].startswith("stopped")  # with the best so far, where there is one
    assert len(ends) == 2  # and of the one that went on
    assert ": likely faster on" in seen["action"]
    assert seen["applied"] is True
    assert seen["after"] != home.file.read_text()
    assert seen["one_undo"] is True
    # The command may come before the change: then Neovim 0.7 says that it took the edit, and leaves it out.
    assert "scale_kernel in scale.py has changed since run" in seen["refused"] or "it changed in between" in seen["refused"]
    assert seen["stays"] is True
    assert seen["lenses"][-1][0].startswith("likely faster on H100 (predicted) · ")  # the history, after a restart
    seen_of = {
        "code lens": bool(seen["lenses"]),
        "hover": bool(seen["hover"]),
        "hints as diagnostics": bool(seen["hints"]),
        "variants as code actions": bool(seen["action"]),
        "progress of a run": bool(seen["progress"]),
        "a variant put in as one step to undo": seen["one_undo"],
        "a variant refused over a text that has changed": seen["stays"] and bool(seen["refused"]),
        "history after a restart": bool(seen["lenses"][-1]),
    }
    matrix.compare("Neovim 0.7.2", seen_of)
