"""Seconds from a run's start to the first variant that is worth a look: verified where it was measured, else checked."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kernelband.history import runs
from kernelband.propose import Draft
from kernelband.search.events import Event
from kernelband.search.resume import options_of
from kernelband.search.run import optimize

from .fake_lab import FakeAuthor, FakeLab
from .world import TROUBLES, World, interrupted


class Spoiling(FakeAuthor):
    """Writes only variants with this trouble."""

    def write(self, *of: Any) -> Draft:
        found = super().write(*of)
        return Draft(tuple(p for p in found.proposals if p.parameters["trouble"]), exhausted=True)


def summary(world: World, run: str) -> dict[str, Any]:
    with world.store() as store:
        return runs.find(store, run).summary


def test_a_measured_run_says_when_its_first_was_verified(world: World) -> None:
    seen: list[float] = []

    class Timed(FakeLab):
        def fresh(self, name: str) -> Any:  # only the final asks for fresh processes here
            seen.append(time.monotonic())
            return super().fresh(name)

    began = time.monotonic()
    ended = optimize(world.options(), world.db, world.events.append, author=FakeAuthor(), start_lab=lambda workspace, **_: Timed(workspace))
    assert ended.verified
    assert ended.seconds_to_checked is None
    assert ended.seconds_to_verified is not None
    assert seen[0] - began - 0.05 <= ended.seconds_to_verified <= ended.seconds
    assert summary(world, ended.run)["seconds_to_verified"] == ended.seconds_to_verified
    assert "seconds_to_checked" not in summary(world, ended.run)


def test_a_predicted_run_says_when_its_first_was_checked_and_never_that_it_was_verified(world: World) -> None:
    known: list[dict[str, Any]] = []

    def hear(event: Event) -> None:
        world.events.append(event)
        if event.name == "trial_ended":
            known.append(summary(world, world.events[0].to_json()["run"]))

    author = FakeAuthor(("wrong",))
    ended = optimize(world.options(), world.db, hear, author=author, start_lab=lambda workspace, **_: FakeLab(workspace, measured=False))
    assert ended.seconds_to_verified is None
    assert ended.seconds_to_checked is not None
    assert 0 < ended.seconds_to_checked < ended.seconds
    outcomes = [e.outcome for e in world.named("trial_ended")]
    first = next(i for i, outcome in enumerate(outcomes) if outcome != "wrong")
    said = [k.get("seconds_to_checked") for k in known]
    assert said == [None] * first + [ended.seconds_to_checked] * (len(outcomes) - first), "from its trial on, also for who is cut off"
    assert "seconds_to_verified" not in summary(world, ended.run)


@pytest.mark.parametrize(("trouble", "measured"), [("entry", True), ("wrong", True), ("wrong", False), ("crashed", False)])
def test_nothing_where_no_variant_came_so_far(world: World, trouble: str, measured: bool) -> None:
    ended = world.run(author=Spoiling((trouble,)), measured=measured)
    assert ended.counts["executed"] == 1
    assert (ended.seconds_to_verified, ended.seconds_to_checked) == (None, None)
    assert not {"seconds_to_verified", "seconds_to_checked"} & set(summary(world, ended.run))


def test_a_resumed_run_keeps_the_first(world: World) -> None:
    first = interrupted(world, "final_ended", 1)
    assert first.seconds_to_verified is not None
    second = world.run(options_of(world.db, first.run), author=FakeAuthor(TROUBLES), resume=first.run)
    assert second.verified
    assert second.seconds_to_verified == first.seconds_to_verified == summary(world, first.run)["seconds_to_verified"]


def test_loading_the_search_counts(world: World) -> None:
    ended = optimize(
        world.options(),
        world.db,
        world.events.append,
        author=FakeAuthor(),
        start_lab=lambda workspace, **_: FakeLab(workspace),
        begun=time.monotonic() - 100,
    )
    assert ended.seconds_to_verified is not None
    assert ended.seconds_to_verified >= 100
    assert sum(v for k, v in ended.clock.items() if not k.startswith("background ")) == pytest.approx(ended.seconds, abs=1.0)


@pytest.mark.parametrize("seconds", [30.0, None])
def test_a_lab_is_told_how_long_the_run_is(world: World, seconds: float | None) -> None:
    """So that no compilation takes all of it."""
    told: list[Any] = []

    def start(workspace: Any, **how: Any) -> Any:
        told.append(how["seconds"])
        return FakeLab(workspace)

    options = world.options(trials=1, seconds=seconds)
    assert optimize(options, world.db, world.events.append, author=FakeAuthor(), start_lab=start).state == "finished"
    assert told == [seconds]
