"""Events: documented, and shown without a figure where nothing was measured."""

from __future__ import annotations

import inspect
import io
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console

from kernelband.cli.live import Live, reached, spent
from kernelband.history import Store, runs, trials
from kernelband.search import events
from kernelband.search.events import Event, FinalEnded, PhaseChanged, RunEnded, RunStarted, TrialEnded, WorkerSaid
from tests.unit.history.rows import run_row, trial_row, variant_row

STARTED = RunStarted("ab12", "/w/k.py", "k", "/w/k.py::test", "predicted", "H100", "kernelband", "device", 5, 60.0, 0, False)
CLOCK = {"capture": 1.0, "waiting": 2.0, "check": 0.01, "background compile": 3.0}


def kinds() -> list[type[Event]]:
    return [c for _, c in inspect.getmembers(events, inspect.isclass) if issubclass(c, Event) and c is not Event]


def test_every_event_and_phase_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cli.md").read_text(encoding="utf-8")
    assert len(kinds()) >= 10
    for kind in kinds():
        name = kind.__new__(kind).name
        assert f"| `{name}` |" in text, name
    for phase in events.PHASES:
        assert f"`{phase}`" in text or phase == "propose"


def shown(*heard: Event) -> str:
    out = io.StringIO()
    live = Live(Console(file=out, width=150, highlight=False))
    with live:
        for event in heard:
            live.hear(event)
    return out.getvalue()


def test_predicted_shows_the_fact_and_no_figure() -> None:
    trial = TrialEnded(1, 1, 0, "tiling", "BLOCK 64→128", "likely_faster", "", 0.5, 1, "likely faster", "fewer bytes")
    text = shown(STARTED, PhaseChanged("check", 1), trial)
    assert "likely faster" in text
    assert "because: fewer bytes" in text
    assert "predicted for H100" in text
    assert "0.5" not in text


def test_what_a_program_prints_is_not_markup() -> None:
    trial = TrialEnded(1, 1, 0, "tiling", "x[i] -> x[/red]", "wrong", "[bold]3 elements[/] differ", 0.5, 0)
    text = shown(STARTED, WorkerSaid("main", "[/nonsense]"), trial)
    assert "x[i] -> x[/red]" in text
    assert "[bold]3 elements[/] differ" in text


def test_where_the_time_went() -> None:
    assert spent(CLOCK) == "waiting for the compiler 2.0 s, capture 1.0 s (beside the rest: compile 3.0 s)"


def test_how_long_until_the_first_is_said_of_what_it_was() -> None:
    assert reached(None, None) == ()
    (verified,), (checked,) = reached(41.25, None), reached(None, 12.0)
    assert "verified" in verified
    assert "41.2 s" in verified
    assert "verified" not in checked
    assert "passed its check" in checked
    assert "12.0 s" in checked


@pytest.mark.parametrize("early", [True, False])
def test_what_is_verified_early_says_when(early: bool) -> None:
    out = io.StringIO()
    live = Live(Console(file=out, width=150, highlight=False))
    live.hear(FinalEnded(3, verified=True, reason="", score=1.52, low=1.5, high=1.6, early=early))
    assert "verified variant 3: 1.52× (next process: 1.50 to 1.60)" in out.getvalue()
    assert ("while the search went on" in out.getvalue()) is early


def test_the_end_says_how_long_until_the_first() -> None:
    out = io.StringIO()
    ended = RunEnded("ab12", "finished", "1 verified", None, (), {}, CLOCK, 9.0, 1.5, seconds_to_verified=7.5)
    Live(Console(file=out, width=150, highlight=False)).finish(ended, Path("/db"))
    assert reached(7.5, None)[0] in out.getvalue()


def test_the_end_of_a_prediction_without_a_best_names_what_a_gpu_could_decide(tmp_path: Path) -> None:
    db = tmp_path / "history.db"
    with Store.write(db) as store:
        runs.begin(store, run_row("ab12", mode="predicted", state="finished"), {})
        forecasts = ({"tier": "unclear", "gains": ["wider accesses"]}, {"tier": "likely slower", "gains": ["fewer bytes"]})
        made = tuple(evolve(variant_row("ab12", n), key=str(n), forecast=f, what=f"BLOCK 64→{128 * n}") for n, f in enumerate(forecasts, 1))
        tried = tuple(evolve(trial_row("ab12", n), correctness="interpreted", performance="not_measured") for n in (1, 2))
        trials.write(store, trials.Rows(variants=made, trials=tried))
    out = io.StringIO()
    live = Live(Console(file=out, width=150, highlight=False))
    with live:
        live.hear(STARTED)
    live.finish(RunEnded("ab12", "finished", "predicted: nothing is likely faster", None, (), {}, CLOCK, 9.0, 1.5), db)
    assert "Worth trying on a GPU:\n  ab12/1  BLOCK 64→128: wider accesses\n" in out.getvalue()
    assert "ab12/2" not in out.getvalue()


def test_the_end_without_a_best_names_none() -> None:
    out = io.StringIO()
    live = Live(Console(file=out, width=150, highlight=False))
    live.finish(
        RunEnded("ab12", "finished", "predicted: nothing is likely faster", None, (), {"proposed": 3}, CLOCK, 9.0, 1.5), Path("/db")
    )
    text = out.getvalue()
    assert "nothing is likely faster" in text.lower()
    assert "apply" not in text
