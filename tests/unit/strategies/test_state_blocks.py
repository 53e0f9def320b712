"""Blocks of recurrences over a state: bound among others, decoded from one row of programs, guarded in the branch that has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.source.model import Program
from kernelband.strategies import Proposal
from tests.unit.strategies.samples import facts, launch, made_by, program_of
from tests.unit.strategies.test_tiling import changed

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def state_kernel(q, v, s, o, T, K: tl.constexpr, V: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr, EACH: tl.constexpr):
    pid = tl.program_id(0)
    NV, NK = tl.cdiv(V, BV), tl.cdiv(K, BK)
    i_v, i_k, i_n = pid % NV, (pid // NV) % NK, pid // (NV * NK)
    p_q = q + i_n * T * K + i_k * BK + tl.arange(0, BK)
    p_v = v + i_n * T * V + i_v * BV + tl.arange(0, BV)
    p_o = o + (i_k + i_n) * T * V + i_v * BV + tl.arange(0, BV)
    if EACH:
        p_s = s + i_n * T * V + i_v * BV + tl.arange(0, BV)
    else:
        p_s = s + i_n * T
    mask_k = i_k * BK + tl.arange(0, BK) < K
    mask_v = i_v * BV + tl.arange(0, BV) < V
    h = tl.zeros([BV, BK], dtype=tl.float32)
    for _ in range(0, T):
        b_q = tl.load(p_q, mask=mask_k, other=0.0)
        b_v = tl.load(p_v, mask=mask_v, other=0.0)
        if EACH:
            b_s = tl.load(p_s, mask=mask_v, other=0.0)
        else:
            b_s = tl.load(p_s)
        h += b_q[None, :] * (b_v * b_s)[:, None]
        b_o = h * b_q[None, :]
        b_o = tl.sum(b_o, axis=1)
        tl.store(p_o, b_o, mask=mask_v)
        p_q += K
        p_v += V
        p_o += V
        p_s += V if EACH else 1


def state(q, v, s):
    N, T, K, V = *q.shape, v.shape[-1]
    BK, BV = triton.next_power_of_2(K), min(triton.next_power_of_2(V), 8)
    NV, NK = triton.cdiv(V, BV), triton.cdiv(K, BK)
    o = torch.empty_like(v)
    state_kernel[(NV * NK * N,)](q, v, s, o, T, K, V, BK, BV, EACH=s.dim() == 3)
    return o
"""


def wider(text: str, folder: Path) -> list[Proposal]:
    """Tiles with more columns of the state for each program."""
    program = program_of(text, folder)
    shapes = {"q": [64, 128, 64], "v": [64, 128, 128], "s": [64, 128], "o": [64, 128, 128]}
    tensors = {name: (shape, "float32") for name, shape in shapes.items()}
    constants = {"K": 64, "V": 128, "BK": 64, "BV": 8, "EACH": False}
    found = made_by("tiles", program, facts(launch(program, [1024, 1, 1], constants, {"T": 128}, tensors)))
    return [p for p in found if p.parameters.get("BV", 8) > 8]


def test_a_block_that_is_bound_among_others_becomes_a_number_there(tmp_path: Path) -> None:
    program = program_of(KERNEL, tmp_path)
    tile = wider(KERNEL, tmp_path)[0]
    assert f"+    BK, BV = triton.next_power_of_2(K), {tile.parameters['BV']}" in changed(program, tile)


def test_no_block_is_longer_than_its_axis_needs(tmp_path: Path) -> None:
    """Of 256 columns half would be idle where there are 128."""
    assert {p.parameters["BV"] for p in wider(KERNEL, tmp_path)} <= {16, 32, 64, 128}
    assert wider(KERNEL, tmp_path)


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("i_v * BV + tl.arange(0, BV)\n    else", "i_k * BV + tl.arange(0, BV)\n    else"),
        ("    else:\n        p_s = s + i_n * T", "    else:\n        p_s = s + i_n * T + i_v * BV + tl.arange(0, BV)"),  # without a mask
        ("tl.load(p_s)", "tl.load(p_s) * i_v"),  # the number of a block
        ("    h = tl.zeros", "    EACH = T > 64\n    h = tl.zeros"),  # another branch than the one that bound the pointer
        ("b_o = h * b_q[None, :]\n        b_o = tl.sum(b_o, axis=1)", "b_o = h * b_q[None, :]\n        b_o = tl.sum(b_o, axis=0)[:8]"),
        ("tl.store(p_o, b_o, mask=mask_v)", "tl.store(p_o, b_o / tl.max(b_o), mask=mask_v)"),  # of the block's own
        ("        p_q += K\n", "        p_q += K\n        h += tl.sum(h)\n"),
        ("        h += b_q", "        h += tl.sum(b_o) if b_s > 3 else 0.0\n        h += b_q"),
        ("    o = torch.empty_like(v)\n", "    o = torch.empty_like(v)\n    q = q * BV\n"),
    ],
)
def test_a_block_keeps_its_size_where_more_is_made_of_it(was: str, now: str, tmp_path: Path) -> None:
    assert was in KERNEL
    assert wider(KERNEL.replace(was, now), tmp_path) == []


PRODUCT = """import torch
import triton
import triton.language as tl


@triton.jit
def shift_kernel(x, y, rows, COLS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < rows * COLS
    tl.store(y + i, tl.load(x + i, mask=inside) - tl.load(x + i + COLS, mask=i < (rows - 1) * COLS, other=0.0), mask=inside)


def shift(x):
    y = torch.empty_like(x)
    rows, cols = x.shape
    shift_kernel[(triton.cdiv(rows * cols, 256),)](x, y, rows, cols, BLOCK=256)
    return y
"""


def test_a_product_with_another_block_is_no_size(tmp_path: Path) -> None:
    """What changes with that block is no end that a grid could be made for."""
    text = PRODUCT.replace("    inside =", "    x += 0 * tl.max(tl.arange(0, COLS))\n    inside =")
    program = program_of(text, tmp_path)
    one = launch(program, [8192, 1, 1], {"COLS": 512, "BLOCK": 256}, {"rows": 4096}, dict.fromkeys(("x", "y"), ([4096, 512], "float32")))
    assert all(p.parameters.get("BLOCK", 256) == 256 for p in made_by("tiles", program, facts(one)))


@pytest.mark.parametrize(("sides", "moves"), [("rows * cols", True), ("rows * cols * 2", False), ("rows * y.shape[0]", False)])
def test_a_grid_over_a_product_with_a_constexpr(sides: str, moves: bool, tmp_path: Path) -> None:
    program = program_of(PRODUCT.replace("cdiv(rows * cols,", f"cdiv({sides},"), tmp_path)
    tensors = dict.fromkeys(("x", "y"), ([4096, 512], "float32"))
    one = launch(program, [8192, 1, 1], {"COLS": 512, "BLOCK": 256}, {"rows": 4096}, tensors)
    assert any(p.parameters.get("BLOCK", 256) != 256 for p in made_by("tiles", program, facts(one))) == moves


SPREAD = """import torch
import triton
import triton.language as tl


@triton.jit
def wide_kernel(x, y, n, m, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * m, mask=i < n)


def wide(x):
    n = x.numel()
    block = 256
    MORE
    y = torch.empty_like(x)
    wide_kernel[(triton.cdiv(n, block),)](x, y, n, PASSED, BLOCK=block)
    return y
"""


def other_blocks(program: Program) -> list[Proposal]:
    """Tiles with another size of SPREAD's block."""
    tensors = dict.fromkeys(("x", "y"), ([1 << 20], "float32"))
    one = launch(program, [4096, 1, 1], {"BLOCK": 256}, {"n": 1 << 20, "m": 256}, tensors)
    return [p for p in made_by("tiles", program, facts(one)) if p.parameters.get("BLOCK", 256) != 256]


@pytest.mark.parametrize(
    ("more", "passed", "moves"),
    [
        ("pass", "n", True),
        ("programs = triton.cdiv(n, block)", "n", True),
        ("assert block <= 1024", "n", True),
        ("if block > 512:\n        raise ValueError(block)", "n", True),
        ("pass", "block", False),
        ("m = block", "m", False),
        ("m = block * 2", "m", False),
        ("m = 1.0 / block", "m", False),
        ("x = x.reshape(-1)[: n // block * block]", "n", False),  # cut where whole blocks end
    ],
)
def test_a_variable_that_is_more_than_a_block_keeps_its_number(more: str, passed: str, moves: bool, tmp_path: Path) -> None:
    assert bool(other_blocks(program_of(SPREAD.replace("MORE", more).replace("PASSED", passed), tmp_path))) == moves


@pytest.mark.parametrize(
    ("more", "passed", "itself"),
    [
        ("programs = triton.cdiv(n, block)", "n", True),
        ("m = min((n + block - 1) // block, 1)", "m", True),
        ("assert block <= 1024", "n", True),
        ("if block > 512:\n        raise ValueError(block)", "n", True),
        ("warps = 4 if block < 512 else 8", "n, num_warps=warps", True),
        ("num_warps = max(1, block // 64)", "n, num_warps=num_warps", True),
        ("warps = 4\n    if block > 512:\n        warps = 8\n    elif block > 2048:\n        warps = 16", "n, num_warps=warps", True),
        ("warps = 4 if block < 512 else 8\n    x = x * warps", "n, num_warps=warps", False),
        ("if block > 512:\n        x = x * 2", "n", False),
        ("if block > 512:\n        x.mul_(2)", "n", False),
        ("x = x * block", "n", False),
    ],
)
def test_a_variable_changes_itself_where_nothing_hangs_on_it_but_blocks(more: str, passed: str, itself: bool, tmp_path: Path) -> None:
    """Else it keeps its number, and the launch and its grid get another, or nothing does."""
    program = program_of(SPREAD.replace("MORE", more).replace("PASSED", passed), tmp_path)
    tiles = other_blocks(program)
    assert all(("-    block = 256" in changed(program, tile)) == itself for tile in tiles)
    assert tiles or not itself
