"""Compilers work ahead of the device: while the original is timed, and for every new leader; nothing is told or counted twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from kernelband.search._lab import Built

from .fake_lab import FakeAuthor, FakeExecutor, FakeLab
from .world import World, rows


def many(_: FakeLab) -> int:
    return 8


class Builds:
    """Counts what compilers are asked for; the device's first block lasts until they were asked for ``enough``."""

    def __init__(self, enough: int) -> None:
        self.asked, self.enough, self.reached, self.before = 0, enough, threading.Event(), 0

    def build(self, lab: FakeLab) -> Callable[..., Future[Built]]:
        plain = lab.build

        def build(files: Any, cases: Any) -> Future[Built]:
            self.asked += 1
            if self.asked >= self.enough:
                self.reached.set()
            return plain(files, cases)

        return build

    def measuring(self, lab: FakeLab) -> Callable[[], FakeExecutor]:
        outer = self

        class Waits(FakeExecutor):
            def call(self, operation: str, *rest: Any, **more: Any) -> dict[str, Any]:
                if operation == "time" and not outer.before:
                    outer.reached.wait(120)
                    outer.before = outer.asked
                return super().call(operation, *rest, **more)

        return lambda: Waits(lab)


@pytest.mark.parametrize(("builders", "before"), [(8, 4), (1, 1)])
def test_the_arms_of_the_original_are_compiled_while_it_is_timed(world: World, builders: int, before: int) -> None:
    builds = Builds(before)
    ended = world.run(build=builds.build, measuring=builds.measuring, builders=lambda _: builders)
    assert builds.before == before  # the original itself, two of tiling, one of pipeline; fusion's is the original's text
    assert ended.verified


def test_each_proposal_is_counted_and_told_once(world: World) -> None:
    ended = world.run(world.options(trials=20), builders=many, author=FakeAuthor(("compile_error", "wrong")))
    pulls = rows(world, ended.run)["pulls"]
    keys = [(p.parent, p.key) for p in pulls if p.key]
    assert len(keys) == len(set(keys))
    told = Counter(p.outcome for p in pulls)
    assert told["compile_error"] == ended.counts["compile_errors"] == 1
    assert told["duplicate"] == ended.counts["duplicates"] > 0
    assert ended.counts["proposed"] >= len(keys)
    assert ended.counts["executed"] == sum(p.executed for p in pulls)


def test_a_policy_that_pays_for_failures_looks_at_what_it_chose_only(world: World) -> None:
    builds = Builds(1)
    world.run(world.options(policy="paper"), builders=many, build=builds.build, measuring=builds.measuring)
    assert builds.before == 1


def test_arms_that_turned_out_empty_cost_no_step(world: World) -> None:
    ended = world.run(world.options(trials=6), builders=many)
    pulls = rows(world, ended.run)["pulls"]
    empty = {p.strategy for p in pulls if p.outcome == "nothing_left" and p.parent == 0}  # of a new leader it may be known too late
    assert not empty & {"vectorization", "reordering", "access_layout"}  # the author has nothing for them
    assert len({p.strategy for p in pulls if p.executed}) >= 2


def test_the_next_choice_knows_the_forecasts_of_what_waits_and_not_of_what_runs(world: World) -> None:
    from kernelband.search.policies.kernelband import KernelBand

    seen: list[dict[str, float]] = []

    class Watching(KernelBand):
        def ask(self, step: int, frontier: Any, log: Any, seed: int) -> Any:
            seen.append(dict(frontier[0].forecasts))
            return super().ask(step, frontier, log, seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelband.search.start.make_policy", lambda _: Watching())
        world.run(world.options(trials=3), builders=many)
    assert set(seen[0]) == {"tiling", "pipeline"}  # two of tiling, one of pipeline; fusion's is the original's own text
    taken = [s for s in seen[1:] if set(s) != {"tiling", "pipeline"}]
    assert taken  # pipeline's only one went to the device
