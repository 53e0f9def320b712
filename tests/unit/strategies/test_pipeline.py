"""Each hint and the prefetch: the edit that it makes, and the programs that it leaves alone."""

from __future__ import annotations

import difflib
import re

import attrs
import pytest

from tests.unit.strategies.order_samples import TEXTS, captured
from tests.unit.strategies.samples import H200, made_by, program_of

BLACKWELL = attrs.evolve(H200, arch=100)


def changed(program, proposal):
    path = program.kernel.place.path
    before, after = program.texts[path].splitlines(), proposal.patch.apply(program.texts)[path].splitlines()
    return [x for x in difflib.unified_diff(before, after, n=0, lineterm="") if not re.match(r"(---|\+\+\+) |@@", x)]


def moves(name, tmp_path, move, *, text=None, **more):
    program = program_of(text or TEXTS[name], tmp_path, f"{name}.py")
    return program, made_by(move, program, captured(name, program, **more))


def compiled(program, registers, spilled=0, shared=1024):
    place = program.kernel.place
    kernel = {"module": "sample", "path": place.path, "qualname": place.qualname}
    return ({"kernel": kernel, "registers": registers, "spill_store_bytes": spilled, "shared_bytes": shared, "num_warps": 4},)


def test_prefetch_asks_for_the_next_block_before_it_uses_this_one(tmp_path):
    program, found = moves("row_sum", tmp_path, "prefetch")
    assert [p.numerics for p in found] == ["exact"]
    assert changed(program, found[0]) == [
        "+    next_cols = tl.arange(0, BLOCK)",
        "+    next_x = tl.load(x_ptr + row * n_cols + next_cols, mask=next_cols < n_cols, other=0.0)",
        "-        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)",
        "+        x = next_x.to(tl.float32)",
        "+        next_cols = cols + BLOCK",
        "+        next_x = tl.load(x_ptr + row * n_cols + next_cols, mask=next_cols < n_cols, other=0.0)",
    ]


def test_prefetch_writes_a_mask_variable_out(tmp_path):
    text = (
        TEXTS["row_sum"]
        .replace("        x = tl.load", "        inside = cols < n_cols\n        x = tl.load")
        .replace("mask=cols < n_cols", "mask=inside")
    )
    program, found = moves("row_sum", tmp_path, "prefetch", text=text)
    assert "+        next_x = tl.load(x_ptr + row * n_cols + next_cols, mask=(next_cols < n_cols), other=0.0)" in changed(program, found[0])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mask=cols < n_cols, other=0.0", "mask=cols < n_cols - 1, other=0.0"),  # another end than the loop's
        (", mask=cols < n_cols, other=0.0", ""),  # a block past the end would be read
        ("        acc += x * x\n", "        acc += x * x\n        x_ptr += 0\n"),  # the pointer moves with the loop
        ("        acc += x * x\n", "        acc += x * x\n        tl.store(x_ptr + row * n_cols + cols, x, mask=cols < n_cols)\n"),
        ("tl.arange(0, BLOCK)", "tl.arange(0, 256)"),  # steps of one block, indices of another
        ("        acc += x * x\n", "        if tl.sum(x) > 0:\n            break\n        acc += x * x\n"),
    ],
)
def test_prefetch_leaves_loops_alone_whose_next_block_is_not_certain(old, new, tmp_path):
    assert old in TEXTS["row_sum"]
    assert moves("row_sum", tmp_path, "prefetch", text=TEXTS["row_sum"].replace(old, new))[1] == []


def test_prefetch_is_not_for_loops_with_products(tmp_path):
    assert moves("batched", tmp_path, "prefetch")[1] == []


def test_flatten_marks_the_loop_over_tiles(tmp_path):
    program, found = moves("persistent_matmul", tmp_path, "flatten")
    assert changed(program, found[0]) == [
        "-    for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0)):",
        "+    for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0), flatten=True):",
    ]
    assert found[0].numerics == "exact"


@pytest.mark.parametrize(
    ("name", "text", "more"),
    [
        ("batched", None, {}),  # one loop
        ("persistent_matmul", None, {"triton": (3, 2)}),
        ("persistent_matmul", TEXTS["persistent_matmul"].replace("tl.num_programs(0))", "tl.num_programs(0), flatten=False)"), {}),
        ("persistent_matmul", TEXTS["persistent_matmul"].replace("in range(0, tl.cdiv", "in tl.static_range(0, tl.cdiv"), {}),
    ],
)
def test_flatten_is_for_two_loops_that_triton_can_fuse(name, text, more, tmp_path):
    assert moves(name, tmp_path, "flatten", text=text, **more)[1] == []


def test_a_single_accumulator_is_for_tensor_memory(tmp_path):
    program, found = moves("batched", tmp_path, "single_accumulator", device=BLACKWELL)
    assert changed(program, found[0])[1] == "+    for k in tl.range(0, K, BLOCK_K, disallow_acc_multi_buffer=True):"
    assert moves("batched", tmp_path, "single_accumulator")[1] == []
    assert moves("row_sum", tmp_path, "single_accumulator", device=BLACKWELL)[1] == []


def test_invariants_stay_in_the_loop_where_registers_are_short(tmp_path):
    program = program_of(TEXTS["attention"], tmp_path, "attention.py")
    program, found = moves("attention", tmp_path, "keep_in_loop", compiled=compiled(program, 255, spilled=128))
    assert changed(program, found[0])[1] == "+    for start_n in tl.range(0, (start_m + 1) * BLOCK_M, BLOCK_N, disable_licm=True):"
    assert "spills 128 bytes" in found[0].why
    twice = compiled(program, 255, spilled=128) * 2  # as for two cases
    assert len(moves("attention", tmp_path, "keep_in_loop", compiled=twice)[1]) == len(found) == 1


def test_invariants_are_hoisted_where_registers_are_no_limit(tmp_path):
    program = program_of(TEXTS["attention"], tmp_path, "attention.py")
    assert moves("attention", tmp_path, "keep_in_loop", compiled=compiled(program, 32))[1] == []
    assert moves("attention", tmp_path, "keep_in_loop")[1] == []
    assert moves("attention", tmp_path, "keep_in_loop", compiled=compiled(program, 255, spilled=8), triton=(3, 4))[1] == []


def test_warps_specialise_only_on_products_with_rows_enough(tmp_path):
    text = TEXTS["batched"].replace("cdiv(M, 32)", "cdiv(M, 128)").replace("BLOCK_M=32", "BLOCK_M=128")
    assert moves("batched", tmp_path, "warp_specialize", text=text, device=BLACKWELL)[1] != []
    assert moves("batched", tmp_path, "warp_specialize", device=BLACKWELL)[1] == []
