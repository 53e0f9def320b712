"""Walks and programs whose results tell a block's size by the code around a total: each was offered another block once, and was wrong."""

from __future__ import annotations

import pytest

from tests.unit.strategies.fusion_samples import row_facts
from tests.unit.strategies.samples import facts, launch, made_by, program_of
from tests.unit.strategies.test_unsound_blocks import KEPT, PARTS, WALK, filled, resized

LOWEST = 'float("-inf")'
FOUND = "new, at = tl.max(x, axis=0, return_indices=True)"
LATER = "later = new > u"
LARGEST = "u = tl.where(later, new, u)"
PLACE = "t = tl.where(later, off + at, t)"
ALONE = "new = tl.max(x, axis=0)"
BELOW = "m = tl.maximum(u, tl.max(x, axis=0))"
SUMMED = "t = t * tl.exp(u - m) + tl.sum(p, axis=0)"
SCALED = "tl.store(y_ptr + row * n + cols, x * sc, mask=cols < n)"
OTHER = "tl.store(part_ptr + row, u)"
#: A loop's body and what is behind it.
BODIES: dict[str, tuple[list[str], str]] = {
    "a scale for each group of 256": (["sc = tl.load(part_ptr + off // 256)", SCALED], "pass"),
    "a group of 64": (["g = off // 64", "if g == 1:", "    t += tl.sum(x, axis=0)"], KEPT),
    "every other group": (["if (off // 64) % 2 == 0:", "    t += tl.sum(x, axis=0)"], KEPT),
    "groups of lanes": (["t += tl.sum(x * (tl.arange(0, BLOCK) // 8), axis=0)"], KEPT),
    "some lanes of each 64": (["lane = tl.arange(0, BLOCK)", "t += tl.sum(tl.where(lane % 64 < 32, x, 0.0), axis=0)"], KEPT),
    "a mask that a block makes": (["b = tl.max(x, axis=0)", "tl.store(y_ptr + row * n + cols, x, mask=(cols < n) & (b > 1.0))"], "pass"),
    "a value by its name": (["tl.store(y_ptr + row * n + cols, value=x / tl.max(tl.abs(x), axis=0), mask=cols < n)"], "pass"),
    "the widest block": (["t = tl.maximum(t, tl.max(x, axis=0) - tl.min(x, axis=0))"], KEPT),
    "the largest share of a block": (["t = tl.maximum(t, tl.max(x / tl.sum(x, axis=0), axis=0))"], KEPT),
    "the largest less what was largest": (["t = tl.maximum(t, tl.max(x - 0.5 * t, axis=0))"], KEPT),
    "a sum of what is near the largest so far": (
        ["t = tl.maximum(t, tl.max(x, axis=0))", "u += tl.sum(tl.where(x > 0.5 * t, x, 0.0), axis=0)"],
        OTHER,
    ),
    "a sum below a maximum that nothing rescales": (["t = tl.maximum(t, tl.max(x, axis=0))", "u += tl.sum(tl.exp(x - t), axis=0)"], OTHER),
    "a sum that is rescaled twice as much": ([BELOW, "p = tl.exp(x - m)", SUMMED.replace("(u - m)", "((u - m) * 2.0)"), "u = m"], KEPT),
    "a sum that is scaled with the maximum": ([BELOW, "t = t * m + tl.sum(x, axis=0)", "u = m"], KEPT),
    "a sum that is rescaled the other way": ([BELOW, "p = tl.exp(x - m)", SUMMED.replace("u - m", "m - u"), "u = m"], KEPT),
    "a sum that is rescaled too late": ([BELOW, "u = m", "p = tl.exp(x - m)", SUMMED], KEPT),
    "a sum that is rescaled by the block's own maximum": (
        ["b = tl.max(x, axis=0)", "m = tl.maximum(u, b)", "p = tl.exp(x - m)", SUMMED.replace("u - m", "b - m"), "u = m"],
        KEPT,
    ),
    "a sum that is rescaled to the block's own maximum": (
        ["b = tl.max(x, axis=0)", "m = tl.maximum(u, b)", "p = tl.exp(x - m)", SUMMED.replace("u - m", "u - b"), "u = m"],
        KEPT,
    ),
    "squares of exponentials": ([BELOW, "p = tl.exp(x - m)", "p *= p", SUMMED, "u = m"], KEPT),
    "exponentials that are large": ([BELOW, "p = tl.exp(x - m)", "p = tl.where(p > 0.1, p, 0.0)", SUMMED, "u = m"], KEPT),
    "the largest share, by tl.where": (["z = x / tl.sum(x, axis=0)", "new = tl.max(z, axis=0)", "t = tl.where(new > t, new, t)"], KEPT),
    "the largest less what was largest, by tl.where": (["new = tl.max(x - t, axis=0)", "t = tl.where(new > t, new, t)"], KEPT),
    "a place whose value is kept in some rows": ([FOUND, LATER, "if row % 2 == 0:", f"    {LARGEST}", PLACE], KEPT),
    "a place whose value is kept in long rows": ([FOUND, LATER, PLACE, "if n > 10000:", "    u = tl.maximum(u, new)"], KEPT),
    "a place whose value is another's, too": (
        [FOUND, "t = tl.where(new > u, off + at, t)", "u = tl.maximum(u, new)", "u = tl.maximum(u, tl.max(x * 2, axis=0))"],
        KEPT,
    ),
    "a place whose value is kept where it is huge": ([FOUND, "w = tl.maximum(u, new)", "u = tl.where(w > 1e30, w, u)", LATER, PLACE], KEPT),
    "a place from another beginning": (
        ["base = off", "cols = base + tl.arange(0, BLOCK)", FOUND, "base = base * 2", LATER, LARGEST, "t = tl.where(later, base + at, t)"],
        KEPT,
    ),
    "nothing where none is equal": (
        [ALONE, "at = tl.min(tl.where(x == new, cols, 0), axis=0)", LATER, LARGEST, "t = tl.where(later, at, t)"],
        KEPT,
    ),
    "a largest by an annotated name": (["s: tl.tensor = tl.max(tl.abs(x), axis=0)", SCALED.replace("* sc", "/ s")], "pass"),
    "whether any is large": (["if tl.reduce_or(x > 1.0, axis=0):", "    t += tl.sum(x, axis=0)"], KEPT),
    "a block's four largest": (["v = tl.topk(x, 4)", "t += tl.sum(v, axis=0)"], KEPT),
}
#: The same where another block gives the same.
SAME: dict[str, tuple[list[str], str]] = {
    "a scale by an element's own place": (["sc = tl.load(part_ptr + cols // 64, mask=cols < n, other=0.0)", SCALED], "pass"),
    "exponentials, converted": ([BELOW, "p = tl.exp(x - m)", "p = p.to(tl.float32)", SUMMED, "u = m"], KEPT),
    "exponentials to another base": (
        [
            "m = tl.maximum(u, tl.max(x, axis=0) * 1.44)",
            "p = tl.exp2(x * 1.44 - m)",
            "a = tl.exp2(u - m)",
            "t = t * a + tl.sum(p, axis=0)",
            "u = m",
        ],
        KEPT,
    ),
    "differences to another base": (
        [BELOW, "p = tl.exp2((x - m) * 1.44)", "t *= tl.exp2((u - m) * 1.44)", "t += tl.sum(p, axis=0)", "u = m"],
        KEPT,
    ),
}


def walk(body: list[str], after: str) -> str:
    text = WALK.replace("STEP", "\n        ".join(body)).replace("AFTER", after)
    index, lowest = ("0", LOWEST) if "later" in text or "u < " in text or "> u" in text or "u - m" in text else ("0.0", "0.0")
    return filled(text.replace("    t = 0.0\n", f"    t = {index}\n    u = {lowest}\n"))


@pytest.mark.parametrize("name", BODIES)
def test_a_loop_s_block_that_results_tell_stays(name, tmp_path):
    assert not resized(walk(*BODIES[name]), tmp_path)


@pytest.mark.parametrize("name", SAME)
def test_a_loop_s_block_that_no_result_tells_changes(name, tmp_path):
    assert resized(walk(*SAME[name]), tmp_path)


@pytest.mark.parametrize(
    "lines",
    [
        ["sc = tl.load(x_ptr + (pid * BLOCK) // 64)", "tl.store(y_ptr + offs, x * sc, mask=offs < n)"],
        ["tl.store(y_ptr + offs, value=x / tl.max(tl.abs(x), axis=0), mask=offs < n)"],
        ["tl.store(y_ptr + offs, x, mask=(offs < n) & (tl.max(x, axis=0) > 1.0))"],
        ["tl.atomic_add(y_ptr, tl.sum(x, axis=0), mask=tl.max(x, axis=0) > 1.0)"],
        ["tl.atomic_add(y_ptr + tl.where(tl.max(x, axis=0) > 1.0, 1, 0), tl.sum(x, axis=0))"],
        ["s: tl.tensor = tl.max(tl.abs(x), axis=0)", "tl.store(y_ptr + offs, x / s, mask=offs < n)"],
        ["s = tl.reduce_or(x > 1.0, axis=0)", "tl.store(y_ptr + offs, tl.where(s, x, 0.0), mask=offs < n)"],
    ],
)
def test_a_program_s_block_that_results_tell_stays(lines, tmp_path):
    program = program_of(PARTS.replace("STORE", "\n    ".join(lines)), tmp_path)
    given = facts(launch(program, [16, 1, 1], {"BLOCK": 256}, {"n": 4096}, {"x_ptr": ([4096], "float32"), "y_ptr": ([4096], "float32")}))
    assert all(p.parameters.get("BLOCK", 256) == 256 for p in made_by("tiles", program, given))


@pytest.mark.parametrize(
    ("total", "same"),
    [
        ("tl.sum(x, axis=0)", True),
        ("tl.sum(x, axis=0) / n", True),
        ("0.5 * tl.sum(x, axis=0) / n", True),
        ("tl.sum(x, axis=0) / BLOCK", False),
        ("tl.sum(x, axis=0) / (pid + 1)", False),
        ("tl.sum(x, axis=0) * tl.max(x, axis=0)", False),
        ("n / tl.sum(x, axis=0)", False),
        ("tl.sum(x, axis=0) / n + 1.0", False),
        ("tl.sum(x, axis=0) * n * n / tl.load(y_ptr)", False),
        ("(tl.sum(x, axis=0) / 3).to(tl.int32)", False),
        ("(tl.sum(x, axis=0) / n).to(tl.float16).to(tl.float32)", False),
        ("(tl.sum(x, axis=0) / n).to(tl.float32)", True),
    ],
)
def test_a_program_s_part_of_a_mean(total, same, tmp_path):
    text = PARTS.replace("STORE", f"tl.atomic_add(y_ptr, {total})")
    program = program_of(text, tmp_path)
    given = facts(launch(program, [16, 1, 1], {"BLOCK": 256}, {"n": 4096}, {"x_ptr": ([4096], "float32"), "y_ptr": ([1], "float32")}))
    assert any(p.parameters.get("BLOCK", 256) != 256 for p in made_by("tiles", program, given)) == same
    # Parts of floats in a tensor of whole numbers are cut off one by one.
    given = facts(launch(program, [16, 1, 1], {"BLOCK": 256}, {"n": 4096}, {"x_ptr": ([4096], "float32"), "y_ptr": ([1], "int32")}))
    assert all(p.parameters.get("BLOCK", 256) == 256 for p in made_by("tiles", program, given))


NESTED = WALK.replace(
    """        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        STEP
""",
    """        rows = off + tl.arange(0, BLOCK)
        for c in range(4):
            new, at = tl.max(tl.load(x_ptr + rows * 4 + c, mask=rows < n, other=0.0), axis=0, return_indices=True)
            later = new > u
            u = tl.where(later, new, u)
            t = tl.where(later, off + at, t)
""",
).replace("AFTER", KEPT)


def test_a_place_that_an_inner_loop_keeps_hangs_on_the_blocks_of_the_outer_one(tmp_path):
    """Of equal elements the first is in the first column, or in the first block."""
    assert not resized(NESTED.replace("    t = 0.0\n", f"    t = 0\n    u = {LOWEST}\n"), tmp_path)


MOMENTS = """\
mean = t / n
    s = 0.0
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=0.0)
        d = tl.where(cols < n, x - mean, 0.0)
        CHANGED
        s += tl.sum(d * d, axis=0)
    tl.store(part_ptr + row, s / n)
"""
EXPONENTIALS = """\
s = 0.0
    for off in range(0, n, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + cols, mask=cols < n, other=float("-inf"))
        s += tl.sum(tl.exp(x - t), axis=0)
    tl.store(part_ptr + row, s)
"""


@pytest.mark.parametrize(
    ("changed", "wanted"), [("pass", True), ("d = d * 2.0", False), ("if off >= 512:\n            d = d * 2.0", False)]
)
def test_moments_come_from_one_pass_where_the_difference_is_what_is_squared(changed, wanted, tmp_path):
    program = program_of(walk(["t += tl.sum(x, axis=0)"], MOMENTS.replace("CHANGED", changed)), tmp_path)
    assert bool(made_by("one_pass_moments", program, row_facts(program, columns=2048))) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (["t = tl.maximum(t, tl.max(x, axis=0))"], True),
        (["z = tl.where(cols >= 512, x, -1.0)", "t = tl.maximum(t, tl.max(z, axis=0))"], False),
    ],
)
def test_an_online_softmax_is_below_the_maximum_of_its_own_elements(body, wanted, tmp_path):
    steps = walk(body, EXPONENTIALS).replace("other=0.0", LOWEST.join(["other=", ""]))
    program = program_of(steps.replace("    t = 0.0\n", f"    t = {LOWEST}\n"), tmp_path)
    assert bool(made_by("online_softmax", program, row_facts(program, columns=2048))) == wanted


@pytest.mark.parametrize(
    ("store", "wanted"),
    [
        ("tl.store(part_ptr + row, t)", True),
        ("tl.store(part_ptr + row, t, mask=t > 1.0)", False),
        ("tl.store(part_ptr + tl.where(t > 0, row, 0), t)", False),
        ("far = t > 1.0\n    tl.store(part_ptr + row, t, mask=far)", False),
    ],
)
def test_a_reduction_is_split_where_no_part_decides_what_is_stored(store, wanted, tmp_path):
    program = program_of(walk(["t += tl.sum(x, axis=0)"], store), tmp_path)
    tensors = {"x_ptr": ([4, 65536], "float32"), "y_ptr": ([4, 65536], "float32"), "part_ptr": ([4], "float32")}
    given = facts(launch(program, [4, 1, 1], {"BLOCK": 256}, {"n": 65536}, tensors))
    assert bool(made_by("split_reduction", program, given)) == wanted


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        (["p = tl.exp(x - m)"], True),
        (["p = tl.exp(x - m)", "p = p.to(tl.float32)"], True),
        (["p = tl.exp(x - m)", "p *= p"], False),
        (["p = tl.exp(x - m)", "if off >= 64:", "    p = p * p"], False),
        (["p = tl.exp(x - m)", "if tl.sum(p, axis=0) > 2.0:", "    p = p * 0.0"], False),
    ],
)
def test_a_walk_is_split_where_exponentials_stay_what_they_are(lines, wanted, tmp_path):
    text = walk([BELOW, *lines, SUMMED, "u = m"], "tl.store(part_ptr + row, u + tl.log(t))").replace("other=0.0", f"other={LOWEST}")
    program = program_of(text.replace("    t = 0\n", "    t = 0.0\n"), tmp_path)
    tensors = {"x_ptr": ([4, 65536], "float32"), "y_ptr": ([4, 65536], "float32"), "part_ptr": ([4], "float32")}
    given = facts(launch(program, [4, 1, 1], {"BLOCK": 256}, {"n": 65536}, tensors))
    assert bool(made_by("split_walk", program, given)) == wanted


@pytest.mark.parametrize(
    ("helper", "line", "same"),
    [
        ("return tl.sigmoid(x)", "t += tl.sum(x * of(x), axis=0)", True),
        ("return tl.sigmoid(x)", "t += tl.sum(of(x), axis=0)", False),  # a half for each element that isn't there
        ("return tl.sqrt(tl.sum(x * x, axis=0))", "t += of(x)", False),
        ("return tl.max(x, axis=0), tl.sum(x, axis=0)", "a, b = of(x)\n        t += a", False),
        ("return tl.cumsum(x, axis=0)", "t += tl.sum(of(x), axis=0)", False),
        ("return inner(x)", "t += of(x)", False),
    ],
)
def test_what_a_helper_makes_of_whole_blocks_keeps_their_size(helper, line, same, tmp_path):
    text = walk([line], KEPT)
    inner = "@triton.jit\ndef inner(x):\n    return tl.sum(x, axis=0) * tl.sum(x, axis=0)\n\n\n"
    helpers = f"{inner}@triton.jit\ndef of(x):\n    {helper}\n\n\n"
    first = text.index("@triton.jit")
    program = program_of(text[:first] + helpers + text[first:], tmp_path, kernel="walk_kernel")
    found = made_by("tiles", program, row_facts(program, columns=2048))
    assert any(p.parameters.get("BLOCK", 256) != 256 for p in found) == same
