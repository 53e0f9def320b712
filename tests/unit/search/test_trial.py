"""A trial as a run keeps it, and launches of this version and of earlier ones."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from kernelband.hardware import find_device
from kernelband.hardware.forecast import Forecast, forecast
from kernelband.history.records import from_row, to_row
from kernelband.history.values import works_of, works_to_json
from kernelband.judge.protocol import Verdict
from kernelband.judge.result import CaseResult, Ratio, Result
from kernelband.search._base import Member
from kernelband.search.trial import Trial, original_row
from kernelband.source import make_patch
from kernelband.source.model import Edit, Span
from kernelband.strategies import Proposal
from tests.unit.hardware.conftest import make_work

WORK = make_work(dram_bytes=1e9, moved_bytes=1e9, flops=1e8, dot_flops=0.0, sectors=1.0, arithmetic=2e8, functions={"exp": 1e7, "div": 3.0})


def row_of(*works):
    return original_row("run", Member(0, 1.0, (1.0,), {}), works, form="f")


def test_launches_come_back_as_they_were_kept():
    row = row_of(WORK)
    kept = evolve(row, forecast=json.loads(json.dumps(row.forecast)))
    assert works_of(kept, {"code": WORK.facts}) == (WORK,)
    assert works_of(kept, {}) is None


def test_accesses_out_of_bounds_are_kept_with_the_original():
    seen = {"path": "k.py", "line": 3, "kind": "load", "message": "load past the end of x"}
    row = original_row("run", Member(0, 1.0, (1.0,), {}), (WORK,), (seen,), form="f")
    assert json.loads(json.dumps(row.forecast))["out_of_bounds"] == [seen]
    assert works_of(row, {"code": WORK.facts}) == (WORK,)


@pytest.mark.parametrize("missing", [("arithmetic", "functions"), ("arithmetic", "functions", "sectors")])
def test_launches_of_an_earlier_version_are_read_without_what_it_did_not_count(missing):
    launches = [{k: v for k, v in x.items() if k not in missing} for x in works_to_json([WORK])]
    row = evolve(row_of(), forecast={"launches": launches})
    found = works_of(row, {"code": WORK.facts})
    assert found == (evolve(WORK, **dict.fromkeys(missing)),)
    assert forecast(find_device("h100"), found, [evolve(WORK, facts={**WORK.facts, "code_hash": "b"})]).score == pytest.approx(
        1.0, rel=0.05
    )


def kept(row):
    """The row as the database gives it back."""
    return from_row(type(row), to_row(row))


def test_a_trial_comes_back_from_its_rows():
    text = "x = 1\n"
    patch = make_patch({"k.py": text}, {"k.py": [Edit(Span(4, 5), "2")]})
    proposal = Proposal("tiling", "tiles", {"BLOCK": 64, "after": ["a", "b"]}, patch, "reassociates", "BLOCK 64", "few warps")
    files = {"id": "f", "files": []}
    parent = Trial(0, "model wise", proposal, files, number=1)
    trial = Trial.of(parent, proposal, "rewriter", files)
    trial.number, trial.outcome, trial.seconds, trial.started = 2, "faster", 3.5, 1.0
    trial.forecast, trial.identity, trial.works = Forecast("likely faster", "fewer bytes", 1.5), "i", (WORK,)
    trial.member = Member(2, 1e-3, (1.0, 2.0), {"sm": 0.5}, forecast=1.5, mean_seconds=2e-3)
    case = CaseResult("c", "events", 2.0, 1.0, 4.0, 4.0, device=Ratio(2.0, 1.9, 2.1), call=Ratio(1.0, 0.0, float("inf")))
    verdict = Verdict("f", Result("passed", "faster", stage="screening", cases=(case,), score=Ratio(2.0, 1.9, 2.1)))
    rows = trial.to_rows("run", verdict, "form", "device")
    again = Trial.from_rows(kept(rows.variants[0]), kept(rows.trials[0]), parent, files, "device")
    same = ("number", "parent", "author", "proposal", "identity", "edits", "isolated", "member", "score", "cases", "seconds")
    assert {name: getattr(again, name) for name in same} == {name: getattr(trial, name) for name in same}
    assert again.proposal.key == kept(rows.variants[0]).key
    assert (again.edits, again.isolated, again.cases) == (4, True, {"c": Ratio(2.0, 1.9, 2.1)})
    assert Trial.from_rows(kept(rows.variants[0]), kept(rows.trials[0]), parent, files, "call").cases == {}, "its spread is unknown"


@pytest.mark.parametrize(("above", "own", "both"), [("reassociates", "exact", "reassociates"), ("exact", "exact", "exact")])
def test_a_trial_is_of_the_loosest_class_of_its_edits(above, own, both):
    """Held to the last edit's alone, results of half a type whose sums another edit had put in another order were wrong near zero."""
    first, files = Proposal("tiling", "tiles", {}, make_patch({}, {}), above, "warps", "few"), {"id": "f", "files": []}
    parent = Trial.of(None, first, "rewriter", files)
    assert parent.proposal.numerics == above
    assert Trial.of(parent, evolve(first, numerics=own), "rewriter", files).proposal.numerics == both
