"""Fusion moves: the exact lines that each changes, on text as people write it and worse."""

from __future__ import annotations

import ast

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelband.errors import SourceError
from kernelband.strategies import strategy
from tests.unit.strategies.fusion_samples import SAMPLES, row_facts, sample, sample_facts
from tests.unit.strategies.samples import again, example, example_facts, facts, made_by, program_of
from tests.unit.strategies.test_edits import changed
from tests.unit.strategies.test_formatting import TOGETHER, spoil

ALL = frozenset({"exact", "reassociates", "lowers_precision"})


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
-    mean = 0.0
+    mean = tl.zeros([], dtype=tl.float32) / n_cols
+    var = tl.zeros([BLOCK], dtype=tl.float32)
+    # Mean and variance in one pass: each block's squares are about its own mean, and the moments of blocks are merged (Chan).
+    spread = 0.0
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
+        count = tl.minimum(BLOCK, n_cols - start)
+        block_mean = tl.sum(a, axis=0) / count
+        mask = cols < n_cols
+        diff = a - block_mean
-    rstd = 1.0 / tl.sqrt(tl.sum(var, axis=0) / n_cols + eps)
+        gap = block_mean - mean
+        mean += gap * (count / (start + count))
+        spread += gap * (gap * (start * (count / (start + count))))
+    mu = mean
+    rstd = 1.0 / tl.sqrt((tl.sum(var, axis=0) + spread) / n_cols + eps)""",
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
+    total = tl.where(only_inf & (n_cols > 0), float("nan"), total)  # the sum of exp(-inf + inf)""",
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
-    x = x.contiguous()
+    if sum((n - 1) * s for n, s in zip(x.shape, x.stride())) >= 2**31:
+        x = x.contiguous()""",
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
+    tl.store(sum_ptr + part.to(tl.int64) * N + cols, total, mask=cols < N)
+    tl.store(mean_ptr + part.to(tl.int64) * N + cols, mean, mask=cols < N)
-    grid = lambda meta: (triton.cdiv(N, meta["BLOCK_N"]),)
-    column_sums_kernel[grid](x, total, mean, M, N, x.stride(0), BLOCK_M=16, BLOCK_N=32)
+    parts = 4  # programs for each part of the result, so that the GPU is filled
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
    found = made_by(move, program, sample_facts(name, program, allowed=ALL))[0]
    numerics, lines = GOLDEN[name, move]
    assert "\n".join(changed(program, found)) == lines
    assert found.numerics == numerics
    assert found.what.endswith(".")
    assert found.why.endswith(".")


def test_products_of_8_bit_floats_accumulate_in_the_tensor_core_only_where_that_is_allowed(tmp_path):
    text = example("matmul", tmp_path).texts[str((tmp_path / "matmul.py").resolve())]
    program = program_of(text.replace("accumulator = tl.dot(a, b, accumulator)", "accumulator += tl.dot(a, b)"), tmp_path, "plus.py")
    known = example_facts("matmul", program)
    assert not made_by("dot_accumulate", program, attrs.evolve(known, allowed=ALL))  # float16: the compiler does it
    case = known.cases[0]
    tensors = {n: {**t, "dtype": "float8_e4m3fn"} for n, t in case["launches"][0]["tensors"].items()}
    narrow = attrs.evolve(known, cases=({**case, "launches": [{**case["launches"][0], "tensors": tensors}]},))
    assert not made_by("dot_accumulate", program, narrow)
    found = made_by("dot_accumulate", program, attrs.evolve(narrow, allowed=ALL))
    assert [p.numerics for p in found] == ["lowers_precision"]
    assert changed(program, found[0])[1] == "+        accumulator = tl.dot(a, b, acc=accumulator)"
    blackwell = attrs.evolve(narrow.device, arch=100)
    assert not made_by("dot_accumulate", program, attrs.evolve(narrow, allowed=ALL, device=blackwell))


def test_a_tensor_that_is_contiguous_keeps_its_free_copy(tmp_path):
    program = sample("copied", tmp_path)
    known = sample_facts("copied", program)
    rows = [{"name": "x", "shape": [8, 4], "stride": [4, 1]}, {"name": "x", "shape": [1, 4], "stride": [99, 1]}]
    assert made_by("contiguous_copy", program, known)
    assert not made_by("contiguous_copy", program, attrs.evolve(known, cases=tuple({**c, "tensors": rows} for c in known.cases)))


@pytest.mark.parametrize("ways", TOGETHER, ids=", ".join)
@pytest.mark.parametrize("name", SAMPLES)
def test_formatting_does_not_matter(name, ways, tmp_path):
    """The same moves fire on text with other line ends, tabs, comments everywhere, another alias; all that they make parses."""
    program = sample(name, tmp_path)
    text = spoil(program.texts[program.kernel.place.path], ways)
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
    found = made_by("one_block", program, row_facts(program, columns=4096))[0]
    assert f"BLOCK=min(4096, {held})" in changed(program, found)[-1]
    # A block that follows another size says nothing of the row.
    program = program_of(text.replace(held, other), tmp_path)
    assert not made_by("one_block", program, row_facts(program, columns=4096))


def test_a_block_that_holds_the_row_is_one_that_other_moves_know(tmp_path):
    program = program_of(SAMPLES["rms_norm"].text, tmp_path)
    given = row_facts(program, columns=4096)
    found = made_by("one_block", program, given)[0]
    assert changed(program, found)[-3:] == [
        "-    rms_norm_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], 1e-6, BLOCK=256)",
        "+    BLOCK = min(4096, 1 << (x.shape[1] - 1).bit_length())  # the power of two that holds a row, up to 16 KB",
        "+    rms_norm_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], 1e-6, BLOCK=BLOCK, num_warps=8)",
    ]
    child = again(program, found.patch.apply(program.texts), tmp_path)
    assert "elements_per_thread" in {p.move for p in strategy("vectorization").propose(child, given)}
    assert not made_by("one_block", child, given)


def rows_of(program, *columns, neighbours=()):
    """Cases with rows of these lengths, and of these that the program doesn't call."""
    every = [c for n in (*columns, *neighbours) for c in row_facts(program, columns=n).cases]
    cases = [{**c, "id": str(i), "neighbour_of": None if i < len(columns) else "0"} for i, c in enumerate(every)]
    return attrs.evolve(row_facts(program), cases=tuple(cases))


@pytest.mark.parametrize(
    ("columns", "offered"),
    [
        *(((n,), True) for n in (129, 1025, 2049, 4096, 5121, 8191, 8192, 16384)),
        *(((n,), False) for n in (4097, 5000, 8193, 10000)),
        ((4096, 8192), True),
        ((2049, 8192), True),  # what a small block wastes is free
        ((4097, 8192), False),
        ((8192, 8193), False),
    ],
)
def test_a_row_that_fills_little_more_than_half_of_a_large_block_keeps_its_loops(columns, offered, tmp_path):
    program = program_of(SAMPLES["rms_norm"].text, tmp_path)
    assert bool(made_by("one_block", program, rows_of(program, *columns))) == offered


@pytest.mark.parametrize(
    ("columns", "row", "block"),
    [
        ((8192,), 8192, 8192),
        ((8192,), 8193, 8192),
        ((8192,), 20000, 8192),
        ((1000,), 1000, 1024),
        ((1000,), 3000, 4096),
        ((1000,), 5000, 4096),
    ],
)
def test_rows_longer_than_those_of_the_cases_loop(columns, row, block, tmp_path):
    program = program_of(SAMPLES["rms_norm"].text, tmp_path)
    found = made_by("one_block", program, rows_of(program, *columns, neighbours=(columns[0] + 1,)))[0]
    (line,) = (x for x in changed(program, found) if x.startswith("+    BLOCK = "))
    assert eval(line.partition(" = ")[2].replace("x.shape[1]", str(row))) == block
