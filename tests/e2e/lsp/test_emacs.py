"""A real Emacs with its own client, eglot: hover, optimize, take, undo, a stale edit, and history after a restart."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp import matrix

SCRIPT = Path(__file__).with_name("session.el")
ASK = "(progn (require 'package) (package-initialize) (require 'eglot))"


def has_eglot() -> bool:
    """Emacs 29 brings it; to older ones a package does."""
    if shutil.which("emacs") is None:
        return False
    asked = subprocess.run(["emacs", "--batch", "--eval", ASK], stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False)
    return asked.returncode == 0


@pytest.mark.skipif(not has_eglot(), reason="there is no Emacs with eglot here, and only root can install it")
@pytest.mark.timeout(1200)
def test_a_session_in_emacs(home: Home, tmp_path: Path) -> None:
    trusted = home.run("trust", str(home.work))
    assert trusted.code == 0, trusted.err
    seen_path = tmp_path / "seen.json"
    environment = {
        **home.environment,
        "SEEN": str(seen_path),
        "FILE": str(home.file),
        "WORKER": home.python,
        "SERVER": json.dumps([sys.executable, "-m", "kernelband", "lsp", "--db", str(home.db)]),
    }
    done = subprocess.run(
        ["emacs", "--batch", "-l", str(SCRIPT)],
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
    assert "Optimize scale_kernel" in seen["before-run"]
    assert not any(": likely faster on" in title for title in seen["before-run"])
    assert "Nothing is measured or predicted" in seen["hover"]
    assert seen["run"]
    assert ": likely faster on" in seen["variant"]
    assert "×" not in seen["variant"]  # nothing was measured
    assert seen["applied"] is True
    assert seen["after"] != home.file.read_text()
    assert "Revert scale_kernel to the original" in seen["taken"]
    assert seen["one-undo"] is True
    assert "has changed since run" in seen["refused"]
    assert seen["stays"] is True
    assert seen["history"] == seen["variant"]
    seen_of = {
        "code lens": False,  # eglot 1.9 never asks for them
        "hover": bool(seen["hover"]),
        "hints as diagnostics": bool(seen["hints"]),
        "variants as code actions": bool(seen["variant"]),
        "progress of a run": False,  # nor does it show this
        "a variant put in as one step to undo": seen["one-undo"],
        "a variant refused over a text that has changed": seen["stays"] and bool(seen["refused"]),
        "history after a restart": bool(seen["history"]),
    }
    matrix.compare("Emacs 28.2, eglot 1.9", seen_of)
