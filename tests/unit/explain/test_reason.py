"""Two sentences, each clause from a fact: what limited, what moved, what limits now."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from attrs import evolve

from kernelband.explain.why import Times, reason
from kernelband.hardware import find_device
from tests.unit.hardware.conftest import make_work

H200 = find_device("h200")
COPY = {"dram_bytes": 4.8e8, "moved_bytes": 4.8e8, "flops": 1e6, "dot_flops": 0, "sectors": 1.0}


def test_both_sentences_of_a_kernel_that_memory_limits():
    after = make_work(code="b", width=128, **COPY)
    found = reason(H200, [make_work(width=16, **COPY)], [after], "num_warps 4→8.", {"c": Times(200.0, 125.0)})
    assert found is not None
    assert (
        found.limited
        == "The original was limited by memory (it has to move 480 MB, 100 µs at 4800 GB/s) and reached 50 % of that in 200 µs."
    )
    assert found.moved.startswith(
        "The edit (num_warps 4→8) changed this: wider accesses: a thread moves 2 bytes at a time before, 16 after"
    )
    assert found.moved.endswith("; the limit is the same, and it reached 80 % of it in 125 µs.")
    assert found.kinds == ("memory", "memory")


def test_with_several_cases_it_says_which_one_the_figures_are_of():
    small = evolve(make_work(**{**COPY, "dram_bytes": 1e8, "moved_bytes": 1e8}), case="small")
    found = reason(H200, [small, make_work(**COPY)], [make_work(code="b", width=128, **COPY)], "num_warps 4→8.", {})
    assert found is not None
    assert found.limited == "On the longest of 2 cases the original was limited by memory (it has to move 480 MB)."


def test_what_speaks_about_the_limit_stands_first_and_the_price_is_named():
    before = make_work(spills=400, **COPY)
    after = make_work(code="b", width=64, **{**COPY, "moved_bytes": 2.4e8, "dram_bytes": 2.4e8})
    found = reason(H200, [before], [after], "Rows are kept in registers", {})
    assert found is not None
    assert found.limited.startswith("The original was limited by registers (800 bytes per thread go to memory and back")
    assert found.moved.startswith(
        "The edit (Rows are kept in registers) changed this: no registers spill any more: 800 bytes per thread before, 0 after; "
    )
    assert "; against it: narrower accesses" in found.moved
    assert "the limit is now memory (" in found.moved


def test_a_prediction_says_no_measured_time():
    found = reason(H200, [make_work(**COPY)], [make_work(code="b", width=16, **COPY)], "x", {})
    assert found is not None
    assert found.limited == "The original was limited by memory (it has to move 480 MB)."
    tiny = {**COPY, "dram_bytes": 1e4, "moved_bytes": 1e4, "flops": 100}
    small = reason(H200, [make_work(**tiny)], [make_work(code="b", tensor_core="wgmma", **{**COPY, "dot_flops": 1e13})], "x", {})
    assert small is not None
    for text in (found.limited, found.moved, small.limited, small.moved):
        assert "reached" not in text
        assert not re.search(r"\d (ns|us|ms|s)\b", text)
    assert "changed only what speaks against it: narrower accesses" in found.moved
    assert "no fact that is read here explains a gain" in found.moved


def test_no_claim_without_its_fact():
    same = reason(H200, [make_work(**COPY)], [make_work(code="b", **COPY)], "y", {})
    assert same is not None
    assert "changed no fact that is read here by 10 % or more, so why it matters isn't known" in same.moved
    unknown = reason(H200, [make_work()], [make_work(code="b")], "y", {})
    assert unknown is not None
    assert unknown.limited == "What limited the original isn't known: the bytes that it moves weren't counted."
    assert unknown.kinds == (None, None)
    assert reason(H200, [], [make_work()], "y", {}) is None
    gone = reason(H200, [make_work(**COPY)], [], "y", {})
    assert gone is not None
    assert gone.moved == "The edit (y): what it moves isn't known."


def test_it_speaks_about_the_case_that_takes_longest():
    small, large = make_work(**{**COPY, "dram_bytes": 4.8e7}), evolve(make_work(**COPY), case="d")
    found = reason(H200, [small, large], [small, large], "y", {"c": Times(15.0, 14.0), "d": Times(200.0, 150.0)})
    assert found is not None
    assert "480 MB" in found.limited
    untimed = reason(H200, [small, large], [small, large], "y", {})
    assert untimed is not None
    assert "480 MB" in untimed.limited


def test_of_several_launches_the_largest_speaks_and_no_share_of_the_call_is_claimed():
    two = [make_work(**COPY), evolve(make_work(**{**COPY, "dram_bytes": 1e6}), kernel="other")]
    found = reason(H200, two, [make_work(code="b", **COPY)], "y", {"c": Times(200.0, 150.0)})
    assert found is not None
    assert found.limited.startswith("The largest of the original's 2 launches was limited by memory")
    assert "reached" not in found.limited
    assert "fewer launches: 2 before, 1 after" in found.moved


@pytest.mark.parametrize("name", ["softmax", "layer_norm"])
def test_real_facts_make_whole_sentences(name):
    """Facts as ptxas and the interpreter gave them for examples, original and a variant, on an H200's target."""
    kept = json.loads((Path(__file__).parent / f"facts_{name}.json").read_text())
    found = reason(H200, [make_work_of(w) for w in kept["before"]], [make_work_of(w) for w in kept["after"]], kept["what"], {})
    assert found is not None
    assert list(found.lines()) == kept["said"]
    assert all(line.endswith(".") and line.count("..") == 0 for line in found.lines())


def make_work_of(kept):
    from kernelband.hardware.work import Work

    return Work(**kept)
