"""``rows_per_program`` on the examples: exactly these lines change; and what it leaves alone."""

from __future__ import annotations

import pytest
from attrs import evolve

from tests.unit.strategies.row_samples import GATHERED
from tests.unit.strategies.samples import example, example_facts, facts, launch, made_by, program_of
from tests.unit.strategies.test_edits import changed, proposal

GOLDEN = [
    (
        "rope",
        "vectorization.rows_per_program(axis=1,num_warps=2,rows=16)",
        """\
+    num_heads,
+    ROWS: tl.constexpr,
-    head = tl.program_id(1)
+    head = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]  # ROWS in each program
-    cols = tl.arange(0, BLOCK_SIZE)
+    cols = tl.arange(0, BLOCK_SIZE)[None, :]
+    head_mask = mask & (head < num_heads)
-    x1 = tl.load(x_ptrs, mask=mask, other=0).to(tl.float32)
-    x2 = tl.load(x_ptrs + half, mask=mask, other=0).to(tl.float32)
+    x1 = tl.load(x_ptrs, mask=head_mask, other=0).to(tl.float32)
+    x2 = tl.load(x_ptrs + half, mask=head_mask, other=0).to(tl.float32)
-    tl.store(out_ptrs, x1 * cos - x2 * sin, mask=mask)
-    tl.store(out_ptrs + half, x2 * cos + x1 * sin, mask=mask)
+    tl.store(out_ptrs, x1 * cos - x2 * sin, mask=head_mask)
+    tl.store(out_ptrs + half, x2 * cos + x1 * sin, mask=head_mask)
-    rope_kernel[(batch * seq_len, n_heads)](
+    rows = 16  # values of head in each program
+    rope_kernel[(batch * seq_len, triton.cdiv(n_heads, rows))](
+        num_heads=n_heads,
+        ROWS=rows,
+        num_warps=2,""",
    ),
    (
        "gather",
        "vectorization.rows_per_program(num_warps=4,rows=8)",
        """\
-def embedding_kernel(ids_ptr, weight_ptr, out_ptr, embedding_dim, BLOCK_SIZE: tl.constexpr):
-    token = tl.program_id(0)
+def embedding_kernel(ids_ptr, weight_ptr, out_ptr, embedding_dim, BLOCK_SIZE: tl.constexpr, n_rows, ROWS: tl.constexpr):
+    token = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]  # ROWS in each program
-    row = tl.load(ids_ptr + token)
+    row = tl.load(ids_ptr + token, mask=token < n_rows)
-        offsets = start + tl.arange(0, BLOCK_SIZE)
-        mask = offsets < embedding_dim
+        offsets = start + tl.arange(0, BLOCK_SIZE)[None, :]
+        mask = (offsets < embedding_dim) & (token < n_rows)
-        embedding_kernel[(flat.numel(),)](flat, self.weight, out, self.embedding_dim, BLOCK_SIZE=256)
+        rows = 8  # values of token in each program
+        embedding_kernel[(triton.cdiv(flat.numel(), rows),)](flat, self.weight, out, self.embedding_dim, BLOCK_SIZE=256, n_rows=flat.numel(), ROWS=rows)""",  # noqa: E501
    ),
    (
        "swiglu",
        "vectorization.rows_per_program(axis=0,num_warps=4,rows=4)",
        """\
+    num_tokens,
+    ROWS: tl.constexpr,
-    token = tl.program_id(0).to(tl.int64)
-    cols = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
-    mask = cols < d
+    token = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None].to(tl.int64)  # ROWS in each program
+    cols = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)[None, :]
+    mask = (cols < d) & (token < num_tokens)
-    grid = lambda meta: (n_tokens, triton.cdiv(d, meta["BLOCK_SIZE"]))  # noqa: E731
-    silu_and_mul_kernel[grid](out2, x2, out2.stride(0), x2.stride(0), d, BLOCK_SIZE=512)
+    grid = lambda meta: (triton.cdiv(n_tokens, meta["ROWS"]), triton.cdiv(d, meta["BLOCK_SIZE"]))  # noqa: E731
+    silu_and_mul_kernel[grid](out2, x2, out2.stride(0), x2.stride(0), d, BLOCK_SIZE=512, num_tokens=n_tokens, ROWS=4)""",
    ),
    (
        "row_quantize",
        "vectorization.elements_per_thread(elements=16)",
        """\
-    quantize_rowwise_kernel[grid](x, q, scale, n_cols, P2=P2)
+    quantize_rowwise_kernel[grid](x, q, scale, n_cols, P2=P2, num_warps=min(max(P2 // 512, 1), 16))""",
    ),
]


@pytest.mark.parametrize(("name", "key", "lines"), GOLDEN)
def test_golden_edit(name, key, lines, tmp_path):
    program = example(name, tmp_path)
    assert "\n".join(changed(program, proposal(program, example_facts(name, program), key))) == lines


def test_a_loops_accumulator_gets_the_second_side(tmp_path):
    program = example("layer_norm", tmp_path)
    found = proposal(program, example_facts("layer_norm", program), "vectorization.rows_per_program(num_warps=4,rows=2)")
    lines = changed(program, found)
    assert "+    _mean = tl.zeros([ROWS, BLOCK_SIZE], dtype=tl.float32)" in lines
    assert "+    mean = tl.sum(_mean, axis=1, keep_dims=True) / N" in lines
    assert not any(line.startswith("+") and "tl.load(W" in line for line in lines)  # one row of weights serves them all


@pytest.mark.parametrize("name", ["rms_norm", "row_quantize", "layer_norm_bwd_dx_kernel"])
def test_long_rows_come_two_at_a_time(name, tmp_path):
    program = example(name, tmp_path)
    proposal(program, example_facts(name, program), "vectorization.rows_per_program(num_warps=16,rows=2)")


LOOP = """\
import torch, triton
import triton.language as tl

@triton.jit
def best(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row, tl.sum(acc, axis=0))

def host(x):
    (m, n), y = x.shape, torch.empty_like(x[:, 0])
    grid = (m,)
    best[grid](x, y, n, BLOCK=256)
    return y
"""
#: A number, where LOOP has a block.
NUMBER = [
    ("acc = tl.zeros([BLOCK], dtype=tl.float32)", "acc = 0.0"),
    ("acc += tl.load", "acc += tl.sum(tl.load"),
    ("other=0.0)", "other=0.0))"),
    ("tl.sum(acc, axis=0)", "acc"),
]
REFUSED = {
    "a number carried from turn to turn that may be whole": [*NUMBER, ("acc = 0.0", "acc = 0")],
    "a number carried from turn to turn that becomes a block": [*NUMBER, ("tl.sum(tl.load", "tl.abs(tl.load")],
    "a number that counts, the same for all rows": [
        *NUMBER,
        ("acc += tl.sum", "count += 1.0\n        acc += count * tl.sum"),
        ("acc = 0.0", "acc = count = 0.0"),
    ],
    "rows with ends of their own": [("range(0, n_cols, BLOCK)", "range(0, row + 1, BLOCK)")],
    "the grid of another launch too": [("    return y", "    other[grid](y)\n    return y")],
    "programs that ask how many they are": [("tl.sum(acc, axis=0)", "tl.sum(acc, axis=0) + tl.num_programs(0)")],
    "a result of all rows": [("tl.store(y_ptr + row,", "tl.store(y_ptr,")],
    "a program id with a second use": [("tl.store(y_ptr + row,", "tl.store(y_ptr + tl.program_id(0),")],
    "a running sum": [("tl.sum(acc, axis=0)", "tl.sum(tl.cumsum(acc, axis=0), axis=0)")],
    "a branch on data": [("    tl.store(", "    if n_cols > 5:\n        tl.store(")],
}


def _several(text, tmp_path, rows=9000):
    program = program_of(text, tmp_path)
    given = facts(launch(program, [rows, 1, 1], {"BLOCK": 256}, {"n_cols": 500}, {"x_ptr": ([rows, 500], "float32")}))
    return made_by("rows_per_program", program, given)


def test_a_loop_with_a_block_as_its_accumulator(tmp_path):
    assert _several(LOOP, tmp_path)


def test_a_loop_with_a_number_as_its_accumulator(tmp_path):
    text = LOOP
    for old, new in NUMBER:
        text = text.replace(old, new)
    lines = changed(program_of(text, tmp_path), _several(text, tmp_path)[0])
    assert "+    acc = tl.full([ROWS, 1], 0.0, dtype=tl.float32)" in lines
    assert any(line.startswith("+        acc += tl.sum(tl.load(") and line.endswith("axis=1, keep_dims=True)") for line in lines)


@pytest.mark.parametrize("why", REFUSED)
def test_left_alone(why, tmp_path):
    text = LOOP
    for old, new in REFUSED[why]:
        assert old in text
        text = text.replace(old, new)
    assert not _several(text, tmp_path)


def test_a_few_rows_keep_a_program_each(tmp_path):
    assert not _several(LOOP, tmp_path, rows=500)


def test_small_cases_that_are_only_checked_leave_no_fewer_rows(tmp_path):
    program = example("rope", tmp_path)
    given = example_facts("rope", program)
    few = {**given.cases[0], "role": "check", "launches": [{**x, "grid": [18, 4, 1]} for x in given.cases[0]["launches"]]}
    wanted = [p.key for p in made_by("rows_per_program", program, given)]
    assert [p.key for p in made_by("rows_per_program", program, evolve(given, cases=(few, *given.cases)))] == wanted != []


def _gathered(text, tmp_path):
    program = program_of(text, tmp_path)
    tensors = {"mid_ptr": ([4096, 64, 8, 128], "float32"), "lse_ptr": ([4096, 64, 8], "float32"), "out_ptr": ([4096, 64, 128], "float32")}
    return program, made_by("rows_per_program", program, facts(launch(program, [4096, 64, 1], {"D": 128}, {"n_parts": 8}, tensors)))


def test_a_loop_that_binds_its_block_anew(tmp_path):
    program, found = _gathered(GATHERED, tmp_path)
    assert {p.parameters.get("axis", 0) for p in found} == {0}  # there would be fewer along the other one, which counts them
    lines = changed(program, found[0])
    assert "+    acc = tl.zeros([ROWS, D], dtype=tl.float32)" in lines
    assert '+    highest = tl.full([ROWS, 1], -float("inf"), dtype=tl.float32)' in lines


@pytest.mark.parametrize("bound", ["x * 2.0 if n_parts else x", "tl.load(out_ptr + d)", "tl.sum(x, axis=0)"])
def test_a_loop_that_binds_something_else_than_its_block(bound, tmp_path):
    text = GATHERED.replace("acc = acc * old + new * x", f"x = x + acc\n        acc = {bound}")
    assert not _gathered(text, tmp_path)[1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tl.num_programs(1)", "tl.num_programs(AX)"),
        ("tl.num_programs(1)", "tl.num_programs(1 - 1)"),
        ("acc = acc * old + new * x", "acc = tl.load(lse_ptr + d)"),  # filled for several rows, then one for all
        ("total = 0.0", "total = 1e-300"),  # float64 at first
        (
            "acc = acc * old + new * x",
            "y = tl.load(lse_ptr + d)\n        acc = acc + y\n        y += x * acc",
        ),  # one row first, then several
    ],
)
def test_what_would_be_another_number_or_shape(old, new, tmp_path):
    text = GATHERED.replace("\n\n\n@triton", "\n\nAX = tl.constexpr(0)\n\n\n@triton", 1).replace(old, new)
    assert not _gathered(text, tmp_path)[1]
