"""float32 results of kernels that round to fewer bits on the way: another order errs as much, and what errs more is wrong."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.tolerances import no_rougher
from tests.unit_worker.cases.conftest import Run

ROUGH = """
import torch
import triton
import triton.language as tl


@triton.jit
def score_kernel(x_ptr, w_ptr, out_ptr, n, BLOCK: tl.constexpr):
    # A running sum that is kept in the type of the weights, for a result in float32.
    total = tl.zeros((BLOCK,), tl.float32).to(w_ptr.dtype.element_ty)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n, other=0.0)
        w = tl.load(w_ptr + cols, mask=cols < n, other=0.0)
        total = (total + x * w).to(w_ptr.dtype.element_ty)
    tl.store(out_ptr + tl.program_id(0), tl.sum(total.to(tl.float32), axis=0))


def score(x, w):
    out = torch.empty(x.shape[0], device=x.device, dtype=torch.float32)
    score_kernel[(x.shape[0],)](x, w, out, x.shape[1], BLOCK=16)
    return out


def test_score():
    torch.manual_seed(0)
    score(torch.randn(64, 256, device="cuda").to(TYPE), torch.randn(256, device="cuda").to(TYPE))
"""
BACKWARDS = ("start in range(0, n, BLOCK)", "start in range(n - BLOCK, -1, -BLOCK)")


@pytest.fixture(scope="module")
def rough(shim, tmp_path_factory):
    made = Run(shim, tmp_path_factory.mktemp("store"), {"rough.py": ROUGH.replace("TYPE", "torch.bfloat16")})
    made.capture("rough", "score_kernel", ["score"], "test_score", neighbours=False)
    yield made
    made.loader.uninstall()


@pytest.mark.parametrize(
    ("edits", "numerics", "passes"),
    [
        ([BACKWARDS], "reassociates", True),
        ([("BLOCK=16", "BLOCK=32")], "reassociates", True),
        ([BACKWARDS], "exact", False),
        ([("range(0, n, BLOCK)", "range(BLOCK, n, BLOCK)")], "reassociates", False),  # a sixteenth of the terms is left out
        ([("total.to(tl.float32), axis=0)", "total.to(tl.float32), axis=0) + 0.5")], "reassociates", False),
        ([("(total + x * w)", "(total + (x * w).to(tl.float8e5))")], "reassociates", False),  # fewer bits yet
        ([("total.to(tl.float32), axis=0)", "total.to(tl.float32), axis=0) / 0.0")], "reassociates", False),
    ],
)
def test_another_order_of_a_rough_sum(rough, edits, numerics, passes):
    name = rough.variant(f"{hash((tuple(edits), numerics)) & 0xFFFFFFFF:064x}", *(("rough", old, new) for old, new in edits))
    assert {case["ok"] for case in rough.check(name, numerics)["cases"]} == {passes}


def test_a_kernel_that_keeps_float32_is_held_to_it(shim, tmp_path):
    """Its values from float64 inputs are no more exact than its own: a sum in bfloat16 doesn't pass for rounding."""
    text = (
        ROUGH.replace("TYPE", "torch.bfloat16")
        .replace(".to(w_ptr.dtype.element_ty)", "")
        .replace("mask=cols < n, other=0.0)", "mask=cols < n, other=0.0).to(tl.float32)")
    )
    run = Run(shim, tmp_path, {"steady.py": text})
    run.capture("steady", "score_kernel", ["score"], "test_score", neighbours=False)
    try:
        rougher = run.variant("a" * 64, ("steady", "(total + x * w)", "(total + x * w).to(tl.bfloat16).to(tl.float32)"))
        assert {case["ok"] for case in run.check(rougher, "reassociates")["cases"]} == {False}
    finally:
        run.loader.uninstall()


NEAR = torch.linspace(-1.0, 1.0, 1000)
OFF = 1e-3 * torch.sin(torch.arange(1000.0))


@pytest.mark.parametrize(
    ("original", "mine", "passes"),
    [
        (NEAR + OFF, NEAR - OFF, True),
        (NEAR + OFF, NEAR - 1.9 * OFF, False),  # the largest would pass
        (NEAR + OFF, NEAR + 1e-3, True),
        (NEAR + OFF, NEAR + OFF + torch.where(torch.arange(1000) == 7, 2e-3, 0.0), False),  # the mean would
        (NEAR + 1e-6 * OFF, NEAR - 1e-6 * OFF, False),  # float32 throughout
        (NEAR + OFF, torch.where(torch.arange(1000) == 7, float("nan"), NEAR - OFF), False),
        (
            torch.where(torch.arange(1000) == 7, float("inf"), NEAR + OFF),
            torch.where(torch.arange(1000) == 7, -float("inf"), NEAR - OFF),
            False,
        ),
        (NEAR[:0], NEAR[:0], False),
    ],
)
def test_no_rougher(original, mine, passes):
    assert no_rougher(original, mine, NEAR[: len(original)]) is passes
