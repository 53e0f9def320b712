"""Files for clients without content of documents: read-only, gone with their server, swept when it died."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelband.errors import SourceError
from kernelband.history.process import start_mark
from kernelband.lsp.shelf import OLD_S, Shelf


def test_a_file_is_read_only_and_may_become_another(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    path = shelf.put(("r", "1", "report.md"), "one\r\n\ud800")
    assert path.read_bytes() == b"one\r\n\xed\xa0\x80"
    assert shelf.put(("r", "1", "report.md"), "two") == path
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert [p.name for p in path.parent.iterdir()] == ["report.md"]
    shelf.remove()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SourceError, match="the server is shutting down"):
        shelf.put(("r", "1", "report.md"), "three")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="can't be written"):
        Shelf(tmp_path / "file").put(("a",), "text")
    with pytest.raises(SourceError, match="can't be written"):
        Shelf(tmp_path).put(("a" * 300,), "text")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="start times of processes are read from /proc")
def test_a_sweep_takes_what_the_dead_left_and_nothing_else(tmp_path: Path) -> None:
    shelf, host = Shelf(tmp_path), socket.gethostname()
    kept = shelf.put(("mine",), "text")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as living:
        mark = start_mark(living.pid)
        names = {
            f"{living.pid}_{mark}_{host}": True,
            f"{living.pid}_{mark}9_{host}": False,  # its number was another's before
            f"{living.pid}_{mark}9_{host}x": True,  # another machine's, in a home that both share
            "notes": True,
        }
        for name in names:
            (tmp_path / name / "r").mkdir(parents=True)
            (tmp_path / name / "r" / "file").write_text("")
        old = tmp_path / "1_0_elsewhere"
        old.mkdir()
        os.utime(old, (time.time() - OLD_S - 60,) * 2)
        (tmp_path / f"5_{mark}_{host}").symlink_to(tmp_path / "notes")
        shelf.sweep()
        assert {name: (tmp_path / name).exists() for name in names} == names
        assert (tmp_path / "notes" / "r" / "file").exists()
        assert not old.exists()
        assert kept.exists()
        living.communicate(b"\n")


def test_nothing_to_sweep(tmp_path: Path) -> None:
    Shelf(tmp_path / "none").sweep()
    assert list(tmp_path.iterdir()) == []
