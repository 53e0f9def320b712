"""Cheats and honest controls in the real final on a CPU: the short form. ``make stress`` tries all of them.

An edit given to ``verify`` and a finalist that a model wrote take the same way: processes of their own. What lies about time, or gains
nothing where the clock can't be reached, needs a GPU to be seen through: tests/gpu.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from attrs import evolve

from kernelband.judge import turns
from tests.e2e.conftest import worker_python  # noqa: F401 - the fixture
from tests.redteam.corpus import Cheat, Reason, Role, controls, named
from tests.redteam.defences import QUICK, THROUGH
from tests.redteam.stage import Stage, caught_by, refused

#: For each reason that a CPU can show, with what is quick to interpret.
CHEATS = (
    "replay_by_pointer_unlooked",
    "reused_result_elsewhere",
    "results_of_one_storage",
    "work_if_poisoned_by_sum",
    "lazy_parameter",
    "thread_beside",
    "clock_in_modules",
    "comparer_differences",
    "comparer_under_stress",
    "detect_check_under_stress",
    "half_the_rows",
    "nan_swallowed",
    "factor_written_down",
    "load_beyond_the_end",
)
CONTROLS = ("nothing_to_do", "counts_calls", "shape_facts_in_lru_cache", "optional_import", "block_by_threshold")


@pytest.fixture(scope="module")
def stage(worker_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:  # noqa: F811
    made = Stage(worker_python, tmp_path_factory.mktemp("redteam"))
    yield made
    made.close()


@pytest.fixture(autouse=True)
def patience(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An honest process's messages come late on a busy machine; what shows a slow clock is clock_in_modules' to say."""
    if "clock_in_modules" not in request.node.name:
        monkeypatch.setattr(turns, "LATE_S", 5.0)


def lasting(cheat: Cheat) -> Cheat:
    """Each of its calls takes so long that half of a turn is more than messages may be late."""
    y = "    y = torch.empty_like(x)\n"
    return evolve(cheat, edits=(*cheat.edits, (y, f"    time.sleep(0.05)\n{y}")))


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_refused_for_the_right_reason(stage: Stage, name: str) -> None:
    cheat = named(name)
    verdict = stage.play(lasting(cheat) if name == "clock_in_modules" else cheat)
    assert caught_by(verdict) in cheat.caught_by[Role.VERIFY], verdict.result


@pytest.mark.parametrize("name", CONTROLS)
def test_an_honest_variant_is_not(stage: Stage, name: str) -> None:
    (control,) = [c for c in controls() if c.name == name]
    verdict = stage.play(control)
    assert not refused(verdict), verdict.result


@pytest.mark.parametrize("defence", QUICK)
def test_without_a_defence_its_cheat_gets_through(stage: Stage, defence: str) -> None:
    verdict = stage.play(named(THROUGH[defence]), without=defence)
    assert not refused(verdict), verdict.result


def test_without_a_look_at_results_of_timed_calls_they_may_be_anything(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns.Round, "referee", lambda self: [])
    verdict = stage.play(named("replay_by_pointer_unlooked"))
    assert not refused(verdict), verdict.result


def test_each_reason_that_a_cpu_can_show_is_there() -> None:
    there = {reason for name in CHEATS for reason in named(name).caught_by[Role.VERIFY]}
    assert there >= set(Reason) - {Reason.GATE, Reason.DEVICE_ACTIVITY, Reason.SLOWER, Reason.FAULT}
