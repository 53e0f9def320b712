from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything imports numpy


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that the machine lets wait is no compiler that hangs: tests of those say themselves how long the device waits."""
    for name in ("STALL_S", "BRIEF_S"):
        monkeypatch.setattr(f"kernelband.search.preparer.{name}", 1e6)


@pytest.fixture
def world(tmp_path: Path) -> Any:
    from .world import World

    return World(tmp_path)
