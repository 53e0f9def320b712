"""Blocks that the host function computes, and blocks beside a tuner: where their new number is written, and what it must not part from."""

from __future__ import annotations

import ast

import pytest

from kernelband.source import Workspace, find_program
from tests.unit.strategies.column_samples import COLUMN_MEANS
from tests.unit.strategies.samples import facts, launch, made_by, program_of
from tests.unit.strategies.test_tiling import changed

KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


def add(x, wide):
    y = torch.empty_like(x)
    n = x.numel()
    if wide:
        BLOCK = min(1024, triton.next_power_of_2(n))
    elif n > 99:
        BLOCK = 512
    else:
        BLOCK = 256
    programs = triton.cdiv(n, BLOCK)
    add_kernel[(programs,)](x, y, n, BLOCK=BLOCK)
    return y
"""
N = 1 << 24


def tiles(program, block=1024, config=None, n=N):
    tensors = dict.fromkeys(("x", "y"), ([n], "float32"))
    one = launch(program, [n // block, 1, 1], {"BLOCK": block}, {"n": n}, tensors)
    one["config"] = config
    return [p for p in made_by("tiles", program, facts(one)) if p.parameters.get("BLOCK", block) != block]


def test_below_the_statements_that_compute_a_block_a_line_says_another_number(tmp_path):
    program = program_of(KERNEL, tmp_path)
    tile = next(p for p in tiles(program) if p.parameters["BLOCK"] == 2048)
    assert "+    BLOCK = 2048" in changed(program, tile)
    text = tile.patch.apply(program.texts)[program.kernel.place.path]
    assert text.index("BLOCK = 256") < text.index("BLOCK = 2048") < text.index("programs =")
    ast.parse(text)


def test_and_that_line_changes_again(tmp_path):
    text = KERNEL.replace("    programs =", "    BLOCK = 2048\n    programs =")
    program = program_of(text, tmp_path)
    tile = next(p for p in tiles(program, 2048) if p.parameters["BLOCK"] == 512)
    assert [x for x in changed(program, tile) if "BLOCK = " in x] == ["-    BLOCK = 2048", "+    BLOCK = 512"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        BLOCK = 512\n", "        BLOCK = 512\n        assert n % BLOCK == 0\n"),  # it is read before the line
        ("    return y", "    return y, BLOCK"),  # callers would see it
        ("def add(x, wide):", "def add(x, wide, BLOCK=64):"),  # theirs to choose
        ("    programs =", "    if n > 7:\n        BLOCK = BLOCK // 2\n    programs ="),  # made of itself, in a branch
    ],
)
def test_not_where_something_has_read_it_before_or_others_choose_or_see_it(old, new, tmp_path):
    assert old in KERNEL
    assert tiles(program_of(KERNEL.replace(old, new), tmp_path)) == []


TUNED = KERNEL.replace("@triton.jit", "@triton.autotune([triton.Config({}, num_warps=w) for w in (2, 4)], key=['n'])\n@triton.jit")
HOST = """    BLOCK = min(1024, triton.next_power_of_2(n))
    add_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, BLOCK=BLOCK)
    return y
"""
BESIDE = TUNED[: TUNED.index("    if wide:")] + HOST


def test_of_a_kernel_whose_warps_are_tuned_the_launch_says_the_block(tmp_path):
    program = program_of(BESIDE, tmp_path)
    config = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
    found = tiles(program, config=config)
    assert {p.parameters["BLOCK"] for p in found} >= {512, 2048}
    assert len({p.parameters["BLOCK"] for p in found}) == len(found)
    for tile in found:
        text = tile.patch.apply(program.texts)[program.kernel.place.path]
        assert f"    BLOCK = {tile.parameters['BLOCK']}\n" in text
        assert "num_warps=" not in text.replace("num_warps=w", "")  # the tuner's
        assert tile.parameters["num_warps"] == 4


def test_of_one_whose_block_is_tuned_the_launch_says_nothing(tmp_path):
    config = {"BLOCK": 1024, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None}
    for tile in tiles(program_of(BESIDE, tmp_path), config=config):
        assert tile.parameters["config"] == "+"


@pytest.mark.parametrize(
    ("grid", "same"),
    [
        ("(triton.cdiv(len(x), meta['BLOCK']),)", True),
        ("(triton.cdiv(meta['n'], meta['BLOCK']),)", True),
        ("(triton.cdiv(meta['m'], meta['BLOCK']),)", False),
        ("(triton.cdiv(len(y), meta['BLOCK']),)", False),
    ],
)
def test_a_grid_ends_where_the_mask_does_in_these_words_too(grid, same, tmp_path):
    host = f"def add(x, y):\n    add_kernel[lambda meta: {grid}](x, y, x.shape[0], BLOCK=1024)\n"
    program = program_of(KERNEL[: KERNEL.index("def add(")] + host, tmp_path)
    assert bool(tiles(program)) == same


WRAPPED = """import torch
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x, y, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row, column = i // columns % rows, i % columns
    tl.store(y + row * columns + column, 2.0 * tl.load(x + row * columns + column))


def double(x):
    y = torch.empty_like(x)
    rows, columns = x.shape
    total = rows * columns
    rows_kernel[(triton.cdiv(total, 1024),)](x, y, rows, columns, BLOCK=1024)
    return y
"""


@pytest.mark.parametrize(
    ("total", "same"), [("rows * columns", True), ("rows * 2", False), ("rows * rows", False), ("rows", False), ("rows + columns", False)]
)
def test_a_grid_of_a_product_has_a_name(total, same, tmp_path):
    program = program_of(WRAPPED.replace("rows * columns\n    rows_kernel", f"{total}\n    rows_kernel"), tmp_path)
    one = launch(program, [16384, 1, 1], {"BLOCK": 1024}, {"rows": 4096, "columns": 4096}, dict.fromkeys("xy", ([4096, 4096], "float32")))
    assert any(p.parameters.get("BLOCK", 1024) != 1024 for p in made_by("tiles", program, facts(one))) == same


STEPS = """import torch
import triton
import triton.language as tl


@triton.jit
def steps_kernel(x, y, ends, T, D, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    blocks = tl.cdiv(D, BLOCK)
    place, which = pid % blocks, (pid // blocks).to(tl.int64)
    begin, end = tl.load(ends + which), tl.load(ends + which + 1)
    T = COUNT
    i = place * BLOCK + tl.arange(0, BLOCK)
    state = tl.zeros([BLOCK], tl.float32)
    for t in range(0, T):
        at = (begin + t) * D + i
        state = state * 0.5 + tl.load(x + at, mask=i < D, other=0.0)
        tl.store(y + at, state, mask=i < D)


def steps(x, ends, T):
    y = torch.empty_like(x)
    D = x.shape[1]
    steps_kernel[(triton.cdiv(D, 1024) * 8,)](x, y, ends, T, D, BLOCK=1024)
    return y
"""


@pytest.mark.parametrize(
    ("count", "same"), [("end - begin", True), ("tl.cdiv(D, BLOCK)", False), ("which + 4", True), ("pid // BLOCK", False)]
)
def test_a_programs_place_along_another_side_is_no_count_of_blocks(count, same, tmp_path):
    path = tmp_path / "steps.py"
    path.write_text(STEPS.replace("COUNT", count))
    program = find_program(Workspace.for_file(str(path)), str(path))
    tensors = {"x": ([8192, 4096], "float32"), "y": ([8192, 4096], "float32"), "ends": ([9], "int64")}
    one = launch(program, [32, 1, 1], {"BLOCK": 1024}, {"T": 1024, "D": 4096}, tensors)
    assert any(p.parameters.get("BLOCK", 1024) != 1024 for p in made_by("tiles", program, facts(one))) == same


def columns(tmp_path, text=COLUMN_MEANS):
    program, wide = program_of(text, tmp_path), {"x_ptr": ([1, 64, N], "float16"), "out_ptr": ([1, N], "float16")}
    given = facts(launch(program, [1, N // 64, 1], {"BLOCK": 16, "VEC": 4}, {"M": 1, "N": 64, "K": N}, wide))
    return program, [p for p in made_by("tiles", program, given) if p.parameters.get("BLOCK", 16) != 16]


def test_in_the_branch_that_launches_and_where_a_program_has_several_blocks(tmp_path):
    program, found = columns(tmp_path)
    tile = next(p for p in found if p.parameters["BLOCK"] == 64)
    assert "+        BLOCK = 64" in changed(program, tile)
    text = tile.patch.apply(program.texts)[program.kernel.place.path]
    assert text.index("BLOCK = 32") < text.index("BLOCK = 64") < text.index("grid = (M, triton")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("program_id(1) * BLOCK * VEC +", "program_id(1) * BLOCK +"),  # programs overlap
        ("tl.arange(0, BLOCK)[:, None] * VEC +", "tl.arange(0, BLOCK)[:, None] +"),  # lanes do
        ("BLOCK * VEC))", "BLOCK * 8))"),  # half as many programs
        ("BLOCK * VEC))", "BLOCK * VEC * VEC))"),
        ("BLOCK=BLOCK, VEC=VEC", "BLOCK=BLOCK, VEC=2 * VEC"),
    ],
)
def test_not_where_blocks_and_programs_differ_in_width(old, new, tmp_path):
    assert old in COLUMN_MEANS
    assert columns(tmp_path, COLUMN_MEANS.replace(old, new))[1] == []


SHARED = """import torch
import triton
import triton.language as tl


@triton.jit
def total_kernel(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(M):
        acc += tl.load(x_ptr + row * N + cols, mask=cols < N, other=0.0)
    tl.store(out_ptr + cols, acc, mask=cols < N)


def total(x):
    M, N = x.shape
    out = torch.zeros(N, device=x.device)
    BLOCK = 64
    grid = (triton.cdiv(N, BLOCK),)
    if x.is_contiguous():
        total_kernel[grid](x, out, M, N, BLOCK=BLOCK)
    else:
        strided_kernel[grid](x, out, M, N, *x.stride(), BLOCK=64)
    return out


@triton.jit
def strided_kernel(x_ptr, out_ptr, M, N, stride_m, stride_n, BLOCK: tl.constexpr):
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for row in range(M):
        tl.atomic_add(out_ptr + cols, tl.load(x_ptr + row * stride_m + cols * stride_n, mask=cols < N), mask=cols < N)
"""
CONTIGUOUS, GRID = "    if x.is_contiguous():\n", "    grid = (triton.cdiv(N, BLOCK),)\n"
MOVED = (GRID + CONTIGUOUS, f"{CONTIGUOUS}    {GRID}")
ELSE = ("    else:\n", "    else:\n        grid = (triton.cdiv(N, 64),)\n")


def of_shared(tmp_path, text):
    path = tmp_path / "shared.py"
    path.write_text(text)
    program = find_program(Workspace.for_file(str(path)), str(path), "total_kernel")
    tensors = {"x_ptr": ([4096, 4096], "float32"), "out_ptr": ([4096], "float32")}
    given = facts(launch(program, [64, 1, 1], {"BLOCK": 64}, {"M": 4096, "N": 4096}, tensors))
    blocks = [p for p in made_by("tiles", program, given) if p.parameters.get("BLOCK", 64) != 64]
    return blocks, made_by("split_reduction", program, given)


@pytest.mark.parametrize("literal", [False, True])
def test_a_grid_that_another_kernel_takes_stays(literal, tmp_path):
    text = SHARED.replace("    BLOCK = 64\n", "").replace("BLOCK=BLOCK", "BLOCK=64").replace("N, BLOCK)", "N, 64)") if literal else SHARED
    assert of_shared(tmp_path, text) == ([], [])
    own = SHARED.replace(*MOVED).replace(*ELSE)
    assert all(of_shared(tmp_path, own))  # in a branch of its own


def test_a_grid_that_each_kernel_makes_of_its_own_block_does_not_hold_it(tmp_path):
    text = SHARED.replace("grid = (triton.cdiv(N, BLOCK),)", 'grid = lambda meta: (triton.cdiv(N, meta["BLOCK"]),)')
    assert any(of_shared(tmp_path, text))
    assert of_shared(tmp_path, text.replace('meta["BLOCK"])', 'meta["BLOCK"]) * 1 + 0 * BLOCK')) == ([], [])


EVEN = """import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x, y, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y + i, 2.0 * tl.load(x + i))
    else:
        tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


def double(x):
    y = torch.empty_like(x)
    n = x.numel()
    if n >= 4096:
        BLOCK = 1024
        EVEN = n % 1024 == 0
    else:
        BLOCK = 64
        EVEN = n % 64 == 0
    double_kernel[(triton.cdiv(n, BLOCK),)](x, y, n, EVEN=EVEN, BLOCK=BLOCK)
    return y
"""


def test_a_block_that_divides_something_in_each_branch_stays(tmp_path):
    program = program_of(EVEN, tmp_path)
    tensors = dict.fromkeys(("x", "y"), ([N], "float32"))
    given = facts(launch(program, [N // 1024, 1, 1], {"BLOCK": 1024, "EVEN": True}, {"n": N}, tensors))
    assert [p for p in made_by("tiles", program, given) if p.parameters.get("BLOCK", 1024) != 1024] == []
