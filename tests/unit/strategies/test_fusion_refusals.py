"""Fusion moves: what must keep each from firing, in programs that differ by one line from those on which it fires."""

from __future__ import annotations

import pytest

from tests.unit.strategies.fusion_samples import SAMPLES, row_facts
from tests.unit.strategies.fusion_texts import COLUMN_SUMS, COPIED, CROSS_ENTROPY, LAYER_NORM, ROW_STATS, ZERO_ROWS, ZEROS
from tests.unit.strategies.samples import made_by, program_of


def fires(text, move, tmp_path):
    program = program_of(text, tmp_path)
    block = 16 if move == "split_reduction" else 256
    return bool(made_by(move, program, row_facts(program, columns=64 * block, block=block)))


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
    "the sum begins with another name": ("accumulate_late", SAMPLES["rms_norm"].text, ("total = 0.0", "total, other = 0.0, 1")),
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
    "the output is the caller's, and wider than its mask": (
        "split_reduction",
        COLUMN_SUMS.replace("total = torch.empty(N, dtype=torch.float32)", "total = x.total"),
        ("tl.store(sum_ptr + cols, ", "tl.store(sum_ptr + 1 + cols, "),
    ),
    "the grid has three axes": ("split_reduction", COLUMN_SUMS, ('meta["BLOCK_N"]),)', 'meta["BLOCK_N"]), 1, 1)')),
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


def test_a_root_of_doubles_stays_one(tmp_path):
    """The instruction for an inverse root has the precision of single words."""
    program = program_of(SAMPLES["rms_norm"].text, tmp_path)
    given = row_facts(program, columns=4096, block=256)
    assert made_by("rsqrt", program, given)
    tensors = given.cases[0]["launches"][0]["tensors"]
    next(iter(tensors.values()))["dtype"] = "float64"
    assert made_by("rsqrt", program, given) == []
