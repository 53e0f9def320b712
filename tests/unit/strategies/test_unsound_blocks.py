"""Blocks whose size shows in the results: another one was offered once, and wrong."""

from __future__ import annotations

import re

import pytest

from tests.unit.strategies.fusion_samples import row_facts
from tests.unit.strategies.order_samples import HEAD, TEXTS, captured
from tests.unit.strategies.samples import facts, launch, made_by, program_of

# ---------------------------------------------------------------- blocks that show

WALK = (
    HEAD
    + """\
@triton.jit
def walk_kernel(x_ptr, y_ptr, part_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = 0.0
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        STEP
    AFTER


def walk(x):
    y = torch.empty_like(x)
    part = torch.empty(x.shape[0])
    walk_kernel[(x.shape[0],)](x, y, part, x.shape[1], BLOCK=256)
    return y, part
"""
)
LOAD = "tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)"
KEPT = "tl.store(part_ptr + row, t)"
STORED = "tl.store(y_ptr + row * n + cols, {}, mask=cols < n)"
#: A loop's body, what follows it, and whether another block gives the same.
WALKS = {
    "elements": ([STORED.format("x * 2")], "pass", True),
    "a sum": (["t += tl.sum(x, axis=0)"], KEPT, True),
    "a sum by another name": (["s = tl.sum(x, axis=0)", "t = t + s"], KEPT, True),
    "a largest": (["t = tl.maximum(t, tl.max(x, axis=0))"], KEPT, True),
    "a scan": ([STORED.format("t + tl.cumsum(x, axis=0)"), "t += tl.sum(x, axis=0)"], "pass", True),
    "a scan by another name": (["s = tl.cumsum(x, axis=0)", STORED.format("s + t"), "t += tl.sum(x, axis=0)"], "pass", True),
    "a scan whose total goes on first": (["s = t + tl.cumsum(x, axis=0)", "t += tl.sum(x, axis=0)", STORED.format("s")], "pass", True),
    "a scan after its total went on": (["t += tl.sum(x, axis=0)", "s = t + tl.cumsum(x, axis=0)", STORED.format("s")], "pass", False),
    "a scan from behind": ([STORED.format("t + tl.cumsum(x, axis=0, reverse=True)"), "t += tl.sum(x, axis=0)"], "pass", False),
    "a scan of what is bound anew": (
        ["s = t + tl.cumsum(x, axis=0)", "x = x * 2", STORED.format("s"), "t += tl.sum(x, axis=0)"],
        "pass",
        False,
    ),
    "a scan that may not go on": (
        [STORED.format("t + tl.cumsum(x, axis=0)"), "if n > 4096:\n            t += tl.sum(x, axis=0)"],
        "pass",
        False,
    ),
    "a sum of largest": (["t += tl.max(x, axis=0)"], KEPT, False),
    "a sum of roots": (["t += tl.sqrt(tl.sum(x, axis=0))"], KEPT, False),
    "a number of blocks": (["t += 1.0"], KEPT, False),
    "what blocks have together": (["t += BLOCK"], KEPT, False),
    "a sum so far": ([STORED.format("t + x"), "t += tl.sum(x, axis=0)"], "pass", False),
    "a scan that begins late": (["t += tl.sum(x, axis=0)", STORED.format("t + tl.cumsum(x, axis=0)")], "pass", False),
    "a scan of something else": ([STORED.format("t + tl.cumsum(x * x, axis=0)"), "t += tl.sum(x, axis=0)"], "pass", False),
    "a scale for each block": (["s = tl.max(tl.abs(x), axis=0)", STORED.format("x / s")], "pass", False),
    "a mean of means": (["t = 0.5 * t + tl.sum(x, axis=0)"], KEPT, False),
    "a mean over the block": (["t += tl.sum(x / BLOCK, axis=0)"], KEPT, False),
    "the last block's sum": (["t = tl.sum(x, axis=0) + 0.5 * t"], KEPT, False),
    "a row of the result": (["z = tl.load(y_ptr + row * n + cols - 1, mask=cols < n, other=0.0)", STORED.format("x + z")], "pass", False),
    "the result in place": (["z = tl.load(y_ptr + row * n + cols, mask=cols < n, other=0.0)", STORED.format("x + z")], "pass", True),
    "a sum of exponentials": (
        ["m = tl.maximum(u, tl.max(x, axis=0))", "t = t * tl.exp(u - m) + tl.sum(tl.exp(x - m), axis=0)", "u = m"],
        KEPT,
        True,
    ),
    "a sum of exponentials that decays": (
        ["m = tl.maximum(u, tl.max(x, axis=0))", "t = t * 0.5 + tl.sum(tl.exp(x - m), axis=0)", "u = m"],
        KEPT,
        False,
    ),
    "a sum if a block says so": (["if tl.max(x, axis=0) > 1.0:", "    t += tl.sum(x, axis=0)"], KEPT, False),
    "elements if a block says so": (["b = tl.max(x, axis=0)", "if b > 1.0:", "    " + STORED.format("x * 2")], "pass", False),
    "a sum until it is enough": (["if t < 100.0:", "    t += tl.sum(x, axis=0)"], KEPT, False),
    "a sum, as often as a block says": (["for i in range(tl.max(x, axis=0).to(tl.int32)):", "    t += tl.sum(x, axis=0)"], KEPT, False),
    "a sum if a flag says so": (
        ["if n > 64:", "    z = x * 2.0", "if n > 64:", "    t += tl.sum(z, axis=0)"],
        KEPT,
        True,
    ),
    "a sum of what a flag kept": (["if n > 64:", "    z = x * 2.0", "if n > 32:", "    t += tl.sum(z, axis=0)"], KEPT, False),
    "a sum of what another flag of that name kept": (
        ["f = row > 1", "if f:", "    z = x * 2.0", "f = row > 0", "if f:", "    t += tl.sum(z, axis=0)"],
        KEPT,
        False,
    ),
    "names in a circle": (["t = t.to(tl.float32)", "t += tl.sum(x, axis=0)"], KEPT, False),
    "the block before": ([STORED.format("x - t"), "t = x"], "pass", False),
    "the last block": (["t = x"], "tl.store(part_ptr + row, tl.sum(t, axis=0))", False),
    "two at once": (["t, s = t + tl.sum(x, axis=0), x"], KEPT, False),
    "lanes of a sum": (["t += x"], "tl.store(part_ptr + row, tl.sum(t, axis=0))", True),
    "lanes of a sum, the largest": (["t += x"], "tl.store(part_ptr + row, tl.max(t, axis=0))", False),
    "lanes of a sum, all": (["t += x"], "tl.store(y_ptr + row * n + tl.arange(0, BLOCK), t)", False),
}


def filled(text):
    """What the mask leaves out counts for nothing, so that only what the body does with a block may tell its size."""
    if re.search(r"tl\.(arg)?min\(x", text):
        return text.replace(LOAD, LOAD.replace("0.0", 'float("inf")'))
    largest = re.search(r"tl\.(arg)?max\(x", text)
    if "tl.exp" in text or (largest and "tl.sum(x" not in text):
        return text.replace(LOAD, LOAD.replace("0.0", 'float("-inf")'))
    return text.replace(LOAD, f"tl.abs({LOAD})") if largest else text


def resized(text, tmp_path, columns=2048):
    """Whether tiles gives the block another size."""
    program = program_of(text, tmp_path)
    found = made_by("tiles", program, row_facts(program, columns=columns))
    assert found  # warps may always change
    return any("BLOCK" in p.parameters and p.parameters["BLOCK"] != 256 for p in found)


@pytest.mark.parametrize("name", WALKS)
def test_a_block_keeps_its_size_where_the_results_tell_it(name, tmp_path):
    steps, after, same = WALKS[name]
    text = WALK.replace("STEP", "\n        ".join(steps)).replace("AFTER", after)
    text = text.replace("    t = 0.0\n", '    t = 0.0\n    u = float("-inf")\n') if "u = m" in steps else text
    if "lanes" in name or "the" in name.split():
        text = text.replace("t = 0.0", "t = tl.zeros([BLOCK], dtype=tl.float32)")
    text = filled(text)
    assert resized(text, tmp_path) == same
    program = program_of(text, tmp_path)
    assert bool(made_by("one_block", program, row_facts(program, columns=2048))) == same


PARTS = (
    HEAD
    + """\
@triton.jit
def parts_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    STORE


def parts(x, y):
    parts_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
"""
)


@pytest.mark.parametrize(
    ("store", "same"),
    [
        ("tl.store(y_ptr + offs, x + 1, mask=offs < n)", True),
        ("tl.atomic_add(y_ptr, tl.sum(x, axis=0))", True),
        ("tl.store(y_ptr + pid, tl.sum(x, axis=0))", False),
        ("tl.store(y_ptr + pid, 1.0)", False),
        ("tl.store(y_ptr + offs, x / tl.max(x, axis=0), mask=offs < n)", False),
        ("tl.atomic_xchg(y_ptr + pid, tl.sum(x, axis=0))", False),
    ],
)
def test_a_block_keeps_its_size_where_programs_store_what_they_made_of_it(store, same, tmp_path):
    text = PARTS.replace("STORE", store)
    program = program_of(text, tmp_path)
    given = facts(launch(program, [16, 1, 1], {"BLOCK": 256}, {"n": 4096}, {"x_ptr": ([4096], "float32"), "y_ptr": ([4096], "float32")}))
    found = [p for move in ("tiles", "more_programs") for p in made_by(move, program, given)]
    assert any(p.parameters.get("BLOCK", 256) != 256 for p in found) == same


@pytest.mark.parametrize(
    ("size", "same"),
    [("n", True), ("x.shape[0]", True), ("x.size(0)", True), ("n - 1", False), ("n // 2", False), ("y.shape[0]", False)],
)
def test_a_block_keeps_its_size_where_the_grid_ends_elsewhere_than_the_mask(size, same, tmp_path):
    text = PARTS.replace("STORE", "tl.store(y_ptr + offs, x + 1, mask=offs < n)").replace("(x, y, x.numel(),", "(x, y, n,")
    text = text.replace("    parts_kernel[", "    n = x.shape[0]\n    parts_kernel[").replace("cdiv(x.numel(), 256)", f"cdiv({size}, 256)")
    program = program_of(text, tmp_path)
    given = facts(launch(program, [16, 1, 1], {"BLOCK": 256}, {"n": 4096}, {"x_ptr": ([4096], "float32"), "y_ptr": ([4096], "float32")}))
    assert any(p.parameters.get("BLOCK", 256) != 256 for p in made_by("tiles", program, given)) == same


@pytest.mark.parametrize(("stop", "same"), [("n", True), ("n - 1", False), ("tl.program_id(0) * 64", True)])
def test_a_block_keeps_its_size_where_the_loop_ends_elsewhere_than_the_mask(stop, same, tmp_path):
    text = WALK.replace("STEP", "t += tl.sum(x, axis=0)").replace("AFTER", KEPT).replace("range(0, n,", f"range(0, {stop},")
    assert resized(text, tmp_path) == same


@pytest.mark.parametrize("other", [", other=0.0", ""])
def test_a_product_of_whole_blocks_keeps_them_where_nothing_fills_what_is_masked(other, tmp_path):
    text = TEXTS["batched"].replace(", other=0.0)", f"{other})")
    program = program_of(text, tmp_path)
    sizes = {p.parameters["BLOCK_K"] for p in made_by("tiles", program, captured("batched", program))}
    assert (sizes == {32}) == (not other)


def test_where_nothing_fills_what_is_masked_a_sum_has_parts_of_its_block_only(tmp_path):
    """Of elements behind the end nobody knows what counts; of a part of the block these are fewer of the same."""
    text = WALK.replace("STEP", "t += tl.sum(x, axis=0)").replace("AFTER", KEPT)
    sizes = {}
    for other in (", other=0.0", ""):
        program = program_of(text.replace(", other=0.0", other).replace("BLOCK=256", "BLOCK=1024"), tmp_path)
        found = made_by("tiles", program, row_facts(program, columns=8192, block=1024))
        sizes[other] = {p.parameters["BLOCK"] for p in found if "BLOCK" in p.parameters}
    assert max(sizes[", other=0.0"]) > 1024
    assert sizes[""] == {size for size in sizes[", other=0.0"] if size <= 1024}
    assert min(sizes[""]) < 1024


#: Sums over parts of a sequence, loaded through block pointers: each part's own where the block is stored.
SUMS_SO_FAR = (
    HEAD
    + """\
@triton.jit
def sums_kernel(x_ptr, y_ptr, T, D, BLOCK: tl.constexpr, COLS: tl.constexpr):
    part = tl.program_id(0)
    steps = part * BLOCK + tl.arange(0, BLOCK)
    x = tl.make_block_ptr(x_ptr, (T, D), (D, 1), (part * BLOCK, 0), (BLOCK, COLS), (1, 0))
    y = tl.make_block_ptr(y_ptr, (T, D), (D, 1), (part * BLOCK, 0), (BLOCK, COLS), (1, 0))
    values = tl.load(x, boundary_check=(0, 1))
    values = tl.where((steps < T)[:, None], values, 0.0)
    tl.store(y, VALUE, boundary_check=(0, 1))


def sums(x):
    y = torch.empty_like(x)
    T, D = x.shape
    sums_kernel[(triton.cdiv(T, 1024),)](x, y, T, D, BLOCK=1024, COLS=16)
    return y
"""
)


@pytest.mark.parametrize(
    ("value", "same"), [("values * 2", True), ("tl.cumsum(values, axis=0)", False), ("values - tl.max(values, axis=-1)[:, None]", True)]
)
def test_a_block_keeps_its_size_where_it_is_loaded_through_a_block_pointer_and_its_own_sums_are_stored(value, same, tmp_path):
    program = program_of(SUMS_SO_FAR.replace("VALUE", value), tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([1 << 20, 16], "float32"))
    given = facts(launch(program, [1024, 1, 1], {"BLOCK": 1024, "COLS": 16}, {"T": 1 << 20, "D": 16}, tensors))
    assert any(p.parameters.get("BLOCK", 1024) != 1024 for p in made_by("tiles", program, given)) == same


@pytest.mark.parametrize(
    ("lines", "same"),
    [
        ("x = x * 2", True),
        ("x = x * tl.load(y_ptr + pid)", False),  # a scale for each block
        ("x = x * pid", False),
        ("x = x * (pid % 7)", False),
        ("x = x * tl.rand(pid, tl.arange(0, BLOCK))", False),
        ("x = x + tl.sum(tl.where(offs < pid * BLOCK, x, 0.0), axis=0) * 0", False),  # a sum of the block's own
        ("which = pid // 2\n    x = x * tl.load(y_ptr + which)", False),
        ("which = tl.load(y_ptr + pid).to(tl.int32)\n    x = x * which", False),
        ("if pid == 0:\n        tl.store(z_ptr, n)", True),  # there is always a first
        ("if pid == 1:\n        tl.store(z_ptr, n)", False),
        ("if pid > n:\n        x = x * 2", False),
        ("if pid == 0:\n        x = x * 2", False),  # the first block's elements
        ("if pid == 0:\n        return", False),
        ("x = x - tl.load(x_ptr + (pid - 1) * BLOCK + tl.arange(0, BLOCK), mask=offs >= BLOCK, other=0.0)", False),
        ("x = x - tl.load(x_ptr + (pid % 8) * BLOCK + tl.arange(0, BLOCK))", False),
        ("if pid % 2 == 0:\n        tl.store(z_ptr, n)", False),
        ("x = x * tl.where(pid == 0, 2.0, 1.0)", False),
        ("x = x * tl.load(y_ptr + offs // BLOCK, mask=offs < n)", False),  # a scale for each block
        ("x = x * tl.load(x_ptr + (pid + 1) * BLOCK)", False),
        ("for k in range(pid, 8):\n        x = x * 2", False),
        ("tl.atomic_add(z_ptr, tl.max(x, axis=0))", False),
        ("tl.atomic_add(z_ptr, 1.0)", False),
        ("tl.atomic_max(z_ptr, tl.max(tl.abs(x), axis=0))", True),
        ("tl.atomic_max(z_ptr, tl.max(x, axis=0))", False),  # zeros behind the end are the largest where all others are below
        ("if pid >= tl.cdiv(n, BLOCK):\n        return", True),
        ("tl.assume(pid >= 0)", True),
        ("for other in range(pid):\n        x = x * 2", False),
    ],
)
def test_a_block_keeps_its_size_where_its_number_counts(lines, same, tmp_path):
    text = PARTS.replace("STORE", f"{lines}\n    tl.store(y_ptr + offs, x, mask=offs < n)").replace("y_ptr, n,", "y_ptr, z_ptr, n,")
    program = program_of(text.replace("(x, y, x.numel()", "(x, y, y, x.numel()"), tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr", "z_ptr"), ([1 << 20], "float32"))
    given = facts(launch(program, [4096, 1, 1], {"BLOCK": 256}, {"n": 1 << 20}, tensors))
    assert any(p.parameters.get("BLOCK", 256) != 256 for p in made_by("tiles", program, given)) == same


def test_a_block_keeps_its_size_where_programs_begin_at_several_of_them(tmp_path):
    """``pid * (BLOCK * 2)``: which axis it goes along isn't seen, and so not whether its number counts."""
    text = PARTS.replace("pid * BLOCK", "pid * (BLOCK * 2)").replace(
        "STORE", "tl.store(y_ptr + offs, x * tl.load(y_ptr + pid), mask=offs < n)"
    )
    program = program_of(text.replace("triton.cdiv(x.numel(), 256)", "triton.cdiv(triton.cdiv(x.numel(), 256), 2)"), tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([1 << 20], "float32"))
    given = facts(launch(program, [2048, 1, 1], {"BLOCK": 256}, {"n": 1 << 20}, tensors))
    assert all(p.parameters.get("BLOCK", 256) == 256 for p in made_by("tiles", program, given))
