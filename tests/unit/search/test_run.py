"""A whole run, in this process, with a laboratory whose truth is known: what is found, what it costs, what is written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import UsageError, WorkerError, WorkloadError
from kernelband.history import runs, trials
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Verdict
from kernelband.search import loop
from kernelband.search.events import Event
from kernelband.search.resume import options_of
from kernelband.search.run import optimize

from .fake_lab import CASE, TEXT, FakeAuthor, FakeExecutor, FakeLab
from .world import TROUBLES, World, interrupted, rows  # noqa: F401 - others take these from here


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
    assert len(world.labs[0].opened) == 1  # while the original was compiled
    assert world.labs[0].modules  # before that, while the entry ran
    (base,) = world.named("baseline_known")
    assert base.noise.keys() == base.device_us.keys()
    assert all(0 <= noise < 0.01 for noise in base.noise.values())  # it is timed against itself
    assert world.events[0].name == "run_started"
    assert world.events[-1] == ended


def test_a_block_that_tiling_can_not_change_is_named_once_at_the_beginning(world: World) -> None:
    table = "\n\ndef from_a_table(x, y, n, sizes):\n    k[(triton.cdiv(n, sizes['k']),)](x, y, n, BLOCK=sizes['k'])\n"
    world.file.write_text(TEXT + table)
    world.run()
    said = [e.text for e in world.named("noted") if "comes from" in e.text]
    assert said == ["BLOCK comes from sizes['k']: not changed."]
    names = [e.name for e in world.events]
    assert names.index("noted") < names.index("baseline_known")


def test_a_child_of_a_child_applies_to_the_original_text(world: World) -> None:
    ended = world.run(world.options(trials=12))
    from kernelband.source import patch_from_json

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


def test_the_entry_that_launched_the_kernel_is_what_winners_must_pass(world: World) -> None:
    world.file.write_text(TEXT + "\n\ndef test_twice():\n    copy(copy(torch.ones(100, device='cuda')))\n")
    captured: list[Any] = []
    passed: set[str] = set()

    class Choosy(FakeExecutor):
        def restart(self) -> None:
            """The next capture has a process of its own."""

        def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, **more: Any) -> Any:
            if operation == "capture":
                captured.append(params)
                if len(captured) == 1:
                    raise WorkloadError("The entry test_copy never launches k.", kind="never_launches")
            if operation == "entry/run":
                passed.add(params["entry"]["name"])
            return super().call(operation, params, deadline_s, lock, **more)

    ended = world.run(
        world.options(trials=4, seconds=60.0), measuring=lambda lab: lambda: Choosy(lab), fresh=lambda lab: lambda _: Choosy(lab)
    )
    assert ended.verified
    first, second = (params["entry"]["name"] for params in captured)
    assert first != second
    assert passed == {second}
    assert captured[1]["within_s"] == pytest.approx(20.0, abs=5.0)  # a third of the seconds, less what the first try took


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
    author = FakeAuthor(("straggler",) * 3)
    ended = world.run(world.options(trials=None, seconds=0.5), measured=False, author=author)  # nothing else bounds the wait
    assert ended.state == "finished"
    assert "are used up" in ended.reason


def test_without_a_device_what_is_compiled_waits_for_a_share_of_the_seconds_only(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STALL_S", "BRIEF_S"):
        monkeypatch.setattr(f"kernelband.search.preparer.{name}", 0.1)
    ended = world.run(world.options(trials=None, seconds=8.0), measured=False, author=FakeAuthor(("straggler",) * 3))
    assert ended.counts["executed"] >= 2


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
    assert f"`kernelband optimize --resume {row.id}` continues it" in world.named("noted")[-1].text
    again = world.run(options_of(world.db, row.id), resume=row.id)
    assert again.verified


def test_no_budget_starts_nothing(world: World) -> None:
    for bad in ({"trials": 0}, {"trials": None, "seconds": 0.0}):
        with pytest.raises(UsageError, match="allows nothing"):
            world.run(world.options(**bad))
    assert world.labs == []
    assert not world.db.exists()


@pytest.mark.parametrize(("constant", "options"), [("STALL_S", {"trials": 30}), ("BRIEF_S", {"trials": None, "seconds": 200.0})])
def test_a_compiler_that_hangs_does_not_hold_up_the_device(
    world: World, monkeypatch: pytest.MonkeyPatch, constant: str, options: dict[str, Any]
) -> None:
    """Without news from it for some time, or, where the clock ends the run, once the device has waited for as long as a trial takes.

    It comes back when the device has had other work: a device that waits for it waits until the test's time is over.
    """
    monkeypatch.setattr(f"kernelband.search.preparer.{constant}", 0.05)
    late: list[int] = []

    def listen(event: Event) -> None:
        world.events.append(event)
        if event.name == "trial_ended" and event.number == 2:
            late.append(world.labs[-1].wake())

    def start(workspace: Any, **_: Any) -> Any:
        world.labs.append(FakeLab(workspace))
        return world.labs[-1]

    ended = optimize(world.options(**options), world.db, listen, author=FakeAuthor(("straggler",)), start_lab=start)
    assert late == [1]
    pulls = rows(world, ended.run)["pulls"]
    straggler = next(p for p in pulls if "straggler" in p.key)
    assert straggler.executed
    assert straggler.position > 1


def test_while_a_compiler_hangs_the_arms_that_are_ready_go_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelband.search.preparer.STALL_S", 0.05)
    offered, woken = loop.offered, list[int]()

    def asked(*what: Any, only_ready: bool = False) -> Any:
        if only_ready:
            woken.append(world.labs[-1].wake())
        return offered(*what, only_ready=only_ready)

    monkeypatch.setattr(loop, "offered", asked)
    ended = world.run(world.options(trials=30), author=FakeAuthor(("straggler",)))
    assert woken[0] >= 1
    assert any("straggler" in p.key and p.executed for p in rows(world, ended.run)["pulls"])


def test_references_are_compiled_before_anything_is_checked(world: World) -> None:
    world.run()
    (lab,) = world.labs
    assert "check" in lab.calls
    assert "check" not in lab.waited_after
    assert "time" in lab.waited_after


def test_the_judge_is_told_what_leads(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Mapping[str, float]] = []
    screen = Judge.screen

    def listening(self: Judge, *arguments: Any, lead: Mapping[str, float], **more: Any) -> Verdict:
        told.append(lead)
        return screen(self, *arguments, lead=lead, **more)

    monkeypatch.setattr(Judge, "screen", listening)
    world.run()
    assert told[0] == {}
    assert all(found.keys() == {CASE["id"]} for found in told[1:])
    best = [found[CASE["id"]] for found in told[1:]]
    assert best == sorted(best)
    assert best[-1] > 1
