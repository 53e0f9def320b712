"""The long form of tests/e2e/lsp/test_sharing.py: five minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.test_sharing import check, share


@pytest.mark.stress
@pytest.mark.timeout(500)
@pytest.mark.asyncio
async def test_five_minutes_on_one_database(tmp_path: Path, worker_python: str) -> None:
    home = Home(tmp_path, worker_python)
    print(check(home, await share(home, 300), within_s=2.0))
