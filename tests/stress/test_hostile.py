"""The long form of tests/e2e/lsp/test_hostile.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.test_hostile import endure


@pytest.mark.stress
def test_500_hostile_messages(tmp_path: Path) -> None:
    print(endure(Home(tmp_path, sys.executable), 500, 2))
