"""The reason of a variant that was made from another one: its own change and its parent's are not mixed up."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from attrs import evolve
from click.testing import CliRunner
from rich.console import Console

from kernelband.cli.live import Live
from kernelband.cli.show import show
from kernelband.history import Store, runs, trials
from kernelband.search.events import TrialEnded
from tests.unit.history.rows import run_row, trial_row, variant_row

PARENTS, OWN = "fewer bytes: 8 MB before, 4 MB after", "more of the warp slots are used: 50 % before, 100 % after"


def database(folder: Path, author: str = "rewriter", **forecast: Any) -> Path:
    db = folder / "history.db"
    known = {"tier": "likely faster", "fact": PARENTS, "gains": [PARENTS], "costs": []}
    first = evolve(variant_row(), what="BLOCK 64→128.", patch=[], forecast=known)
    child = evolve(first, id=2, parent=1, what="num_warps 4→8.", author=author, forecast={**known, **forecast})
    with Store.write(db) as store:
        runs.begin(store, run_row(mode="predicted", path=str(folder / "k.py")), {})
        tried = tuple(evolve(trial_row(number=n), correctness="interpreted", performance="not_measured") for n in (1, 2))
        trials.write(store, trials.Rows(variants=(first, child), trials=tried))
    return db


def shown(db: Path, what: str = "a1b2c3/2") -> str:
    done = CliRunner().invoke(show, [what, "--db", str(db)])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_child_says_what_it_stands_on_and_what_moved_by_itself(tmp_path: Path) -> None:
    text = shown(database(tmp_path, parent_gains=[OWN], parent_costs=[]))
    assert "made from variant 1" in text
    assert "What: num_warps 4→8.\n  on top of variant 1: BLOCK 64→128.\n" in text
    assert "together with the edits of variant 1" in text
    assert text.endswith(f"Against variant 1:\n  + {OWN}\n")


def test_an_edit_of_a_model_says_so(tmp_path: Path) -> None:
    text = shown(database(tmp_path, author="model wise"))
    assert "What: num_warps 4→8. (written by model wise)\n" in text


def test_the_list_says_the_childs_own_fact_first(tmp_path: Path) -> None:
    text = shown(database(tmp_path, parent_gains=[OWN], parent_costs=[]), "a1b2c3")
    line = " ".join(next(x for x in text.splitlines() if x.strip().startswith("2 ")).split())
    assert line.startswith(f"2 likely faster against variant 1, {OWN}; against the")


def test_of_an_older_run_the_parents_fact_is_not_claimed(tmp_path: Path) -> None:
    text = shown(database(tmp_path))
    assert "wasn't kept" in text


def test_a_variant_of_the_original_reads_as_before(tmp_path: Path) -> None:
    text = shown(database(tmp_path), "a1b2c3/1")
    assert f"Predicted likely faster: {PARENTS}." in text
    assert "gainst variant" not in text


def test_live_says_it_too() -> None:
    out = io.StringIO()
    trial = TrialEnded(2, 2, 1, "tiling", "num_warps", "likely_faster", "", 0.5, 1, "likely faster", PARENTS, None, (), ())
    with Live(Console(file=out, width=200, highlight=False)) as live:
        live.hear(trial)
    (because,) = [line for line in out.getvalue().splitlines() if "because:" in line]
    assert because.index("variant 1") < because.index(PARENTS) < because.index("no fact changed")
