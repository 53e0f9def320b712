"""Every launch path and trap, without a GPU: captured and replayed in another process, or refused with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.capture_fixtures import FIXTURES
from tests.capturing import Bench, prove


@pytest.fixture(scope="module")
def bench(worker_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(worker_python, "cpu", tmp_path_factory.mktemp("capture"))
    yield made
    made.close()


@pytest.mark.parametrize("name", FIXTURES)
def test_captured_and_replayed_or_refused(bench: Bench, name: str) -> None:
    prove(bench, FIXTURES[name])


def test_the_workspace_is_untouched(bench: Bench) -> None:
    assert bench.files() == bench.before


def test_the_store_is_private(bench: Bench) -> None:
    store = Path(bench.session["store"])
    assert store.stat().st_mode & 0o077 == 0
    assert all(p.stat().st_mode & 0o077 == 0 for p in store.rglob("*"))
