"""Edits that look right and aren't: each was offered once. What can't be proven is not offered, or done in a way that is right."""

from __future__ import annotations

import attrs
import pytest

from kernelband.strategies import STRATEGIES
from tests.unit.strategies.order_samples import HEAD, TEXTS, captured
from tests.unit.strategies.samples import example, example_facts, facts, launch, made_by, program_of
from tests.unit.strategies.test_edits import changed

# ---------------------------------------------------------------- kernels that others start or call

LAUNCH = "    scale_kernel[grid](x, s, y, rows, cols, BLOCK_R=BLOCK_ROWS, BLOCK_C=BLOCK_COLS)"
OTHER = """

@triton.jit
def other_kernel(x_ptr, s_ptr, y_ptr, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    pass


@triton.jit
def both_kernel(x_ptr, s_ptr, y_ptr, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    scale_kernel(x_ptr, s_ptr, y_ptr, rows, cols, BLOCK_R, BLOCK_C)


def start(kernel, grid, *given):
    x, s, y, rows, cols = given
    kernel[grid](x, s, y, rows, cols, BLOCK_R=BLOCK_ROWS, BLOCK_C=BLOCK_COLS)
"""
ARGUMENTS = "(x, s, y, rows, cols, BLOCK_R=BLOCK_ROWS, BLOCK_C=BLOCK_COLS)"
SHARED = {
    "a condition": f"    kernel = scale_kernel if rows else other_kernel\n    kernel[grid]{ARGUMENTS}",
    "a table": f"    {{'a': scale_kernel, 'b': other_kernel}}[name][grid]{ARGUMENTS}",
    "a loop": f"    for kernel in (scale_kernel, other_kernel):\n        kernel[grid]{ARGUMENTS}",
    "a parameter": "    start(scale_kernel, grid, x, s, y, rows, cols)",
    "a table beside it": f"{LAUNCH}\n    return {{'a': scale_kernel}}",
}


def outside(program, proposal):
    """Edits that aren't of the kernel's body."""
    kernel = program.kernel
    return [
        edit
        for file in proposal.patch.files
        for edit in file.edits
        if file.path != kernel.place.path or not kernel.body.start <= edit.span.start <= edit.span.end <= kernel.body.end
    ]


@pytest.mark.parametrize("how", SHARED)
def test_a_launch_of_who_knows_which_kernel_is_left_alone(how, tmp_path):
    before, after = TEXTS["scale_2d"].split("\n\n\ndef scale(")
    text = (before + OTHER.replace("    scale_kernel(", "    other_kernel(") + "\n\ndef scale(" + after).replace(LAUNCH, SHARED[how])
    program = program_of(text, tmp_path, kernel="scale_kernel")
    assert program.handed_on
    given = captured("scale_2d", program)
    found = [p for s in STRATEGIES for p in s.propose(program, given)]
    assert [p.key for p in found if outside(program, p) and how != "a table beside it"] == []
    assert not {p.move for p in found} & {"swap_axes", "axis_in_loop", "grouped_order", "even_blocks", "constant_strides"}


@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_a_kernel_that_another_one_calls_keeps_its_signature_and_its_ids(where, tmp_path):
    before, after = TEXTS["scale_2d"].split("\n\n\ndef scale(")
    text = before + OTHER + "\n\ndef scale(" + after
    if where == "elsewhere":
        (tmp_path / "more.py").write_text(HEAD + "from sample import scale_kernel\n" + OTHER)
        text = TEXTS["scale_2d"]
    program = program_of(text, tmp_path, kernel="scale_kernel")
    for proposal in (p for s in STRATEGIES for p in s.propose(program, captured("scale_2d", program))):
        start = program.kernel.body.start
        assert not [e for f in proposal.patch.files for e in f.edits if program.kernel.span.start <= e.span.start < start], proposal.key
        assert proposal.move not in ("swap_axes", "axis_in_loop", "grouped_order", "heavy_first", "persistent"), proposal.key


# ---------------------------------------------------------------- masks, grids


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("offsets = block_start", "offsets = 1 + block_start"),
        ("mask = offsets < n_elements", "mask = offsets + 1 < n_elements"),
        ("triton.cdiv(n_elements, ", "triton.cdiv(output.shape[0] * 2, "),
        ("block_start = pid * BLOCK_SIZE", "block_start = pid * BLOCK_SIZE * 2"),
        ("pid = tl.program_id(axis=0)", "pid = tl.program_id(axis=0) + 1"),
        ("pid = tl.program_id(axis=0)", "pid = tl.program_id(axis=0)\n    n_elements = n_elements - 1"),
    ],
)
def test_even_blocks_proves_the_offsets_and_the_grid(before, after, tmp_path):
    program = example("vector_add", tmp_path)
    text = program.texts[program.kernel.place.path]
    assert before in text
    other = program_of(text.replace(before, after), tmp_path, "other.py", "add_kernel")
    assert made_by("even_blocks", program, example_facts("vector_add", program))
    assert not made_by("even_blocks", other, example_facts("vector_add", other))


ONE_ID = """
    pid = tl.program_id(0)
    num_n = tl.cdiv(N, BLOCK_N)
    pid_m = pid // num_n
    pid_n = pid % num_n
"""


@pytest.mark.parametrize(
    ("grid", "wanted"),
    [("(triton.cdiv(M, 32) * triton.cdiv(N, 64),)", True), ("(triton.cdiv(M, 32) * triton.cdiv(K, 64),)", False), ("(128,)", False)],
)
@pytest.mark.parametrize("move", ["swap_axes", "grouped_order"])
def test_rows_and_columns_need_a_grid_of_rows_times_columns(move, grid, wanted, tmp_path):
    text = TEXTS["batched"].replace("\n    pid_m = tl.program_id(0)\n    pid_n = tl.program_id(1)\n    batch = tl.program_id(2)\n", ONE_ID)
    text = text.replace("batch * ", "0 * ").replace("(triton.cdiv(M, 32), triton.cdiv(N, 64), B)", grid)
    program = program_of(text, tmp_path)
    assert bool(made_by(move, program, captured("batched", program))) == wanted


# ---------------------------------------------------------------- loads that move across stores

RECURRENCE = (
    HEAD
    + """\
@triton.jit
def recurrence_kernel(x_ptr, y_ptr, n, D, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    for t in range(0, n):
        x = tl.load(x_ptr + t * BLOCK + cols)
        before = tl.load(y_ptr + (t - D) * BLOCK + cols, mask=(cols < BLOCK) & (t >= D), other=0.0)
        tl.store(y_ptr + t * BLOCK + cols, x + 0.5 * before)


def recurrence(x, d):
    y = torch.empty_like(x)
    recurrence_kernel[(1,)](x, y, x.shape[0], d, BLOCK=x.shape[1])
    return y
"""
)
APART = RECURRENCE.replace("tl.load(y_ptr", "tl.load(x_ptr")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (APART, True),
        (RECURRENCE, False),
        (APART.replace("y = torch.empty_like(x)", "y = x"), False),
        (APART.replace("y = torch.empty_like(x)", "y = torch.empty_like(x)\n    x = y.view_as(x)"), False),
        (APART.replace("def recurrence(x, d):\n    y = torch.empty_like(x)", "def recurrence(x, y, d):"), False),
        (APART.replace("tl.store(y_ptr", "tl.atomic_add(y_ptr"), False),
        (APART.replace("        tl.store(y_ptr", "        scatter(y_ptr, x)\n        tl.store(y_ptr"), False),
    ],
)
def test_loop_stages_needs_stores_that_no_load_can_see(text, wanted, tmp_path):
    program = program_of(text, tmp_path)
    tensors = {"x_ptr": ([64, 128], "float32"), "y_ptr": ([64, 128], "float32")}
    given = facts(launch(program, [1, 1, 1], {"BLOCK": 128}, {"n": 64, "D": 2}, tensors))
    assert bool(made_by("loop_stages", program, given)) == wanted


# ---------------------------------------------------------------- what varies


def test_sizes_that_vary_are_no_constants(tmp_path):
    program = example("fused_softmax", tmp_path)
    given = example_facts("fused_softmax", program)
    assert not made_by("constant_strides", program, given)
    assert made_by("constant_strides", program, attrs.evolve(given, cases=given.cases[:1]))


def test_a_row_in_one_block_compiles_once_for_rows_that_vary(tmp_path):
    program = example("layer_norm", tmp_path)
    given = example_facts("layer_norm", program)
    (first, *_) = made_by("one_block", program, given)
    told = changed(program, first)
    assert '+@triton.heuristics({"ONE_BLOCK": lambda args: args["N"] <= args["BLOCK_SIZE"]})' in told
    assert told.count("+    for off in range(0, BLOCK_SIZE if ONE_BLOCK else N, BLOCK_SIZE):") == 3
    (alone, *_) = made_by("one_block", program, attrs.evolve(given, cases=given.cases[:1]))
    assert "+    N: tl.constexpr,  # number of columns in X" in changed(program, alone)


@pytest.mark.parametrize(("passed", "wanted"), [("HEAD=4", True), ("HEAD=heads", False)])
def test_static_range_only_for_numbers_that_are_written_down(passed, wanted, tmp_path):
    text = (
        TEXTS["rope"].replace("FLIP: tl.constexpr,", "HEAD: tl.constexpr, FLIP: tl.constexpr,").replace("FLIP=flip", f"{passed}, FLIP=flip")
    )
    text = text.replace("    if FLIP:", "    for i in range(HEAD):\n        mask = mask & (cols >= 0)\n    if FLIP:")
    program = program_of(text, tmp_path)
    given = captured("rope", program)
    given.cases[0]["launches"][0]["constants"]["HEAD"] = 4
    assert bool(made_by("static_range", program, given)) == wanted
