"""What headroom.py makes of what a project's process tells, and that it asks for each kernel once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import headroom
from everyday import Target
from ledger import Ledger

PEAK = 1e12


def record(key: str, us: float | None, held: int | None, refused: str = "") -> dict[str, object]:
    return {"key": key, "us": us, "bytes": held, "beside_us": 3.0, "refused": refused}


def test_the_most_room_comes_first() -> None:
    lines = headroom.table([record("p/a::tight", 10.0, 9_000_000), record("p/a::loose", 100.0, 10_000_000)], PEAK)
    assert lines[3] == "| p/a::loose | 100.0 | 10.0 | 10% | 3 |"
    assert lines[4] == "| p/a::tight | 10.0 | 9.0 | 90% | 3 |"
    assert lines[-1] == "2 kernels, 2 ran, 1 of them below 60% of the memory's peak."


def test_what_did_not_run_says_why() -> None:
    lines = headroom.table([record("p/a::k", None, None, "KeyError: 'x'"), record("p/a::other", None, 5)], PEAK)
    assert lines[3:5] == ["| p/a::k | | | KeyError: 'x' | |", "| p/a::other | | | not launched | |"]
    assert lines[-1].startswith("2 kernels, 0 ran, 0 ")


def test_a_process_for_each_project_tells_of_what_is_not_known_yet(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "room.py").write_text(
        "import json, sys\n"
        "inputs, folder, kernels = sys.argv[1:]\n"
        "for kernel, function in json.loads(kernels).items():\n"
        "    print(json.dumps({'kernel': kernel, 'us': 2.0, 'bytes': 8, 'beside_us': 0.0, 'refused': function, 'seconds': 1.0}))\n"
        "sys.exit(3 if folder.endswith('two') else 0)\n"
    )
    monkeypatch.setattr(headroom, "INPUTS", tmp_path)
    projects = [tmp_path / "one", tmp_path / "two"]
    for project in projects:
        project.mkdir()
    targets = [Target(p, f"f.py::{k}", f"inputs.py::make_{k}") for p in projects for k in ("a", "b")]
    ledger = Ledger(tmp_path / "results.jsonl")
    ledger.add("headroom", "one/f.py::a", project="one", us=1.0, bytes=4, beside_us=0.0, refused="before")
    headroom.look(targets, argparse.Namespace(python=sys.executable, seconds=30.0, gpus=None), ledger)
    assert {r["key"]: r["refused"] for r in ledger.of("headroom")} == {
        "one/f.py::a": "before",
        "one/f.py::b": "make_b",
        "two/f.py::a": "make_a",
        "two/f.py::b": "make_b",
    }
