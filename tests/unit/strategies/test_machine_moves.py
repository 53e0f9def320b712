"""``resident_programs``, ``row_blocks`` and rows for a tuner's kernel: these lines change, and what keeps the moves from firing."""

from __future__ import annotations

import pytest

from tests.unit.strategies.machine_samples import MACHINES, SAMPLES
from tests.unit.strategies.samples import again, made_by, program_of
from tests.unit.strategies.test_edits import changed
from tests.unit.strategies.test_splits import found

GOLDEN = {
    "norm_backward": """\
-    programs = get_sm_count(x)
+    programs = 2 * get_sm_count(x)""",
    "gelu": """\
-def gelu_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols, BLOCK: tl.constexpr):
+def gelu_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols, BLOCK: tl.constexpr, PART: tl.constexpr):
-    cols = tl.arange(0, BLOCK)
+    cols = tl.program_id(1) * PART + tl.arange(0, PART)
-    gelu_kernel[(n_rows,)](a, b, c, c.stride(0), n_cols, BLOCK=size, num_warps=16)
+    gelu_kernel[(n_rows, triton.cdiv(min(size, n_cols), 2048))](a, b, c, c.stride(0), n_cols, BLOCK=size, num_warps=8, PART=2048)""",
    "tuned_rows": """\
-def softmax_kernel(x, p, D: tl.constexpr, B: tl.constexpr):
-    row = number(0)
-    cols = tl.arange(0, B)
-    mask = cols < D
+def softmax_kernel(x, p, D: tl.constexpr, B: tl.constexpr, n_rows, ROWS: tl.constexpr):
+    row = (number(0) * ROWS + tl.arange(0, ROWS))[:, None]  # ROWS in each program
+    cols = tl.arange(0, B)[None, :]
+    mask = (cols < D) & (row < n_rows)
-    b_x = exponential(b_x - tl.max(b_x, 0))
-    tl.store(p + row * D + cols, b_x / tl.sum(b_x, 0), mask=mask)
+    b_x = exponential(b_x - tl.max(b_x, 1, keep_dims=True))
+    tl.store(p + row * D + cols, b_x / tl.sum(b_x, 1, keep_dims=True), mask=mask)
-    softmax_kernel[(N,)](x=x, p=p, D=D, B=triton.next_power_of_2(D))
+    rows = 16  # values of row in each program
+    softmax_kernel[(triton.cdiv(N, rows),)](x=x, p=p, D=D, B=triton.next_power_of_2(D), n_rows=N, ROWS=rows)""",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_edit(name, tmp_path):
    program, proposals = found(name, tmp_path)
    assert "\n".join(changed(program, proposals[0])) == GOLDEN[name]


ONCE = "programs = get_sm_count(x)"
COUNTED = {
    "a driver's properties": (ONCE, "programs = torch.cuda.get_device_properties(x.device).multi_processor_count", 1),
    "a dictionary of them": (ONCE, 'programs = properties(x.device)["multiprocessor_count"]', 1),
    "a number of the module's": (ONCE, "programs = NUM_SMS", 1),
    "a grid that asks itself": ("grid = (programs,)", "grid = (get_sm_count(x),)", 2),
}


@pytest.mark.parametrize("how", COUNTED)
def test_ways_to_count_multiprocessors(how, tmp_path):
    old, new, places = COUNTED[how]
    constant = 'NUM_SMS = torch.cuda.get_device_properties("cuda").multi_processor_count\n\n\n@triton.jit'
    text = MACHINES["norm_backward"].text.replace(old, new).replace("@triton.jit", constant if "NUM_SMS" in new else "@triton.jit", 1)
    program, proposals = found("norm_backward", tmp_path, text)
    lines = [line for line in changed(program, proposals[0]) if line.startswith("+")]
    assert len(lines) == places
    assert all("2 * " in line for line in lines)


def test_a_multiple_grows(tmp_path):
    text = MACHINES["norm_backward"].text.replace("programs = get_sm_count(x)", "programs = 2 * get_sm_count(x)")
    program, proposals = found("norm_backward", tmp_path, text, grid=[264, 1, 1])
    assert changed(program, proposals[0]) == ["-    programs = 2 * get_sm_count(x)", "+    programs = 4 * get_sm_count(x)"]
    assert [p.parameters["times"] for p in proposals] == [2, 4, 8]
    assert not found("norm_backward", tmp_path, text, grid=[132 * 16, 1, 1])[1]


KEPT = {
    "another function counts them too": [
        ("dx, dw = torch.empty_like(x), torch.empty((programs, cols), device=x.device)", "dx, dw = torch.empty_like(x), room(x)"),
        ("\n\ndef norm_backward(", "\n\ndef room(x):\n    return torch.empty((get_sm_count(x), x.shape[1]))\n\n\ndef norm_backward("),
    ],
    "a caller counts them too": [
        ("    for rows, cols in (", "    get_sm_count(torch.empty(1))\n    for rows, cols in ("),
    ],
    "programs that wait": [("    for row in range(", "    while tl.load(dw_ptr) > 5.0:\n        pass\n    for row in range(")],
    "a grid of something else": [("grid = (programs,)", "grid = (rows,)")],
    "a parameter of that name": [("programs = get_sm_count(x)", "programs = num_sms"), ("(dy, x, w):", "(dy, x, w, num_sms):")],
    "a name that says nothing": [("get_sm_count", "get_sm")],
}


@pytest.mark.parametrize("why", KEPT)
def test_programs_that_stay_as_many(why, tmp_path):
    text = MACHINES["norm_backward"].text
    for old, new in KEPT[why]:
        assert old in text
        text = text.replace(old, new)
    assert not found("norm_backward", tmp_path, text)[1]


def test_a_number_of_programs_that_is_no_multiple_of_theirs(tmp_path):
    assert not found("norm_backward", tmp_path, grid=[100, 1, 1])[1]


WHOLE = {
    "a sum over the row": [("b)\n", "b + tl.sum(a, axis=0))\n"), ("* b, mask=mask)", "* b + tl.sum(a, axis=0), mask=mask)")],
    "a loop": [("    tl.store(", "    for _ in range(2):\n        a += 1\n    tl.store(")],
    "a result of the whole row": [("    tl.store(", "    tl.store(c_ptr, 1.0)\n    tl.store(")],
    "a block that something else reads": [("mask = cols < n_cols", "mask = (cols < n_cols) & (cols < BLOCK - 1)")],
    "a branch on data": [("    tl.store(", "    if stride > 5:\n        a += 1\n    tl.store(")],
    "programs that count themselves": [("mask = cols < n_cols", "mask = cols < n_cols * tl.num_programs(0)")],
    "in place, and read elsewhere": [("c = torch.empty_like(a)", "c = a"), ("b_ptr + cols, mask=mask", "b_ptr + cols + 1, mask=mask")],
    "in place beside a number of the row": [
        ("c = torch.empty_like(a)", "c = a"),
        ("    mask = ", "    first = tl.load(a_ptr)\n    mask = "),
    ],
    "a caller's result": [
        ("(a, b):", "(a, b, c):"),
        ("    c = torch.empty_like(a)\n", ""),
        ("b_ptr + cols, mask", "b_ptr + 2 * cols, mask"),
    ],
    "a grid of another launch": [("gelu_kernel[(n_rows,)](", "grid = (n_rows,)\n    other[grid](a)\n    gelu_kernel[grid](")],
    "a tuner": [("@triton.jit\ndef gelu", "@triton.autotune([triton.Config({})], key=[])\n@triton.jit\ndef gelu")],
}


@pytest.mark.parametrize("why", WHOLE)
def test_rows_that_stay_whole(why, tmp_path):
    text = MACHINES["gelu"].text
    edits = [(old, new) for old, new in WHOLE[why] if old in text]
    assert edits
    for old, new in edits:
        text = text.replace(old, new)
    assert not found("gelu", tmp_path, text)[1]


def test_in_place_each_part_has_its_own_elements(tmp_path):
    text = MACHINES["gelu"].text.replace("c = torch.empty_like(a)", "c = a")
    assert found("gelu", tmp_path, text)[1]


def test_without_an_end_all_of_the_block_is_dealt_out(tmp_path):
    text = MACHINES["gelu"].text.replace("mask = cols < n_cols", "mask = (cols < n_cols) & (row >= 0)")
    program, proposals = found("gelu", tmp_path, text)
    assert any("triton.cdiv(size, min(2048, size))" in line for line in changed(program, proposals[0]))


GRID = "    gelu_kernel[(n_rows,)]("


@pytest.mark.parametrize(("between", "offered"), [("", True), ("    n_cols = n_cols * 2\n", False), ("    size = 2 * size\n", False)])
def test_the_grid_must_know_how_long_the_row_is_at_the_launch(between, offered, tmp_path):
    text = MACHINES["gelu"].text.replace(GRID, f"    grid = (n_rows,)\n{between}    gelu_kernel[grid](")
    program, proposals = found("gelu", tmp_path, text)
    changes = [line for p in proposals for line in changed(program, p)]
    assert any("min(size, n_cols)" in line for line in changes) == offered
    assert bool(proposals) == ("size" not in between)


def test_a_block_that_is_known_behind_the_grid_only(tmp_path):
    size = "    size = triton.next_power_of_2(n_cols)\n"
    text = MACHINES["gelu"].text.replace(size, "").replace(GRID, f"    grid = (n_rows,)\n{size}    gelu_kernel[grid](")
    assert not found("gelu", tmp_path, text)[1]


def test_short_rows_stay_whole(tmp_path):
    assert not found("gelu", tmp_path, constants={"BLOCK": 512})[1]


def test_the_parts_are_not_cut_again(tmp_path):
    program, proposals = found("gelu", tmp_path)
    child = again(program, proposals[0].patch.apply(program.texts), tmp_path)
    known = MACHINES["gelu"].captured(child)
    known.cases[0]["launches"][0].update(grid=[8192, 6, 1], constants={"BLOCK": 16384, "PART": 2048})
    assert not made_by("row_blocks", child, known)
    assert made_by("tiles", child, known)  # other warps for them


HELPERS = {
    "of two axes": ("return tl.program_id(axis).to(tl.int64)", "return (tl.program_id(axis) + tl.program_id(1)).to(tl.int64)"),
    "of the other axis": ("return tl.program_id(axis).to(tl.int64)", "return tl.program_id(axis + 1).to(tl.int64)"),
    "of a counter": ("return tl.program_id(axis).to(tl.int64)", "return tl.num_programs(axis).to(tl.int64)"),
}


@pytest.mark.parametrize("why", HELPERS)
def test_a_helper_that_does_more_than_ask_for_the_id(why, tmp_path):
    old, new = HELPERS[why]
    assert old in MACHINES["tuned_rows"].text
    assert not found("tuned_rows", tmp_path, MACHINES["tuned_rows"].text.replace(old, new))[1]


@pytest.mark.parametrize("helper", [False, True])
def test_ids_behind_helpers_keep_their_order(helper, tmp_path):
    """``tl.program_id(...)`` in the helper's place would have another type, and its products fewer bits."""
    text = SAMPLES["convolution"].text
    if helper:
        number = "@triton.jit\ndef number(axis):\n    return tl.program_id(axis).to(tl.int64)\n\n\n@triton.jit"
        text = text.replace("tl.program_id(", "number(").replace("@triton.jit", number, 1)
    program, splits = found("convolution", tmp_path, text)
    known = SAMPLES["convolution"].captured(program)
    known.cases[0]["launches"][0].update(grid=[2000, 8, 1])
    assert bool(made_by("swap_axes", program, known)) != helper
    assert splits, "an axis more changes none that are there"


def test_a_recurrence_of_few_bytes_is_loaded_far_ahead(tmp_path):
    text = MACHINES["tuned_rows"].text
    head, tail = text.partition("@triton.autotune")[0], text.partition("def softmax(x):")[2]
    body = """\
@triton.jit
def softmax_kernel(x, p, D, B: tl.constexpr):
    at = number(0) * D * B + tl.arange(0, B)
    h = tl.zeros((B,), dtype=tl.float32)
    for _ in range(0, D):
        h = exponential(h * -1.0) + tl.load(x + at)
        tl.store(p + at, h)
        at += B


"""
    program = program_of(head + body + "def softmax(x):" + tail, tmp_path)
    known = MACHINES["tuned_rows"].captured(program)
    for size, deepest in ((128, 16), (4096, 5)):
        known.cases[0]["launches"][0].update(constants={"B": size}, scalars={"D": size})
        assert max(p.parameters["num_stages"] for p in made_by("loop_stages", program, known)) == deepest
