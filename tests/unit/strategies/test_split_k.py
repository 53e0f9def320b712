"""``split_k``: what it needs to know, what keeps it from firing, and that its children are parents like any other."""

from __future__ import annotations

import ast

import attrs
import pytest

from tests.unit.strategies.fusion_samples import row_facts
from tests.unit.strategies.fusion_texts import PRODUCT, SCALED_PRODUCTS
from tests.unit.strategies.samples import H200, again, example, example_facts, made_by, program_of
from tests.unit.strategies.test_edits import changed

FEW = {"columns": 512, "block": 32, "dtype": "float16"}  # 16 tiles of a result, 16 of K


def splits(text, tmp_path, *, device=H200, **sizes):
    program = program_of(text, tmp_path)
    return [p.parameters["split"] for p in made_by("split_k", program, row_facts(program, **{**FEW, **sizes}, device=device))]


SPOILED = {
    "what follows the sum is not linear": (PRODUCT, ("c = acc.to(tl.float16)", "c = tl.maximum(acc, 0.0).to(tl.float16)")),
    "a bias is added": (PRODUCT, ("c = acc.to(tl.float16)", "c = (acc + tl.load(a_ptr)).to(tl.float16)")),
    "the sum begins with what the output holds": (PRODUCT, ("    # Along K\n", "    acc += tl.load(c_ptr)\n    # Along K\n")),
    "the sum is scaled in the loop": (PRODUCT, ("acc += tl.dot(a, b)", "acc = acc * 0.5 + tl.dot(a, b)")),
    "the sum is in half precision": (PRODUCT, ("dtype=tl.float32)", "dtype=tl.float16)")),
    "the result is rounded to another type first": (PRODUCT, ("acc.to(tl.float16)", "acc.to(tl.bfloat16)")),
    "the result is rounded to an input's type": (PRODUCT, ("acc.to(tl.float16)", "acc.to(a_ptr.dtype.element_ty)")),
    "a pointer moves before its load": (
        PRODUCT,
        ("        a = tl.load(a_ptrs,", "        a_ptrs += BLOCK_K * stride_ak\n        a = tl.load(a_ptrs - BLOCK_K * stride_ak,"),
    ),
    "a pointer moves by what changes": (PRODUCT, ("a_ptrs += BLOCK_K * stride_ak", "a_ptrs += k * stride_ak")),
    "a pointer moves in some steps": (PRODUCT, ("        a_ptrs += BLOCK_K", "        if k > 1:\n            a_ptrs += BLOCK_K")),
    "a pointer is read behind the loop": (PRODUCT, ("    c = acc", "    tl.debug_barrier()\n    c = acc")),
    "the last tile is read behind the loop": (PRODUCT, ("c = acc.to", "c = (acc * tl.max(a)).to")),
    "something else lives from step to step": (
        PRODUCT,
        ("        acc += tl.dot(a, b)\n", "        acc += tl.dot(a, b) + seen\n        seen = tl.max(a)\n"),
    ),
    "the walk begins further on": (PRODUCT, ("range(0, tl.cdiv(K, BLOCK_K))", "range(1, tl.cdiv(K, BLOCK_K))")),
    "the walk ends elsewhere": (PRODUCT, ("range(0, tl.cdiv(K, BLOCK_K))", "range(0, pid_m + 1)")),
    "the mask reads the sum": (PRODUCT, ("    tl.store(c_ptrs, c, mask=", "    tl.store(c_ptrs, c, mask=(acc > 0.0) & ")),
    "a second result": (PRODUCT, ("    tl.store(c_ptrs, c", "    tl.store(a_ptr, tl.max(acc))\n    tl.store(c_ptrs, c")),
    "the result is added to": (PRODUCT, ("tl.store(c_ptrs, c,", "tl.atomic_add(c_ptrs, c,")),
    "programs may return early": (PRODUCT, ("    # Along K\n", "    if pid_m > pid_n:\n        return\n    # Along K\n")),
    "the result is the caller's": (PRODUCT, ("    c = torch.empty((M, N), device=a.device, dtype=a.dtype)\n", "    c = a.out\n")),
    "the result is laid out like another": (PRODUCT, ("torch.empty((M, N), device=a.device, dtype=a.dtype)", "torch.empty_like(a)")),
    "the result is someone's buffer": (PRODUCT, ("torch.empty((M, N), device=a.device, dtype=a.dtype)", "a.pool.empty((M, N))")),
    "the result has another name": (PRODUCT, ("    c = torch.empty(", "    c = d = torch.empty(")),
    "the result is made in some calls": (PRODUCT, ("    c = torch.empty(", "    if M > 1:\n        c = torch.empty(")),
    "the blocks are known too late": (PRODUCT, ("    product_kernel[grid](\n", "    BLOCK_M = 2 * BLOCK_M\n    product_kernel[grid](\n")),
    "the result holds something": (PRODUCT, ("    BLOCK_M, BLOCK_N", "    c.fill_(1.0)\n    BLOCK_M, BLOCK_N")),
    "the launch makes a part of the result": (
        SCALED_PRODUCTS,
        ("    if c.numel():\n", "    for a in (a, a):\n"),
    ),
    "the result is an input too": (PRODUCT, ("a, b, c, M", "c, b, c, M")),
    "the grid is another kernel's too": (PRODUCT, ("    return c\n", "    other_kernel[grid](c)\n    return c\n")),
    "the grid has three axes": (PRODUCT, ("cdiv(N, BLOCK_N),)", "cdiv(N, BLOCK_N), 1, 1)")),
    "an axis that the grid doesn't have is read": (PRODUCT, ("    offs_k =", "    batch = tl.program_id(axis=1)\n    offs_k =")),
    "the kernel splits already": (PRODUCT, ("GROUP_M: tl.constexpr,\n", "GROUP_M: tl.constexpr, SPLIT_K: tl.constexpr = 1,\n")),
    "a name is taken": (PRODUCT, ("    M, K = a.shape\n", "    M, K = a.shape\n    parts = 3\n")),
    "the launch may pass more": (PRODUCT, ("GROUP_M=8,\n", "GROUP_M=8, **a.options,\n")),
}


@pytest.mark.parametrize("why", SPOILED)
def test_keeps_away(why, tmp_path):
    text, (old, new) = SPOILED[why]
    assert text.count(old) == 1
    ast.parse(text.replace(old, new))
    assert splits(text, tmp_path)
    assert not splits(text.replace(old, new), tmp_path), why


GRIDS = {
    "the launch's own": (
        "(triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)",
        "product_kernel[(tiles, SPLIT_K)](",
        "tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)",
    ),
    "of two sides": (
        "grid = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N), len(a.names)",
        "grid = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N), len(a.names), SPLIT_K",
        "tiles = -(-M // BLOCK_M) * -(-N // BLOCK_N) * len(a.names)",
    ),
    "on lines of its own": (
        "grid = (\n        triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),  # tiles\n    )",
        None,
        None,
    ),
    "with a line for each side": (
        "grid = (\n        (M + BLOCK_M - 1) // BLOCK_M * ((N + 31) // 32),\n    )",
        "        (M + BLOCK_M - 1) // BLOCK_M * ((N + 31) // 32), SPLIT_K,",
        "tiles = -(-M // BLOCK_M) * -(-N // 32)",
    ),
    "a variable": (
        "num_tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)\n    grid = (num_tiles,)",
        "grid = (num_tiles, SPLIT_K)",
        "SPLIT_K = 16 if num_tiles < 132 and K >= 512 else 1",
    ),
    "a function": (
        "grid = lambda m: (triton.cdiv(M, m['BLOCK_M']) * triton.cdiv(N, m['BLOCK_N']),)",
        "grid = lambda m: (triton.cdiv(M, m['BLOCK_M']) * triton.cdiv(N, m['BLOCK_N']), SPLIT_K)",
        "tiles = -(-M // BLOCK_M) * -(-N // BLOCK_N)",
    ),
    "a function with a name": (
        "def grid(m):\n        return (triton.cdiv(M * 1, m['BLOCK_M'] * 1) * triton.cdiv(N, m['BLOCK_N']),)",
        "return (triton.cdiv(M * 1, m['BLOCK_M'] * 1) * triton.cdiv(N, m['BLOCK_N']), SPLIT_K)",
        "tiles = -(-M * 1 // (BLOCK_M * 1)) * -(-N // BLOCK_N)",
    ),
    "a function that reads more": ("grid = lambda m: (f(m) * triton.cdiv(N, m['BLOCK_N']),)", None, None),
}


@pytest.mark.parametrize("how", GRIDS)
def test_ways_to_write_a_grid(how, tmp_path):
    grid, *wanted = GRIDS[how]
    old = "    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)\n    product_kernel[grid]("
    new = f"    product_kernel[{grid}](" if grid.startswith("(") else f"    {grid}\n    product_kernel[grid]("
    assert old in PRODUCT
    program = program_of(PRODUCT.replace(old, new), tmp_path)
    found = made_by("split_k", program, row_facts(program, **FEW))
    if wanted == [None, None]:
        assert not found
    else:
        lines = [x.strip() for x in found[0].patch.apply(program.texts)[program.kernel.place.path].splitlines()]
        assert {w.strip() for w in wanted} <= set(lines)


def test_a_grid_function_may_stand_before_the_blocks(tmp_path):
    text = PRODUCT.replace("    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)\n", "")
    grid = '    grid = lambda m: (triton.cdiv(M, m["BLOCK_M"]) * triton.cdiv(N, m["BLOCK_N"]),)\n'
    text = text.replace("    c = torch.empty(", f"{grid}    c = torch.empty(")
    program = program_of(text, tmp_path)
    found = made_by("split_k", program, row_facts(program, **FEW))[0]
    after = found.patch.apply(program.texts)[program.kernel.place.path]
    assert (
        after.index("BLOCK_M, BLOCK_N, BLOCK_K = 32")
        < after.index("tiles = ")
        < after.index("parts = ")
        < after.index("product_kernel[grid]")
    )


def test_the_number_of_parts_follows_what_is_idle(tmp_path):
    assert splits(PRODUCT, tmp_path) == [16, 8, 4, 2]  # 16 programs, 132 multiprocessors
    assert splits(PRODUCT, tmp_path, columns=2048) == [4, 2, 8]  # 64 programs: 16 times as many would be 8 for each multiprocessor
    assert splits(PRODUCT, tmp_path, columns=288) == [8, 4, 2]  # K has 9 tiles
    assert not splits(PRODUCT, tmp_path, columns=128)  # it has 4: the sum of the parts would take as long as the walk
    assert not splits(PRODUCT, tmp_path, device=attrs.evolve(H200, multiprocessors=16))


def test_parts_are_for_sizes_of_which_the_cases_know(tmp_path):
    program = example("matmul", tmp_path)
    assert not made_by("split_k", program, example_facts("matmul", program))
    program = example("batched_matmul", tmp_path)  # autotuned, and its grid has all three axes
    given = attrs.evolve(example_facts("batched_matmul", program), device=attrs.evolve(H200, multiprocessors=10**6))
    assert not made_by("split_k", program, given)


def child_of(text, tmp_path, move):
    """The program that a move makes of the text, and the facts of a capture of the text: 64 programs, 64 tiles of K."""
    program = program_of(text, tmp_path)
    given = row_facts(program, **{**FEW, "columns": 2048})
    found = made_by(move, program, given)[0]
    return again(program, found.patch.apply(program.texts), tmp_path), given, found


TEXTS = pytest.mark.parametrize("text", [PRODUCT, SCALED_PRODUCTS], ids=["product", "scaled products"])


@TEXTS
def test_a_child_is_tiled_and_pipelined(text, tmp_path):
    child, given, _ = child_of(text, tmp_path, "split_k")
    assert not made_by("split_k", child, given)
    tiles = {k for p in made_by("tiles", child, given) for k in p.parameters}
    assert tiles >= {"BLOCK_M", "BLOCK_N", "BLOCK_K", "num_warps", "num_stages"}
    found = made_by("loop_stages", child, given)[0]
    assert "SPLIT_K" in changed(child, found)[1]


@TEXTS
def test_a_tiled_parent_is_split_by_its_own_blocks(text, tmp_path):
    child, given, tiled = child_of(text, tmp_path, "tiles")
    found = made_by("split_k", child, given)[0]
    least = max(8, found.parameters["split"]) * tiled.parameters["BLOCK_K"]
    assert f"+    SPLIT_K = {found.parameters['split']} if tiles < 132 and K >= {least} else 1" in changed(child, found)


def test_a_pipelined_parent_keeps_its_stages(tmp_path):
    child, given, _ = child_of(PRODUCT, tmp_path, "loop_stages")
    found = made_by("split_k", child, given)[0]
    assert "+    for k in tl.range(pid_k, tl.cdiv(K, BLOCK_K), SPLIT_K, num_stages=2):" in changed(child, found)
