"""One golden edit for each move: exactly these lines change, nothing else."""

from __future__ import annotations

import difflib
import re

import attrs
import pytest

from kernelband.hardware import Device
from kernelband.strategies import strategy
from tests.unit.strategies.samples import H200, example, example_facts, facts, launch, made_by, program_of


def changed(program, proposal):
    """Removed and added lines of the edit, in order."""
    path = program.kernel.place.path
    before, after = program.texts[path].splitlines(), proposal.patch.apply(program.texts)[path].splitlines()
    return [x for x in difflib.unified_diff(before, after, n=0, lineterm="") if not re.match(r"(---|\+\+\+) |@@", x)]


def proposal(program, given, key):
    found = {p.key: p for p in strategy(key.partition(".")[0]).propose(program, given)}
    assert key in found, sorted(found)
    assert found[key].what.endswith(".")
    assert found[key].why.endswith(".")
    return found[key]


GOLDEN = [
    (
        "vector_add",
        "tiling.tiles(BLOCK_SIZE=2048,num_warps=8)",
        "exact",
        """\
-    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
+    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=2048, num_warps=8)""",
    ),
    (
        "matmul",
        "tiling.tiles(BLOCK_SIZE_K=64,BLOCK_SIZE_M=128,BLOCK_SIZE_N=256,num_stages=4,num_warps=8)",
        "reassociates",
        """\
-    BLOCK_SIZE_M = 64
-    BLOCK_SIZE_N = 64
-    BLOCK_SIZE_K = 32
+    BLOCK_SIZE_M = 128
+    BLOCK_SIZE_N = 256
+    BLOCK_SIZE_K = 64
+        num_warps=8, num_stages=4,""",
    ),
    (
        "fused_softmax",
        "vectorization.elements_per_thread(elements=16)",
        "reassociates",
        """\
+        num_warps=min(max(BLOCK_SIZE // 512, 1), 16),""",
    ),
    (
        "layer_norm",
        "fusion.one_block(num_warps=8)",
        "reassociates",
        """\
+@triton.heuristics({"ONE_BLOCK": lambda args: args["N"] <= args["BLOCK_SIZE"]})
+    ONE_BLOCK: tl.constexpr,
-    for off in range(0, N, BLOCK_SIZE):
+    for off in range(0, BLOCK_SIZE if ONE_BLOCK else N, BLOCK_SIZE):
-    for off in range(0, N, BLOCK_SIZE):
+    for off in range(0, BLOCK_SIZE if ONE_BLOCK else N, BLOCK_SIZE):
-    for off in range(0, N, BLOCK_SIZE):
+    for off in range(0, BLOCK_SIZE if ONE_BLOCK else N, BLOCK_SIZE):
-    BLOCK_SIZE = 1024
-    _layer_norm_fwd_kernel[(M,)](x_arg, y, weight, bias, x_arg.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE)
+    BLOCK_SIZE = min(8192, 1 << (N - 1).bit_length())  # the power of two that holds a row, up to 16 KB
+    _layer_norm_fwd_kernel[(M,)](x_arg, y, weight, bias, x_arg.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE, num_warps=8)""",
    ),
    (
        "fused_softmax",
        "fusion.exp2()",
        "reassociates",
        """\
-    numerator = tl.exp(row_minus_max)
+    numerator = tl.exp2(row_minus_max * 1.4426950408889634)  # exp(x) = exp2(x * log2(e))""",
    ),
    (
        "flash_attention",
        "fusion.exp2()",
        "reassociates",
        """\
+    log2e = 1.4426950408889634  # exp(x) = exp2(x * log2e)
-        p = tl.exp(qk - m_ij[:, None])
-        alpha = tl.exp(m_i - m_ij)
+        p = tl.exp2((qk - m_ij[:, None]) * log2e)
+        alpha = tl.exp2((m_i - m_ij) * log2e)""",
    ),
    (
        "fused_softmax",
        "fusion.reciprocal()",
        "reassociates",
        """\
-    softmax_output = numerator / denominator
+    softmax_output = numerator * (1.0 / denominator)""",
    ),
    (
        "matmul",
        "pipeline.loop_stages(num_stages=4)",
        "exact",
        """\
-    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
+    for k in tl.range(0, tl.cdiv(K, BLOCK_SIZE_K), num_stages=4):""",
    ),
    (
        "layer_norm",
        "pipeline.unroll(factor=2)",
        "exact",
        """\
-    for off in range(0, N, BLOCK_SIZE):
+    for off in tl.range(0, N, BLOCK_SIZE, loop_unroll_factor=2):
-    for off in range(0, N, BLOCK_SIZE):
+    for off in tl.range(0, N, BLOCK_SIZE, loop_unroll_factor=2):
-    for off in range(0, N, BLOCK_SIZE):
+    for off in tl.range(0, N, BLOCK_SIZE, loop_unroll_factor=2):""",
    ),
    (
        "matmul",
        "reordering.grouped_order(group=8)",
        "exact",
        """\
+    pid_m, pid_n = tl.swizzle2d(pid_m, pid_n, tl.cdiv(M, BLOCK_SIZE_M), num_pid_n, 8)""",
    ),
    (
        "vector_add",
        "reordering.persistent(per_multiprocessor=8)",
        "exact",
        """\
-    pid = tl.program_id(axis=0)
-    block_start = pid * BLOCK_SIZE
-    offsets = block_start + tl.arange(0, BLOCK_SIZE)
-    # The last program may hang over the end.
-    mask = offsets < n_elements
-    x = tl.load(x_ptr + offsets, mask=mask)
-    y = tl.load(y_ptr + offsets, mask=mask)
-    output = x + y
-    tl.store(output_ptr + offsets, output, mask=mask)
+    for pid in tl.range(tl.program_id(0), tl.cdiv(n_elements, BLOCK_SIZE), tl.num_programs(0)):
+        block_start = pid * BLOCK_SIZE
+        offsets = block_start + tl.arange(0, BLOCK_SIZE)
+        # The last program may hang over the end.
+        mask = offsets < n_elements
+        x = tl.load(x_ptr + offsets, mask=mask)
+        y = tl.load(y_ptr + offsets, mask=mask)
+        output = x + y
+        tl.store(output_ptr + offsets, output, mask=mask)
-    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)  # noqa: E731
+    grid = lambda meta: (min(triton.cdiv(n_elements, meta["BLOCK_SIZE"]), 132 * 8),)  # noqa: E731""",
    ),
    (
        "layer_norm",
        "access_layout.cache_hints(plan=passes)",
        "exact",
        """\
-        a = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
+        a = tl.load(X + cols, mask=cols < N, other=0.0, eviction_policy="evict_last").to(tl.float32)
-        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
+        x = tl.load(X + cols, mask=cols < N, other=0.0, eviction_policy="evict_last").to(tl.float32)
-        w = tl.load(W + cols, mask=mask)
-        b = tl.load(B + cols, mask=mask)
-        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
+        w = tl.load(W + cols, mask=mask, eviction_policy="evict_last")
+        b = tl.load(B + cols, mask=mask, eviction_policy="evict_last")
+        x = tl.load(X + cols, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)""",
    ),
    (
        "fused_softmax",
        "access_layout.constant_strides(which=both)",
        "reassociates",  # it decides which elements a thread sums
        """\
-    input_row_stride,
-    output_row_stride,
-    n_cols,
+    input_row_stride: tl.constexpr,
+    output_row_stride: tl.constexpr,
+    n_cols: tl.constexpr,""",
    ),
    (
        "vector_add",
        "access_layout.even_blocks(block=BLOCK_SIZE,size=n_elements)",
        "exact",
        """\
+@triton.heuristics({"EVEN": lambda args: args["n_elements"] % args["BLOCK_SIZE"] == 0})
-def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
+def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr, EVEN: tl.constexpr):
-    mask = offsets < n_elements
+    mask = (offsets < n_elements) | EVEN""",
    ),
]


@pytest.mark.parametrize(("name", "key", "numerics", "lines"), GOLDEN, ids=[f"{g[0]}-{g[1].partition('(')[0]}" for g in GOLDEN])
def test_golden(name, key, numerics, lines, tmp_path):
    program = example(name, tmp_path)
    given = example_facts(name, program)
    if "constant_strides" in key:
        given = attrs.evolve(given, cases=given.cases[:1])  # sizes that vary are no constants
    found = proposal(program, given, key)
    assert "\n".join(changed(program, found)) == lines
    assert found.numerics == numerics


ROWS = """\
import torch, triton
import triton.language as tl

@triton.jit
def norm(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    for i in range(3):
        pass
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
    tl.store(y_ptr + row * stride + cols, x / tl.sum(x, axis=0), mask=cols < n_cols)

def host(x):
    (m, n), y = x.shape, torch.empty_like(x)
    norm[(m,)](x, y, x.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return y
"""


def _rows_facts(program, **more):
    return facts(launch(program, [9000, 1, 1], {"BLOCK": 128}, {"stride": 96, "n_cols": 96}, {"x_ptr": ([9000, 96], "float32")}), **more)


def test_static_range(tmp_path):
    program = program_of(ROWS, tmp_path)
    found = proposal(program, _rows_facts(program), "pipeline.static_range(line=3)")
    assert changed(program, found) == ["-    for i in range(3):", "+    for i in tl.static_range(3):"]


def test_rows_per_program(tmp_path):
    program = program_of(ROWS.replace("    for i in range(3):\n        pass\n", ""), tmp_path)
    found = proposal(program, _rows_facts(program), "vectorization.rows_per_program(num_warps=4,rows=16)")
    assert (
        "\n".join(changed(program, found))
        == """\
-def norm(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
-    row = tl.program_id(0)
-    cols = tl.arange(0, BLOCK)
-    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
-    tl.store(y_ptr + row * stride + cols, x / tl.sum(x, axis=0), mask=cols < n_cols)
+def norm(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr, n_rows, ROWS: tl.constexpr):
+    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS))[:, None]  # ROWS in each program
+    cols = tl.arange(0, BLOCK)[None, :]
+    x = tl.load(x_ptr + row * stride + cols, mask=(cols < n_cols) & (row < n_rows), other=0.0)
+    tl.store(y_ptr + row * stride + cols, x / tl.sum(x, axis=1, keep_dims=True), mask=(cols < n_cols) & (row < n_rows))
-    norm[(m,)](x, y, x.stride(0), n, BLOCK=triton.next_power_of_2(n))
+    rows = 16  # values of row in each program
+    norm[(triton.cdiv(m, rows),)](x, y, x.stride(0), n, BLOCK=triton.next_power_of_2(n), n_rows=m, ROWS=rows)"""
    )


def test_two_dimensional_grid_is_grouped_along_the_axis_that_runs_fastest(tmp_path):
    lines = example("matmul", tmp_path).texts[str((tmp_path / "matmul.py").resolve())].splitlines(keepends=True)
    start = next(i for i, x in enumerate(lines) if "tl.program_id(axis=0)" in x)
    lines[start : start + 4] = ["    pid_m = tl.program_id(0)\n", "    pid_n = tl.program_id(1)\n"]
    text = "".join(lines)
    text = text.replace(" * triton.cdiv(N, BLOCK_SIZE_N),)", ", triton.cdiv(N, BLOCK_SIZE_N))")
    program = program_of(text, tmp_path, "grid2.py")
    found = proposal(program, example_facts("matmul", program), "reordering.grouped_order(group=4)")
    assert changed(program, found) == ["+    pid_n, pid_m = tl.swizzle2d(pid_n, pid_m, tl.num_programs(1), tl.num_programs(0), 4)"]


def test_a_group_that_is_there_gets_another_size(tmp_path):
    text = example("matmul", tmp_path).texts[str((tmp_path / "matmul.py").resolve())]
    text = text.replace("BLOCK_SIZE_K: tl.constexpr,\n", "BLOCK_SIZE_K: tl.constexpr, GROUP_SIZE_M: tl.constexpr,\n")
    text = text.replace("BLOCK_SIZE_K=BLOCK_SIZE_K,\n", "BLOCK_SIZE_K=BLOCK_SIZE_K, GROUP_SIZE_M=8,\n")
    grouped = """    in_group = GROUP_SIZE_M * num_pid_n
    first = pid // in_group * GROUP_SIZE_M
    rows = min(tl.cdiv(M, BLOCK_SIZE_M) - first, GROUP_SIZE_M)
    pid_m = first + (pid % in_group) % rows
    pid_n = (pid % in_group) // rows
"""
    text = text.replace("    pid_m = pid // num_pid_n\n    pid_n = pid % num_pid_n\n", grouped)
    program = program_of(text, tmp_path, "grouped.py")
    found = proposal(program, example_facts("matmul", program), "reordering.grouped_order(group=4)")
    assert "GROUP_SIZE_M=4" in changed(program, found)[1]


def test_warp_specialisation_is_for_blackwell(tmp_path):
    program = example("matmul", tmp_path)
    given = example_facts("matmul", program)
    assert not made_by("warp_specialize", program, given)
    blackwell: Device = attrs.evolve(H200, arch=100)
    found = proposal(program, attrs.evolve(given, device=blackwell), "pipeline.warp_specialize()")
    assert changed(program, found)[1] == "+    for k in tl.range(0, tl.cdiv(K, BLOCK_SIZE_K), warp_specialize=True):"


def test_tiles_respect_shared_memory_and_registers(tmp_path):
    program = example("matmul", tmp_path)
    tiny = attrs.evolve(H200, shared_per_program=48 * 1024)
    found = list(strategy("tiling").propose(program, attrs.evolve(example_facts("matmul", program), device=tiny)))
    assert found
    for p in (x.parameters for x in found):
        assert p["num_stages"] * (p["BLOCK_SIZE_M"] + p["BLOCK_SIZE_N"]) * p["BLOCK_SIZE_K"] * 2 <= 48 * 1024
        assert p["BLOCK_SIZE_M"] * p["BLOCK_SIZE_N"] <= 128 * 32 * p["num_warps"]


def test_numerics_that_are_not_allowed_stay_away(tmp_path):
    program = example("layer_norm", tmp_path)
    given = attrs.evolve(example_facts("layer_norm", program), allowed=frozenset({"exact"}))
    assert {p.numerics for name in ("tiling", "fusion", "access_layout", "pipeline") for p in strategy(name).propose(program, given)} == {
        "exact"
    }
