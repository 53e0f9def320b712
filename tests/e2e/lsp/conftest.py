"""What the editors' tests begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.searched import SCALE_WITH_BENCH


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    """A home whose kernel nobody has optimized, with a ``bench`` that runs it."""
    home = Home(tmp_path, worker_python)
    home.file.write_text(SCALE_WITH_BENCH)
    return home
