"""The figures of a variant: all of the final, each with its method, nothing of screening, and none where there is nothing to say."""

from __future__ import annotations

import io
import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from click.testing import CliRunner
from rich.console import Console

from kernelband.cli.figuretable import render
from kernelband.cli.live import Live
from kernelband.cli.show import show
from kernelband.explain.figures import figures
from kernelband.explain.figurewords import slower
from kernelband.explain.kept import read
from kernelband.history import Store, runs, trials
from kernelband.history.records import CaseRow
from kernelband.judge.comparison import compare
from kernelband.judge.protocol import Measurement, Objective, Quantity, Verdict
from kernelband.judge.result import Result
from kernelband.search.events import RunEnded
from kernelband.search.trial import final_row, measurement_rows
from tests.unit.history.rows import run_row, trial_row, variant_row

RUN = "a1b2c3"
SMALL, LARGE = "5" * 16, "7" * 16
CASES: list[Any] = [
    {"id": SMALL, "arguments": "x: float32[8], M: 1024", "function": {"qualname": "f"}, "calls": 3, "role": "time"},
    {"id": LARGE, "arguments": "x: float32[8], M: 4096", "function": {"qualname": "f"}, "calls": 1, "role": "time"},
]
#: Original and variant, microseconds, by case and time: the large case gains on the device and loses per call.
TIMES: dict[tuple[str, Quantity], tuple[float, float]] = {
    (SMALL, "device"): (20.0, 10.0),
    (SMALL, "call"): (50.0, 40.0),
    (LARGE, "device"): (65.0, 50.0),
    (LARGE, "call"): (100.0, 112.0),
}
SCREENED = 7.77  # a figure that must not be seen


def measured(times: dict[tuple[str, Quantity], tuple[float, float]], method: str = "events", spread: float = 0.002) -> list[Measurement]:
    found: list[Measurement] = []
    for (case, quantity), (before, after) in times.items():
        for process, pair in product(range(5), range(15)):
            us = before * (1 + spread * process), after * (1 + spread * (pair % 2))
            found.append(Measurement("v", case, "final", process, pair, pair % 3, quantity, *us, method))
    return found


def verdict(found: list[Measurement], objective: Objective = "device", **more: Any) -> Verdict:
    compared = compare(found, CASES, objective, stage="final")
    result = Result(
        correctness="passed",
        performance=compared.performance,
        stage="final",
        reason=compared.reason,
        cases=compared.cases,
        score=compared.score,
        weighted=compared.weighted,
        worst=compared.worst,
    )
    return Verdict("v", evolve(result, **more), tuple(found))


def database(folder: Path, found: Verdict, **run: Any) -> Path:
    """A finished run with one finalist."""
    db = folder / "history.db"
    row = run_row(RUN, **{"state": "finished", "path": str(folder / "k.py"), **run})
    variant = evolve(variant_row(RUN), patch=[], forecast={"tier": "likely faster", "fact": "fewer bytes", "gains": ["fewer bytes"]})
    trial = evolve(trial_row(RUN), score=SCREENED, low=SCREENED, high=SCREENED, reason=f"On case {LARGE[:8]} it is slower: {SCREENED}×.")
    with Store.write(db) as store:
        runs.begin(store, row, {})
        rows = trials.Rows(
            variants=(variant,),
            trials=(trial,),
            cases=tuple(CaseRow(RUN, c["id"], i, "time", c) for i, c in enumerate(CASES)),
            finals=(final_row(RUN, 1, found),) if row.mode == "measured" else (),
            measurements=measurement_rows(RUN, 1, "final", found.measurements) if row.mode == "measured" else (),
        )
        trials.write(store, rows)
    return db


def shown(db: Path) -> str:
    done = CliRunner().invoke(show, [f"{RUN}/1", "--db", str(db)])
    assert done.exit_code == 0, done.output
    return done.output


def rows_of(text: str, start: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip().startswith(start)]


def test_each_case_has_both_times_with_ratio_interval_and_method(tmp_path: Path) -> None:
    text = shown(database(tmp_path, verdict(measured(TIMES))))
    (first,) = rows_of(text, "M=1024 ")
    assert first.startswith("M=1024 device, events 20.1 µs 10 µs 2.01× 1.99 to 2.03")
    after = text[text.index("M=4096  ") :].splitlines()
    assert " ".join(after[0].split()).startswith("M=4096 device, events 65.3 µs 50 µs 1.31×")
    assert " ".join(after[1].split()).startswith("call, wall 100 µs 112 µs 0.90×")
    assert "5 fresh processes of 15 pairs a case" in text


def test_score_weighted_and_worst_stand_side_by_side_for_both_times(tmp_path: Path) -> None:
    text = shown(database(tmp_path, verdict(measured(TIMES))))
    assert rows_of(text, "score: geometric mean")[0].startswith("score: geometric mean device, events 1.62×")
    assert rows_of(text, "geometric mean")[0].startswith("geometric mean call, wall 1.06×")
    # 3 calls of the small case: (3 * 20 + 65) / (3 * 10 + 50), (3 * 50 + 100) / (3 * 40 + 112)
    assert [r.split()[-1] for r in rows_of(text, "time-weighted")] == ["1.57×", "1.08×"]
    worst = rows_of(text, "worst: ")
    assert worst[0].startswith("worst: M=4096 device, events 1.31×")
    assert worst[1].startswith("worst: M=4096 call, wall 0.90×")


def test_with_call_as_the_objective_the_score_is_that_of_calls(tmp_path: Path) -> None:
    text = shown(database(tmp_path, verdict(measured(TIMES), "call"), objective="call"))
    assert rows_of(text, "score: geometric mean")[0].startswith("score: geometric mean call, wall 1.06×")
    assert rows_of(text, "geometric mean")[0].startswith("geometric mean device, events 1.62×")


def test_a_case_that_loses_per_call_is_said_in_a_sentence(tmp_path: Path) -> None:
    assert "M=4096: 12 % slower per call, though 1.31× faster on the device." in shown(database(tmp_path, verdict(measured(TIMES))))


@pytest.mark.parametrize(("after", "spread", "said"), [(101.5, 0.0, False), (103.0, 0.0, True), (112.0, 0.2, False), (112.0, 0.002, True)])
def test_only_what_is_surely_slower_by_more_than_two_percent(tmp_path: Path, after: float, spread: float, said: bool) -> None:
    found = measured({**TIMES, (LARGE, "call"): (100.0, after)}, spread=spread)
    with Store.read(database(tmp_path, verdict(found, performance="faster"))) as store:
        told = figures(read(store, runs.find(store, RUN)), 1)
    assert told is not None
    assert any("slower per call" in line for line in slower(told)) == said


def test_slower_in_both_times(tmp_path: Path) -> None:
    text = shown(database(tmp_path, verdict(measured({**TIMES, (LARGE, "device"): (50.0, 60.0)}))))
    assert "M=4096: 20 % slower on the device and 12 % slower per call." in text
    assert LARGE[:8] not in text, "the judge's own sentence names the case by its id: it is said by name instead"


def test_screening_is_never_a_figure(tmp_path: Path) -> None:
    text = shown(database(tmp_path, verdict(measured(TIMES))))
    assert "Screening: faster." in text
    assert str(SCREENED) not in text


def test_a_finalist_that_was_not_verified_has_its_figures_and_no_claim(tmp_path: Path) -> None:
    text = shown(database(tmp_path, verdict(measured(TIMES), performance="inconclusive", reason="")))
    assert "Final: not verified" in text
    assert "1.31×" in text
    assert "Measured faster" not in text


@pytest.mark.parametrize("more", [{"correctness": "wrong", "reason": "3 elements differ"}, {"cases": (), "score": None}])
def test_without_a_correct_final_there_are_no_figures(tmp_path: Path, more: dict[str, Any]) -> None:
    text = shown(database(tmp_path, verdict(measured(TIMES), **more)))
    assert "not verified" in text
    for figure in (" µs", "1.31×", "geometric"):
        assert figure not in text


def test_predicted_has_no_time_and_no_ratio(tmp_path: Path) -> None:
    db = database(tmp_path, verdict(measured(TIMES)), mode="predicted")
    text = shown(db)
    assert "Predicted likely faster" in text
    for figure in (" µs", "1.31×", str(SCREENED), "geometric", "Final", "Screening"):
        assert figure not in text


def test_wall_time_and_disturbance_are_said(tmp_path: Path) -> None:
    found = [evolve(m, disturbed="The clock went down." if m.case == LARGE else None) for m in measured(TIMES, "wall")]
    text = shown(database(tmp_path, verdict(found)))
    assert "device, wall" in text
    assert text.count("The clock went down.") == 1
    assert "M=4096: measured while the GPU was disturbed. The clock went down." in text


def test_one_process_has_no_interval(tmp_path: Path) -> None:
    found = [m for m in measured(TIMES) if m.process == 0]
    text = shown(database(tmp_path, verdict(found, performance="inconclusive")))
    assert "1 fresh process of" in text
    assert "unknown" in text
    assert "slower per call" not in text


def test_blocks_that_were_measured_again_do_not_count(tmp_path: Path) -> None:
    found = measured(TIMES)
    again = [evolve(m, superseded=True, variant_us=1.0) for m in found if m.process == 0]
    text = shown(database(tmp_path, verdict([*found, *again])))
    assert "15 pairs" in text
    assert rows_of(text, "geometric mean")[0].startswith("geometric mean call, wall 1.06×")


def test_it_fits_a_terminal_of_eighty_columns(tmp_path: Path) -> None:
    with Store.read(database(tmp_path, verdict(measured(TIMES)))) as store:
        told = figures(read(store, runs.find(store, RUN)), 1)
    assert told is not None
    out = io.StringIO()
    Console(file=out, width=80, highlight=False).print(render(told))
    assert any(line.startswith("M=1024") and line.rstrip().endswith("to 2.03") for line in out.getvalue().splitlines())


def test_the_end_of_a_run_shows_the_figures_of_its_best(tmp_path: Path) -> None:
    db = database(tmp_path, verdict(measured(TIMES)))
    out = io.StringIO()
    Live(Console(file=out, width=150, highlight=False)).finish(RunEnded(RUN, "finished", "1 verified", 1, (1,), {}, {}, 9.0, 1.5), db)
    assert "M=4096: 12 % slower" in out.getvalue()
    assert "score: geometric mean" in out.getvalue()


def test_json_keeps_what_it_had(tmp_path: Path) -> None:
    done = CliRunner().invoke(show, [RUN, "--json", "--db", str(database(tmp_path, verdict(measured(TIMES))))])
    assert json.loads(done.output)["finals"][0]["result"]["cases"][1]["call"]["value"] == pytest.approx(0.9, abs=0.01)
