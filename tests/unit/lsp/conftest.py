"""A history of one kernel's runs, and what the server knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelband.lsp import findings as module
from kernelband.lsp.findings import Findings


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "k.py")


@pytest.fixture
def findings(db: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Findings]:
    monkeypatch.setattr(module, "KEYS_S", 600.0)  # on a busy machine too all of it is read at once
    found = Findings(db)
    yield found
    found.close()
