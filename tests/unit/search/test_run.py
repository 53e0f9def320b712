"""A whole run, in this process, with a laboratory whose truth is known: what is found, what it costs, what is written, what comes back."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.errors import HistoryError, StaleText, UsageError, WorkerError, WorkloadError
from kernelband.history import Store, runs, trials
from kernelband.search.events import Event, RunEnded
from kernelband.search.options import Options
from kernelband.search.resume import options_of
from kernelband.search.run import optimize

from .fake_lab import TEXT, FakeAuthor, FakeExecutor, FakeLab


class World:
    """A workspace, a database, and the events of the runs in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "k.py"
        self.file.write_text(TEXT)
        self.db = folder / "state" / "h.db"
        self.events: list[Event] = []
        self.labs: list[FakeLab] = []

    def options(self, **more: Any) -> Options:
        return evolve(Options(str(self.file), trials=8), **more)

    def run(
        self, options: Options | None = None, *, measured: bool = True, author: Any = None, resume: str | None = None, **patches: Any
    ) -> RunEnded:
        def start(workspace: Any, **_: Any) -> Any:
            lab = FakeLab(workspace, measured)
            for name, value in patches.items():
                setattr(lab, name, value(lab))
            self.labs.append(lab)
            return lab

        return optimize(
            options or self.options(), self.db, self.events.append, resume_run=resume, author=author or FakeAuthor(), start_lab=start
        )

    def store(self) -> Store:
        return Store.read(self.db)

    def named(self, name: str) -> list[Any]:
        return [e for e in self.events if e.name == name]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def rows(world: World, run: str) -> dict[str, Any]:
    with world.store() as store:
        return {
            "variants": trials.variants(store, run),
            "trials": trials.trials(store, run),
            "pulls": trials.pulls(store, run),
            "finals": trials.finals(store, run),
        }


def test_finds_verifies_and_writes_down(world: World) -> None:
    ended = world.run()
    assert ended.state == "finished"
    found = rows(world, ended.run)
    assert ended.verified
    best = found["variants"][ended.verified[0]]
    assert best.patch
    assert len(found["trials"]) == ended.counts["executed"] <= 8
    assert found["finals"][0].verified
    assert found["finals"][0].score > 1.5
    assert [t.number for t in found["trials"]] == list(range(1, len(found["trials"]) + 1))
    with world.store() as store:
        assert store.integrity() == "ok"
        row = runs.find(store, ended.run)
        assert row.state == "finished"
        assert trials.cases(store, ended.run)[0].facts["arguments"] == "x: float32[100]"
        assert {m.stage for m in trials.measurements(store, ended.run)} == {"baseline", "screening", "final"}
        assert row.kernel_key
        assert trials.arms(store, ended.run)
    assert world.labs[0].closed.is_set()
    assert world.events[0].name == "run_started"
    assert world.events[-1] == ended


def test_a_child_of_a_child_applies_to_the_original_text(world: World) -> None:
    ended = world.run(world.options(trials=12))
    from kernelband.search.patches import patch_from_json

    for variant in rows(world, ended.run)["variants"]:
        text = patch_from_json(variant.patch).apply({str(world.file): TEXT})[str(world.file)]
        if variant.id:
            assert f"BLOCK={variant.parameters['BLOCK']}" in text
    assert any(v.parent for v in rows(world, ended.run)["variants"])


def test_same_seed_same_search(world: World, tmp_path: Path) -> None:
    first = world.run()
    (tmp_path / "two").mkdir()
    other = World(tmp_path / "two")
    second = other.run()
    strip = [(p.step, p.parent, p.strategy, p.key, p.outcome) for p in rows(world, first.run)["pulls"]]
    assert strip == [(p.step, p.parent, p.strategy, p.key, p.outcome) for p in rows(other, second.run)["pulls"]]


@pytest.mark.parametrize("policy", ["paper", "random"])
def test_other_policies_run_too(world: World, policy: str) -> None:
    ended = world.run(world.options(policy=policy))
    assert ended.state == "finished"
    assert ended.counts["executed"] >= 3


TROUBLES = ("wrong", "crashed", "timeout", "oom", "compile_error", "compiler_hangs", "same")


def test_each_trouble_costs_one_trial_or_nothing_and_the_search_goes_on(world: World) -> None:
    ended = world.run(world.options(trials=60), author=FakeAuthor(TROUBLES))
    assert ended.state == "finished"
    pulls = rows(world, ended.run)["pulls"]
    outcomes = {p.key.partition("trouble=")[2].rstrip(")"): p for p in pulls if p.outcome != "nothing_left"}
    for name in ("wrong", "crashed", "timeout", "oom"):
        assert outcomes[name].outcome == name
        assert outcomes[name].executed
        assert outcomes[name].reward == 0
    for name in ("compile_error", "compiler_hangs"):
        assert (outcomes[name].outcome, outcomes[name].executed) == ("compile_error", False)
        assert outcomes[name].reason
    assert (outcomes["same"].outcome, outcomes["same"].executed) == ("duplicate", False)
    assert ended.verified, "the search went on"
    members = {v.id for v in rows(world, ended.run)["variants"] if v.seconds is not None}
    assert not members & {outcomes[n].variant for n in ("wrong", "crashed", "timeout", "oom")}


def test_paper_pays_for_failures(world: World) -> None:
    ended = world.run(world.options(trials=6, policy="paper"), author=FakeAuthor(("compile_error",) * 1))
    pulls = [p for p in rows(world, ended.run)["pulls"] if p.outcome != "nothing_left"]
    assert len(pulls) == 6


def test_a_winner_that_fails_the_users_own_entry_is_not_verified(world: World) -> None:
    def refuse(lab: FakeLab) -> Any:
        class Refusing(FakeExecutor):
            def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, **more: Any) -> Any:
                if operation == "entry/run" and params["variant"]:
                    return {"ok": False, "reason": "AssertionError in test_copy", "output": "", "seconds": 0.0}
                return super().call(operation, params, deadline_s, lock, **more)

        return lambda name: Refusing(lab)

    ended = world.run(fresh=refuse)
    assert ended.verified == ()
    assert "AssertionError" in rows(world, ended.run)["finals"][0].result["reason"]


# ------------------------------------------------------------ predicted


def test_predicted_says_no_time_and_no_ratio(world: World) -> None:
    ended = world.run(measured=False)
    assert ended.state == "finished"
    assert ended.verified == ()
    assert ended.reason.startswith("predicted")
    assert "time" not in world.labs[0].calls
    for event in world.named("trial_ended"):
        assert event.score is None
        assert event.tier in ("likely faster", "unclear", "likely slower")
    found = rows(world, ended.run)
    assert all(t.score is None for t in found["trials"])
    assert {t.correctness for t in found["trials"]} == {"interpreted"}


def test_compilers_that_never_end_cost_no_more_than_the_budget(world: World) -> None:
    begin = time.monotonic()
    author = FakeAuthor(("straggler",) * 3)
    ended = world.run(world.options(trials=None, seconds=1.5), measured=False, author=author)
    assert time.monotonic() - begin < 15  # nothing else bounds the wait
    assert ended.state == "finished"
    assert "1.5 s are used up" in ended.reason


# ------------------------------------------------------------ interruption and resume


class Stop:
    """Raises KeyboardInterrupt at the n-th event of a name."""

    def __init__(self, world: World, name: str, count: int) -> None:
        self.world, self.name, self.left = world, name, count

    def __call__(self, event: Event) -> None:
        self.world.events.append(event)
        if event.name == self.name:
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


def interrupted(
    world: World, name: str, count: int, options: Options | None = None, *, author: Any = None, resume: str | None = None
) -> RunEnded:
    stop = Stop(world, name, count)

    def start(workspace: Any, **_: Any) -> Any:
        world.labs.append(FakeLab(workspace))
        return world.labs[-1]

    asked = options or world.options()
    return optimize(asked, world.db, stop, resume_run=resume, author=author or FakeAuthor(TROUBLES), start_lab=start)


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
    assert "nobody read its output any more" in row.reason
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


# ------------------------------------------------------------ failures of the run


def test_a_start_that_fails_leaves_nothing(world: World) -> None:
    def lost(lab: FakeLab) -> Any:
        class Lost(FakeExecutor):
            def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, **more: Any) -> Any:
                raise WorkloadError("The entry fails.", kind="entry_failed")

        return lambda: Lost(lab)

    with pytest.raises(WorkloadError, match="fails"):
        world.run(measuring=lost)
    assert not world.db.exists()
    assert list(world.db.parent.iterdir()) == []
    assert world.labs[0].closed.is_set()


def test_a_worker_that_dies_in_the_search_leaves_a_run_to_resume(world: World) -> None:
    def dying(lab: FakeLab) -> Any:
        class Dying(FakeExecutor):
            def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, **more: Any) -> Any:
                if lab.calls.count("check") >= 3:
                    raise WorkerError("The worker is gone.", kind="lost")
                return super().call(operation, params, deadline_s, lock, **more)

        return lambda: Dying(lab)

    with pytest.raises(WorkerError, match="gone"):
        world.run(measuring=dying)
    with world.store() as store:
        row = runs.find(store, "last")
        assert row.state == "failed"
        assert len(trials.trials(store, row.id)) >= 1
    again = world.run(options_of(world.db, row.id), resume=row.id)
    assert again.verified


def test_no_budget_starts_nothing(world: World) -> None:
    for bad in ({"trials": 0}, {"trials": None, "seconds": 0.0}):
        with pytest.raises(UsageError, match="allows nothing"):
            world.run(world.options(**bad))
    assert world.labs == []
    assert not world.db.exists()


@pytest.mark.parametrize(
    ("constant", "options"), [("preparer.STALL_S", {"trials": 30}), ("demand.BRIEF_S", {"trials": None, "seconds": 6.0})]
)
def test_a_compiler_that_hangs_does_not_hold_up_the_device(
    world: World, monkeypatch: pytest.MonkeyPatch, constant: str, options: dict[str, Any]
) -> None:
    """Without news from it for some time, or, where the clock ends the run, once the device has waited for as long as a trial takes."""
    for name in ("preparer.STALL_S", "demand.BRIEF_S", "demand.STALL_S"):
        monkeypatch.setattr(f"kernelband.search.{name}", 60.0)
    monkeypatch.setattr(f"kernelband.search.{constant}", 0.05)
    start_s = time.monotonic()
    late: list[float] = []

    def listen(event: Event) -> None:
        world.events.append(event)
        lab = world.labs[-1]
        if event.name == "trial_ended" and event.number == 2:  # the device had work; now the compiler comes back
            late.extend(time.monotonic() - start_s for _ in lab.stragglers)
            for future, built in lab.stragglers:
                future.set_result(built)

    def start(workspace: Any, **_: Any) -> Any:
        world.labs.append(FakeLab(workspace))
        return world.labs[-1]

    ended = optimize(world.options(**options), world.db, listen, author=FakeAuthor(("straggler",)), start_lab=start)
    (waited_s,) = late
    assert waited_s < 5
    pulls = rows(world, ended.run)["pulls"]
    straggler = next(p for p in pulls if "straggler" in p.key)
    assert straggler.executed
    assert straggler.position > 1
