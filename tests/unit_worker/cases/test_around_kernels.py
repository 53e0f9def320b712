"""Kernels with a project's own objects around them, and kernels that calls make: captured without a GPU as any others."""

from __future__ import annotations

import pytest

from kernelband_worker.compiler.kernels import find

CASES = {
    "an entry that keeps what was compiled": ("entries", "double_kernel", ["double"], "test_double"),
    "a tuner with a memory of its own": ("entries", "shelved_kernel", ["triple"], "test_triple"),
    "tuners that go on to Triton's, or time by themselves": ("entries", "negate_kernel", ["negate"], "test_negate"),
    "kept under another name": ("made_by_calls", "_add_one", ["add_one"], "test_made"),
    "kept under its own name": ("made_by_calls", "_halve", ["halve"], "test_made"),
    "kept in a table": ("made_by_calls", "_square", ["square"], "test_made"),
}


@pytest.mark.parametrize("what", CASES.values(), ids=CASES)
def test_it_is_captured_with_its_host_function(make, what):
    run = make()
    cases = run.capture(*what, neighbours=False)
    assert {(c["boundary"], c["function"]["qualname"], c["replayable"], c["reason"]) for c in cases} == {
        ("host_call", what[2][0], True, None)
    }
    assert all([x["target"] for x in c["launches"]] == [True] for c in cases)


def test_each_call_is_launched_once_however_often_the_entry_went_through_triton(make):
    (case,) = make().capture(*CASES["an entry that keeps what was compiled"], neighbours=False)
    assert (case["calls"], case["launches"][0]["grid"]) == (3, [4, 1, 1])


@pytest.mark.parametrize("name", ["a tuner with a memory of its own", "tuners that go on to Triton's, or time by themselves"])
def test_a_tuner_that_cannot_time_takes_its_first_configuration(make, name):
    cases = make().capture(*CASES[name], neighbours=False)
    assert {c["launches"][0]["constants"]["BLOCK"] for c in cases} == {128}


def test_what_is_pinned_is_not_written_to_a_memory_of_the_project(make):
    run = make()
    run.capture(*CASES["a tuner with a memory of its own"], neighbours=False)
    assert run.loader.original("entries").shelved_kernel.fn.shelf.written == 0


@pytest.mark.parametrize(
    ("module", "kernel", "test"), [("entries", "double_kernel", "test_double_bare"), ("made_by_calls", "_add_one", "test_bare")]
)
def test_a_bare_launch_is_recorded_by_the_name_that_keeps_the_kernel(make, module, kernel, test):
    (case,) = make().capture(module, kernel, [], test, neighbours=False)
    assert (case["boundary"], case["replayable"], case["reason"]) == ("launch", True, None)


@pytest.mark.parametrize(
    ("kernel", "host", "old", "new"),
    [("_add_one", "add_one", "< n) + 1", "< n) + 2"), ("_halve", "halve", "x / 2", "x / 4"), ("_square", "square", "x * x,", "x + x,")],
)
def test_the_kernel_of_a_variant_is_found_for_the_compiler_wherever_it_is_kept(make, kernel, host, old, new):
    run = make()
    (case,) = run.capture("made_by_calls", kernel, [host], "test_made", neighbours=False)
    edited = run.variant("e" * 64, ("made_by_calls", old, new))
    for variant, there, gone in ((None, old, new), (edited, new, old)):
        found = find(run.state, variant, {"case": case["id"], "kernel": run.place("made_by_calls", kernel)})
        assert there in found.src
        assert gone not in found.src


def test_a_kernel_that_a_method_makes(make):
    run = make()
    place = "made_by_calls:Cube.kernel.<locals>.cube_kernel"
    (case,) = run.capture("made_by_calls", place, ["Cube.forward"], "test_made", neighbours=False)
    assert (case["boundary"], case["replayable"], case["reason"]) == ("host_call", True, None)
    assert [x["target"] for x in case["launches"]] == [True]


def test_a_variant_runs_through_the_same_objects(make):
    run = make()
    run.capture(*CASES["an entry that keeps what was compiled"], neighbours=False)
    wrong = run.variant("wrong", ("entries", "2 * tl.load", "4 * tl.load"))
    same = run.variant(
        "same", ("entries", "2 * tl.load(x_ptr + offsets, mask=offsets < n)", "tl.load(x_ptr + offsets, mask=offsets < n) * 2")
    )
    assert [all(c["ok"] for c in run.check(v)["cases"]) for v in (wrong, same)] == [False, True]
