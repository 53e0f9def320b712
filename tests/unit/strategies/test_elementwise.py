"""Which calls compute element by element, in a kernel as projects write it; what may be anything is left alone."""

from __future__ import annotations

import pytest

from tests.unit.strategies.row_samples import CONSTANTS, NORM, SCALARS, TENSORS
from tests.unit.strategies.samples import facts, launch, made_by, program_of

HELPER = "    gate = tl.sigmoid(x)\n    return x * gate"
FROM = "from triton.language.math import rsqrt"
TWICE = "@triton.jit\ndef twice(x):\n    return tl.exp(x)\n\n\n"
ALSO = {
    "the device library": [(FROM, "from triton.language.extra.cuda.libdevice import rsqrt")],
    "its module": [
        (FROM, "from triton.language.extra import libdevice"),
        ("    from triton.language.extra.libdevice import rsqrt", "    from triton.language.extra.cuda import libdevice"),
        ("rsqrt(tl", "libdevice.rsqrt(tl"),
    ],
    "a name for it": [("_PLAIN:", "inverse_root = tl.math.rsqrt\n_PLAIN:"), ("rsqrt(tl", "inverse_root(tl")],
    "the language in full": [("rsqrt(tl", "tl.math.rsqrt(tl")],
    "an option that the compiler decides": [("silu(gate).cast(kept)", "(silu(gate) if MODE == _WIDE else gate).cast(kept)")],
    "a helper that calls one": [
        ("    return x * gate", "    return twice(gate) * x"),
        ("@triton.jit\ndef silu", f"{TWICE}@triton.jit\ndef silu"),
    ],
}
REFUSED = {
    "a helper that sums": [(HELPER, "    return x * tl.sum(x, axis=0)")],
    "a helper that returns in the middle": [(HELPER, "    if BLOCK > 5:\n        return x\n    return x * 2")],
    "a helper that reads memory": [(HELPER, "    gate = tl.load(x)\n    return x * gate")],
    "a helper that indexes": [(HELPER, "    return x[None]")],
    "somebody's own rsqrt": [(FROM, "from mine import rsqrt")],
    "a name that may be another": [("_PLAIN:", "rsqrt = mine.rsqrt\n_PLAIN:")],
    "a running sum": [("rsqrt(tl", "tl.cumsum(tl")],
    "a branch on a number that is passed": [("if MODE == _WIDE:", "if n_cols == _WIDE:")],
    "a branch on a name of its own": [("    if MODE == _WIDE:", "    _WIDE = n_cols\n    if MODE == _WIDE:")],
    "a pointer that is another by then": [("    if w_ptr is", "    w_ptr = w_ptr + row\n    if w_ptr is")],
    "a choice by data": [("x = x * root", "x = x if n_cols > 5 else x * root")],
    "options that may hold the warps": [("        num_warps=4,\n", "")],
}


def rows(text, tmp_path):
    program = program_of(text, tmp_path, kernel="norm_kernel")
    given = facts(launch(program, [5000, 1, 1], CONSTANTS, SCALARS, TENSORS))
    return made_by("rows_per_program", program, given)


def edited(edits):
    text = NORM
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("how", ["as it is", *ALSO])
def test_it_takes_several_rows(how, tmp_path):
    assert {p.parameters["rows"] for p in rows(edited(ALSO.get(how, [])), tmp_path)} >= {2, 8}


@pytest.mark.parametrize("why", REFUSED)
def test_left_alone(why, tmp_path):
    found = rows(edited(REFUSED[why]), tmp_path)
    if why == "options that may hold the warps":
        assert {p.parameters["num_warps"] for p in found} <= {4}  # as many as Triton takes where nobody says: no option is written
    else:
        assert not found
