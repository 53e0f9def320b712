"""Zones around memory: what writes or reads there shows, and a program sees nothing of them."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.cases import effects, verify
from kernelband_worker.cases.expected import shelf_of
from kernelband_worker.cases.replay import open_case
from kernelband_worker.cases.store import open_store
from kernelband_worker.cases.stress import Stressed
from kernelband_worker.cases.zones import LEAST, Zones
from kernelband_worker.compare import Check
from kernelband_worker.exercised import Reached

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
    assert zones.written == []


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("at", [-1, 15])
def test_a_write_on_either_side_shows(first, at):
    zones = Zones()
    zones.begin(first)
    with effects.Poison(first, zones):
        made = torch.empty(3, 5)
    made.as_strided((1,), (1,), made.storage_offset() + at).fill_(1.0)
    zones.look()
    assert zones.written == ["what it allocates"]


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
