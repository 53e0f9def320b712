"""``split_loop``, ``split_reduction`` and ``split_passes``: the edits on kernels with few programs, and what keeps them from firing."""

from __future__ import annotations

import ast

import pytest
from attrs import evolve

from tests.unit.strategies.machine_samples import SAMPLES
from tests.unit.strategies.samples import again, made_by, program_of
from tests.unit.strategies.split_samples import CONVOLUTION, SPLITS, captured
from tests.unit.strategies.test_edits import changed
from tests.unit.strategies.test_formatting import TOGETHER, spoil


def found(name, tmp_path, text=None, **changes):
    program = program_of(text or SAMPLES[name].text, tmp_path)
    known = SAMPLES[name].captured(program)
    known.cases[0]["launches"][0].update(changes)
    return program, made_by(SAMPLES[name].move, program, known)


GUARD = "{out.dtype, x.dtype} <= {torch.float16, torch.bfloat16, torch.float32} and out.is_contiguous() and not out.requires_grad"
GOLDEN = {
    "convolution": """\
-    for t in range(T):
+    # Grid axis 2 splits the loop: each part takes every num_programs(2)-th step.
+    part = tl.program_id(2)
+    for t in range(part, T, tl.num_programs(2)):
-    conv_kernel[(B, triton.cdiv(D, 64))](x, w, y, T, D, TAPS=w.shape[1], BLOCK=64)
+    conv_kernel[(B, triton.cdiv(D, 64), 64)](x, w, y, T, D, TAPS=w.shape[1], BLOCK=64)""",
    "mean": """\
-def mean_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
+def mean_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, out_size):
-    for start in range(0, n, BLOCK):
+    # Grid axis 1 splits the loop: each part takes every num_programs(1)-th step.
+    part = tl.program_id(1)
+    for start in range(part * BLOCK, n, tl.num_programs(1) * BLOCK):
-    tl.store(out_ptr, total / n)
+    tl.store(out_ptr + part.to(tl.int64) * out_size, total / n)
-    mean_kernel[(1,)](x, out, x.numel(), BLOCK=64)
+    parts = 512  # programs for each part of the result, so that the GPU is filled
+    out_parts = torch.empty((parts, *out.shape), device=out.device, dtype=torch.float32)
+    mean_kernel[(1, parts)](x, out_parts, x.numel(), BLOCK=64, out_size=out.numel())
+    out.copy_(out_parts.sum(0))""",
    "column_means": """\
-def column_means_kernel(out_ptr, x_ptr, M, N, K, BLOCK: tl.constexpr, VEC: tl.constexpr):
+def column_means_kernel(out_ptr, x_ptr, M, N, K, BLOCK: tl.constexpr, VEC: tl.constexpr, out_size):
-    for n in range(N):
+    # Grid axis 2 splits the loop: each part takes every num_programs(2)-th step.
+    part = tl.program_id(2)
+    for n in range(part, N, tl.num_programs(2)):
-    tl.store(out_ptr + place, mean, mask=mask)
+    tl.store(out_ptr + part.to(tl.int64) * out_size + place, mean, mask=mask)
-        grid = (M, triton.cdiv(K, BLOCK * VEC))
-        column_means_kernel[grid](out, x, M, N, K, BLOCK=BLOCK, VEC=VEC, num_warps=4 if BLOCK < 64 else 8)
+        parts = 4 if GUARD else 1  # programs for each part of the result, so that the GPU is filled
+        grid = (M, triton.cdiv(K, BLOCK * VEC), parts)
+        out_parts = torch.zeros((parts, *out.shape), device=out.device, dtype=torch.float32) if parts > 1 else out
+        if parts > 1:
+            out_parts[0].copy_(out)  # what no program writes stays
+        column_means_kernel[grid](out_parts, x, M, N, K, BLOCK=BLOCK, VEC=VEC, num_warps=4 if BLOCK < 64 else 8, out_size=out.numel())
+        if parts > 1:
+            out.copy_(out_parts.sum(0))""".replace("GUARD", GUARD),
    "few_rows": """\
-def row_dots_kernel(a_ptr, b_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
+def row_dots_kernel(a_ptr, b_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr, out_size):
-    for start in range(0, n_cols, BLOCK):
+    # Grid axis 2 splits the loop: each part takes every num_programs(2)-th step.
+    part = tl.program_id(2)
+    for start in range(part * BLOCK, n_cols, tl.num_programs(2) * BLOCK):
-    tl.store(out_ptr + row, tl.sum(acc, axis=0).to(tl.float16))
+    tl.store(out_ptr + part.to(tl.int64) * out_size + row, tl.sum(acc, axis=0))
-    row_dots_kernel[(a.shape[1], a.shape[0])](a, b, out, a.shape[1], a.shape[2], BLOCK=64)
+    parts = 8  # programs for each part of the result, so that the GPU is filled
+    out_parts = torch.empty((parts, *out.shape), device=out.device, dtype=torch.float32)
+    row_dots_kernel[(a.shape[1], a.shape[0], parts)](a, b, out_parts, a.shape[1], a.shape[2], BLOCK=64, out_size=out.numel())
+    out.copy_(out_parts.sum(0))""",
}


STAGES = """\
    # Launched once for each stage, with PARTS programs in place of one: each takes every PARTS-th step.
    part = tl.program_id(1)
    if STAGE == 0:
        for n in range(part, N, PARTS):
            for start in range(0, HW, BLOCK):
                i = start + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + (n * C + c) * HW + i, mask=i < HW, other=0.0)
                total += x
                square += x * x
        tl.store(total_parts_ptr + tl.program_id(0) * PARTS + part, tl.sum(total, axis=0))
        tl.store(square_parts_ptr + tl.program_id(0) * PARTS + part, tl.sum(square, axis=0))
    else:
        parts = tl.program_id(0) * PARTS + tl.arange(0, PARTS)
        total = tl.sum(tl.load(total_parts_ptr + parts), axis=0)
        square = tl.sum(tl.load(square_parts_ptr + parts), axis=0)
        # The channel's mean, which the caller gets too.
        mean = total / (N * HW)
        rstd = 1.0 / tl.sqrt(square / (N * HW) - mean * mean + eps)
        tl.store(mean_ptr + c, mean)

        w = tl.load(w_ptr + c)
        for n in range(part, N, PARTS):
            for start in range(0, HW, BLOCK):
                i = start + tl.arange(0, BLOCK)
                x = tl.load(x_ptr + (n * C + c) * HW + i, mask=i < HW, other=0.0)
                tl.store(out_ptr + (n * C + c) * HW + i, (x - mean) * rstd * w, mask=i < HW)
"""
LAUNCHES = """\
    parts = 8  # programs in place of one, so that the GPU is filled
    total_parts = torch.empty(C * parts, device=out.device, dtype=torch.float32)
    square_parts = torch.empty(C * parts, device=out.device, dtype=torch.float32)
    for stage in range(2):
"""


def test_loops_become_launches(tmp_path):
    program, proposals = found("batch_norm", tmp_path)
    after = next(iter(proposals[0].patch.apply(program.texts).values()))
    assert STAGES in after
    assert LAUNCHES in after
    assert "BLOCK=64, total_parts_ptr=total_parts, square_parts_ptr=square_parts, STAGE=stage, PARTS=parts)\n    return" in after
    assert proposals[0].numerics == "reassociates"


def test_maxima_of_parts_are_the_maximum(tmp_path):
    assert {p.numerics for p in found("spread", tmp_path)[1]} == {"exact"}


@pytest.mark.parametrize("name", SPLITS)
def test_what_is_timed_says_whether_there_are_few_programs(name, tmp_path):
    """A small case that is only checked has few of every kernel's."""
    program = program_of(SPLITS[name].text, tmp_path)
    given = captured(name, program)
    (case,) = given.cases
    many = [{**launched, "grid": [1000 * launched["grid"][0], *launched["grid"][1:]]} for launched in case["launches"]]
    small, large = {**case, "role": "check"}, {**case, "launches": many}
    assert not made_by(SPLITS[name].move, program, evolve(given, cases=(small, large)))


@pytest.mark.parametrize("name", [n for n in SPLITS if n != "column_means"])  # whose programs, at such sizes, would not write all
def test_what_is_timed_says_how_far_loops_walk(name, tmp_path):
    """A small case that is only checked has few steps."""
    program = program_of(SPLITS[name].text, tmp_path)
    given = captured(name, program)
    (case,) = given.cases
    sizes = {k: min(v, 4) if type(v) is int else v for k, v in case["launches"][0]["scalars"].items()}
    small = {**case, "role": "check", "launches": [{**launched, "scalars": sizes} for launched in case["launches"]]}
    wanted = [p.key for p in made_by(SPLITS[name].move, program, given)]
    assert [p.key for p in made_by(SPLITS[name].move, program, evolve(given, cases=(small, case)))] == wanted != []


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name, tmp_path):
    program, proposals = found(name, tmp_path)
    assert "\n".join(changed(program, proposals[0])) == GOLDEN[name]
    assert proposals[0].numerics == ("exact" if SPLITS[name].move == "split_loop" else "reassociates")


def test_an_output_of_which_not_all_may_be_written_begins_with_zeros(tmp_path):
    program, proposals = found("gram", tmp_path, scalars={"M": 2**16, "N": 120})
    assert "+    out_parts = torch.zeros((parts, *out.shape), device=out.device, dtype=torch.float32)" in changed(program, proposals[0])


def test_zeros_of_the_hosts_own_stay_zeros(tmp_path):
    program, proposals = found("gram", tmp_path, SPLITS["gram"].text.replace("torch.empty((N, N)", "torch.zeros((N, N)"))
    assert "+    out_parts = torch.zeros((parts, *out.shape), device=out.device, dtype=torch.float32)" in changed(program, proposals[0])


THEIRS = ("torch.empty((N, N), device=x.device)", "x.out")


def test_of_a_callers_output_the_rest_stays(tmp_path):
    program, proposals = found("gram", tmp_path, SPLITS["gram"].text.replace(*THEIRS))
    assert "+        out_parts[0].copy_(out)  # what no program writes stays" in changed(program, proposals[0])


@pytest.mark.parametrize(
    ("old", "new", "scalars"),
    [
        ("", "", {"M": 2**16, "N": 120}),  # not all is written in the cases
        ("mask=(i[:, None] < N) & (j[None, :] < N))\n\n", "mask=(i[:, None] < N) & (j[None, :] != 7))\n\n", {}),  # nobody knows what is
        ("i[:, None] * N + j[None, :], acc", "i[:, None] * N + j[None, :] // 2, acc", {}),  # some twice
        ("+ j[None, :], acc", "+ j[None, :] * 2, acc", {}),  # every other one
        ("i[:, None] * N + j[None, :], acc", "i[:, None] * N + tl.arange(0, BLOCK_N)[None, :], acc", {}),  # by several programs
    ],
)
def test_not_where_a_callers_output_may_not_be_covered(old, new, scalars, tmp_path):
    text = SPLITS["gram"].text.replace(*THEIRS)
    assert old in text
    more = {"scalars": scalars} if scalars else {}
    assert not found("gram", tmp_path, text.replace(old, new), **more)[1]


@pytest.mark.parametrize("ways", TOGETHER, ids=", ".join)
@pytest.mark.parametrize("name", SAMPLES)
def test_formatting_does_not_matter(name, ways, tmp_path):
    """The same edits are found in text with other line ends, tabs, comments everywhere, another alias; all that they make parses."""
    program, plain = found(name, tmp_path)
    spoiled, proposals = found(name, tmp_path, spoil(program.texts[program.kernel.place.path], ways))
    assert [p.key for p in proposals] == [p.key for p in plain]
    for proposal in proposals:
        for after in proposal.patch.apply(spoiled.texts).values():
            ast.parse(after)
            if "\r\n" in next(iter(spoiled.texts.values())):
                assert "\n" not in after.replace("\r\n", "")


def test_a_split_is_not_split_again(tmp_path):
    for name, split in SPLITS.items():
        program, proposals = found(name, tmp_path)
        after = again(program, proposals[0].patch.apply(program.texts), tmp_path)
        known = captured(name, after)
        known.cases[0]["launches"][0]["grid"] = [2, 8, 64]
        assert made_by(split.move, after, known) == [], name


def test_a_gpu_that_is_full_is_left_alone(tmp_path):
    assert found("convolution", tmp_path, grid=[256, 8, 1])[1] == []


ZEROS = "        acc = tl.zeros((BLOCK,), dtype=tl.float32)\n"
SPOILED = {
    "a sum lives from step to step": (
        "convolution",
        (ZEROS, f"{ZEROS}        acc += last\n        last = acc\n"),
    ),
    "all steps store to the same place": ("convolution", ("y_ptr + (batch * T + t) * D + d", "y_ptr + batch * T * D + d")),
    "steps overlap": ("convolution", ("y_ptr + (batch * T + t) * D + d", "y_ptr + (batch * T + t) * 32 + d")),
    "steps come round": ("convolution", ("y_ptr + (batch * T + t) * D + d", "y_ptr + (batch * T + t % 4) * D + d")),
    "the place is read from memory": ("convolution", ("y_ptr + (batch * T + t) * D", "y_ptr + tl.load(w_ptr + t) * D")),
    "steps read what others store": (
        "convolution",
        (ZEROS, ZEROS.replace("acc = ", "acc = tl.load(y_ptr + d) + ")),
    ),
    "the output may be the input": ("convolution", ("    y = torch.empty_like(x)\n", "    y = x\n")),
    "something follows the loop": ("convolution", ("acc, mask=mask)\n", "acc, mask=mask)\n    tl.store(w_ptr, 1.0)\n")),
    "something is stored before the loop": ("convolution", ("    for t in", "    tl.store(w_ptr, 1.0)\n    for t in")),
    "it may end early": (
        "convolution",
        (ZEROS, f"        if t > 3:\n            break\n{ZEROS}"),
    ),
    "the steps add to what is there": ("convolution", ("tl.store(y_ptr", "tl.atomic_add(y_ptr")),
    "the grid has three axes": ("convolution", ("cdiv(D, 64))]", "cdiv(D, 64), 1)]")),
    "the number of programs is read": ("convolution", ("    mask = d < D", "    mask = d < D * tl.num_programs(1)")),
    "the sum is wider than its parts would be": ("few_rows", ("dtype=tl.float32", "dtype=tl.float64")),
    "the output is known after the grid": (
        "column_means",
        ("        column_means_kernel[grid]", "        out = out.view(M, K)\n        column_means_kernel[grid]"),
    ),
    "the sum may be of integers": ("column_means", ("ACC = x_ptr.dtype.element_ty", "ACC = tl.int32")),
    "nobody knows of what type the sum is": ("column_means", ("dtype=ACC)", "dtype=VEC)")),
    "the root of the sum is taken": ("mean", ("total / n", "tl.sqrt(total)")),
    "the sum begins elsewhere": ("mean", ("total = 0.0", "total = 1.0")),
    "the sum is stored twice": (
        "mean",
        ("    tl.store(out_ptr, total / n)", "    tl.store(out_ptr, total / n)\n    tl.store(out_ptr, n)"),
    ),
    "the first loop stores": ("batch_norm", ("            total += x\n", "            total += x\n            tl.store(out_ptr + i, x)\n")),
    "a sum that doesn't begin with zero": ("group_norm", ("    total = 0.0", "    total = 1.0")),
    "a product": ("group_norm", ("        total += tl.sum(", "        total *= tl.sum(")),
    "a sum that is read in the loop": ("spread", ("high = tl.maximum(high, x)", "high = tl.maximum(high, x + low)")),
    "a block that is read as it is": ("batch_norm", ("mean = tl.sum(total, axis=0) / (N * HW)", "mean = tl.max(total + x, axis=0)")),
    "the first loop's last block is read": ("batch_norm", ("    w = tl.load(w_ptr + c)", "    w = tl.load(w_ptr + c) + tl.max(x)")),
    "the second loop carries on": ("batch_norm", ("            tl.store(out_ptr", "            w += 1.0\n            tl.store(out_ptr")),
    "it works in place": ("spread", ("    out = torch.empty_like(x)", "    out = x")),
    "the number of programs is known too late": (
        "spread",
        ("spread_kernel[(x.shape[0],)](", 'spread_kernel[lambda meta: (x.shape[0] // meta["num_warps"],)]('),
    ),
    "the launch's text goes over lines": ("spread", ("x.shape[1], BLOCK", 'len("""\n""") * x.shape[1], BLOCK')),
    "something else stands behind the loops": (
        "spread",
        ("/ scale, mask=i < length)\n", "/ scale, mask=i < length)\n    tl.store(x_ptr, low)\n"),
    ),
    "the output is read": ("mean", ("total / n", "total / n + tl.load(out_ptr)")),
}


@pytest.mark.parametrize("why", SPOILED)
def test_keeps_away(why, tmp_path):
    name, (old, new) = SPOILED[why]
    text = SPLITS[name].text
    assert text.count(old) == 1
    ast.parse(text.replace(old, new))
    assert found(name, tmp_path)[1]
    assert not found(name, tmp_path, text.replace(old, new))[1], why


PLACES = {
    "y_ptr + (batch * T + t) * D + d": True,
    "y_ptr + batch * T * D + t * D + d": True,
    "y_ptr + d + D * (t + batch * T)": True,
    "y_ptr + (t * 2 + batch * T * 2) * D + d * 2": True,  # two numbers apart, and each step twice as far
    "y_ptr + (batch * T + t) * 64 + d": True,  # as far apart as a block is wide
    "y_ptr + (batch * T + t) * 63 + d": False,
    "y_ptr + (batch * T + T - t) * D + d": True,
    "y_ptr + (batch * T + t // 2) * D + d": False,
    "y_ptr + (batch * T + (t + 1)) * D + (d - D)": True,
}


@pytest.mark.parametrize("place", PLACES)
def test_steps_must_store_to_places_of_their_own(place, tmp_path):
    text = CONVOLUTION.replace("tl.store(y_ptr + (batch * T + t) * D + d,", f"tl.store({place},")
    assert bool(found("convolution", tmp_path, text)[1]) == PLACES[place]


def test_a_mask_ends_the_block(tmp_path):
    """A block of 64 is wider than the rows of 40 that it writes, but for its mask."""
    scalars, grid = {"T": 2048, "D": 40}, [2, 1, 1]
    assert found("convolution", tmp_path, scalars=scalars, grid=grid)[1]
    open_text = CONVOLUTION.replace("+ d, acc, mask=mask)", "+ d, acc)")
    assert not found("convolution", tmp_path, open_text, scalars=scalars, grid=grid)[1]
    assert not found("convolution", tmp_path, open_text)[1]  # rows of 512, and of 31 in another call
