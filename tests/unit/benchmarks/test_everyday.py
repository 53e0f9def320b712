"""Which kernels everyday.py searches, what it reads out of a run's events, and what its table counts."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import everyday
import pytest


def folders(tmp_path: Path) -> list[Path]:
    known = json.loads((everyday.INPUTS / "kernels.json").read_text())
    for name in known:
        (tmp_path / name).mkdir()
    return [tmp_path / name for name in known]


def test_all_that_the_table_names_is_searched_in_an_order_that_nobody_chose(tmp_path: Path) -> None:
    found = everyday.targets_of(folders(tmp_path), "*")
    named = json.loads((everyday.INPUTS / "kernels.json").read_text())
    assert len(found) == sum(len(p["kernels"]) for p in named.values())
    assert len({t.project.name for t in found[:12]}) > 2  # not one project after the other
    assert [t.key for t in everyday.targets_of(sorted(tmp_path.iterdir()), "*rms_norm*")] == [t.key for t in found if "rms_norm" in t.key]
    (tmp_path / "strange").mkdir()
    with pytest.raises(KeyError, match="and no strange"):
        everyday.targets_of([tmp_path / "strange"], "*")
    with pytest.raises(OSError, match="nowhere"):
        everyday.targets_of([tmp_path / "nowhere"], "*")


def test_every_function_that_makes_inputs_is_there() -> None:
    for project in json.loads((everyday.INPUTS / "kernels.json").read_text()).values():
        text = (everyday.INPUTS / project["inputs"]).read_text()
        assert [f for f in project["kernels"].values() if f"\ndef {f}():" not in text] == []


def trial(variant: int, parent: int | None, outcome: str = "faster", score: float | None = 1.2) -> dict[str, Any]:
    what = f"edit {variant}"
    found = {"event": "trial_ended", "variant": variant, "parent": parent, "outcome": outcome, "score": score}
    return {**found, "strategy": "tiling", "what": what}


def test_a_run_is_read_from_its_events() -> None:
    finals = [
        {"event": "final_ended", "variant": 1, "verified": False, "reason": "wrong", "score": 9.0, "low": 9.0, "high": 9.0},
        {"event": "final_ended", "variant": 3, "verified": True, "reason": "", "score": 1.5, "low": 1.4, "high": 1.6},
        {"event": "final_ended", "variant": 2, "verified": True, "reason": "", "score": 1.3, "low": 1.2, "high": 1.4},
    ]
    known = {"event": "baseline_known", "device_us": {"case": 10.0}}
    ended = {"event": "run_ended", "reason": "2 verified", "clock": {"final": 3.0}, "seconds_to_verified": 20.0}
    trials = [trial(0, None), trial(1, 0), trial(2, 0, "slower", 0.9), trial(3, 2, score=None)]
    found = everyday.told([known, *trials, *finals, ended])
    assert (found["ratio"], found["edits"]) == ([1.5, 1.4, 1.6], ["tiling: edit 2", "tiling: edit 3"])
    assert (found["tried"], found["outcomes"], found["screened"]) == (3, {"faster": 2, "slower": 1}, 1.2)
    assert (found["not_verified"], found["to_verified"], found["refused"]) == (["wrong"], 20.0, "")
    refused = everyday.told([{"event": "error", "message": "No entry."}])
    assert (refused["ratio"], refused["device_us"], refused["refused"]) == (None, {}, "No entry.")


def test_the_busiest_resource_is_the_originals(tmp_path: Path) -> None:
    database = tmp_path / "history.db"
    assert everyday.busiest_of(database) is None
    with sqlite3.connect(database) as history:
        history.execute("CREATE TABLE variants (id INTEGER, headroom TEXT)")
        history.execute("INSERT INTO variants VALUES (0, NULL), (1, '{\"dram\": 0.0}')")
    assert everyday.busiest_of(database) is None
    with sqlite3.connect(database) as history:
        history.execute('UPDATE variants SET headroom = \'{"dram": 0.25, "sm": 0.9}\' WHERE id = 0')
    assert everyday.busiest_of(database) == ("dram", 0.75)
    history.close()


def test_what_is_not_verified_counts_as_one() -> None:
    base = {"edits": ["a|b"], "tried": 3, "to_verified": 9.0, "seconds": 70.0, "refused": "", "ended": "nothing"}
    measured = {**base, "device_us": {"case": 12.5}, "busiest": ["dram", 0.5]}
    records = [
        {**measured, "project": "one", "key": "one/f.py::k", "ratio": None},
        {**measured, "project": "one", "key": "one/f.py::fast", "ratio": [4.0, 3.5, 4.5]},
        {**base, "project": "two", "key": "two/g.py::k", "ratio": None, "device_us": {}, "busiest": None, "refused": "No entry."},
    ]
    lines = everyday.table(records)
    assert lines[3] == "| one/f.py::fast | 12.5 | dram 50% | **4.00×** (3.50 to 4.50) | a\\|b | 3 | 9 | 70 |"
    assert "No entry." in next(line for line in lines if line.startswith("| two/"))
    assert lines[-3:] == [
        "one: 2 kernels, 2 measured, 1 verified faster, geometric mean 2.00×.",
        "two: 1 kernels, 0 measured, 0 verified faster, geometric mean 1.00×.",
        "all: 3 kernels, 2 measured, 1 verified faster, geometric mean 1.59×.",
    ]
