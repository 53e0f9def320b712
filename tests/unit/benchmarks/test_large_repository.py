"""The benchmark of a large repository in small: every kernel that it writes is listed, on the command line and in the editor."""

from __future__ import annotations

import sys
from pathlib import Path

import large_repository
import pytest


def test_every_kernel_is_listed_and_every_hover_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["large_repository.py", "--files", "120", "--kernels", "40", "--hovers", "3"])
    assert large_repository.main() == 0
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in capsys.readouterr().out.splitlines() if "|" in line]
    kernels = {row[0]: row[-1] for row in table}
    assert [kernels[f"command line, {how}"] for how in ("cold", "again")] == ["40", "40"]
    assert [kernels[f"editor, {how}"] for how in ("cold", "again")] == ["41", "41"], "one in an open document"
    assert kernels["editor, cold: before"] == "3"


def test_it_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        large_repository.make(tmp_path / name, 130, 50)
    texts = [{p.name: p.read_text() for p in (tmp_path / name).rglob("*.py")} for name in ("a", "b")]
    assert texts[0] == texts[1]
    assert len(texts[0]) == 130
    assert sum(text.count("tl.program_id(0)") for text in texts[0].values()) == 50
