"""A final of a strong leader beside the search: what begins it, what it says, and what the last final makes of it."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from attrs import evolve

from kernelband.errors import HardwareError, WorkerError
from kernelband.history import best_so_far
from kernelband.search import early
from kernelband.search.events import Event
from kernelband.search.resume import options_of
from kernelband.search.run import optimize

from .fake_kernel import CASE
from .fake_lab import FakeAuthor, FakeLab
from .world import World, rows

PATIENCE_S = 30.0


@pytest.fixture(autouse=True)
def roomy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials take no time here, so what is left of a search is never long."""
    monkeypatch.setattr(early, "ROOM", 0.0)


class Listener:
    """Waits for the early final after each trial, and stops the run at one of them if asked."""

    def __init__(self, world: World, stop_at: int | None = None) -> None:
        self.world, self.stop_at = world, stop_at

    def __call__(self, event: Event) -> None:
        self.world.events.append(event)
        if event.name != "trial_ended":
            return
        for thread in threading.enumerate():
            if thread.name.startswith("early final"):
                thread.join(PATIENCE_S)
        if event.to_json()["number"] == self.stop_at:
            raise KeyboardInterrupt


def run(world: World, *, author: Any = None, stop_at: int | None = None, resume: str | None = None, lab: Any = FakeLab, **more: Any) -> Any:
    def start(workspace: Any, **_: Any) -> Any:
        world.labs.append(lab(workspace))
        return world.labs[-1]

    options = world.options(**more) if resume is None else options_of(world.db, resume)
    return optimize(options, world.db, Listener(world, stop_at), resume_run=resume, author=author or FakeAuthor(), start_lab=start)


def order(world: World) -> list[tuple[str, Any]]:
    """Trials and what finals said, as they were told."""
    return [
        (e.name, (e.to_json()["variant"], e.to_json().get("early")))
        for e in world.events
        if e.name in ("trial_ended", "final_ended", "run_ended") and "variant" in e.to_json()
    ]


def test_a_strong_leader_is_verified_while_the_search_goes_on(world: World) -> None:
    ended = run(world)
    told = [(name, of) for name, of in order(world)]
    first = next(i for i, (name, _) in enumerate(told) if name == "final_ended")
    number, is_early = told[first][1]
    assert is_early
    assert sum(name == "trial_ended" for name, _ in told[:first]) == early.SETTLED + 1  # it is told after the trial that went on beside it
    assert any(name == "trial_ended" for name, _ in told[first:])
    last = [of for name, of in told[first + 1 :] if name == "final_ended"]
    assert last
    assert not any(is_early for _, is_early in last)
    assert number in {n for n, _ in last}  # all that are verified were compared with each other
    assert set(ended.verified) <= {n for n, _ in last}
    assert {row.variant for row in rows(world, ended.run)["finals"]} == {n for n, _ in last}
    assert ended.clock["background final"] >= 0


def test_it_is_written_down_at_once(world: World) -> None:
    ended = run(world, stop_at=early.SETTLED + 2)
    (known,) = rows(world, ended.run)["finals"]
    assert known.verified
    assert (ended.state, ended.best, ended.verified) == ("interrupted", known.variant, (known.variant,))
    assert ended.reason.endswith(f"best so far: variant {known.variant}, verified")
    assert ended.seconds_to_verified is not None
    with world.store() as store:
        assert best_so_far(store, ended.run, "measured") == known.variant


def test_a_resumed_run_has_no_second_one(world: World) -> None:
    cut = run(world, stop_at=early.SETTLED + 2)
    (known,) = rows(world, cut.run)["finals"]
    world.events.clear()
    ended = run(world, resume=cut.run)
    assert not any(e.to_json()["early"] for e in world.named("final_ended"))
    assert known.variant in {e.variant for e in world.named("final_ended")}
    assert ended.verified


class OneGood(FakeAuthor):
    """Writes the best block first, and slower ones."""

    def write(self, program: Any, strategy: str, facts: Any, already: Any, limit: int) -> Any:
        found = super().write(program, strategy, facts, already, 100)
        (text,) = program.texts.values()
        kept = tuple(p for p in found.proposals if p.parameters["BLOCK"] in ((32,) if "BLOCK=16)" in text and strategy == "tiling" else ()))
        return evolve(found, proposals=kept[:limit], exhausted=True)


def test_nothing_is_judged_again_that_nothing_competes_with(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "SETTLED", 1)
    ended = run(world, author=OneGood())
    assert [e.early for e in world.named("final_ended")] == [True]
    assert (ended.state, ended.verified, ended.best) == ("finished", (1,), 1)
    assert [row.variant for row in rows(world, ended.run)["finals"]] == [1]
    assert world.labs[0].compiling  # no last final made way for itself


def test_what_it_finds_wrong_is_in_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "SETTLED", 1)
    ended = run(world, author=FakeAuthor(("entry",)))
    said = world.named("final_ended")
    wrong = said[0]
    assert wrong.early
    assert not wrong.verified
    assert wrong.variant not in {e.variant for e in said[1:]}
    assert ended.verified
    assert wrong.variant not in ended.verified


class BestIsWrong(FakeAuthor):
    """Its one variant with the best block is refused by the entry."""

    def write(self, *of: Any) -> Any:
        found = super().write(*of)
        return evolve(found, proposals=tuple(p for p in found.proposals if p.parameters["BLOCK"] != 256 or p.parameters["trouble"]))


def test_nothing_is_built_on_a_leader_that_it_finds_wrong(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def worth(self: early.EarlyFinal) -> bool:  # once it leads
        leader = self.s.trials.get(self.s.leader)
        return leader is not None and leader.proposal.parameters["trouble"] == "entry" and not self.s.finals

    monkeypatch.setattr(early.EarlyFinal, "_worth", worth)
    ended = run(world, author=BestIsWrong(("", "", "", "", "", "", "", "entry")), trials=60)
    wrong = world.named("final_ended")[0]
    assert wrong.early
    assert not wrong.verified
    later = [e for e in world.events[world.events.index(wrong) :] if e.name == "trial_ended"]
    assert any(e.best == wrong.variant for e in world.named("trial_ended"))
    assert len(later) > 2
    assert all(e.best != wrong.variant for e in later)
    assert all(e.parent != wrong.variant for e in later[1:])  # the first may have been prepared by then
    assert ended.verified
    assert wrong.variant not in ended.verified


def test_one_that_fails_is_told_of_and_changes_nothing(world: World) -> None:
    class Lost(FakeLab):
        def fresh(self, name: str) -> Any:
            if name.startswith("early-"):
                raise HardwareError("The GPU is gone.", kind="lost")
            return super().fresh(name)

    ended = run(world, lab=Lost)
    (note,) = [e.text for e in world.named("noted") if "while the search went on" in e.text]
    assert note.endswith(": The GPU is gone.")
    assert ended.verified
    assert not any(e.early for e in world.named("final_ended"))


class Endless(FakeLab):
    """Whoever checks early is at it until the worker ends."""

    def fresh(self, name: str) -> Any:
        found = super().fresh(name)
        if name.startswith("early-"):
            found.call = self.waits
        return found

    def waits(self, *_: Any, **__: Any) -> Any:
        assert self.closed.wait(60.0)
        raise WorkerError("The worker is gone.", kind="lost")


def test_who_stops_does_not_wait_for_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.unit.search.test_early_final.PATIENCE_S", 0.2)  # nor does the listener
    began = time.monotonic()
    ended = run(world, lab=Endless, stop_at=early.SETTLED + 2)
    assert (ended.state, ended.verified) == ("interrupted", ())
    assert "not verified yet" in ended.reason
    assert rows(world, ended.run)["finals"] == ()
    left = [t for t in threading.enumerate() if t.name.startswith("early final")]
    for thread in left:
        thread.join(10.0)
        assert not thread.is_alive()
    assert time.monotonic() - began < 10.0


WHERE = ("little time is left", "a policy that is as published", "no room in the GPU's memory", "a small GPU", "nothing strong")


@pytest.mark.parametrize("why", WHERE)
def test_it_does_not_begin_where(world: World, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    more: dict[str, Any] = {}
    if why == "little time is left":
        monkeypatch.setattr(early, "ROOM", 2.0)
    elif why == "a policy that is as published":
        more["policy"] = "paper"
    elif why == "no room in the GPU's memory":
        monkeypatch.setitem(CASE, "memory_bytes", 1 << 36)
    elif why == "a small GPU":
        monkeypatch.setattr(early, "LEAST_BYTES", 1 << 40)
    else:
        monkeypatch.setattr(early, "STRONG", 100.0)
    ended = run(world, **more)
    assert ended.verified
    assert not any(e.early for e in world.named("final_ended"))


def test_a_predicted_run_has_none(world: World) -> None:
    run(world, lab=lambda workspace: FakeLab(workspace, measured=False))
    assert world.named("final_ended") == []
