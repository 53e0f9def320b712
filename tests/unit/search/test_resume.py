"""Runs that are interrupted, anywhere, and go on: nothing is lost, nothing is done twice."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kernelband.errors import HistoryError, StaleText
from kernelband.history import Store, runs, trials
from kernelband.search.events import Event
from kernelband.search.resume import options_of
from kernelband.search.run import optimize

from .fake_lab import TEXT, FakeAuthor, FakeLab
from .world import TROUBLES, World, interrupted, rows


def test_a_reader_that_has_gone_interrupts(world: World) -> None:
    def gone(event: Event) -> None:
        world.events.append(event)
        if any(e.name == "trial_ended" for e in world.events):
            raise BrokenPipeError

    def start(workspace: Any, **_: Any) -> Any:
        world.labs.append(FakeLab(workspace))
        return world.labs[-1]

    ended = optimize(world.options(), world.db, gone, author=FakeAuthor(()), start_lab=start)
    with world.store() as store:
        row = runs.find(store, ended.run)
    assert (row.state, row.reason) == ("interrupted", ended.reason)
    assert "its output was closed" in row.reason
    assert world.run(options_of(world.db, ended.run), resume=ended.run).state == "finished"


@pytest.mark.parametrize(
    ("name", "count"), [("trial_ended", 1), ("trial_ended", 4), ("cases_captured", 1), ("candidates_compiled", 3), ("final_ended", 1)]
)
def test_interrupt_then_resume_loses_nothing(world: World, name: str, count: int) -> None:
    first = interrupted(world, name, count)
    assert first.state == "interrupted"
    assert first.run in first.reason
    before = rows(world, first.run)
    second = world.run(options_of(world.db, first.run), author=FakeAuthor(TROUBLES), resume=first.run)
    assert (second.run, second.state) == (first.run, "finished")
    after = rows(world, first.run)
    for table in ("variants", "trials", "pulls"):
        assert after[table][: len(before[table])] == before[table], table
    assert len(after["trials"]) <= 8
    keys = [(p.parent, p.key) for p in after["pulls"] if p.key]
    assert len(keys) == len(set(keys)), "a proposal was made twice"
    assert second.verified


def test_a_budget_of_the_resumption_is_kept(world: World) -> None:
    first = interrupted(world, "trial_ended", 1)
    interrupted_again = interrupted(world, "trial_ended", 2, evolve(options_of(world.db, first.run), trials=12), resume=first.run)
    assert interrupted_again.state == "interrupted"
    with world.store() as store:
        row = runs.find(store, first.run)
    assert (row.trials_budget, row.options["trials"], options_of(world.db, first.run).trials) == (12, 12, 12)


def test_an_interrupt_when_a_trial_has_just_been_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    write, fired = trials.write, list[int]()

    def written(store: Store, rows: trials.Rows) -> None:
        write(store, rows)
        if rows.trials and rows.pulls and not rows.pulls[0].executed and not fired:  # with a failure that cost nothing before it
            fired.append(rows.trials[0].number)
            raise KeyboardInterrupt

    monkeypatch.setattr(trials, "write", written)
    ended = world.run(author=FakeAuthor(TROUBLES))
    assert fired
    assert ended.state == "interrupted"
    found = rows(world, ended.run)
    assert [p.position for p in found["pulls"]] == list(range(len(found["pulls"])))
    assert world.run(options_of(world.db, ended.run), author=FakeAuthor(TROUBLES), resume=ended.run).state == "finished"


def test_a_run_that_was_stopped_names_the_best_that_it_has_seen(world: World) -> None:
    ended = interrupted(world, "trial_ended", 6, world.options(trials=12))
    tried = [t for t in rows(world, ended.run)["trials"] if t.performance == "faster"]
    assert tried
    best = max(tried, key=lambda t: (t.score or 0.0, -t.number)).variant
    assert (ended.best, ended.verified) == (best, ())
    assert f"best so far: variant {best}, not verified yet" in ended.reason
    with world.store() as store:
        assert runs.find(store, ended.run).summary["best"] is None, "what stands there is taken for a result"


@pytest.mark.parametrize("phase", ["commit", "measure", "compile", "final"])
def test_interrupted_in_a_phase_leaves_whole_trials(world: World, phase: str) -> None:
    seen = 0

    def listen(event: Event) -> None:
        nonlocal seen
        world.events.append(event)
        if event.name == "phase_changed" and event.phase == phase:
            seen += 1
            if seen == (1 if phase == "final" else 3):
                raise KeyboardInterrupt

    def start(workspace: Any, **_: Any) -> Any:
        world.labs.append(FakeLab(workspace))
        return world.labs[-1]

    first = optimize(world.options(), world.db, listen, author=FakeAuthor(TROUBLES), start_lab=start)
    assert first.state == "interrupted"
    found = rows(world, first.run)
    executed = [p.variant for p in found["pulls"] if p.executed]
    assert executed == [t.variant for t in found["trials"]] == [v.id for v in found["variants"] if v.id]
    assert [p.position for p in found["pulls"]] == list(range(len(found["pulls"])))
    second = world.run(options_of(world.db, first.run), author=FakeAuthor(TROUBLES), resume=first.run)
    assert second.state == "finished"


def test_a_finished_run_is_not_resumed(world: World) -> None:
    ended = world.run()
    with pytest.raises(HistoryError, match="nothing to resume"):
        world.run(options_of(world.db, ended.run), resume=ended.run)


def test_resume_refuses_another_text(world: World) -> None:
    first = interrupted(world, "trial_ended", 1)
    world.file.write_text(TEXT.replace("== 100", "== 1e2"))
    with pytest.raises(StaleText, match="has changed since run"):
        world.run(options_of(world.db, first.run), resume=first.run)
    with world.store() as store:
        assert runs.find(store, first.run).state == "interrupted"


def test_resume_refuses_another_triton(world: World) -> None:
    first = interrupted(world, "trial_ended", 1)
    with pytest.raises(HistoryError, match=r"triton 3\.6\.0.*3\.9"):
        world.run(options_of(world.db, first.run), resume=first.run, environment=lambda lab: lab.environment | {"triton": "3.9"})
