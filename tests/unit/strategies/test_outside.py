"""What a mask leaves out and ``other`` fills: a reduction takes it in for nothing, or another block gives another result."""

from __future__ import annotations

import pytest

from kernelband.strategies.code import View
from kernelband.strategies.code.resizing import resizable
from tests.unit.strategies.fusion_samples import row_facts
from tests.unit.strategies.samples import program_of
from tests.unit.strategies.test_unsound_blocks import KEPT, LOAD, WALK, resized

LOWEST, MOST = 'float("-inf")', 'float("inf")'
WEIGHTS = "z = tl.load(part_ptr + cols, mask=cols < n, other={})"
CHOSEN = "z = tl.load(part_ptr + i, mask=i >= 0, other=0.0)\nt += tl.sum(z, axis=0)"
#: A loop's body, what fills x, and whether another block gives the same.
BODIES = [
    ("t += tl.sum(x, axis=0)", "0.0", True),
    ("t += tl.sum(x, axis=0)", "1.0", False),
    ("t += tl.sum(x + 1.0, axis=0)", "0.0", False),
    ("t += tl.sum(x + 1.0, axis=0)", "-1.0", True),
    ("t += tl.sum(tl.where(cols < n, x + 1.0, 0.0), axis=0)", "0.0", True),
    ("m = cols < n\nt += tl.sum(tl.where(m & (x > 3.0), x, 0.0), axis=0)", "7.0", True),
    ("t += tl.sum(tl.where(n > cols, x, 0.0), axis=0)", "7.0", True),
    ("t += tl.sum(tl.where(cols >= n, x, 0.0), axis=0)", "7.0", False),
    ("e = tl.load(part_ptr)\nt += tl.sum(tl.where(e + cols < e + n, x, 0.0), axis=0)", "7.0", True),
    ("t += tl.sum(tl.exp(x), axis=0)", "0.0", False),
    ("t += tl.sum(tl.exp(x), axis=0)", LOWEST, True),
    ("t += tl.sum(tl.exp(x - n), axis=0)", LOWEST, True),
    ("t += tl.sum(x.to(tl.float32) * n, axis=0)", "0.0", True),
    ("t += tl.sum((x - n) * (x - n), axis=0)", "0.0", False),
    ("t += tl.sum(tl.sqrt(x * x), axis=0)", "0", True),
    ("t += tl.sum(tl.cos(x), axis=0)", "0.0", False),
    ("t += tl.sum(tl.sin(x), axis=0)", "0.0", True),
    ("t += tl.sum(tl.where(x > 1.0, 1.0, 0.0), axis=0)", "0.0", True),
    ("t += tl.sum(tl.where(x > -1.0, 1.0, 0.0), axis=0)", "0.0", False),
    ("t += tl.sum(tl.where(x == 0.0, 1.0, 0.0), axis=0)", "0.0", False),
    ("t += tl.sum(tl.maximum(x, 0.0), axis=0)", LOWEST, True),
    ("t += tl.sum(tl.minimum(x, 0.0), axis=0)", LOWEST, False),
    ("t = tl.maximum(t, tl.max(x, axis=0))", "0.0", False),
    ("t = tl.maximum(t, tl.max(x, axis=0))", LOWEST, True),
    ("t = tl.maximum(t, tl.max(x, axis=0))", "-1e30", True),
    ("t = tl.maximum(t, tl.max(x, axis=0))", "-1.0", False),
    ("t = tl.maximum(t, tl.max(tl.abs(x), axis=0))", "0.0", True),
    ("t = tl.maximum(t, tl.max(x * x, axis=0))", "0.0", True),
    ("t = tl.maximum(t, tl.max(x * tl.abs(x), axis=0))", "0.0", False),
    ("x = tl.abs(x)\nt = tl.maximum(t, tl.max(x, axis=0))", "0.0", True),
    ("t = tl.maximum(t, tl.max(-x, axis=0))", LOWEST, False),
    ("t = tl.maximum(t, tl.max(-x, axis=0))", MOST, True),
    ("t = tl.minimum(t, tl.min(x, axis=0))", "0.0", False),
    ("t = tl.minimum(t, tl.min(x, axis=0))", MOST, True),
    ("x = x * 2.0\nt += tl.sum(x, axis=0)", "0.0", True),
    ("x = x + 2.0\nt += tl.sum(x, axis=0)", "0.0", False),
    ("x += 2.0\nx -= 2.0\nt += tl.sum(x, axis=0)", "0.0", True),
    ("if n > 64:\n    x = x * 2.0\nt += tl.sum(x, axis=0)", "0.0", True),
    ("if n > 64:\n    x = x + 2.0\nt += tl.sum(x, axis=0)", "0.0", False),
    ("s = 0.0\nfor k in range(4):\n    s = s + x\nt += tl.sum(s, axis=0)", "0.0", True),
    ("s = 0.0\nfor k in range(4):\n    s = s + x + 1.0\nt += tl.sum(s, axis=0)", "0.0", False),
    ("s = x\nfor k in range(4):\n    y = s * 2.0\n    s = y\nt += tl.sum(s, axis=0)", "0.0", True),
    (WEIGHTS.format("1.0") + "\nt += tl.sum(x * z, axis=0)", "0.0", True),
    (WEIGHTS.format("1.0") + "\nt += tl.sum(x + z, axis=0)", "0.0", False),
    (WEIGHTS.format("0.0") + "\nt += tl.sum(x * z, axis=0)", LOWEST, False),  # not a number
    (WEIGHTS.format("0.0") + "\nt = tl.maximum(t, tl.max(x + z, axis=0))", LOWEST, True),
    ("z = tl.load(part_ptr + x.to(tl.int32))\nt += tl.sum(z, axis=0)", "0.0", False),  # the first for each that isn't there
    (
        "i = tl.load(part_ptr + cols, mask=cols < n, other=-1).to(tl.int32)\n" + CHOSEN,
        "0.0",
        True,
    ),
    (
        "i = tl.load(part_ptr + cols, mask=cols < n, other=0).to(tl.int32)\n" + CHOSEN,
        "0.0",
        False,
    ),
    ("t += tl.sum(tl.where(tl.cos(x) + n < 9.0, 0.0, 1.0), axis=0)", "0.0", False),
    ("t += tl.sum(tl.where(tl.cos(x) + n < 9.0, 1.0, 0.0), axis=0)", "0.0", False),
    ("t += tl.sum(tl.where(~(x == 0.0), 1.0, 0.0), axis=0)", "0.0", True),
    ("t += tl.sum(tl.where(not n, x, x), axis=0)", "0.0", True),
    ("t += tl.sum(x + float(n), axis=0)", "0.0", False),
    ("t += tl.sum(x, axis=0)", "n", False),
    ("t = tl.maximum(t, tl.max(x, axis=0))", "LEAST", True),
    ("t = tl.maximum(t, tl.max(x, axis=0))", "LITTLE", False),
]
NUMBERS = "LEAST = tl.constexpr(-1e30)\nLITTLE = -1.0\n\n\n"


@pytest.mark.parametrize(("body", "other", "same"), BODIES)
def test_a_block_changes_where_what_the_mask_leaves_out_counts_for_nothing(body, other, same, tmp_path):
    loaded = WALK.replace(LOAD, LOAD.replace("other=0.0", f"other={other}"))
    text = loaded.replace("STEP", "\n        ".join(body.split("\n"))).replace("AFTER", KEPT)
    begin = LOWEST if "maximum(t" in body else MOST if "minimum(t" in body else "0.0"
    text = text.replace("t = 0.0", f"t = {begin}")
    first = text.index("@triton.jit")
    assert resized(text[:first] + NUMBERS + text[first:], tmp_path) == same


@pytest.mark.parametrize(("other", "same"), [(", other=0.0", False), (f", other={LOWEST}", True), ("", True)])
def test_smaller_parts_of_a_block_take_in_less_of_what_nothing_fills_and_of_what_is_filled_they_tell(other, same, tmp_path):
    text = (
        WALK.replace(LOAD, LOAD.replace(", other=0.0", other))
        .replace("STEP", "t = tl.maximum(t, tl.max(x, axis=0))")
        .replace("AFTER", KEPT)
    )
    program = program_of(text, tmp_path)
    view = View.read(program, row_facts(program, columns=2048))
    assert view is not None
    assert resizable(view, "BLOCK", parts=True) == same
