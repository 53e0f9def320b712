"""A choice by size computes what the original computes on both sides of its threshold, and really chooses: under Triton's interpreter."""

from __future__ import annotations

import pytest

from kernelband.strategies import STRATEGIES
from kernelband.strategies.tiling.by_size import Sides, by_size
from kernelband.strategies.tiling.parameters import Parameters
from kernelband.strategies.tiling.two_ways import two_ways
from tests.e2e.strategies.comparing import differences
from tests.unit.strategies.order_samples import HEAD, TEXTS, captured
from tests.unit.strategies.samples import again, example, example_facts, facts, launch, program_of

#: One block holds a row, so too small a block is a wrong result: what a call was launched with shows in what it computes.
ROW_SCALE = (
    HEAD
    + """\
@triton.jit
def row_scale_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row * n_cols + cols, x / tl.sum(tl.abs(x), axis=0), mask=cols < n_cols)


def row_scale(x):
    n_rows, n_cols = x.shape
    y = torch.zeros_like(x)
    BLOCK = 256
    grid = (n_rows,)
    row_scale_kernel[grid](x, y, n_cols, BLOCK)
    return y


def run(device):
    torch.manual_seed(0)
    for rows, cols in ((3, 20), (2, 63), (2, 64), (2, 65), (3, 250)):
        yield row_scale(torch.randn(rows, cols, device=device))
"""
)
PAIRS = {
    "row_sum": ("x.shape[1]", 700, (("BLOCK=256", "BLOCK=64"),)),
    "scale_2d": ("cols", 70, (("BLOCK_ROWS = 16", "BLOCK_ROWS = 32"), ("BLOCK_COLS = 64", "BLOCK_COLS = 16"))),
    "batched": ("M", 50, (("cdiv(M, 32)", "cdiv(M, 16)"), ("BLOCK_M=32", "BLOCK_M=16"))),
    "persistent_matmul": ("N", 90, (("BLOCK_N=32", "BLOCK_N=64"),)),
    "rms_norm": ("n_cols", 100, (("next_power_of_2(n_cols))", "next_power_of_2(n_cols), num_warps=8)"),)),
}


def pair(text, given, replacements, tmp_path):
    """A program and its edit, with what the two launch."""
    program = program_of(text, tmp_path)
    path = program.kernel.place.path
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    other = again(program, {path: text}, tmp_path)
    read = [Parameters.read(p, given(program)) for p in (program, other)]
    assert None not in read
    return program, read


def text_of(program, own, other, sides, *, small):
    found = by_size(own, other, sides, "exact", "Because.", small=small)
    assert found is not None
    return found.patch.apply(program.texts)[program.kernel.place.path]


@pytest.mark.parametrize("name", PAIRS)
def test_both_sides_compute_the_same(name, tmp_path):
    size, up_to, replacements = PAIRS[name]
    program, (own, other) = pair(TEXTS[name], lambda p: captured(name, p), replacements, tmp_path)
    texts = [TEXTS[name], *(text_of(program, own, other, Sides(size, up_to, 1, 2), small=small) for small in (True, False))]
    assert len(set(texts)) == 3
    assert differences(texts) == [None, None, None]


def test_each_size_gets_its_own_side(tmp_path):
    def given(program):
        return facts(launch(program, [3, 1, 1], {"BLOCK": 256}, {"n_cols": 20}, {}))

    program, (large, small) = pair(ROW_SCALE, given, (("BLOCK = 256", "BLOCK = 64"),), tmp_path)
    right = text_of(program, large, small, Sides("n_cols", 64, 1, 2), small=False)
    assert "    BLOCK = 64 if n_cols <= 64 else 256  # measured: each the faster on its side\n    grid = (n_rows,)\n" in right
    swapped = text_of(program, large, small, Sides("n_cols", 64, 1, 2), small=True)
    one_more, one_less = (text_of(program, large, small, Sides("n_cols", at, 1, 2), small=False) for at in (65, 63))
    told = differences([ROW_SCALE, right, one_less, one_more, swapped])
    assert told[:3] == [None, None, None]
    assert told[3] is not None  # 65 columns in a block of 64
    assert told[4] is not None


# ---------------------------------------------------------------- two kernels

#: A size of each example with a threshold between the sizes of its calls.
BETWEEN = {"fused_softmax": ("n_cols", 800), "layer_norm": ("N", 1500), "matmul": ("M", 100), "cross_entropy": ("n_cols", 5000)}


def both(program, given, other, sides, *, small):
    found = two_ways((program, other), (given, given), sides, "exact", "Because.", small=small)
    assert found is not None
    return found.patch.apply(program.texts)[program.kernel.place.path]


@pytest.mark.parametrize("name", BETWEEN)
def test_two_kernels_compute_the_same_on_both_sides(name, tmp_path):
    program = example(name, tmp_path)
    given = example_facts(name, program)
    path = program.kernel.place.path
    size, up_to = BETWEEN[name]
    texts = {"original": program.texts[path]}
    for strategy in STRATEGIES:
        proposal = next((p for p in strategy.propose(program, given)), None)
        if proposal is not None:
            other = again(program, proposal.patch.apply(program.texts), tmp_path)
            for small in (True, False):
                texts[f"{proposal.key} {small}"] = both(program, given, other, Sides(size, up_to, 1, 2), small=small)
    told = dict(zip(texts, differences(list(texts.values()), example=name), strict=True))
    assert {k: r for k, r in told.items() if r is not None} == {}
    assert len(texts) >= 9


def test_each_size_gets_its_own_kernel(tmp_path):
    program = program_of(ROW_SCALE, tmp_path)
    path = program.kernel.place.path
    given = facts(launch(program, [3, 1, 1], {"BLOCK": 256}, {"n_cols": 20}, {}))
    # Right for rows of at most 64 columns only, whatever it is launched with.
    narrow = ROW_SCALE.replace("cols = tl.arange(0, BLOCK)", "cols = tl.arange(0, 64)").replace("BLOCK = 256", "BLOCK = 64")
    other = again(program, {path: narrow}, tmp_path)
    right, one_more, swapped = (
        both(program, given, other, Sides("n_cols", at, 1, 2), small=small) for at, small in ((64, False), (65, False), (64, True))
    )
    assert "row_scale_kernel_small[grid](x, y, n_cols, BLOCK)" in right
    told = differences([ROW_SCALE, narrow, right, one_more, swapped])
    assert [t is None for t in told] == [True, False, True, False, False]
