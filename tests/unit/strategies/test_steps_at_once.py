"""``steps_at_once``: recurrences in the ways that people write them, and loops that are none, or hand on more than a value."""

from __future__ import annotations

import ast
import re

import pytest

from kernelband.strategies.code import View
from kernelband.strategies.vectorization.tiles_of_steps import coefficients
from tests.unit.strategies.samples import facts, launch, made_by, program_of
from tests.unit.strategies.step_samples import GATES, SUMS, TEXTS, given, made
from tests.unit.strategies.test_tiling import changed


def test_pointers_that_go_on_and_a_state_that_is_read_behind_the_loop(tmp_path):
    program, found = made("gates", tmp_path)
    assert [p.parameters["steps"] for p in found] == [8, 16, 32, 64, 128]
    assert {p.numerics for p in found} == {"reassociates"}
    assert changed(program, found[1]) == [
        "+",
        "+",
        "+@triton.jit",
        "+def both_steps(a, b, c, d):",
        "+    return a * c, b * c + d",
        "-    for t in range(0, T):",
        "-        gate = tl.sigmoid(tl.load(g, mask=mask, other=0.0).to(tl.float32))",
        "-        value = tl.load(x, mask=mask, other=0.0)",
        "-        h = gate * h + (1 - gate) * value  # the state",
        "-        tl.store(y, h.to(y.dtype.element_ty), mask=mask)",
        "+    rows = tl.arange(0, 16)[:, None]",
        "+    for first in range(0, T, 16):",
        "+        live = first + rows < T",
        "+        x_rows = x + rows * tl.cast(D, tl.int64)",
        "+        g_rows = g + rows * tl.cast(D, tl.int64)",
        "+        y_rows = y + rows * tl.cast(D, tl.int64)",
        "+        gate = tl.sigmoid(tl.load(g_rows, mask=mask & live, other=0.0).to(tl.float32))",
        "+        value = tl.load(x_rows, mask=mask & live, other=0.0)",
        "+        kept = tl.broadcast_to(tl.where(live, gate, 1.0), [16, BLOCK]).to(tl.float32)",
        "+        more = tl.broadcast_to(tl.where(live, (1 - gate) * value, 0.0), [16, BLOCK]).to(tl.float32)",
        "+        factor, summand = tl.associative_scan((kept, more), 0, both_steps)",
        "+        h_rows = factor * h + summand",
        "+        if tl.max(tl.where(tl.abs(h_rows) <= 3.4e38, 0, 1)) > 0:  # not finite: one by one",
        "+            for step in range(16):",
        "+                h = tl.sum(tl.where(rows == step, kept * h + more, 0.0), axis=0)",
        "+                h_rows = tl.where(rows == step, h, h_rows)",
        "+        h = tl.sum(tl.where(rows == 15, h_rows, 0.0), axis=0)  # the state",
        "+        tl.store(y_rows, h_rows.to(y.dtype.element_ty), mask=mask & live)",
        "-        x += D",
        "-        g += D",
        "-        y += D",
        "+        x += 16 * tl.cast(D, tl.int64)",
        "+        g += 16 * tl.cast(D, tl.int64)",
        "+        y += 16 * tl.cast(D, tl.int64)",
    ]


def test_a_number_for_each_step_and_places_by_the_loops_variable(tmp_path):
    program, found = made("sums", tmp_path)
    assert [p.parameters["steps"] for p in found] == [256, 1024, 4096]
    lines = [line for line in changed(program, found[1]) if line.startswith("+")]
    assert "+    for first in tl.range(0, n, 1024):" in lines
    assert "+        t = first + rows" in lines
    assert "+        x = tl.load(x_ptr + row * n + t, mask=live, other=0)" in lines
    program, found = made("running", tmp_path)
    sum_of_all = "+        total_rows = total + tl.cumsum(tl.where(live, tl.exp(x) * w, 0.0).to(tl.float32), axis=0)"
    assert sum_of_all in changed(program, found[0])


def test_every_loop_of_numbers_of_a_kernel(tmp_path):
    program, found = made("naive", tmp_path)
    text = found[0].patch.apply(program.texts)[program.kernel.place.path]
    assert text.count("in range(0, n, 256):") == 3
    assert "both_steps" not in text
    assert 'm = tl.maximum(m, tl.max(tl.where(live, tl.load(x_ptr + row * n + i, mask=live, other=0), float("-inf")), axis=0))' in text
    assert found[0].what == "The loops over i and j and k take 256 steps at once."


def test_rows_whose_sums_nothing_reads_on_the_way(tmp_path):
    program, found = made("rows", tmp_path)
    assert [p.parameters["steps"] for p in found] == [2, 4, 8, 16, 32]
    text = found[1].patch.apply(program.texts)[program.kernel.place.path]
    for line in (
        "    for first in range(pid * each, min((pid + 1) * each, M), 4):",
        "        r = tl.rsqrt(tl.sum(x * x, axis=1)[:, None] / N + 1e-05)",
        "            dw += tl.sum(tl.broadcast_to(tl.where(live, dy * x * r, 0.0), [4, BLOCK]).to(tl.float32), axis=0)",
        '        most = tl.maximum(most, tl.max(tl.sum(tl.where(live, r, float("-inf")), axis=1), axis=0))',
        "        x_ptr += 4 * tl.cast(N, tl.int64)",
    ):
        assert f"\n{line}\n" in text


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("gates", "h = gate * h +", "h = gate * h * h +"),  # not linear
        ("gates", "h = gate * h +", "h = tl.maximum(gate * h, 0.0) +"),
        ("gates", "h = gate * h + (1 - gate)", "h = gate * h + (1 - h)"),
        ("gates", "        value = tl.load(x", "        h = h * 0.5\n        value = tl.load(x"),  # twice in a step
        ("gates", "        h = gate", "        tl.store(y + 1, h, mask=mask)\n        h = gate"),  # the step before's
        ("gates", "        x += D\n", "        x += D\n        D += 1\n"),  # steps that grow
        ("gates", "        x += D\n", "        x += D\n        tl.store(y + 5, tl.load(x, mask=mask), mask=mask)\n"),  # read further on
        ("gates", "    y, last = torch.empty_like(x)", "    y, last = x"),  # what it stores is what it loads
        ("gates", "        y += D\n", "        y += 8\n"),  # steps that store to each other's places
        ("gates", "        y += D\n", "        y += D\n        seen = value\n    h += seen\n"),  # more goes on behind it
        ("gates", "    tl.store(last_ptr + batch * D + cols, h,", "    tl.store(last_ptr + batch * D + cols, tl.load(x),"),
        ("gates", "dtype=tl.float32)\n    for", "dtype=tl.float16)\n    for"),
        ("gates", "tl.sigmoid(tl.load(g,", "tl.softmax(tl.load(g,"),  # lanes meet
        ("gates", "[BLOCK], dtype", "[BLOCK, 4], dtype"),
        ("gates", "    for t in range(0, T):", "    for T in range(0, T):"),  # its end by another name
        ("gates", "    h = tl.zeros([BLOCK], dtype=tl.float32)\n", "    h = tl.zeros([BLOCK], dtype=tl.float32)\n    h += tl.load(x)\n"),
        ("gates", "    tl.store(last_ptr + batch", "    if T > 3:\n        tl.store(y, h)\n    tl.store(last_ptr + batch"),
        ("gates", "        h = gate * h + (1 - gate) * value", "        if BLOCK > 16:\n            h = gate * h + value"),
        ("sums", "def decayed(x, w):\n    y =", "def decayed(x, w, y=None):\n    if x.shape[0] > 4:\n        y ="),  # or the caller's
        ("sums", "    decay_kernel[(x", "    if (y := x).ndim:\n        pass\n    decay_kernel[(x"),
        ("sums", "    decay_kernel[(x", "    x = VIEWS['flat'](y)\n    decay_kernel[(x"),  # what looks like a launch
        ("rows", "tl.sum(g * x)", "tl.sum(w * w)"),  # not of the step's own elements
        ("sums", "        w = tl.load(w_ptr + t)", "        w = tl.load(w_ptr)"),  # one for all steps
        ("sums", "    for t in tl.range(n):", "    for n in tl.range(n):"),
        ("rows", "            dw += dy * x * r\n", "            dw += dy * x * r\n        dw += 1.0\n"),  # on top of either
        ("rows", "        most = tl.maximum(most, r)", "        most = tl.maximum(most, r * most)"),
        ("rows", "        if BIASED:", "        if row > 7:"),
        ("rows", "tl.sum(g * x)", "tl.cumsum(g * x)"),
        ("rows", "empty_like(x), torch", "empty_like(x)[:], torch"),  # whose memory that is isn't seen
        ("rows", "    backward_kernel[(4,)](", "    dx = x\n    backward_kernel[(4,)]("),
        ("sums", "row * n + t, total", "row * n + t // 2, total"),
        ("sums", "row * n + t, total", "row * n, total"),  # the last step's stays
        ("sums", "for t in tl.range(n)", "for t in tl.range(0, n, 2)"),
        ("sums", "for t in tl.range(n)", "for t in tl.range(n, num_stages=3)"),
        ("sums", "        w = tl.load(w_ptr + t)\n", "        w = tl.load(w_ptr + t)\n        if w > 1:\n            total = 0.0\n"),
    ],
)  # fmt: skip
def test_not_where_a_step_needs_more_than_a_scan_gives(name, old, new, tmp_path):
    text = TEXTS[name]
    assert old in text
    assert made(name, tmp_path, text.replace(old, new))[1] == []


STEADY = (
    GATES.replace("        x += D\n        g += D\n", "")
    .replace("tl.load(g,", "tl.load(g + t * D,")
    .replace("tl.load(x,", "tl.load(x + t * D,")
)


@pytest.mark.parametrize(("first", "offered"), [("0", True), ("1", False)])
def test_a_pointer_that_goes_on_begins_with_the_loops_first_step(first, offered, tmp_path):
    """What the next step stores over by the loop's variable: the same place where the loop begins with 0 only."""
    again = f"    for t in range({first}, T):\n        tl.store(y_ptr + batch * T * D + cols + t * D, 1.0, mask=mask)"
    _, found = made("gates", tmp_path, STEADY.replace("    for t in range(0, T):", again))
    assert bool(found) == offered


def test_a_number_bound_anew_is_another_one(tmp_path):
    branch = "    if T > 5:\n        base = {}\n    else:\n        base = {}\n"
    text = STEADY.replace("    y = y_ptr +", f"{branch.format(0, 'D')}    y = y_ptr + base +").replace(
        "    h = tl.zeros", f"{branch.format('D', 0)}    z = y_ptr + base + batch * T * D + cols\n    h = tl.zeros"
    )
    text = text.replace("        y += D\n", "").replace("tl.store(y, h.to(y.dtype.element_ty)", "tl.store(y + t * D, h")
    assert made("gates", tmp_path, text)[1]
    stores = "        tl.store(z + t * D, value, mask=mask)\n        tl.store(y + t * D, h"
    assert not made("gates", tmp_path, text.replace("        tl.store(y + t * D, h", stores))[1]


def test_what_the_next_step_of_a_loop_around_reads_is_read_behind(tmp_path):
    loops = ("k = 0", "seen = 0.0", "while k < 3:", "    tl.store(last_ptr + k, seen)", "    k += 1", "    for t in tl.range(n):", "")
    text = SUMS.replace("y_ptr, n, decay", "y_ptr, last_ptr, n, decay").replace(
        "(x, w, y, x.shape[1]", "(x, w, y, torch.empty(9), x.shape[1]"
    )
    text = text.replace("    for t in tl.range(n):\n", "    " + "\n    ".join(loops).rstrip(" "))
    body = [
        ("        x = tl", "            x = tl"),
        ("        w = tl", "            w = tl"),
        ("        total = total", "            total = total"),
    ]
    for old, new in (*body, ("        tl.store(y_ptr", "            tl.store(y_ptr")):
        text = text.replace(old, new)
    assert made("sums", tmp_path, text)[1]
    assert not made("sums", tmp_path, text.replace("            total = total", "            seen = x * w\n            total = total"))[1]


def test_what_stands_behind_a_launch_in_a_function_comes_before_it(tmp_path):
    launched = "    decay_kernel[(x.shape[0],)](x, w, y, x.shape[1], 0.5)\n"
    assert launched in SUMS
    assert not made("sums", tmp_path, SUMS.replace(launched, f"    go = lambda: {launched.strip()}\n    y = x\n    go()\n"))[1]


def test_a_number_that_a_pointer_goes_on_by_stays_a_number(tmp_path):
    program, found = made("gates", tmp_path, GATES.replace("        x += D\n", "        x += 1024\n"))
    assert "+        x += 16 * 1024" in changed(program, found[1])


def test_a_mask_that_is_none_is_none(tmp_path):
    program, found = made("sums", tmp_path, SUMS.replace("tl.load(w_ptr + t)", "tl.load(w_ptr + t, None)"))
    assert "+        w = tl.load(w_ptr + t, mask=live, other=0)" in changed(program, found[0])


@pytest.mark.parametrize(("mask", "offered"), [("cols < D", True), ("cols + base < D", False)])
def test_a_number_that_the_way_there_decides_may_be_negative(mask, offered, tmp_path):
    """Steps are 16 places apart, and blocks have 32 lanes: only a mask that surely leaves the upper ones out keeps steps apart."""
    text = GATES.replace("    mask = cols < D\n", f"    if T > 5:\n        base = -64\n    else:\n        base = 0\n    mask = {mask}\n")
    program = program_of(text.replace("x_ptr + batch", "x_ptr + base + batch"), tmp_path)
    tensors = dict.fromkeys(("x_ptr", "g_ptr", "y_ptr", "last_ptr"), ([2, 2048, 16], "float32"))
    given = facts(launch(program, [1, 2, 1], {"BLOCK": 32}, {"T": 2048, "D": 16}, tensors))
    assert bool(made_by("steps_at_once", program, given)) == offered


@pytest.mark.parametrize(
    ("step", "factor", "summand"),
    [
        ("h = a * h + b", "a", "b"),
        ("h = b + h * a", "a", "b"),
        ("h = h + b", None, "b"),
        ("h += b", None, "b"),
        ("h -= b", None, "-f(b)"),
        ("h = h / a - b", "1.0 / f(a)", "-f(b)"),
        ("h = b - h", "-1.0", "b"),
        ("h = (h + b) * a", "a", "f(b) * f(a)"),
        ("h = h + (b > 0) + (b > 1)", None, "f(b > 0) + f(b > 1)"),
        ("h = (h * c - b) * a", "f(c) * f(a)", "-f(b) * f(a)"),
        ("h = a * h.to(tl.float32) + b", "a", "b"),
        ("h = a * h", "a", None),
        ("h = a / h + b", "no", None),
        ("h = h * a + h * b", "no", None),
        ("h = tl.exp(h) + b", "no", None),
        ("h = a + b", "no", None),
    ],
)
def test_what_is_linear_in_the_state(step, factor, summand, tmp_path):
    kernel = View.read(*given("gates", tmp_path)).kernel
    (statement,) = ast.parse(step).body
    found = coefficients(kernel, statement, "h")
    if factor == "no":
        assert found is None
        return
    told = [
        None if n is None else re.sub(r"tl\.cast\(([^,]*), tl\.float32\)", r"f(\1)", ast.unparse(n)) for n in (found.factor, found.summand)
    ]
    assert told == [factor, summand]
