from __future__ import annotations

from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "source"


@pytest.fixture(scope="session")
def spellings() -> str:
    return (FIXTURES / "spellings.py").read_text()


@pytest.fixture(scope="session")
def launches() -> str:
    return (FIXTURES / "launches.py").read_text()
