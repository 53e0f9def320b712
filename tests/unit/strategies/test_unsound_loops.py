"""Loops, and what is made of them, of which moves were offered once that compute something else: seen by another pair of eyes."""

from __future__ import annotations

import pytest

from tests.unit.strategies.fusion_samples import row_facts
from tests.unit.strategies.fusion_texts import COPIED, LAYER_NORM, ROW_STATS, ZERO_ROWS
from tests.unit.strategies.machine_samples import SAMPLES
from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.samples import facts, launch, made_by, program_of

FUSION = {
    "a stride serves the result, too": ("contiguous_copy", COPIED, ("row * N + cols, -x", "row * stride_m + cols * stride_n, -x")),
    "a stride says what to do": (
        "contiguous_copy",
        COPIED,
        ("    x = tl.load", "    if stride_n == 1:\n        row += 0\n    x = tl.load"),
    ),
    "two programs for a row": ("zeros_to_empty", ZERO_ROWS, ("tl.program_id(0)", "tl.program_id(0) // 2")),
    "a row that ends": ("zeros_to_empty", ZERO_ROWS, ("tl.program_id(0)", "tl.minimum(tl.program_id(0), 3)")),
    "a row that is bound again": (
        "zeros_to_empty",
        ZERO_ROWS,
        ("tl.program_id(0)\n", "tl.program_id(0)\n    if row > 3:\n        row = 3\n"),
    ),
    "what is left out counts for the mean": ("one_pass_moments", LAYER_NORM, ("other=0.0)", "other=1.0)")),
    "nobody says what is left out": ("one_pass_moments", LAYER_NORM, (", other=0.0)", ")")),
    "something is made of what is left out": (
        "one_pass_moments",
        LAYER_NORM,
        (".to(tl.float32)\n        mean", ".to(tl.float32) + 1.0\n        mean"),
    ),
    "a maximum of float64": ("accumulate_late", ROW_STATS, ("    amax = 0.0", "    amax = tl.full((), 0.0, dtype=tl.float64)")),
}


@pytest.mark.parametrize("why", FUSION)
def test_a_fusion_is_not_offered(why, tmp_path):
    move, text, (old, new) = FUSION[why]
    assert old in text
    before, after = (program_of(x, tmp_path) for x in (text, text.replace(old, new)))
    assert len(made_by(move, after, row_facts(after))) < len(made_by(move, before, row_facts(before)))  # of its places in the text


SPLITS = {
    "an integer drops what the parts keep": ("mean", ("total / n)", "(total / n).to(tl.int32))")),
    "bits are read as another type": ("mean", ("total / n)", "(total / n).to(tl.float16, bitcast=True))")),
    "what the last loop stores to is stored to before": (
        "spread",
        ("    scale =", "    tl.store(out_ptr + row * length, low)\n    scale ="),
    ),
    "frames may lie over each other in another call": (
        "convolution",
        ("(batch * T + t) * D + d, acc", "batch * T * D + t * hop + d, acc"),
        ("T, D, TAPS: ", "T, D, hop, TAPS: "),
        ("y, T, D, TAPS", "y, T, D, x.hop, TAPS"),
    ),
    "a stride that is none in another call": (
        "convolution",
        ("(batch * T + t) * D + d, acc", "batch * T * D + t * hop + d, acc"),
        ("T, D, TAPS: ", "T, D, hop, TAPS: "),
        ("y, T, D, TAPS", "y, T, D, y.stride(1) if x.all else 0, TAPS"),
    ),
    "the number of parts goes to a kernel with room for some": (
        "norm_backward",
        ("    return dx, dw.sum(0)", "    sum_kernel[(1,)](dw, dx, programs, BLOCK=256)\n    return dx, dw"),
    ),
    "the parts go to a kernel with room for some": (
        "norm_backward",
        ("    return dx, dw.sum(0)", "    sum_kernel[(1,)](dw, dx, BLOCK=256)\n    return dx, dw"),
    ),
    "programs draw": ("norm_backward", ("        g = dy * w", "        g = dy * w * tl.rand(7, c + tl.program_id(0))")),
}


def offered(name, tmp_path, changes=(), **scalars):
    sample = SAMPLES[name]
    text = sample.text
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    program = program_of(text, tmp_path)
    given = launch(program, sample.grid, sample.constants, {**sample.scalars, **scalars}, sample.tensors)
    return made_by(sample.move, program, facts(given))


@pytest.mark.parametrize("why", SPLITS)
def test_a_split_is_not_offered(why, tmp_path):
    name, *changes = SPLITS[why]
    assert offered(name, tmp_path)
    assert not offered(name, tmp_path, changes, **({"hop": 512} if name == "convolution" else {}))


@pytest.mark.parametrize("passed", ["y.stride(1)", "hop"])
def test_a_stride_of_the_tensor_is_as_good_as_its_size(passed, tmp_path):
    changes = SPLITS["frames may lie over each other in another call"][1:-1]
    host = (
        ("    conv_kernel[", "    B, T, hop = y.shape\n    conv_kernel[") if passed == "hop" else ("    conv_kernel[", "    conv_kernel[")
    )
    changed = [*changes, ("y, T, D, TAPS", f"y, T, D, {passed}, TAPS"), host]
    assert bool(offered("convolution", tmp_path, changed, hop=512)) is (passed == "y.stride(1)")


def test_one_of_two_kernels_may_have_the_parts(tmp_path):
    """The other one is launched instead, not behind."""
    sample = SAMPLES["norm_backward"]
    line = next(x for x in sample.text.splitlines() if x.startswith("    norm_backward_kernel["))
    other = f"    if cols > 100:\n    {line}\n    else:\n        other_kernel[grid](dw, programs)"
    assert offered("norm_backward", tmp_path, [(line, other)])


COPY = (
    HEAD
    + """\
@triton.jit
def first(BLOCK: tl.constexpr):
    return BLOCK


@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    scale = first(BLOCK) // BLOCK
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * scale, mask=i < n)


def copy(x):
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""
)
HELPERS = {
    "a helper reads the program's number": ("persistent", ("return BLOCK", "return tl.program_id(0) * BLOCK")),
    "a helper counts": ("persistent", ("return BLOCK", "tl.atomic_add(BLOCK, 1)\n    return BLOCK")),
    "a helper asks how many programs there are": ("tiles", ("return BLOCK", "return tl.num_programs(0) * BLOCK")),
    "two programs for a block": ("tiles", ("tl.program_id(0)\n", "tl.program_id(0) // 2\n")),
}


@pytest.mark.parametrize("why", HELPERS)
def test_what_helpers_ask_is_seen(why, tmp_path):
    move, change = HELPERS[why]
    for text in (COPY, COPY.replace(*change)):
        program = program_of(text, tmp_path, kernel="copy_kernel")
        tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([2**22], "float32"))
        found = made_by(move, program, facts(launch(program, [2**16, 1, 1], {"BLOCK": 64}, {"n": 2**22}, tensors)))
        blocks = [p for p in found if move != "tiles" or "BLOCK" in p.parameters]
        assert bool(blocks) is (text == COPY)
