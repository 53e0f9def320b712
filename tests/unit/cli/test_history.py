"""What ``kernelband history`` says of a run in a few words: a ratio where fresh processes verified one, and no word that says more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from attrs import evolve
from click.testing import CliRunner

from kernelband.cli.history import history, outcome
from kernelband.cli.show import show
from kernelband.history import Store, runs, trials
from kernelband.history.records import FinalRow, RunRow
from tests.unit.history.rows import run_row, trial_row, variant_row

RUN = "a1b2c3"
EDIT = {"options": {"entry": None, "against": "saved"}, "state": "finished"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.write(tmp_path / "history.db") as opened:
        yield opened


def final(*, verified: bool = False, score: float | None = 1.84, **result: Any) -> FinalRow:
    said = {"fault": "none", "correctness": "passed", "integrity": "ok", "performance": "inconclusive", **result}
    low, high = (None, None) if score is None else (score - 0.1, score + 0.1)
    return FinalRow(RUN, 1, verified, score, low, high, said, seconds=1.0)


def written(store: Store, row: RunRow, *finals: FinalRow, tier: str | None = None, **of_trial: Any) -> RunRow:
    """The run as it is kept, with one variant."""
    with_tier = evolve(variant_row(RUN), forecast={"tier": tier} if tier else {})
    runs.begin(store, row, {row.path: "x = 1\n"})
    trials.write(store, trials.Rows(variants=(with_tier,), trials=(evolve(trial_row(RUN), **of_trial),), finals=finals))
    return row


@pytest.mark.parametrize(
    ("more", "finals", "said"),
    [
        ({"state": "finished"}, [final(verified=True)], "variant 1 verified 1.84×"),
        ({"state": "finished"}, [final(performance="faster")], "nothing verified"),
        ({"state": "finished"}, [], "nothing verified"),
        ({"state": "interrupted"}, [], "best so far: variant 1, not verified"),
        ({"state": "interrupted"}, [final(verified=True)], "variant 1 verified 1.84×"),
        ({"state": "finished", "mode": "predicted", "summary": {"best": 1}}, [], "predicted: variant 1 likely faster"),
        ({"state": "finished", "mode": "predicted"}, [], "predicted: nothing likely faster"),
    ],
)
def test_of_a_search(store: Store, more: dict[str, Any], finals: list[FinalRow], said: str) -> None:
    assert outcome(store, written(store, run_row(RUN, **more), *finals)) == said


def test_of_several_it_is_the_one_that_the_run_said(store: Store) -> None:
    """Nearly as fast with fewer edits."""
    row = written(store, run_row(RUN, state="finished", summary={"best": 1}))
    trials.write(store, trials.Rows(variants=(evolve(variant_row(RUN, 2), key="2"),), trials=(trial_row(RUN, 2),)))
    trials.write(store, trials.Rows(finals=(final(verified=True, score=1.28), evolve(final(verified=True, score=1.29), variant=2))))
    assert outcome(store, row) == "variant 1 verified 1.28×"


@pytest.mark.parametrize("no", [{"correctness": "wrong"}, {"performance": "slower"}, {"integrity": "suspect"}, {"fault": "oom"}])
def test_nothing_but_what_passed_and_looked_faster_is_the_best_so_far(store: Store, no: dict[str, str]) -> None:
    assert outcome(store, written(store, run_row(RUN, state="interrupted"), **no)) == ""


@pytest.mark.parametrize(("second", "best"), [(1.1, 1), (1.2, 1), (1.3, 2)])
def test_the_best_so_far_has_the_highest_score_and_of_equal_ones_came_first(store: Store, second: float, best: int) -> None:
    row = written(store, run_row(RUN, state="interrupted"))  # the first one's is 1.2
    later = trials.Rows(variants=(evolve(variant_row(RUN, 2), key="2"),), trials=(evolve(trial_row(RUN, 2), score=second),))
    trials.write(store, later)
    assert outcome(store, row) == f"best so far: variant {best}, not verified"


def test_a_run_that_was_cut_off_names_its_best_prediction(store: Store) -> None:
    row = run_row(RUN, state="interrupted", mode="predicted")
    assert outcome(store, written(store, row, tier="likely faster", correctness="interpreted")) == "predicted: variant 1 likely faster"


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (final(verified=True), "verified 1.84× (1.74 to 1.94)"),
        (final(performance="slower", score=0.5), "slower"),
        (final(), "inconclusive"),
        (final(performance="equal", score=1.0), "equal"),
        # screening's word for what the final didn't confirm would be read as its result
        (final(performance="faster"), "not verified"),
        (final(performance="faster", integrity="suspect"), "not verified"),
        (final(performance="slower", integrity="suspect"), "not verified"),
        (final(correctness="wrong", score=None), "wrong"),
        (final(fault="compile_error", score=None), "compile error"),
    ],
)
def test_of_an_edit_that_was_judged(store: Store, result: FinalRow, said: str) -> None:
    assert outcome(store, written(store, run_row(RUN, **EDIT), result)) == f"your edit: {said}"


def test_of_an_edit_that_came_to_no_final(store: Store) -> None:
    row = written(store, run_row(RUN, **EDIT), performance="slower", score=0.5)
    assert outcome(store, row) == "your edit: slower"


@pytest.mark.parametrize(("tier", "said"), [("likely faster", "likely faster"), (None, "unclear")])
def test_of_an_edit_that_nothing_measured(store: Store, tier: str | None, said: str) -> None:
    row = written(store, run_row(RUN, mode="predicted", **EDIT), tier=tier, correctness="interpreted", performance="untested", score=None)
    assert outcome(store, row) == f"your edit: {said} (predicted)"


def test_the_list_and_what_is_forgotten(store: Store, tmp_path: Path) -> None:
    written(store, run_row(RUN, state="finished", path=str(tmp_path / "k.py")), final(verified=True))
    db = ["--db", str(tmp_path / "history.db")]
    shown = CliRunner().invoke(history, db, env={"COLUMNS": "250"})
    assert shown.exit_code == 0, shown.output
    (line,) = [line for line in shown.output.splitlines() if line.startswith(RUN)]
    assert "variant 1 verified 1.84×" in line
    other = CliRunner().invoke(history, [*db, "--file", str(tmp_path / "other.py")])
    assert other.output.startswith("No runs")
    (row,) = json.loads(CliRunner().invoke(history, [*db, "--json"]).output)
    assert row["id"] == RUN
    assert CliRunner().invoke(history, [*db, "--forget", RUN]).output.startswith(f"Forgot run {RUN} (add in ")
    assert CliRunner().invoke(history, db).output.startswith("No runs")


@pytest.mark.parametrize(("command", "arguments"), [(show, ["last", "--json"]), (history, ["--forget", "last"])])
def test_last_is_of_the_project_that_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: click.Command, arguments: list[str]
) -> None:
    db = tmp_path / "history.db"
    for name in ("mine", "other"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "pyproject.toml").touch()
    with Store.write(db) as store:
        runs.begin(store, run_row("aaaa", path=str(tmp_path / "mine" / "k.py"), created=1.0, state="finished"), {})
        runs.begin(store, run_row("bbbb", path=str(tmp_path / "other" / "k.py"), created=2.0, state="finished"), {})
    monkeypatch.chdir(tmp_path / "mine" / "deep")
    done = CliRunner().invoke(command, [*arguments, "--db", str(db)])
    assert done.exit_code == 0, done.output
    assert "aaaa" in done.output
    assert "bbbb" not in done.output
