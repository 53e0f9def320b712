"""``int32_offsets`` and ``tile_hints``: what they write, and where they hold still."""

from __future__ import annotations

import attrs
import pytest

from kernelband.strategies import strategy
from tests.unit.strategies.access_samples import FLASH, WIDE, flash_facts, wide_facts
from tests.unit.strategies.samples import H200, again, example, example_facts, made_by, program_of
from tests.unit.strategies.test_edits import changed, proposal


def made(program, given, move):
    return [p for name in ("access_layout", "vectorization") for p in strategy(name).propose(program, given) if p.move == move]


def test_golden_int32_offsets(tmp_path):
    program = program_of(WIDE, tmp_path)
    found = proposal(program, wide_facts(program), "vectorization.int32_offsets(casts=1)")
    assert found.numerics == "exact"
    assert (
        "\n".join(changed(program, found))
        == """\
+@triton.heuristics({
+    "WIDE": lambda args: any(x is not None and x.untyped_storage().nbytes() >= 2**31 for x in (args["x_ptr"], args["y_ptr"])),
+})
-def copy_kernel(x_ptr, y_ptr, stride, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
-    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
+def copy_kernel(x_ptr, y_ptr, stride, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, WIDE: tl.constexpr):
+    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64 if WIDE else tl.int32)"""
    )
    child = again(program, found.patch.apply(program.texts), tmp_path)
    assert not made(child, wide_facts(program), "int32_offsets")
    assert made(child, wide_facts(program), "cache_hints")


STAYS_WIDE = {
    "the index is stored": ("tl.load(x_ptr + offs, mask=mask) * 2.0", "rows[:, None] + tl.load(x_ptr + offs, mask=mask)"),
    "the offset is compared": ("(rows < M)[:, None]", "(rows[:, None] * stride < M * stride)"),
    "the offset is divided": ("rows[:, None] * stride", "rows[:, None] * stride // 2 * 2"),
    "a loaded value": ("tl.arange(0, BLOCK_M))", "tl.load(x_ptr + tl.arange(0, BLOCK_M)))"),
    "an argument": ("tl.program_id(0) * BLOCK_M", "M * BLOCK_M"),
}


@pytest.mark.parametrize("how", STAYS_WIDE)
def test_what_may_not_fit_stays_wide(how, tmp_path):
    before, after = STAYS_WIDE[how]
    assert before in WIDE
    program = program_of(WIDE.replace(before, after), tmp_path)
    assert not made(program, wide_facts(program), "int32_offsets")


def test_large_tensors_stay_wide(tmp_path):
    program = program_of(WIDE, tmp_path)
    assert not made(program, wide_facts(program, m=2**17), "int32_offsets")  # 2 GiB of fp32
    assert not made(program, attrs.evolve(wide_facts(program), cases=()), "int32_offsets")


def test_golden_tile_hints(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    found = proposal(program, given, "access_layout.tile_hints(kept=b_ptr)")
    assert found.numerics == "exact"
    assert changed(program, found) == [
        "-        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)",
        "-        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)",
        '+        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0, eviction_policy="evict_first")',
        '+        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0, eviction_policy="evict_last")',
    ]
    assert {p.parameters["kept"] for p in made(program, given, "tile_hints")} == {"a_ptr", "b_ptr"}
    child = again(program, found.patch.apply(program.texts), tmp_path)
    assert not made(child, given, "tile_hints")
    assert {p.move for p in strategy("access_layout").propose(child, given)} >= {"tensor_descriptors", "unmasked_body"}


def test_what_fits_into_l2_needs_no_hint(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    assert not made(program, attrs.evolve(given, device=attrs.evolve(H200, l2_bytes=2**30)), "tile_hints")
    assert not made(program, attrs.evolve(given, cases=()), "tile_hints")
    program = program_of(FLASH, tmp_path, "flash.py")
    assert not made(program, flash_facts(program), "tile_hints")


@pytest.mark.parametrize("name", ["matmul", "flash_attention"])
def test_hints_for_caches_keep_away_from_products(name, tmp_path):
    """Their tiles are read by many programs, in an order that the cache knows better."""
    program = example(name, tmp_path)
    assert made_by("loop_stages", program, example_facts(name, program))
    assert made_by("cache_hints", program, example_facts(name, program)) == []
