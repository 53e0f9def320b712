"""Zones around memory: what writes or reads there shows, and a program sees nothing of them."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.cases import effects, verify
from kernelband_worker.cases.accept import beside
from kernelband_worker.cases.expected import shelf_of
from kernelband_worker.cases.faults import Faults
from kernelband_worker.cases.replay import open_case
from kernelband_worker.cases.store import open_store
from kernelband_worker.cases.stress import Stressed
from kernelband_worker.cases.zones import ALLOCATED, LEAST, Zones
from kernelband_worker.compare import Check
from kernelband_worker.exercised import Reached
from kernelband_worker.measure.referee import referee
from kernelband_worker.measure.turn import reveal
from tests.unit_worker.cases.test_turns import BLOCKS, seated, take_turn

VIEWS = ("in_place", "rotate_kernel", ["rotate_"], "test_rotate")
PLAIN = ("plain_function", "scale_kernel", ["scale"], "test_scale")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32, torch.bool, torch.float8_e4m3fn, torch.complex64])
@pytest.mark.parametrize("make", [torch.empty, torch.zeros, torch.ones])
def test_what_is_allocated_is_what_it_would_be_and_aligned(make, dtype):
    zones = Zones()
    zones.begin(first=True)
    with effects.Poison(True, zones):
        made = make((3, 5), dtype=dtype)
        like = torch.empty_like(made.t())
    plain = make((3, 5), dtype=dtype)
    assert (made.shape, made.stride(), made.dtype) == (plain.shape, plain.stride(), plain.dtype)
    assert like.stride() == torch.empty_like(plain.t()).stride()
    assert made.storage_offset() * made.element_size() == LEAST
    if make is not torch.empty:
        assert torch.equal(made.view(torch.uint8), plain.view(torch.uint8))
    zones.look()
    assert zones.written == {}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("at", [-1, 15])
def test_a_write_on_either_side_shows(first, at):
    zones = Zones()
    zones.begin(first)
    with effects.Poison(first, zones):
        made = torch.empty(3, 5)
    made.as_strided((1,), (1,), made.storage_offset() + at).fill_(1.0)
    zones.look()
    assert zones.written == {ALLOCATED: (8, 0) if at < 0 else (0, 8)}


def test_what_lies_in_the_zones_of_floats_differs_between_two_runs_and_of_integers_does_not():
    seen = []
    for first in (True, False):
        zones = Zones()
        zones.begin(first)
        floats, whole = (zones.around("x", 8, "cpu", floats=f) for f in (True, False))
        beside = [m.untyped_storage()[LEAST + 8 : LEAST + 12] for m in (floats, whole)]
        seen.append([list(b) for b in beside])
    assert seen[0][0] != seen[1][0]
    assert seen[0][1] == seen[1][1] == [0] * 4


def check(run, edits):
    """The first case between zones, compared on as on a GPU."""
    replay = open_case(run.state, run.cases[0]["id"])
    made = Stressed(run.state, open_store(run.state), replay, "zones", zone_bytes=LEAST)
    variant = run.variant(f"{len(edits)}", *edits) if edits else None
    return Check(run.state, made, 0, "exact", 64).run(variant, shelf_of(run.state), Reached(run.state))["reason"]


@pytest.mark.parametrize("captured", [PLAIN, VIEWS])
def test_an_original_gives_the_same_between_zones(replay, captured):
    run = replay(*captured)
    case = open_case(run.state, run.cases[0]["id"])
    made = Stressed(run.state, open_store(run.state), case, "zones", zone_bytes=LEAST)
    results = []
    for one in (case, made):
        live, _ = verify.run(run.state, one, one.inputs(0), None, first=True, programs=0)
        results.append([(n, t.clone()) for n, t in live])
    assert [n for n, _ in results[0]] == [n for n, _ in results[1]]
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(*results))
    assert check(run, []) is None


@pytest.mark.parametrize(
    ("old", "new", "beside"),
    [
        ("tl.store(y_ptr + offsets", "tl.store(y_ptr + n, 1.0)\n    tl.store(y_ptr + offsets", "what it allocates"),
        ("tl.store(y_ptr + offsets", "tl.store(x_ptr - 1, 1.0)\n    tl.store(y_ptr + offsets", "x"),
    ],
)
def test_a_kernel_that_writes_beside_its_tensors_is_wrong(replay, old, new, beside):
    assert check(replay(*PLAIN), [("plain_function", old, new)]) == f"it writes outside of every tensor, beside {beside}"


def test_a_kernel_whose_results_hang_on_what_lies_beside_is_wrong(replay):
    edits = [
        ("plain_function", "offsets < n\n", "offsets < n\n    stray = tl.load(x_ptr + n)\n"),
        ("plain_function", "* factor, mask", "* factor + stray, mask"),
    ]
    assert check(replay(*PLAIN), edits) is not None


STEPS = """
import torch
import triton
import triton.language as tl


@triton.jit
def steps_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    step = tl.load(x_ptr + offsets + 1, mask=mask) - tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, step, mask=offsets <= n)


def steps(x):
    y = torch.empty_like(x)
    steps_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y


def test_it():
    steps(torch.randn(1000, device="cuda"))
"""


@pytest.fixture
def steps(make):
    """A capture of a program that reads an element past its input and writes one past its result, as it is on a GPU; with what was seen."""
    run = make({"prog.py": STEPS})
    run.capture("prog", "steps_kernel", ["steps"], "test_it", neighbours=False)
    (case,) = run.cases
    store, seen = open_store(run.state), Faults()
    opened = open_case(run.state, case["id"])
    assert beside(run.state, store, opened.case, opened, faults=seen, programs=0) is None
    store.save(opened.stored)
    run.state.cases.clear()
    return run, seen


def test_between_zones_an_original_shows_what_it_does_beside_its_tensors(steps):
    run, seen = steps
    assert seen.strays == {ALLOCATED: (0, 8)}  # in steps of the widest element
    assert seen.hanging == {"return": (1, 1000)}
    assert open_case(run.state, run.cases[0]["id"]).case["beside"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("mask=mask) - tl", "mask=offsets < n) - tl", None),
        ("offsets <= n", "mask", None),
        ("offsets <= n", "offsets <= n + 2", "it writes outside of every tensor, beside what it allocates"),
        ("    tl.store", "    tl.store(x_ptr - 1, 0.0)\n    tl.store", "it writes outside of every tensor, beside x"),
        ("offsets + 1, mask=mask", "offsets + 2, mask=mask", "it leaves 1 of 1000 elements of return unwritten"),
        ("- tl.load", "- 2 * tl.load", "elements of return are wrong"),
    ],
)
def test_there_a_variant_may_do_as_much_and_no_more(steps, old, new, says):
    run, _ = steps
    result = run.check(run.variant("edited", ("prog", old, new)), input_sets=[0])
    reasons = [case["reason"] for case in result["cases"] if not case["ok"]]
    assert (reasons == []) if says is None else all(says in reason for reason in reasons)
    assert bool(reasons) is (says is not None)


def test_a_timed_result_is_not_wrong_for_what_hangs_on_memory_beside(steps):
    run, _ = steps
    variant = run.variant("same", ("prog", "mask=mask) - tl", "mask=offsets < n) - tl"))
    case = seated(run, variant)
    for number in range(3):
        take_turn(run, variant, case, f"{number:032x}")
        given = reveal(run.state, {"case": case, "blocks": BLOCKS})
        asked = {"case": case, "blocks": BLOCKS, "numerics": "exact", "result": given}
        assert referee(run.state, asked)["reason"] is None


def test_a_case_all_of_whose_results_hang_on_memory_beside_is_no_case(make):
    text = STEPS.replace("offsets + 1, mask=mask", "n + offsets * 0, mask=mask")
    run = make({"prog.py": text})
    run.capture("prog", "steps_kernel", ["steps"], "test_it", neighbours=False)
    opened = open_case(run.state, run.cases[0]["id"])
    reason = beside(run.state, open_store(run.state), opened.case, opened, faults=Faults(), programs=0)
    assert reason == "all of return depends on what it reads outside of its tensors"
