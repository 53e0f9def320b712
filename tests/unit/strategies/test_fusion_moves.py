"""Fusion moves: the exact lines that each changes, and what must keep it from firing."""

from __future__ import annotations

import ast

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.strategies import strategy
from tests.unit.strategies.fusion_samples import (
    COLUMN_SUMS,
    COPIED,
    CROSS_ENTROPY,
    LAYER_NORM,
    ROW_STATS,
    SAMPLES,
    ZERO_ROWS,
    ZEROS,
    row_facts,
    sample,
    sample_facts,
)
from tests.unit.strategies.samples import again, example, example_facts, facts, program_of
from tests.unit.strategies.test_edits import changed
from tests.unit.strategies.test_formatting import SPOIL

ALL = frozenset({"exact", "reassociates", "lowers_precision"})


def fired(program, known, move):
    """The move's proposals."""
    return [p for p in strategy("fusion").propose(program, known) if p.move == move]


def fires(text, move, tmp_path):
    program = program_of(text, tmp_path)
    block = 16 if move == "split_reduction" else 256
    return bool(fired(program, row_facts(program, columns=64 * block, block=block), move))


GOLDEN = {
    ("rms_norm", "accumulate_late"): (
        "reassociates",
        """\
-    total = 0.0
+    total = tl.zeros([BLOCK], dtype=tl.float32)
-        total += tl.sum(x * x, axis=0)
+        total += x * x
+    total = tl.sum(total, axis=0)""",
    ),
    ("rms_norm", "rsqrt"): (
        "reassociates",
        """\
-    rms = 1 / tl.sqrt(total / n_cols + eps)
+    rms = tl.rsqrt(total / n_cols + eps)""",
    ),
    ("row_stats", "accumulate_late"): (
        "exact",
        """\
-    amax = 0.0
+    amax = tl.zeros([BLOCK], dtype=tl.float32)
-        amax = tl.maximum(amax, tl.max(tl.abs(x), axis=0))
+        amax = tl.maximum(amax, tl.abs(x))
+    amax = tl.max(amax, axis=0)""",
    ),
    ("row_stats", "merged_passes"): (
        "exact",
        """\
+    acc = tl.zeros([BLOCK], dtype=tl.float32)
+        value = tl.abs(x)
+        acc += value
-
-    # Mean
-    acc = tl.zeros([BLOCK], dtype=tl.float32)
-    for k in range(0, n_cols, BLOCK):
-        idx = k + tl.arange(0, BLOCK)
-        value = tl.load(x_ptr + row * stride + idx, mask=idx < n_cols, other=0.0)
-        value = tl.abs(value)
-        acc += value""",
    ),
    ("layer_norm", "one_pass_moments"): (
        "reassociates",
        """\
+    var = tl.zeros([BLOCK], dtype=tl.float32)
+    # Mean and variance in one pass: differences from the row's first element, so that a large mean costs no digits.
+    shift = tl.load(x_ptr).to(tl.float32)
-        mean += tl.sum(a, axis=0)
-    mu = mean / n_cols
-
-    # Spread about the mean
-    var = tl.zeros([BLOCK], dtype=tl.float32)
-    for start in range(0, n_cols, BLOCK):
-        offs = start + tl.arange(0, BLOCK)
-        mask = offs < n_cols
-        x = tl.load(x_ptr + offs, mask=offs < n_cols, other=0.0).to(tl.float32)
-        diff = x - mu
+        mask = cols < n_cols
+        diff = a - shift
-    rstd = 1.0 / tl.sqrt(tl.sum(var, axis=0) / n_cols + eps)
+        mean += tl.sum(tl.where(mask, diff, 0.0), axis=0)
+    delta = mean / n_cols
+    mu = shift + delta
+    rstd = 1.0 / tl.sqrt(tl.sum(var, axis=0) / n_cols - delta * delta + eps)""",
    ),
    ("cross_entropy", "online_softmax"): (
        "reassociates",
        """\
-    m = float("-inf")
+    m = -3.4028234e38  # finite: exp(-inf + inf) is not a number
+    total = tl.zeros([BLOCK], dtype=tl.float32)
-        m = tl.maximum(m, tl.max(x, axis=0))
-    total = 0.0
-    for off in range(0, n_cols, BLOCK):
-        cols = off + tl.arange(0, BLOCK)
-        y = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
-        p = tl.exp(y - m)
-        total += tl.sum(p, axis=0)
+        new_m = tl.maximum(m, tl.max(x, axis=0))
+        total *= tl.exp(m - new_m)
+        p = tl.exp(x - new_m)
+        total += p
+        m = new_m
+    total = tl.sum(total, axis=0)
+    only_inf = (m == -3.4028234e38) & (total == 0.0)
+    m = tl.where(only_inf, float("-inf"), m)
+    total = tl.where(only_inf, float("nan"), total)  # the sum of exp(-inf + inf)""",
    ),
    ("zeros", "zeros_to_empty"): (
        "exact",
        """\
-    y = torch.zeros_like(x)
+    y = torch.empty_like(x)""",
    ),
    ("zero_rows", "zeros_to_empty"): (
        "exact",
        """\
-    y = torch.zeros((M, N), device=x.device, dtype=x.dtype)
+    y = torch.empty((M, N), device=x.device, dtype=x.dtype)""",
    ),
    ("copied", "contiguous_copy"): (
        "exact",
        """\
-    # The kernel wants rows.
-    x = x.contiguous()""",
    ),
    ("product", "split_k"): (
        "reassociates",
        """\
+    stride_split, SPLIT_K: tl.constexpr,
+    pid_k = tl.program_id(axis=1)
+    # Each of SPLIT_K programs takes every SPLIT_K-th tile of K.
+    a_ptrs += pid_k * BLOCK_K * stride_ak
+    b_ptrs += pid_k * BLOCK_K * stride_bk
-    for k in range(0, tl.cdiv(K, BLOCK_K)):
+    for k in range(pid_k, tl.cdiv(K, BLOCK_K), SPLIT_K):
-        a_ptrs += BLOCK_K * stride_ak
-        b_ptrs = b_ptrs + BLOCK_K * stride_bk
-    c = acc.to(tl.float16)
+        a_ptrs += SPLIT_K * BLOCK_K * stride_ak
+        b_ptrs = b_ptrs + SPLIT_K * BLOCK_K * stride_bk
+    c = acc.to(c_ptr.dtype.element_ty)
+    c_ptr += pid_k * stride_split
-    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
+    tiles = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
+    # Few tiles and a long K: several programs share a tile, so that all multiprocessors have work.
+    SPLIT_K = 16 if tiles < 132 and K >= 512 else 1
+    grid = (tiles, SPLIT_K)
+    parts = c.new_empty((SPLIT_K, *c.shape), dtype=torch.float32) if SPLIT_K > 1 else c
-        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
+        a, b, parts, M, N, K, *a.stride(), *b.stride(), *c.stride(),
+        stride_split=c.numel(), SPLIT_K=SPLIT_K,
+    if SPLIT_K > 1:
+        c.copy_(parts.sum(0))""",
    ),
    ("scaled_products", "split_k"): (
        "reassociates",
        """\
+    stride_split = 0, SPLIT_K: tl.constexpr = 1,
+    pid_k = tl.program_id(2)
+    c_ptr += pid_k * stride_split
-    for start in range(0, K, BLOCK_K):
+    # Each of SPLIT_K programs takes every SPLIT_K-th tile of K.
+    left -= pid_k * BLOCK_K
+    for start in range(pid_k * BLOCK_K, K, SPLIT_K * BLOCK_K):
-        left -= BLOCK_K
+        left -= SPLIT_K * BLOCK_K
-    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), batch)
+    tiles = -(-M // 32) * -(-N // 32) * batch
+    # Few tiles and a long K: several programs share a tile, so that all multiprocessors have work.
+    SPLIT_K = 16 if tiles < 132 and K >= 512 else 1
+    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), batch, SPLIT_K)
+        parts = c.new_zeros((SPLIT_K, *c.shape), dtype=torch.float32) if SPLIT_K > 1 else c
-            a, b, c, M, N, K, alpha,
+            a, b, parts, M, N, K, alpha,
+            stride_split=c.numel(), SPLIT_K=SPLIT_K,
+        if SPLIT_K > 1:
+            torch.sum(parts, dim=0, out=c)""",
    ),
    ("column_sums", "split_reduction"): (
        "reassociates",
        """\
-    for i in range(0, M, BLOCK_M):
+    # Grid axis 1 splits the loop: each part takes every num_programs(1)-th step.
+    part = tl.program_id(1)
+    for i in range(part * BLOCK_M, M, tl.num_programs(1) * BLOCK_M):
-    mean = (squares / M).to(tl.float16)
-    tl.store(sum_ptr + cols, total, mask=cols < N)
-    tl.store(mean_ptr + cols, mean, mask=cols < N)
+    mean = squares / M
+    tl.store(sum_ptr + part * N + cols, total, mask=cols < N)
+    tl.store(mean_ptr + part * N + cols, mean, mask=cols < N)
-    grid = lambda meta: (triton.cdiv(N, meta["BLOCK_N"]),)
-    column_sums_kernel[grid](x, total, mean, M, N, x.stride(0), BLOCK_M=16, BLOCK_N=32)
+    parts = 4  # programs for each strip of columns, so that the GPU is filled
+    grid = lambda meta: (triton.cdiv(N, meta["BLOCK_N"]), parts)
+    total_parts = torch.empty((parts, N), device=total.device, dtype=torch.float32)
+    mean_parts = torch.empty((parts, N), device=mean.device, dtype=torch.float32)
+    column_sums_kernel[grid](x, total_parts, mean_parts, M, N, x.stride(0), BLOCK_M=16, BLOCK_N=32)
+    torch.sum(total_parts, dim=0, out=total)
+    mean.copy_(mean_parts.sum(0))""",
    ),
}


@pytest.mark.parametrize(("name", "move"), GOLDEN, ids=["-".join(k) for k in GOLDEN])
def test_golden(name, move, tmp_path):
    program = sample(name, tmp_path)
    found = fired(program, sample_facts(name, program, allowed=ALL), move)[0]
    numerics, lines = GOLDEN[name, move]
    assert "\n".join(changed(program, found)) == lines
    assert found.numerics == numerics
    assert found.what.endswith(".")
    assert found.why.endswith(".")


SPOILED = {
    "the second loop reads what the first computes": (
        "merged_passes",
        ROW_STATS,
        ("value = tl.abs(value)", "value = tl.abs(value) / amax"),
    ),
    "what the second loop needs follows from the first": (
        "merged_passes",
        ROW_STATS,
        ("acc = tl.zeros([BLOCK], dtype=tl.float32)", "acc = tl.zeros([BLOCK], dtype=tl.float32) + amax"),
    ),
    "another range": ("merged_passes", ROW_STATS, ("for k in range(0, n_cols, BLOCK)", "for k in range(0, stride, BLOCK)")),
    "a store between that the second loop may read": (
        "merged_passes",
        ROW_STATS,
        ("    scale = 127.0 / amax\n", "    scale = 127.0 / amax\n    tl.store(x_ptr + row * stride, scale)\n"),
    ),
    "the first loop stores": ("merged_passes", ROW_STATS, ("    scale =", "        tl.store(amax_ptr + row, amax)\n    scale =")),
    "a barrier": ("merged_passes", ROW_STATS, ("    scale =", "    tl.debug_barrier()\n    scale =")),
    "a dropped name is read behind": ("merged_passes", ROW_STATS, ("tl.sum(acc, axis=0) / n_cols", "tl.sum(acc + idx, axis=0)")),
    "the loop is left early": (
        "merged_passes",
        ROW_STATS,
        ("        acc += value\n", "        acc += value\n        if k > 9:\n            break\n"),
    ),
    "the sum is read inside the loop": (
        "accumulate_late",
        SAMPLES["rms_norm"].text,
        ("x * x, axis=0)", "x * x, axis=0)\n        w = total"),
    ),
    "the sum doesn't begin with zero": ("accumulate_late", SAMPLES["rms_norm"].text, ("total = 0.0", "total = 1.0")),
    "the sum is an integer": ("accumulate_late", SAMPLES["rms_norm"].text, ("total = 0.0", "total = 0")),
    "the sum begins further out": (
        "accumulate_late",
        SAMPLES["rms_norm"].text,
        ("    total = 0.0\n", "    if eps > 0:\n        total = 0.0\n"),
    ),
    "the variance is about something else": ("one_pass_moments", LAYER_NORM, ("diff = x - mu", "diff = x - mu - 1.0")),
    "the variance is divided by another number": (
        "one_pass_moments",
        LAYER_NORM,
        ("tl.sum(var, axis=0) / n_cols", "tl.sum(var, axis=0) / (n_cols - 1)"),
    ),
    "the variance counts what is masked": ("one_pass_moments", LAYER_NORM, ("tl.where(mask, diff * diff, 0.0)", "diff * diff")),
    "the variance counts other elements": ("one_pass_moments", LAYER_NORM, ("mask = offs < n_cols", "mask = offs < n_cols - 1")),
    "the mean is of other elements": ("one_pass_moments", LAYER_NORM, ("tl.load(x_ptr + offs, ", "tl.load(x_ptr + stride + offs, ")),
    "the row begins elsewhere": (
        "one_pass_moments",
        LAYER_NORM,
        ("tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0)", "tl.load(x_ptr + cols * cols, mask=cols < n_cols, other=0.0)"),
    ),
    "the mean is needed in between": ("one_pass_moments", LAYER_NORM, ("    # Spread", "    tl.store(var_ptr + row, mu)\n    # Spread")),
    "the exponentials are stored": (
        "online_softmax",
        CROSS_ENTROPY,
        ("p = tl.exp(y - m)", "p = tl.exp(y - m)\n        tl.store(out_ptr + cols, p)"),
    ),
    "the exponentials are used elsewhere": ("online_softmax", CROSS_ENTROPY, ("tl.sum(p, axis=0)", "tl.sum(p, axis=0) + tl.max(p)")),
    "the maximum is used elsewhere": ("online_softmax", CROSS_ENTROPY, ("tl.exp(y - m)", "tl.exp(y - m) * m")),
    "the maximum begins with the largest": ("online_softmax", CROSS_ENTROPY, ('m = float("-inf")', 'm = float("inf")')),
    "the maximum is of other elements": ("online_softmax", CROSS_ENTROPY, ("tl.max(x, axis=0)", "tl.max(x)")),
    "the exponent is another": ("online_softmax", CROSS_ENTROPY, ("tl.exp(y - m)", "tl.exp(y * y - m * 2)")),
    "the output is not linear in the sums": (
        "split_reduction",
        COLUMN_SUMS,
        ("total = tl.sum(acc, axis=0)", "total = tl.sqrt(tl.sum(acc, axis=0))"),
    ),
    "a number is added to the sum": ("split_reduction", COLUMN_SUMS, ("squares / M", "squares / M + 1.0")),
    "the sum doesn't begin with zero in all parts": (
        "split_reduction",
        COLUMN_SUMS,
        ("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)", "acc = tl.full((BLOCK_M, BLOCK_N), 1.0, dtype=tl.float32)"),
    ),
    "something else lives from step to step": (
        "split_reduction",
        COLUMN_SUMS,
        ("        acc += x\n", "        acc += x\n        M = M + 0\n"),
    ),
    "the output is read": (
        "split_reduction",
        COLUMN_SUMS,
        ("    total = tl.sum", "    squares += tl.load(sum_ptr + cols)\n    total = tl.sum"),
    ),
    "the output is wider than its mask": ("split_reduction", COLUMN_SUMS, ("tl.store(sum_ptr + cols, ", "tl.store(sum_ptr + 1 + cols, ")),
    "the grid has two axes": ("split_reduction", COLUMN_SUMS, ('meta["BLOCK_N"]),)', 'meta["BLOCK_N"]), 1)')),
    "the grid is another kernel's too": (
        "split_reduction",
        COLUMN_SUMS,
        ("    return total, mean\n", "    column_sums_kernel_of_old[grid](x, BLOCK_N=32)\n    return total, mean\n"),
    ),
    "the launch returns": ("split_reduction", COLUMN_SUMS, ("    column_sums_kernel[grid](", "    k = column_sums_kernel[grid](")),
    "the grid ends before the tensor": ("zeros_to_empty", ZEROS, ("cdiv(y.numel(), meta", "cdiv(y.numel() - 1, meta")),
    "the kernel is told another size": ("zeros_to_empty", ZEROS, ("(x, y, y.numel(), ", "(x, y, y.numel() // 2, ")),
    "programs leave gaps": ("zeros_to_empty", ZEROS, ("start = pid * BLOCK", "start = pid * BLOCK * 2")),
    "the output is masked by data": ("zeros_to_empty", ZEROS, ("mask = offs < n", "mask = (offs < n) & (offs != 5)")),
    "the output is stored to in some programs": ("zeros_to_empty", ZEROS, ("    tl.store(", "    if pid > 0:\n        tl.store(")),
    "programs may return early": (
        "zeros_to_empty",
        ZEROS,
        ("    mask = offs", "    if pid == 3:\n        return\n    mask = offs"),
    ),
    "the output is added to": ("zeros_to_empty", ZEROS, ("tl.store(y_ptr", "tl.atomic_add(y_ptr")),
    "the output is read by the host before": ("zeros_to_empty", ZEROS, ("    double_kernel[", "    z = y + 1\n    double_kernel[")),
    "the output is an input too": ("zeros_to_empty", ZEROS, ("(x, y, y.numel()", "(y, y, y.numel()")),
    "rows are further apart": ("zeros_to_empty", ZERO_ROWS, ("row * n_cols + cols", "row * stride + cols")),
    "rows are longer than the block": ("zeros_to_empty", ZERO_ROWS, ("triton.next_power_of_2(N)", "64")),
    "there are more rows": ("zeros_to_empty", ZERO_ROWS, ("torch.zeros((M, N)", "torch.zeros((M + 1, N)")),
    "a stride is not passed": ("contiguous_copy", COPIED, ("x.stride(0), x.stride(1)", "x.stride(0), 1")),
    "a stride is not used": ("contiguous_copy", COPIED, ("cols * stride_n", "cols")),
    "the copy is what is returned": ("contiguous_copy", COPIED, ("return y", "return y, x")),
    "the copy is viewed": ("contiguous_copy", COPIED, ("M, N = x.shape", "M, N = x.view(-1, 2).shape")),
    "the output is laid out like the copy": (
        "contiguous_copy",
        COPIED,
        ("torch.empty((M, N), device=x.device, dtype=x.dtype)", "torch.empty_like(x)"),
    ),
    "the copy is written to": (
        "contiguous_copy",
        COPIED,
        ("tl.store(y_ptr + row * N + cols, -x", "tl.store(x_ptr + row * stride_m + cols * stride_n, -x"),
    ),
    "a root that is rounded correctly": ("rsqrt", SAMPLES["rms_norm"].text, ("tl.sqrt", "tl.sqrt_rn")),
}


@pytest.mark.parametrize("why", SPOILED)
def test_keeps_away(why, tmp_path):
    move, text, (old, new) = SPOILED[why]
    assert text.count(old) == 1
    assert fires(text, move, tmp_path)
    assert not fires(text.replace(old, new), move, tmp_path), why


def test_accumulators_that_do_not_fit_in_registers_stay_scalars(tmp_path):
    assert fires(SAMPLES["rms_norm"].text.replace("BLOCK=256", "BLOCK=8192"), "accumulate_late", tmp_path)
    assert not fires(SAMPLES["rms_norm"].text.replace("BLOCK=256", "BLOCK=16384"), "accumulate_late", tmp_path)


def test_products_of_8_bit_floats_accumulate_in_the_tensor_core_only_where_that_is_allowed(tmp_path):
    text = example("matmul", tmp_path).texts[str((tmp_path / "matmul.py").resolve())]
    program = program_of(text.replace("accumulator = tl.dot(a, b, accumulator)", "accumulator += tl.dot(a, b)"), tmp_path, "plus.py")
    known = example_facts("matmul", program)
    assert not fired(program, attrs.evolve(known, allowed=ALL), "dot_accumulate")  # float16: the compiler does it
    case = known.cases[0]
    tensors = {n: {**t, "dtype": "float8_e4m3fn"} for n, t in case["launches"][0]["tensors"].items()}
    narrow = attrs.evolve(known, cases=({**case, "launches": [{**case["launches"][0], "tensors": tensors}]},))
    assert not fired(program, narrow, "dot_accumulate")
    found = fired(program, attrs.evolve(narrow, allowed=ALL), "dot_accumulate")
    assert [p.numerics for p in found] == ["lowers_precision"]
    assert changed(program, found[0])[1] == "+        accumulator = tl.dot(a, b, acc=accumulator)"
    blackwell = attrs.evolve(narrow.device, arch=100)
    assert not fired(program, attrs.evolve(narrow, allowed=ALL, device=blackwell), "dot_accumulate")


def test_a_tensor_that_is_contiguous_keeps_its_free_copy(tmp_path):
    program = sample("copied", tmp_path)
    known = sample_facts("copied", program)
    rows = [{"name": "x", "shape": [8, 4], "stride": [4, 1]}, {"name": "x", "shape": [1, 4], "stride": [99, 1]}]
    assert fired(program, known, "contiguous_copy")
    assert not fired(program, attrs.evolve(known, cases=tuple({**c, "tensors": rows} for c in known.cases)), "contiguous_copy")


@pytest.mark.parametrize("spoil", SPOIL)
@pytest.mark.parametrize("name", SAMPLES)
def test_formatting_does_not_matter(name, spoil, tmp_path):
    """The same moves fire on text with other line ends, tabs, comments everywhere, another alias; all that they make parses."""
    program = sample(name, tmp_path)
    text = SPOIL[spoil](program.texts[program.kernel.place.path])
    known = attrs.evolve(sample_facts(name, program), allowed=ALL)
    spoiled = program_of(text, tmp_path, "spoiled.py")
    plain, found = (list(strategy("fusion").propose(x, known)) for x in (program, spoiled))
    assert [p.key for p in found] == [p.key for p in plain]
    for proposal in found:
        for path, after in proposal.patch.apply(spoiled.texts).items():
            ast.parse(after)
            if "\r\n" in text:
                assert "\n" not in after.replace("\r\n", ""), path


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_known(name, tmp_path):
    """No cases: moves that need facts keep away, the others still fire; nothing raises."""
    program = sample(name, tmp_path)
    for proposal in strategy("fusion").propose(program, facts()):
        assert proposal.move not in ("split_reduction", "split_k", "one_block", "contiguous_copy", "dot_accumulate")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_raises_nothing(data, tmp_path):
    """Lines lost, doubled or swapped: whatever still parses is read without an error, and what is proposed parses."""
    name = data.draw(st.sampled_from(sorted(SAMPLES)))
    rows = SAMPLES[name].text.splitlines(keepends=True)
    for _ in range(data.draw(st.integers(1, 3))):
        i, j = data.draw(st.integers(5, len(rows) - 1)), data.draw(st.integers(5, len(rows) - 1))
        kind = data.draw(st.sampled_from(["lost", "doubled", "swapped"]))
        if kind == "lost":
            del rows[i]
        elif kind == "doubled":
            rows.insert(j, rows[i])
        else:
            rows[i], rows[j] = rows[j], rows[i]
    text = "".join(rows)
    try:
        ast.parse(text)
        program = program_of(text, tmp_path)
    except (SyntaxError, SourceError):
        return
    for proposal in strategy("fusion").propose(program, row_facts(program)):
        for after in proposal.patch.apply(program.texts).values():
            ast.parse(after)


POWERS = {
    "triton's": "triton.next_power_of_2(LENGTH)",
    "shifted": "1 << (LENGTH - 1).bit_length()",
    "raised": "2 ** (LENGTH - 1).bit_length()",
}


@pytest.mark.parametrize("power", POWERS)
def test_a_block_with_a_limit_is_raised_to_hold_the_row(power, tmp_path):
    held, other = (POWERS[power].replace("LENGTH", f"x.shape[{i}]") for i in (1, 0))
    text = SAMPLES["rms_norm"].text.replace("BLOCK=256", f"BLOCK=min(1024, {held})")
    program = program_of(text, tmp_path)
    found = fired(program, row_facts(program, columns=4096), "one_block")[0]
    assert f"BLOCK=min(16384, {held})" in changed(program, found)[-1]
    program = program_of(text.replace(held, other), tmp_path)
    assert not fired(program, row_facts(program, columns=4096), "one_block")  # a block that follows another size says nothing of the row


def test_a_block_that_holds_the_row_is_one_that_other_moves_know(tmp_path):
    program = program_of(SAMPLES["rms_norm"].text, tmp_path)
    given = row_facts(program, columns=4096)
    found = fired(program, given, "one_block")[0]
    assert changed(program, found)[-3:] == [
        "-    rms_norm_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], 1e-6, BLOCK=256)",
        "+    BLOCK = min(16384, 1 << (x.shape[1] - 1).bit_length())  # the power of two that holds a row, up to 64 KB",
        "+    rms_norm_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], 1e-6, BLOCK=BLOCK, num_warps=8)",
    ]
    child = again(program, found.patch.apply(program.texts), tmp_path)
    assert "elements_per_thread" in {p.move for p in strategy("vectorization").propose(child, given)}
    assert not fired(child, given, "one_block")
