"""`--proof` writes nothing of what nobody has verified."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.cli.proving import write_proof
from kernelband.search.events import RunEnded


@pytest.mark.parametrize(("state", "best"), [("interrupted", 3), ("finished", None)])
def test_the_best_so_far_is_no_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str], state: str, best: int | None) -> None:
    write_proof(tmp_path / "history.db", RunEnded("ab12", state, "why", best, (), {}, {}, 9.0, 1.5), str(tmp_path / "proof.json"))
    assert "No proof is written" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
