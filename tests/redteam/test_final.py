"""Cheats and honest controls in the real final on a CPU: the short form. ``make stress`` tries all of them.

An edit given to ``verify`` and a finalist that a model wrote take the same way: processes of their own. What lies about time, or gains
nothing where the clock can't be reached, needs a GPU to be seen through: tests/gpu.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import worker_python  # noqa: F401 - the fixture
from tests.redteam.corpus import cheats, controls
from tests.redteam.stage import Stage, refused

#: Of each family that a CPU can show, with what is quick to interpret.
CHEATS = (
    "replay_by_pointer",
    "replay_ring_of_two",
    "results_of_one_storage",
    "work_if_poisoned",
    "lazy_subclass",
    "comparer_allclose",
    "no_maximum",
    "weight_ignored",
    "index_ignored",
    "block_written_down",
    "input_cleared",
    "store_beyond_the_row",
)
CONTROLS = 4


@pytest.fixture(scope="module")
def stage(worker_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:  # noqa: F811
    made = Stage(worker_python, tmp_path_factory.mktemp("redteam"))
    yield made
    made.close()


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused(stage: Stage, name: str) -> None:
    (cheat,) = [c for c in cheats() if c.name == name]
    verdict = stage.play(cheat)
    assert refused(verdict), verdict.result


@pytest.mark.parametrize("name", [c.name for c in controls() if not c.needs_gpu][::9][:CONTROLS])
def test_an_honest_variant_is_not(stage: Stage, name: str) -> None:
    (control,) = [c for c in controls() if c.name == name]
    verdict = stage.play(control)
    assert not refused(verdict), verdict.result


def test_the_list_is_of_the_corpus() -> None:
    assert set(CHEATS) <= {c.name for c in cheats() if not c.needs_gpu}
