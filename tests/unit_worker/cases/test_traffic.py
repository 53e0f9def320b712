"""What variants would move, without comparing anything; and a second entry for its sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelband_worker.cases.traffic import traffic
from kernelband_worker.compiler.specialise import specialise
from kernelband_worker.errors import OperationFailed

FILES = {
    "rows.py": """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    total = 0.0
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row + at, mask=at < columns, other=0.0), axis=0)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(y + row + at, tl.load(x + row + at, mask=at < columns) - total, mask=at < columns)


def center(x):
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


def test_small():
    center(torch.randn(5, 100, device="cuda"))


def bench_large():
    center(torch.randn(512, 256, device="cuda"))
    center(torch.randn(5, 100, device="cuda"))


def bench_broken():
    raise ValueError("no such size")
"""
}


#: Enough of a capture for what is asked here: interpreting takes its time.
FEW = {"input_sets": 1, "neighbours": False, "programs": 16}


def named(run, name):
    return {"kind": "callable", "module": "rows", "path": run.served.find("rows")["path"], "name": name}


def test_a_second_entry_adds_its_sizes_for_the_forecast(make):
    run = make(FILES)
    cases = run.capture("rows", "kernel", ["center"], "test_small", sizes=named(run, "bench_large"), **FEW)
    assert [(c["tensors"][0]["shape"], c["role"]) for c in cases] == [([5, 100], "check"), ([512, 256], "time")]
    assert all(c["replayable"] and c["replay_s"] > 0 for c in cases)
    checked = run.check(None, programs=16)
    assert [c["ok"] for c in checked["cases"]] == [True, True]
    assert {case: [x["grid"] for x in launches] for case, launches in checked["launches"].items()} == {
        cases[0]["id"]: [[5, 1, 1]],
        cases[1]["id"]: [[512, 1, 1]],
    }


def test_a_second_entry_that_fails_is_a_note(make):
    run = make(FILES)
    cases = run.capture("rows", "kernel", ["center"], "test_small", sizes=named(run, "bench_broken"), **FEW)
    assert [c["role"] for c in cases] == ["time"]


def test_traffic_of_a_variant(make):
    run = make(FILES)
    cases = run.capture("rows", "kernel", ["center"], "bench_large", **FEW)
    large = next(c for c in cases if c["tensors"][0]["shape"] == [512, 256])
    whole = 512 * 256 * 4
    (before,) = traffic(run.state, {"variant": None, "cases": [large["id"]]})["launches"][large["id"]]
    assert (before["loads_bytes"], before["stores_bytes"]) == (2 * whole, whole)
    assert sum(x["moved_bytes"] for x in before["lines"] if x["kind"] == "load") == 2 * whole
    once = run.variant("a" * 16, ("rows", "total += tl.sum(tl.load(x + row + at, mask=at < columns, other=0.0), axis=0)", "total += 1.0"))
    (after,) = traffic(run.state, {"variant": once, "cases": [large["id"]]})["launches"][large["id"]]
    assert after["loads_bytes"] == whole
    broken = run.variant("b" * 16, ("rows", "y = torch.empty_like(x)", "y = None.y"))
    with pytest.raises(OperationFailed, match="center fails"):
        traffic(run.state, {"variant": broken, "cases": [large["id"]]})


def test_one_that_compiles_counts_the_same(make):
    run = make(FILES)
    cases = [c["id"] for c in run.capture("rows", "kernel", ["center"], "bench_large", **FEW)]
    asked = {"variant": None, "cases": cases}
    compiling = replace(run.state, role="compile", cases={}, kept={})
    before = specialise(compiling, asked)
    assert traffic(compiling, asked) == traffic(compiling, asked) == traffic(run.state, asked)
    assert list(traffic(run.state, {**asked, "within_s": 0.0})["launches"]) == cases[:1]  # no time for another
    assert specialise(compiling, asked) == before
