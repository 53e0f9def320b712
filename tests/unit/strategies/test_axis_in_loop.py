"""``axis_in_loop``: which kernels get the second axis of their grid as a loop, and what stands above it."""

from __future__ import annotations

import pytest

from tests.unit.strategies.order_samples import TEXTS
from tests.unit.strategies.test_reordering import moves


def test_heads_of_a_token_in_a_loop_share_what_is_the_same_for_them(tmp_path):
    program, found = moves("rope", tmp_path, "axis_in_loop")
    assert [p.numerics for p in found] == ["exact"]
    after = found[0].patch.apply(program.texts)[program.kernel.place.path]
    assert (
        """\
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < head_dim
    # All heads of a token turn alike.
    cos = tl.load(cos_ptr + row * head_dim + cols, mask=mask, other=0.0)
    if FLIP:
        cos = -cos
    for head in range(heads):
        x = tl.load(x_ptr + row * row_stride + head * head_dim + cols, mask=mask, other=0.0)
        tl.store(y_ptr + row * row_stride + head * head_dim + cols, x * cos, mask=mask)
"""
        in after
    )
    assert "rope_kernel[(tokens,)](x, cos, y, x.stride(0), dim, FLIP=flip, BLOCK=triton.next_power_of_2(dim), heads=heads)" in after


APART = TEXTS["rope"].replace("cos_ptr + row * head_dim + cols", "cos_ptr + row * row_stride + head * head_dim + cols")  # nothing is shared
EARLY = APART.replace("    cols = tl.ar", "    if row * row_stride < 0:\n        return\n    cols = tl.ar")


def test_many_programs_that_hold_little_share_a_program_and_may_leave_early(tmp_path):
    program, found = moves("rope", tmp_path, "axis_in_loop", text=EARLY)
    assert len(found) == 1
    after = found[0].patch.apply(program.texts)[program.kernel.place.path]
    assert (
        """\
    row = tl.program_id(0)
    if row * row_stride < 0:
        return
    cols = tl.arange(0, BLOCK)
    mask = cols < head_dim
    for head in range(heads):
"""
        in after
    )
    assert moves("rope", tmp_path, "axis_in_loop", text=EARLY, grid=[1024, 256, 1])[1] == []  # too few would be left


@pytest.mark.parametrize(
    ("before", "instead"),
    [
        ("if row * row_stride < 0:", "if head * row_stride < 0:"),  # some heads go on
        ("if row * row_stride < 0:\n        return", "if row < 0:\n        if FLIP:\n            return"),
        ("    if row * row_stride < 0:\n        return\n", "    tl.store(y_ptr + head, 0.0)\n    if row < 0:\n        return\n"),
        ("        return\n", "        return\n    else:\n        tl.store(y_ptr + head, 0.0)\n"),
        ("y_ptr + row * row_stride + head * head_dim + cols", "y_ptr + row * row_stride + cols"),  # all heads write it
        ("x_ptr + row * row_stride + head * head_dim + cols", "y_ptr + row * row_stride + cols"),  # what another head has written
    ],
)
def test_programs_that_leave_alone_or_meet_stay_apart(before, instead, tmp_path):
    assert before in EARLY
    assert moves("rope", tmp_path, "axis_in_loop", text=EARLY.replace(before, instead))[1] == []


SHARED = TEXTS["rope"].replace("    rope_kernel[(tokens, heads)]", "    grid = (tokens, heads)\n    rope_kernel[grid]")
STORED = "    tl.store(y_ptr + row * row_stride + head * head_dim + cols, x * cos, mask=mask)\n"


@pytest.mark.parametrize(
    ("before", "after", "offered"),
    [
        ("", "", True),
        ("    return y\n", "    print(grid[1])\n    return y\n", False),  # somebody else reads it
        ("    rope_kernel[grid]", "    heads = 1 if flip else heads\n    rope_kernel[grid]", False),  # no longer what it was made of
    ],
)
def test_a_grid_of_its_own_is_needed_as_it_was_made(before, after, offered, tmp_path):
    assert before in SHARED
    assert bool(moves("rope", tmp_path, "axis_in_loop", text=SHARED.replace(before, after) if before else SHARED)[1]) is offered


@pytest.mark.parametrize("again", ["mask = cols < head_dim // 2", "cos = tl.load(cos_ptr + cols, mask=mask, other=0.0)"])
def test_what_is_bound_again_after_it_was_read_stays_in_the_loop(again, tmp_path):
    """Both are the same for every head, and so is the order in which they come."""
    program, found = moves("rope", tmp_path, "axis_in_loop", text=TEXTS["rope"].replace(STORED, f"{STORED}    {again}\n{STORED}"))
    (text,) = (p.patch.apply(program.texts)[program.kernel.place.path] for p in found)
    above, _, loop = text.partition("for head in")
    name = again.partition(" = ")[0]
    assert f"    {name} = " not in above
    assert loop.count(f"        {name} = ") >= 2


@pytest.mark.parametrize(("body", "offered"), [("tl.store(p, v)", False), ("return p + v", True)])
def test_a_store_of_a_helper_is_out_of_sight(body, offered, tmp_path):
    helper = f"@triton.jit\ndef keep(p, v):\n    {body}\n\n\n@triton.jit\ndef rope_kernel("
    text = TEXTS["rope"].replace("@triton.jit\ndef rope_kernel(", helper)
    text = text.replace(STORED, f"{STORED}    keep(cos_ptr + row * head_dim + cols, cos)\n")
    assert bool(moves("rope", tmp_path, "axis_in_loop", text=text)[1]) is offered


@pytest.mark.parametrize(("body", "hoisted"), [("tl.store(p, v)", False), ("return p + v", True)])
def test_rows_of_a_program_load_anew_what_a_helper_may_have_stored(body, hoisted, tmp_path):
    row = TEXTS["rms_norm"]
    at = row.index("    tl.store(")
    text = f"{row[:at]}    keep(w_ptr + cols, 0.0)\n{row[at:]}".replace(
        "@triton.jit\n", f"@triton.jit\ndef keep(p, v):\n    {body}\n\n\n@triton.jit\n", 1
    )
    program, found = moves("rms_norm", tmp_path, "persistent_rows", text=text)
    texts = [p.patch.apply(program.texts)[program.kernel.place.path] for p in found]
    assert texts
    assert any("tl.load(w_ptr" in t.partition("def rms_norm")[2].partition(" in tl.range(")[0] for t in texts) is hoisted


@pytest.mark.parametrize(
    ("name", "text", "grid"),
    [
        ("rope", None, [500, 32, 1]),  # the loop would leave too few programs
        ("rope", None, [8192, 1, 1]),  # nothing to share
        ("rope", APART, [8192, 4, 1]),
        ("rope", EARLY.replace("if row * row_stride < 0:", "if tl.load(cos_ptr + row) < 0:"), [8192, 4, 1]),  # a test is nothing to share
        ("rope", TEXTS["rope"].replace("    x = tl.load(", "    tl.store(cos_ptr + cols, cos, mask=mask)\n    x = tl.load("), None),
        ("batched", None, [4096, 4, 1]),  # products have blocks for that
    ],
)
def test_axis_in_loop_needs_something_to_share_and_programs_enough(name, text, grid, tmp_path):
    assert moves(name, tmp_path, "axis_in_loop", text=text, grid=grid)[1] == []
