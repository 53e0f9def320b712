"""``hoisted_loads`` and ``divisibility_hints``: what they write, and what they must leave alone."""

from __future__ import annotations

import attrs
import pytest

from kernelband.strategies import strategy
from tests.unit.strategies.access_samples import PERSISTENT_ROWS, scale_facts
from tests.unit.strategies.samples import again, program_of
from tests.unit.strategies.test_edits import changed, proposal


def made(program, given, move):
    return [p for name in ("access_layout", "vectorization") for p in strategy(name).propose(program, given) if p.move == move]


def test_golden_hoisted_loads(tmp_path):
    program = program_of(PERSISTENT_ROWS, tmp_path)
    found = proposal(program, scale_facts(program), "access_layout.hoisted_loads(loop=1)")
    assert found.numerics == "exact"
    assert (
        "\n".join(changed(program, found))
        == """\
+    cols = tl.arange(0, BLOCK)
+    mask = cols < n_cols
+    w = tl.load(w_ptr + cols, mask=mask)  # weights
+    b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)
-        cols = tl.arange(0, BLOCK)
-        mask = cols < n_cols
-        w = tl.load(w_ptr + cols, mask=mask)  # weights
-        b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)"""
    )


NOT_INVARIANT = {
    "no mask: a loop of no iterations would load": ("tl.load(w_ptr + cols, mask=mask)", "tl.load(w_ptr + cols)"),
    "the row is in the address": ("w_ptr + cols", "w_ptr + cols + row"),
    "a name that changes": ("        w = tl.load", "        cols = cols + 0\n        w = tl.load"),
    "the output may be the weights": ("y = torch.empty_like(x)", "y = x if x.is_cuda else w.expand_as(x)"),
    "an output that came in": ("y = torch.empty_like(x)", "y = x"),
    "an atomic": ("        w = tl.load", "        tl.atomic_add(y_ptr, 1.0)\n        w = tl.load"),
    "stored to as well": ("        x = tl.load", "        tl.store(w_ptr + cols, cols, mask=mask)\n        x = tl.load"),
    "volatile": ("tl.load(w_ptr + cols, mask=mask)", "tl.load(w_ptr + cols, mask=mask, volatile=True)"),
}


@pytest.mark.parametrize("how", NOT_INVARIANT)
def test_what_may_change_is_loaded_again(how, tmp_path):
    before, after = NOT_INVARIANT[how]
    text = PERSISTENT_ROWS.replace("        b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)\n", "").replace("x * w + b", "x * w")
    program = program_of(text, tmp_path)
    assert made(program, scale_facts(program), "hoisted_loads")
    assert before in text
    program = program_of(text.replace(before, after), tmp_path, "changes.py")
    assert not made(program, scale_facts(program), "hoisted_loads")


def test_large_tiles_stay_in_memory(tmp_path):
    program = program_of(PERSISTENT_ROWS, tmp_path)
    assert made(program, scale_facts(program, n=8192), "hoisted_loads")
    assert not made(program, scale_facts(program, n=8200), "hoisted_loads")


def test_golden_divisibility_hints(tmp_path):
    program = program_of(PERSISTENT_ROWS, tmp_path)
    found = proposal(program, scale_facts(program), "vectorization.divisibility_hints(names=stride+n_cols)")
    assert found.numerics == "exact"
    assert (
        "\n".join(changed(program, found))
        == """\
+@triton.heuristics({
+    "DIVISOR": lambda args: next(n for n in (16, 8, 4, 2, 1) if all(args[name] % n == 0 for name in ("stride", "n_cols"))),
+})
-def scale_kernel(x_ptr, w_ptr, b_ptr, y_ptr, stride, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
+def scale_kernel(x_ptr, w_ptr, b_ptr, y_ptr, stride, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr, DIVISOR: tl.constexpr):
+    # What divides stride and n_cols decides how wide an access may be.
+    stride = stride // DIVISOR * DIVISOR
+    n_cols = n_cols // DIVISOR * DIVISOR"""
    )


def test_only_where_something_is_to_be_told(tmp_path):
    program = program_of(PERSISTENT_ROWS, tmp_path)
    assert not made(program, scale_facts(program, n=4096), "divisibility_hints")  # Triton sees 16 by itself
    assert not made(program, scale_facts(program, n=4101), "divisibility_hints")  # odd: nothing wider fits
    assert not made(program, attrs.evolve(scale_facts(program), cases=()), "divisibility_hints")
    program = program_of(
        PERSISTENT_ROWS.replace("stride, n_rows, n_cols,", "stride: tl.constexpr, n_rows, n_cols: tl.constexpr,"), tmp_path
    )
    assert not made(program, scale_facts(program), "divisibility_hints")


def test_what_torch_wraps_stays_a_plain_jit_function(tmp_path):
    text = f"from torch.library import wrap_triton\n{PERSISTENT_ROWS}"
    assert made(program_of(text, tmp_path), scale_facts(program_of(text, tmp_path)), "divisibility_hints")
    program = program_of(text.replace("    scale_kernel[", "    wrap_triton(scale_kernel)["), tmp_path, "wrapped.py")
    assert not made(program, scale_facts(program), "divisibility_hints")
    assert made(program, scale_facts(program), "hoisted_loads")


def test_each_can_be_the_parent_of_the_other(tmp_path):
    program = program_of(PERSISTENT_ROWS, tmp_path)
    given = scale_facts(program)
    for first, second in (("hoisted_loads", "divisibility_hints"), ("divisibility_hints", "hoisted_loads")):
        child = again(program, made(program, given, first)[0].patch.apply(program.texts), tmp_path)
        assert not made(child, given, first)
        assert made(child, given, second)
