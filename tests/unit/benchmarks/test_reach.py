"""What reach.py reads out of a run's events, and what its table counts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import reach
from ledger import Ledger

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def {name}(x_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, twice(tl.load(x_ptr + offs)))
"""


def case(function: str, replayable: bool = True) -> dict[str, Any]:
    return {"function": function, "replayable": replayable}


def test_kernels_that_only_serve_others_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERNEL.format(name="first"))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.py").write_text(KERNEL.format(name="second"))
    (tmp_path / "c.py").write_text("x = 1\n")
    assert [t.key for t in reach.kernels_of(tmp_path)] == [f"{tmp_path.name}/a.py::first", f"{tmp_path.name}/deep/b.py::second"]


def test_a_run_is_read_from_its_events() -> None:
    started = {"event": "run_started", "entry": "t.py::test_k"}
    parents = (None, 0, 0, 1)
    trials = [{"event": "trial_ended", "parent": parent, "outcome": "slower" if parent else "faster"} for parent in parents]
    finals = [{"event": "final_ended", "verified": verified, "score": 1.5 + verified} for verified in (False, True)]
    cases = {"event": "cases_captured", "cases": [case("host"), case("k"), case("host", replayable=False)]}
    found = reach.told([started, cases, *trials, *finals, {"event": "run_ended", "reason": "done"}], "k")
    assert (found["entry"], found["cases"], found["boundary"], found["tried"]) == ("t.py::test_k", 2, "host function", 3)
    assert (found["outcomes"], found["verified"]) == ({"faster": 2, "slower": 1}, 2.5)
    bare = reach.told([started, {**cases, "cases": [case("k")]}], "k")
    assert (bare["boundary"], bare["tried"]) == ("launch", 0)
    refused = reach.told([{"event": "error", "message": "No entry.", "detail": "", "exit_code": 3}], "k")
    assert (refused["entry"], refused["cases"], refused["boundary"], refused["refused"]) == (None, 0, None, "No entry.")


def test_refusals_are_counted_by_sentence_whatever_the_kernel() -> None:
    base = {"project": "p", "entry": None, "cases": 0, "boundary": None, "tried": 0, "seconds": 1.0, "ended": "", "detail": ""}
    said = [f"The entry {e} never launches {k}: it launched 3 others." for e, k in (("test_a", "a_kernel"), ("m.py::test_b", "b_kernel"))]
    records = [{**base, "key": f"p/{n}", "refused": sentence} for n, sentence in enumerate(said)]
    captured = {**base, "key": "p/2", "refused": "", "entry": "e", "cases": 2, "boundary": "host function", "tried": 3}
    table = reach.summary([*records, captured], reach.TITLES, reach.figures)
    assert table[3] == "| p | 3 | 1 | 1 | 1 | 1 | 1 | 2 | 2 |"
    assert table[-1].startswith("2 x The entry … never launches …")


def test_what_is_known_is_left_out_and_what_does_not_fit_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(KERNEL.format(name="first") + KERNEL.format(name="second"))
    targets = reach.kernels_of(tmp_path)
    ledger = Ledger(tmp_path / "r.jsonl")
    ledger.add("reach", targets[0].key, project="p")
    options = argparse.Namespace(seconds=1.0, gpus=None, jobs=1, search=60.0)
    assert len(targets) == 2
    assert reach.reach(targets, options, ledger) == 1
