from __future__ import annotations

import pytest

from kernelband_worker.loader import Loader
from tests.unit_worker.served import Served


@pytest.fixture
def load():
    """``load(files)`` gives (served workspace, installed loader)."""
    made = []

    def make(files, **session):
        served = Served(files)
        loader = Loader(served.ask, served.session(**session))
        loader.install()
        made.append(loader)
        return served, loader

    yield make
    for loader in made:
        loader.uninstall()
