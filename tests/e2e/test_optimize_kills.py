"""The short form of tests/stress/test_kills.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.test_kills import kills, phases

__all__ = ["phases"]


@pytest.mark.timeout(1200)
def test_a_few_kills(tmp_path: Path, worker_python: str, phases: tuple[str, ...]) -> None:
    chosen = tuple(p for p in ("capture", "check", "measure", "commit") if p in phases)
    assert len(kills(tmp_path, worker_python, chosen, 2, seed=20261120)) == 2
