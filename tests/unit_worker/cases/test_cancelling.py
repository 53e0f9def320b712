"""float32 that cancels out: what rounding leaves of it passes, and nothing else does."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker import comparison
from kernelband_worker.cases.cancelling import WAYS, Scales, left_by_rounding
from kernelband_worker.tolerances import Tolerance
from tests.unit_worker.cases.conftest import Run

CANCELLING = """
import torch
import triton
import triton.language as tl


@triton.jit
def centered_kernel(x_ptr, g_ptr, y_ptr, n, BLOCK: tl.constexpr):
    # What is left where gradients and their mean nearly cancel out. (No float64 reference: what is loaded becomes float32.)
    at = tl.program_id(0) * n + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + at, mask=mask, other=0.0).to(tl.float32)
    along = tl.sum(x * g, axis=0) / n
    mean = tl.sum(g, axis=0) / n
    y = 3.3 * g - 3.3 * (along * x + mean)
    tl.store(y_ptr + at, y, mask=mask)


def centered(x, g):
    y = torch.empty_like(x)
    centered_kernel[(x.shape[0],)](x, g, y, x.shape[1], BLOCK=512)
    return y


def test_centered():
    torch.manual_seed(0)
    x = torch.randn(8, 500, device="cuda")
    centered(x - x.mean(1, keepdim=True), 1 + 1e-4 * torch.randn(8, 500, device="cuda"))
"""


@pytest.fixture(scope="module")
def cancelling(shim, tmp_path_factory):
    made = Run(shim, tmp_path_factory.mktemp("store"), {"centered.py": CANCELLING})
    made.capture("centered", "centered_kernel", ["centered"], "test_centered", neighbours=False)
    yield made
    made.loader.uninstall()


@pytest.mark.parametrize(
    ("old", "new", "numerics", "passes"),
    [
        ("3.3 * g - 3.3 * (along * x + mean)", "3.3 * (g - mean) - 3.3 * along * x", "exact", True),
        ("3.3 * g - 3.3 * (along * x + mean)", "3.3 * (g - mean) - 3.3 * along * x", "reassociates", True),
        ("g = tl.load(g_ptr + at, mask=mask, other=0.0)", "g = tl.load(g_ptr + at, mask=mask, other=0.0).to(tl.bfloat16)", "exact", False),
        ("(along * x + mean)", "(0.9 * along * x + mean)", "exact", False),
        ("(along * x + mean)", "mean", "reassociates", False),
    ],
)
def test_what_float32_leaves_of_what_cancels_out_passes_and_a_mistake_does_not(cancelling, old, new, numerics, passes):
    variant = cancelling.variant(f"{new} {numerics}", ("centered", old, new))
    (found,) = cancelling.check(variant, numerics, input_sets=[0])["cases"]
    assert found["ok"] == passes, found["reason"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "WAYS", ())
        (without,) = cancelling.check(variant, numerics, input_sets=[0])["cases"]
    assert not without["ok"], "fixed tolerances alone refuse all of these"


def test_of_what_is_hopelessly_far_away_no_more_ways_to_round_are_tried(cancelling, monkeypatch):
    asked = []
    real = comparison.scales
    monkeypatch.setattr(comparison, "scales", lambda *a, ways: asked.append(ways) or real(*a, ways=ways))
    found = cancelling.check(cancelling.variant("far", ("centered", "mean)", "mean) + 1.0")), "exact")
    assert not any(c["ok"] for c in found["cases"])
    assert set(asked) == {WAYS[0]}


#: Originals that jump where an input is rounded, by what they make of flags, row numbers, whole numbers, a nearly constant row and a limit.
JUMPING = """
import torch
import triton
import triton.language as tl


@triton.jit
def jumping_kernel(x_ptr, m_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    mask = c < n
    x = tl.load(x_ptr + row * n + c, mask=mask, other=0.0)
    m = tl.load(m_ptr + row * n + c, mask=mask, other=0.0)
    y = JUMP
    tl.store(y_ptr + row * n + c, y, mask=mask)


def jumping(x, m):
    assert float(m.max()) <= 1.0, "no weight above 1"
    y = torch.empty_like(x)
    jumping_kernel[(x.shape[0],)](x, m, y, x.shape[1], BLOCK=64)
    return y


def test_jumping():
    torch.manual_seed(0)
    x = MAKE
    jumping(x, (torch.rand(8, 60, device="cuda") > 0.5).float() * FLAG)
"""
RANDOM = "torch.randn(8, 60, device='cuda')"
CENTERED = "(x - tl.sum(x, axis=0) / n)"
NORMED = f"{CENTERED} / tl.sqrt(tl.sum(tl.where(mask, {CENTERED} * {CENTERED}, 0.0), axis=0) / n + 1e-5)"


@pytest.mark.parametrize(
    ("jump", "given", "wrong"),
    [
        ("tl.where(m == 1.0, x * 0.7, 0.0)", (RANDOM, "1.0"), ["x * 0.0", "x * 0.7", "tl.where(m == 1.0, x * 1.4, 0.0)"]),
        ("tl.where(m == 0.5, x * 0.7, 0.0)", (RANDOM, "0.5"), ["x * 0.0", "x * 0.7", "tl.where(m == 0.5, x * 1.4, 0.0)"]),
        (
            "tl.load(x_ptr + m.to(tl.int32) * n + c, mask=mask, other=0.0)",
            (RANDOM, "1.0"),
            ["x * 0.0", "tl.load(x_ptr + c, mask=mask, other=0.0)"],
        ),
        (
            "tl.floor(x * 0.25) + m",
            ("torch.arange(1, 481, device='cuda').reshape(8, 60).float()", "1.0"),
            ["x * 0.25 + m", "tl.floor(x * 0.25 - 0.1) + m"],
        ),
        (
            f"{NORMED} + m",
            ("torch.cat([torch.full((1, 60), 100.1), torch.randn(7, 60)]).to('cuda')", "1.0"),
            [f"{NORMED.replace('1e-5', '1e-3')} + m", f"{NORMED.replace(' / n + ', ' / (n - 1) + ')} + m"],
        ),
    ],
    ids=["flags", "other flags", "row numbers", "whole numbers", "a constant row"],
)
def test_where_an_original_jumps_nothing_is_excused(shim, tmp_path, jump, given, wrong):
    text = JUMPING.replace("JUMP", jump).replace("MAKE", given[0]).replace("FLAG", given[1])
    run = Run(shim, tmp_path, {"jumping.py": text})
    try:
        run.capture("jumping", "jumping_kernel", ["jumping"], "test_jumping", neighbours=False)
        assert all(c["ok"] for c in run.check(run.variant("same", ("jumping", jump, f"{jump} * 1.0")), "exact")["cases"])
        for number, other in enumerate(wrong):
            found = run.check(run.variant(str(number), ("jumping", f"y = {jump}", f"y = {other}")), "exact", input_sets=[0])
            assert [c["ok"] for c in found["cases"]] == [False], other
    finally:
        run.loader.uninstall()


def judged(original, mine, *ways, rtol=1e-6, atol=0.0, ignored=None):
    scales = Scales()
    for way in ways:
        scales.add([("y", original)], [("y", way)])
    nothing = torch.zeros(original.shape, dtype=torch.bool)
    return left_by_rounding(original, mine, scales.apart[0], nothing if ignored is None else ignored, Tolerance(atol, rtol))


ONES = torch.ones(1000)


@pytest.mark.parametrize(
    ("mine", "said"),
    [
        (ONES + 3e-4, True),
        (ONES + 9e-4, None),  # more ways may bring it there
        (ONES + 1e-2, False),
        (torch.where(torch.arange(1000) == 5, torch.nan, ONES), False),
        (torch.where(torch.arange(1000) == 5, torch.inf, ONES), False),
    ],
)
def test_each_element_has_a_scale_of_its_own(mine, said):
    assert judged(ONES, mine, ONES + 1e-4, ONES - 5e-5) is said


def test_one_bad_row_excuses_no_other():
    way = ONES.clone()
    way[0] += 1e-2
    other = ONES.clone()
    other[1] += 1e-3
    assert judged(ONES, other, way) is None
    assert judged(ONES, ONES.clone().index_fill_(0, torch.tensor([0]), 1.02), way) is True


@pytest.mark.parametrize(
    "way", [ONES, ONES + 0.1, torch.where(torch.arange(1000) == 5, torch.nan, ONES)], ids=["nothing moves", "a jump", "NaN"]
)
def test_what_says_nothing_of_rounding_excuses_nothing(way):
    assert judged(ONES, ONES + 3e-4, way) is False


def test_a_few_elements_may_change_by_more_and_excuse_themselves_only():
    few = torch.arange(1000) < 2
    way = torch.where(few, 1.2, ONES + 1e-4)
    assert judged(ONES, torch.where(few, 1.3, ONES + 3e-4), way) is True
    assert judged(ONES, torch.where(few, 1.3, ONES + 9e-4), way) is None
    assert judged(ONES, ONES + 3e-4, torch.where(torch.arange(1000) < 10, 1.2, ONES + 1e-4)) is False, "as a whole it jumps"


def test_elements_that_do_not_count_say_nothing():
    ignored = torch.arange(1000) < 10
    way = torch.where(ignored, torch.inf, ONES + 1e-4)
    assert judged(ONES, torch.where(ignored, torch.nan, ONES + 3e-4), way, ignored=ignored) is True


def test_no_input_is_rounded_beyond_what_was_recorded(shim, tmp_path):
    text = CANCELLING.replace(
        '1 + 1e-4 * torch.randn(8, 500, device="cuda"))', '1 + 1e-4 * torch.randn(8, 500, device="cuda").clamp(max=1.0))'
    )
    limit = "    assert float(g.max()) <= 1.00010002\n    y = torch.empty_like(x)\n"
    run = Run(shim, tmp_path, {"limited.py": text.replace("    y = torch.empty_like(x)\n", limit)})
    try:
        run.capture("limited", "centered_kernel", ["centered"], "test_centered", neighbours=False)
        order = ("limited", "3.3 * g - 3.3 * (along * x + mean)", "3.3 * (g - mean) - 3.3 * along * x")
        assert [c["ok"] for c in run.check(run.variant("order", order), "exact", input_sets=[0])["cases"]] == [True]
    finally:
        run.loader.uninstall()


def test_an_original_that_refuses_such_values_has_no_scale(shim, tmp_path):
    text = CANCELLING.replace("1 + 1e-4 * torch.randn(8, 500", "1 + 2**-14 * torch.randint(-3, 4, (8, 500)")
    guard = "    if bool((2**14 * g != (2**14 * g).round()).any()):\n        raise ValueError(g)\n"
    text = text.replace("    y = torch.empty_like(x)\n", f"{guard}    y = torch.empty_like(x)\n")
    run = Run(shim, tmp_path, {"refusing.py": text})
    try:
        run.capture("refusing", "centered_kernel", ["centered"], "test_centered", neighbours=False)
        found = run.check(run.variant("other", ("refusing", "(along * x + mean)", "(0.9 * along * x + mean)")), "exact", input_sets=[0])
        assert [c["ok"] for c in found["cases"]] == [False]
        assert "are wrong" in found["cases"][0]["reason"]
    finally:
        run.loader.uninstall()
