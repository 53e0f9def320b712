"""Loops that hand something on, memory of others, groups that are no groups of tiles: moves of them were offered once, and wrong."""

from __future__ import annotations

import pytest

from tests.unit.strategies.fusion_samples import row_facts
from tests.unit.strategies.fusion_texts import COPIED, PRODUCT, ZERO_ROWS, ZEROS
from tests.unit.strategies.order_samples import HEAD, TEXTS, captured
from tests.unit.strategies.samples import H200, example, example_facts, facts, launch, made_by, program_of

# ---------------------------------------------------------------- recurrences through products

STATES = (
    HEAD
    + """\
@triton.jit
def states_kernel(x_ptr, w_ptr, h_ptr, steps, D, S: tl.constexpr):
    at = tl.arange(0, S)[:, None] * S + tl.arange(0, S)[None, :]
    w = tl.load(w_ptr + at)
    for t in range(0, steps):
        before = tl.load(h_ptr + (t - D) * S * S + at, mask=(at >= 0) & (t >= D), other=0.0)
        tl.store(h_ptr + t * S * S + at, tl.load(x_ptr + t * S * S + at) + tl.dot(before, w))


def states(x, w, d):
    h = torch.empty_like(x)
    states_kernel[(1,)](x, w, h, x.shape[0], d, S=16)
    return h
"""
)


@pytest.mark.parametrize(("source", "deepest"), [("h_ptr", 3), ("x_ptr", 5)])
def test_loads_run_no_further_ahead_of_stores_that_they_may_see(source, deepest, tmp_path):
    program = program_of(STATES.replace("tl.load(h_ptr", f"tl.load({source}"), tmp_path)
    tensors = dict.fromkeys(("x_ptr", "h_ptr"), ([64, 16, 16], "float32")) | {"w_ptr": ([16, 16], "float32")}
    found = made_by("tiles", program, facts(launch(program, [1, 1, 1], {"S": 16}, {"steps": 64, "D": 4}, tensors)))
    assert max(p.parameters["num_stages"] for p in found) == deepest


# ---------------------------------------------------------------- memory that isn't its own


@pytest.mark.parametrize("made", ["torch.empty(x.shape, out=buffer)", "pool.empty_like(x)", "torch.empty(*x.shape, **options)"])
def test_memory_of_somebody_else_is_not_new(made, tmp_path):
    text = STATES.replace("tl.load(h_ptr", "tl.load(x_ptr").replace("torch.empty_like(x)", made)
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "h_ptr"), ([64, 16, 16], "float32")) | {"w_ptr": ([16, 16], "float32")}
    assert not made_by("loop_stages", program, facts(launch(program, [1, 1, 1], {"S": 16}, {"steps": 64, "D": 4}, tensors)))


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (("", ""), True),
        (("def negate(x):", "def negate(x, y):"), False),
        (("y = torch.empty((M, N), device=x.device, dtype=x.dtype)", "y = base.view(M, N)"), False),
        (("tl.store(y_ptr", "tl.atomic_add(y_ptr"), False),
    ],
)
def test_a_copy_stays_where_the_result_may_go_where_it_came_from(change, wanted, tmp_path):
    text = COPIED.replace(*change)
    if "x, y" in change[1]:
        text = text.replace("    y = torch.empty((M, N), device=x.device, dtype=x.dtype)\n", "")
    program = program_of(text, tmp_path)
    assert bool(made_by("contiguous_copy", program, row_facts(program, columns=4096))) == wanted


class View:
    """What the host function asks of a tensor."""

    def __init__(self, shape, strides):
        self.shape, self._strides, self.copied = shape, strides, False

    def stride(self):
        return self._strides

    def contiguous(self):
        self.copied = True
        return self


@pytest.mark.parametrize(("shape", "strides", "copied"), [((70000, 20000), (1, 70000), False), ((70000, 70000), (1, 70000), True)])
def test_a_view_beyond_32_bits_is_copied_still(shape, strides, copied, tmp_path):
    program = program_of(COPIED, tmp_path)
    (found, *_) = made_by("contiguous_copy", program, row_facts(program, columns=4096))
    (text,) = found.patch.apply(program.texts).values()
    start = text.index("    if sum(")
    x = View(shape, strides)
    exec("if True:\n" + text[start : text.index("    M, N = x.shape")], {"x": x})
    assert x.copied == copied


# ---------------------------------------------------------------- names that change


LINE = ZEROS.replace("y = torch.zeros_like(x)", "n = x.numel()\n    y = torch.zeros(n)").replace("y.numel()", "n")
FIXED = LINE.replace('lambda meta: (triton.cdiv(n, meta["BLOCK"]),)', "(triton.cdiv(n, 64),)")


@pytest.mark.parametrize(
    ("move", "text", "launch_of"),
    [("even_blocks", FIXED, "double_kernel"), ("zeros_to_empty", LINE, "double_kernel"), ("zeros_to_empty", ZERO_ROWS, "scale_kernel")],
)
def test_a_size_that_changes_on_the_way_to_the_launch_is_another_size(move, text, launch_of, tmp_path):
    size = "M" if text is ZERO_ROWS else "n"
    changing = text.replace(f"    {launch_of}[", f"    {size} = {size} // 2\n    {launch_of}[")
    assert changing != text
    one, other = program_of(text, tmp_path, "one.py"), program_of(changing, tmp_path, "other.py")
    assert made_by(move, one, row_facts(one, columns=4096))
    assert not made_by(move, other, row_facts(other, columns=4096))


@pytest.mark.parametrize("move", ["persistent", "persistent_rows", "rows_per_program"])
def test_a_count_that_the_kernel_changes_is_passed_anew(move, tmp_path):
    text = TEXTS["rms_norm"].replace("n_cols, eps,", "n_rows, n_cols, eps,").replace("n_cols, 1e-6", "n_rows, n_cols, 1e-6")
    text = text.replace("    row = tl.program_id(0)", "    n_rows = n_rows - 1\n    row = tl.program_id(0)")
    program = program_of(text, tmp_path)
    scalars = {"stride": 256, "n_rows": 16384, "n_cols": 256, "eps": 1e-6}
    tensors = {**dict.fromkeys(("x_ptr", "y_ptr"), ([16384, 256], "float32")), "w_ptr": ([256], "float32")}
    found = made_by(move, program, facts(launch(program, [16384, 1, 1], {"BLOCK": 256}, scalars, tensors)))
    assert found
    (text,) = found[0].patch.apply(program.texts).values()
    kernel = text[: text.index("def rms_norm(")]
    added = [line for line in kernel.splitlines() if "n_rows_" in line]
    assert len(added) >= 2, kernel


# ---------------------------------------------------------------- order


@pytest.mark.parametrize(
    ("inside", "wanted"),
    [
        ("    tl.store(y_ptr + row * n + cols, x)", True),
        ("    kept += x", False),
        ("    kept = x", False),
        ("    tl.store(y_ptr + row * n + cols, x - kept)\n        kept = x", False),
        ("    tl.store(y_ptr + row * n + cols, x + pid)", False),
        ("    tl.store(y_ptr + tl.program_id(0) * n + cols, x)", False),
    ],
)
def test_neighbouring_rows_for_a_program_only_where_rows_know_nothing_of_each_other(inside, wanted, tmp_path):
    text = (
        HEAD
        + f"""\
@triton.jit
def walk_kernel(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    kept = tl.zeros([BLOCK], dtype=tl.float32)
    for row in range(pid, rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * n + cols)
    {inside}
    tl.store(y_ptr + pid * n + cols, kept)


def walk(x):
    y = torch.empty_like(x)
    walk_kernel[(8,)](x, y, x.shape[0], x.shape[1], BLOCK=128)
    return y
"""
    )
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([64, 128], "float32"))
    given = facts(launch(program, [8, 1, 1], {"BLOCK": 128}, {"rows": 64, "n": 128}, tensors))
    assert bool(made_by("contiguous_rows", program, given)) == wanted


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("", "", True),
        ("pid % (GROUP_M * num_pid_n)) % rows", "pid % GROUP_M)", False),  # beyond the last row of tiles
        ("rows = min(", "scale = tl.load(a_ptr + GROUP_M)\n    rows = min(", False),
        ("    pid_m = group", "    tl.store(c_ptr, pid)\n    pid_m = group", False),
        ("group * GROUP_M + (pid", "group * 8 + (pid", False),
    ],
)
def test_a_group_is_one_of_tiles_only_where_it_deals_them_out_anew(before, after, wanted, tmp_path):
    assert not before or before in PRODUCT
    program = program_of(PRODUCT.replace(before, after) if before else PRODUCT, tmp_path)
    given = row_facts(program, columns=512, block=32, dtype="float16")
    assert bool(made_by("grouped_order", program, given)) == wanted


@pytest.mark.parametrize(("name", "move"), [("scale_2d", "swap_axes"), ("attention", "heavy_first"), ("batched", "swap_axes")])
def test_programs_that_wait_for_each_other_start_as_they_were(name, move, tmp_path):
    text = TEXTS[name]
    first = text.index("    ", text.index("):\n"))
    waiting = text[:first] + "    while tl.atomic_add(x_ptr, 0) < tl.program_id(0):\n        pass\n" + text[first:]
    for each, wanted in ((text, True), (waiting, False)):
        program = program_of(each, tmp_path, f"{wanted}.py")
        assert bool(made_by(move, program, captured(name, program, device=H200))) == wanted


def test_swapped_axes_leave_every_grid_as_it_is(tmp_path):
    """Axis 1 of a grid has room for 65,535 programs, axis 0 for more."""
    program = program_of(TEXTS["scale_2d"], tmp_path)
    (found, *_) = made_by("swap_axes", program, captured("scale_2d", program))
    (file,) = found.patch.files
    assert all(program.kernel.body.start <= e.span.start <= e.span.end <= program.kernel.body.end for e in file.edits)


# ---------------------------------------------------------------- numbers that may be nothing


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("x / n_cols", True),
        ("x * (1.0 / n_cols)", False),
        ("x * (stride / n_cols)", False),
        ("x * (BLOCK % n_cols)", False),
    ],
)
def test_a_size_that_numbers_are_divided_by_is_no_constant(value, wanted, tmp_path):
    program = program_of(ZERO_ROWS.replace("x / 3.0", value), tmp_path)
    found = made_by("constant_strides", program, row_facts(program, columns=4096))
    assert any(p.parameters["which"] == "sizes" for p in found) == wanted


@pytest.mark.parametrize(
    ("total", "wanted"),
    [("tl.sum(numerator, axis=0)", True), ("tl.sum(row, axis=0)", False), ("tl.max(numerator, axis=0)", False)],
)
def test_a_reciprocal_needs_a_total_of_at_least_one(total, wanted, tmp_path):
    program = example("fused_softmax", tmp_path)
    text = program.texts[program.kernel.place.path]
    assert "denominator = tl.sum(numerator, axis=0)" in text
    program = program_of(text.replace("denominator = tl.sum(numerator, axis=0)", f"denominator = {total}"), tmp_path, "other.py")
    assert bool(made_by("reciprocal", program, example_facts("fused_softmax", program))) == wanted


@pytest.mark.parametrize(
    ("line", "dtype", "wanted"),
    [
        ("x / n_cols", "float32", True),
        ("x / n_cols", "float64", False),  # its reciprocal is a float32
        ("x / eps", "float32", False),  # may be so small that the reciprocal is infinite
        ("((row * n_cols + cols) / n_cols)", "float32", False),  # places, where the last bit is another one
        ("tl.floor(x / n_cols)", "float32", False),
        ("(x / n_cols).to(tl.int32)", "float32", False),
        ("x / n_cols > 0.5", "float32", False),
        ("x.to(tl.float64) / n_cols", "float32", False),
        ("x / BLOCK", "float32", False),  # known when it is compiled: 0 would be an error
        ("x * (row / n_cols)", "float32", False),  # one number in any case
    ],
)
def test_elements_are_multiplied_by_the_reciprocal_of_a_whole_number_of_the_launch(line, dtype, wanted, tmp_path):
    program = program_of(ZERO_ROWS.replace("x / 3.0", line).replace("n_cols, BLOCK", "n_cols, eps, BLOCK", 1), tmp_path)
    found = made_by("reciprocal", program, row_facts(program, columns=4096, dtype=dtype))
    assert [f.numerics for f in found] == (["reassociates"] if wanted else [])
    for one in found:
        assert "x * (1.0 / n_cols)" in one.patch.apply(program.texts)[program.kernel.place.path]


RUNNING = """\
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, y_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    largest = float("-inf")
    total = 0.0
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=float("-inf"))
        new = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new), axis=0)
        largest = new
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=float("-inf"))
        tl.store(y_ptr + row * n_cols + cols, tl.exp(x - largest) / total, mask=cols < n_cols)


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=1024)
    return y
"""


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("", "", True),
        ("tl.exp(x - new), axis=0)", "tl.exp(x), axis=0)", False),  # no maximum is taken off: it may be anything
        ("tl.exp(x - new), axis=0)", "x - new, axis=0)", False),
        ("tl.max(x, axis=0))", "tl.max(x * x, axis=0))", False),  # that is another's maximum
        ("total * tl.exp(largest - new)", "total * 0.5", False),
        ("total * tl.exp(largest - new)", "total * tl.exp(new - largest)", False),
        ('    largest = float("-inf")\n', "    largest = 0.0\n", False),  # of smaller elements it may be nothing
        ("tl.exp(x - new), axis=0)", "tl.exp(x - new - 95.0), axis=0)", False),
        ("tl.sum(tl.exp(x - new), axis=0)", "tl.sum(tl.where(cols != 0, tl.exp(x - new), 0.0), axis=0)", False),
        ("tl.sum(tl.exp(x - new), axis=0)", "tl.sum(tl.where(cols < n_cols, tl.exp(x - new), 0.0), axis=0)", True),
        ("        largest = new\n", "        largest = new\n        x = x * 2.0\n", True),
        ("        total = total", "        x = x * 2.0 - 95.0\n        total = total", False),
        ("    total = 0.0\n", "    total = tl.load(y_ptr)\n", False),
        ("        largest = new\n", "        largest = new\n        total = total * 0.5\n", False),
        ("        largest = new\n", "        largest = new\n        tl.store(y_ptr + row, x / total)\n", True),  # the one behind the loop
    ],
)
def test_a_running_sum_of_exponentials_below_their_maximum_has_a_reciprocal_behind_its_loop(old, new, wanted, tmp_path):
    assert old in RUNNING
    program = program_of(RUNNING.replace(old, new, 1) if old else RUNNING, tmp_path)
    found = made_by("reciprocal", program, row_facts(program, columns=4096))
    assert bool(found) == wanted
    for one in found:
        text = one.patch.apply(program.texts)[program.kernel.place.path]
        assert "tl.exp(x - largest) * (1.0 / total)" in text
        assert text.count("/ total") == 1 + ("x / total" in new)
