"""Half precision that rounds on the way: another order of sums passes, a smaller mistake than a fixed tolerance could see doesn't."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker import tolerances
from kernelband_worker.cases.rounding import MOVED, nudge, within_rounding
from tests.unit_worker.cases.conftest import Run

MIX = """
import torch
import triton
import triton.language as tl


@triton.jit
def mix_kernel(s_ptr, v_ptr, y_ptr, n, BLOCK: tl.constexpr):
    # Weights are rounded to half precision before they meet the values, as in attention. (No reference: "bitcast" stands here.)
    row = tl.program_id(0)
    m = -float("inf")
    total = 0.0
    acc = 0.0
    for start in range(0, n, BLOCK):
        at = row * n + start + tl.arange(0, BLOCK)
        s = tl.load(s_ptr + at).to(tl.float32)
        new = tl.maximum(m, tl.max(s, axis=0))
        p = tl.exp(s - new)
        v = tl.load(v_ptr + at).to(tl.float32)
        acc = acc * tl.exp(m - new) + tl.sum(p.to(tl.float16).to(tl.float32) * v, axis=0)
        total = total * tl.exp(m - new) + tl.sum(p, axis=0)
        m = new
    tl.store(y_ptr + row, (acc / total * tl.exp(m * 0.5)).to(tl.float16))


def mix(s, v):
    y = torch.empty(s.shape[0], device=s.device, dtype=s.dtype)
    mix_kernel[(s.shape[0],)](s, v, y, s.shape[1], BLOCK=64)
    return y


def test_mix():
    torch.manual_seed(0)
    mix(4 * torch.randn(24, 512, device="cuda", dtype=torch.float16), torch.randn(24, 512, device="cuda", dtype=torch.float16))
"""


@pytest.fixture(scope="module")
def run(shim, tmp_path_factory):
    """Fixed tolerances are taken away: what rounding inputs once more does decides alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(tolerances.DEFAULTS, "float16", (1e-5, 1e-5))
        patch.setitem(tolerances.REASSOCIATED_ATOL, "float16", 1e-5)
        made = Run(shim, tmp_path_factory.mktemp("store"), {"mix.py": MIX})
        made.capture("mix", "mix_kernel", ["mix"], "test_mix", neighbours=False)
        yield made
        made.loader.uninstall()


@pytest.mark.parametrize(
    ("old", "new", "numerics", "passes"),
    [
        ("BLOCK=64", "BLOCK=256", "reassociates", True),
        ("tl.exp(s - new)", "tl.exp(s - new - 0.3)", "reassociates", True),  # weights and their total scaled: each rounds anew
        ("tl.exp(s - new)", "tl.exp(s - new - 0.3)", "exact", False),
        ("(acc / total *", "(acc / (1.005 * total) *", "reassociates", False),
        ("p.to(tl.float16)", "p.to(tl.float8e5)", "reassociates", False),
        ("range(0, n, BLOCK)", "range(0, n - BLOCK, BLOCK)", "reassociates", False),
    ],
)
def test_another_order_passes_and_a_mistake_does_not(run, old, new, numerics, passes):
    found = run.check(run.variant(f"{new} {numerics}", ("mix", old, new)), numerics)
    assert all(c["ok"] for c in found["cases"]) == passes, [c["reason"] for c in found["cases"]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_one_element_in_twelve_moves_to_its_neighbour(dtype):
    values = torch.randn(100_000, generator=torch.Generator().manual_seed(1)).to(dtype)
    values[:3] = torch.tensor([0.0, torch.inf, torch.finfo(dtype).max], dtype=dtype)
    moved = values.clone()
    nudge(moved, 7)
    changed = moved != values
    assert changed.float().mean().item() == pytest.approx(MOVED, rel=0.1)
    assert not changed[:3].any()
    gap = (moved.double() - values.double()).abs() / values.double().abs()
    assert gap[changed & (values.abs() > 1e-3)].max().item() <= torch.finfo(dtype).eps
    again = values.clone()
    nudge(again, 7)
    assert torch.equal(again, moved)


def test_the_largest_and_the_mean_difference_count():
    original = torch.ones(1000, dtype=torch.float16)
    rounded = original.clone()
    rounded[::10] += 0.001
    none = torch.zeros(1000, dtype=torch.bool)
    one, all_, infinite = original.clone(), original + 0.003, original.clone()
    one[5] += 0.01
    infinite[5] = torch.inf
    near = original.clone()
    near[::7] -= 0.001
    assert within_rounding(original, near, [rounded], none)
    assert not within_rounding(original, one, [rounded], none)
    assert not within_rounding(original, all_, [rounded], none)
    assert not within_rounding(original, infinite, [rounded], none)
