"""A history of one kernel's runs, and what the server knows of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelband.lsp.findings import Findings


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "k.py")


@pytest.fixture
def findings(db: Path) -> Iterator[Findings]:
    found = Findings(db)
    yield found
    found.close()
