"""``unmasked_body`` and ``guarded_fast_path``: what they write, and the masks that they must leave alone."""

from __future__ import annotations

import attrs
import pytest

from kernelband.strategies import strategy
from tests.unit.strategies.access_samples import ROW_WALK, row_facts
from tests.unit.strategies.samples import again, example, example_facts, made_by, program_of
from tests.unit.strategies.test_edits import changed, proposal


def made(program, given, move):
    return made_by(move, program, given)


def test_golden_unmasked_body(tmp_path):
    program = program_of(ROW_WALK, tmp_path)
    found = proposal(program, row_facts(program), "access_layout.unmasked_body(loops=2)")
    assert found.numerics == "reassociates"  # what a selection stood between may become one operation
    assert (
        "\n".join(changed(program, found))
        == """\
-    for off in range(0, N, BLOCK):
+    # Full blocks need no mask.
+    for off in range(0, N // BLOCK * BLOCK, BLOCK):
+        cols = off + tl.arange(0, BLOCK)
+        total += tl.load(x_ptr + row * stride + cols)
+    # What is left of N is less than a block.
+    for off in range(N // BLOCK * BLOCK, N, BLOCK):
-    for i in range(tl.cdiv(N, BLOCK)):
+    # Full blocks need no mask.
+    for i in range(N // BLOCK):
+        cols = tl.arange(0, BLOCK)
+        x = tl.load(x_ptr + row * stride + i * BLOCK + cols)
+        w = tl.load(w_ptr + i * BLOCK + cols, cols < BLOCK)
+        centred = w * (x - mean)
+        tl.store(y_ptr + row * stride + i * BLOCK + cols, centred)
+    # What is left of N is less than a block.
+    for i in range(N // BLOCK, tl.cdiv(N, BLOCK)):"""
    )


def test_golden_guarded_fast_path(tmp_path):
    program = example("matmul", tmp_path)
    found = proposal(program, example_facts("matmul", program), "access_layout.guarded_fast_path(block=BLOCK_SIZE_K,size=K)")
    assert found.numerics == "exact"
    assert (
        "\n".join(changed(program, found))
        == """\
+@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_SIZE_K"] == 0})
+    EVEN_K: tl.constexpr,
-        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
-        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
+        a = tl.load(a_ptrs, mask=(offs_k[None, :] < K - k * BLOCK_SIZE_K) | EVEN_K, other=0.0)
+        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k * BLOCK_SIZE_K) | EVEN_K, other=0.0)"""
    )
    program = example("fused_softmax", tmp_path)
    found = proposal(program, example_facts("fused_softmax", program), "access_layout.guarded_fast_path(block=BLOCK_SIZE,size=n_cols)")
    assert '+@triton.heuristics({"EVEN_N_COLS": lambda args: args["n_cols"] == args["BLOCK_SIZE"]})' in changed(program, found)


MASKS_THAT_HIDE = {
    "another bound": ("mask=cols < N, other", "mask=cols < N - 1, other"),
    "another comparison": ("mask=cols < N, other", "mask=cols <= N, other"),
    "an index that is further on": ("cols = off +", "cols = 1 + off +"),
    "a block of another size": ("cols = off + tl.arange(0, BLOCK)", "cols = off + tl.arange(0, BLOCK * 2)[:]"),
    "a walk from one": ("range(0, N, BLOCK)", "range(1, N, BLOCK)"),
    "a walk in half steps": ("range(0, N, BLOCK)", "range(0, N, BLOCK // 2)"),
    "a variable that is moved": ("        cols = off +", "        off += 1\n        cols = off +"),
    "an index that depends on the way": ("        total +=", "        if row > 3:\n            cols = cols + 1\n        total +="),
    "a size that changes": ("    row = tl.program_id(0)", "    row = tl.program_id(0)\n    N = N - 1"),
}


@pytest.mark.parametrize("how", MASKS_THAT_HIDE)
def test_a_mask_that_may_hide_something_stays(how, tmp_path):
    before, after = MASKS_THAT_HIDE[how]
    assert before in ROW_WALK
    text = ROW_WALK[: ROW_WALK.index("    for i in")] + ROW_WALK[ROW_WALK.index("\n\ndef centre(") :]  # the first loop alone
    program = program_of(text, tmp_path)
    assert made(program, row_facts(program), "unmasked_body")
    assert made(program, row_facts(program), "guarded_fast_path")
    program = program_of(text.replace(before, after), tmp_path, "hides.py")
    assert not made(program, row_facts(program), "unmasked_body")
    assert not made(program, row_facts(program), "guarded_fast_path")


def test_facts_decide(tmp_path):
    program = program_of(ROW_WALK, tmp_path)
    assert not made(program, row_facts(program, n=100), "unmasked_body")  # hardly a full block
    assert not made(program, row_facts(program, n=4000), "guarded_fast_path")  # never even
    assert made(program, row_facts(program, n=4000), "unmasked_body")
    nothing = attrs.evolve(row_facts(program), cases=())
    assert not made(program, nothing, "unmasked_body")
    assert not made(program, nothing, "guarded_fast_path")


def test_other_moves_go_on_from_there(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    for move in ("unmasked_body", "guarded_fast_path"):
        [found] = made(program, given, move)
        child = again(program, found.patch.apply(program.texts), tmp_path)
        assert not made(child, given, move)
        tiles = [p.parameters for p in strategy("tiling").propose(child, given)]
        assert max(p.get("BLOCK_SIZE_K", 0) for p in tiles) >= 64  # whole blocks stay whole with another block
        assert made_by("loop_stages", child, given)


def test_a_mask_keeps_the_part_that_the_loop_does_not_prove(tmp_path):
    text = ROW_WALK.replace("mask = cols < N - i * BLOCK", "mask = (cols < N - i * BLOCK) & (row < 3)")
    program = program_of(text, tmp_path)
    [found] = made(program, row_facts(program), "unmasked_body")
    lines = changed(program, found)
    assert "+        mask = row < 3" in lines
    assert "+        x = tl.load(x_ptr + row * stride + i * BLOCK + cols, mask=mask)" in lines
