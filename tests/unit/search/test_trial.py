"""Launches as a run keeps them, of this version and of earlier ones."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from kernelband.hardware import find_device
from kernelband.hardware.forecast import forecast
from kernelband.history.values import works_of, works_to_json
from kernelband.search._base import Member
from kernelband.search.trial import original_row
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
