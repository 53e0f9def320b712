"""What the operating system is asked for."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from kernelband_worker import system


def test_temporary_folders_are_this_users_and_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("kb-one", "kb-two", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "kb-file").write_text("")
    (tmp_path / "kb-link").symlink_to(tmp_path / "other")
    (tmp_path / "kb-gone").symlink_to(tmp_path / "nothing")
    assert {path.name for path in system.temporary_folders("kb-")} == {"kb-one", "kb-two"}
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert list(system.temporary_folders("kb-")) == []
