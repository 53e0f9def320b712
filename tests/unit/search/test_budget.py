"""Budgets and the phase clock, with time in hand."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from kernelband.errors import UsageError
from kernelband.judge.protocol import Settings
from kernelband.search import events, finish
from kernelband.search.budget import DEFAULT_SECONDS, Budget, PhaseClock


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


@pytest.mark.parametrize(("trials", "seconds"), [(0, None), (-1, 5.0), (None, 0.0), (3, -2.0), (None, float("nan"))])
def test_nothing_to_spend_is_refused(trials: int | None, seconds: float | None) -> None:
    with pytest.raises(UsageError, match="allows nothing"):
        Budget(trials, seconds)


def test_default_is_a_minute_unless_trials_are_counted() -> None:
    assert Budget(None, None).seconds == DEFAULT_SECONDS
    assert Budget(5, None).seconds is None
    assert Budget(5, None).left == float("inf")


def test_whichever_ends_first() -> None:
    clock = Clock()
    budget = Budget(3, 10.0, now=clock)
    assert budget.allows(2)
    assert not budget.allows(3)
    assert not budget.allows(0, reserve=10.0)
    clock.at += 9.5
    assert budget.allows(0)
    clock.at += 0.5
    assert not budget.allows(0)


def test_seconds_to_spare() -> None:
    clock = Clock()
    assert Budget(None, 60.0, now=clock).spare(3, 1.0) == 0  # more trials fit in: none may take longer than it must
    assert Budget(20, None, now=clock).spare(3, 1.0) == float("inf")
    both = Budget(20, 60.0, now=clock)
    assert both.spare(10, 1.0, reserve=20.0) == 3.0
    assert both.spare(20, 1.0) == 59.0
    clock.at += 50
    assert both.spare(10, 1.0, reserve=20.0) == 0


def test_seconds_are_those_of_the_search() -> None:
    now = Clock()
    phases = PhaseClock(now=now)
    budget = Budget(None, 60.0, used=2.0, clock=phases, now=now)
    for name in ("start", "capture", "baseline"):
        with phases.span(name):
            now.at += 5
            assert budget.left == 58.0
    with phases.span("waiting"):
        now.at += 8
    assert (budget.left, budget.elapsed) == (50.0, 25.0)


def test_a_resumed_run_has_what_is_left() -> None:
    clock = Clock()
    budget = Budget(None, 60.0, used=50.0, now=clock)
    clock.at += 4
    assert budget.elapsed == 54
    assert budget.left == 6


def test_spans_nest_and_add_up() -> None:
    clock = Clock()
    phases = PhaseClock(now=clock)
    clock.at += 1
    with phases.span("check"):
        clock.at += 2
        with phases.span("waiting"):
            clock.at += 4
        clock.at += 8
    assert phases.snapshot() == {"check": 10.0, "waiting": 4.0, "other": 1.0}
    assert sum(phases.snapshot().values()) == clock.at - 100


def test_events_are_json() -> None:
    event = events.TrialEnded(1, 1, 0, "tiling", "x", "faster", "", 1.0, 1, score=1.5)
    assert json.loads(json.dumps(event.to_json()))["event"] == "trial_ended"


def kept(seconds, timed, spent, *, measured=True, trials=(), first_s=0.0):
    """What is kept for the final, as a rule before the first trial."""
    clock = SimpleNamespace(seconds=spent)
    session: Any = SimpleNamespace(
        journal=SimpleNamespace(budget=SimpleNamespace(seconds=seconds), clock=clock),
        lab=SimpleNamespace(measured=measured),
        judge=SimpleNamespace(settings=Settings()),
        trials={t.number: t for t in trials},
        finals={},
        cases=[{"role": "time"}] * timed,
    )
    return finish.reserve(session, 9.0, first_s)


def test_more_is_kept_where_a_model_wrote_a_finalist(monkeypatch):
    ours, one, both = ([SimpleNamespace(number=n, isolated=n in strange) for n in (1, 2)] for strange in ((), (2,), (1, 2)))
    monkeypatch.setattr(finish, "finalists", lambda s: list(s.trials.values()))
    ours, one, both = (kept(60.0, 2, {"start": 4.1}, trials=chosen) for chosen in (ours, one, both))
    assert one - ours == pytest.approx(finish.HIDDEN_S)
    assert both - ours == pytest.approx(2 * finish.HIDDEN_S)


def test_what_is_kept_for_the_final_is_about_what_one_takes():
    """Three finalists took 16.6 s with three timing cases (docs/measured.md)."""
    assert 13 <= kept(60.0, 2, {"start": 4.1}) <= 16
    assert 15 <= kept(60.0, 3, {"start": 4.0}) <= 19
    assert kept(120.0, 1, {"start": 6.5}, first_s=17.0) == kept(120.0, 1, {"start": 6.5}) + 28.0  # the import comes again, twice
    assert kept(60.0, 1, {"start": 6.5}, first_s=17.0) == 36.0
    assert kept(20.0, 3, {"start": 4.0}) == 12.0  # the search has its part
    assert kept(None, 3, {"start": 4.0}) == 0.0
