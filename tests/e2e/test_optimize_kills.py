"""The short form of tests/stress/test_kills.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.test_kills import kills, phases

__all__ = ["phases"]


@pytest.mark.timeout(600)
def test_a_few_kills(tmp_path: Path, worker_python: str, phases: tuple[str, ...]) -> None:
    count = max(6, len(phases))
    assert len(kills(tmp_path, worker_python, phases, count, seed=20261120)) == count
