"""What a variant may and may not change: each edit of a fixture with the verdict that it must get."""

from __future__ import annotations

import pytest

from kernelband_worker.errors import OperationFailed

PLAIN = ("plain_function", "scale_kernel", ["scale"], "test_scale")
STATIC = ("static_method", "row_sum_kernel", ["Ops.row_sum"], "test_static")
VIEWS = ("in_place", "rotate_kernel", ["rotate_"], "test_rotate")
PACKAGE = ("package.test_gate", "package.ops.kernels:gate_kernel", ["package.ops.gate:gated"], "test_gated")
FORWARD = ("autograd", "swish_fwd_kernel", ["Swish.forward"], "test_swish")
CLOSURE = ("closure", "add_scaled_kernel", ["make_adder.<locals>.add"], "test_closure")
SUM = "tl.sum(x, axis=0)"


def edit(module, *pairs):
    return [(module, old, new) for old, new in pairs]


GOOD = {
    "larger block, host and kernel": (PLAIN, "exact", edit("plain_function", ("BLOCK=256", "BLOCK=512"), ("n, 256)", "n, 512)"))),
    "two steps of a sum": (
        STATIC,
        "reassociates",
        edit("static_method", (SUM, "tl.sum(tl.sum(tl.reshape(x, (2, BLOCK // 2)), axis=1), axis=0)")),
    ),
    "float16 sum where that is allowed": (STATIC, "lowers_precision", edit("static_method", (SUM, "tl.sum(x.to(tl.float16), axis=0)"))),
    "in place": (VIEWS, "exact", edit("in_place", ("triton.next_power_of_2(cols)", "2 * triton.next_power_of_2(cols)"))),
    "a constant in another file": (PACKAGE, "exact", edit("package.settings", ("BLOCK = 256", "BLOCK = 128"))),
    "a helper of the kernel": (PACKAGE, "exact", edit("package.ops.kernels", ("1.0 / (1.0 + tl.exp(-x))", "1 / (1 + tl.exp(-x))"))),
    "autograd": (
        FORWARD,
        "exact",
        edit("autograd", ("x.numel(), 256),)](x, y, sig, x.numel(), BLOCK=256", "x.numel(), 512),)](x, y, sig, x.numel(), BLOCK=512")),
    ),
    "a closure": (CLOSURE, "exact", edit("closure", ("x.numel(), block)", "x.numel(), 2 * block)"), ("BLOCK=block", "BLOCK=2 * block"))),
}
BAD = {
    "unwritten tail": (PLAIN, "exact", edit("plain_function", ("BLOCK=256", "BLOCK=128")), "488 of 1000 elements of return unwritten"),
    "wrong values": (
        PLAIN,
        "exact",
        edit("plain_function", ("* factor, mask", "* (factor + 0.001), mask")),
        "elements of return are wrong",
    ),
    "one element too far": (PLAIN, "exact", edit("plain_function", ("offsets < n", "offsets < n + 1")), "outside of a tensor"),
    "input as output": (PLAIN, "exact", edit("plain_function", ("torch.empty_like(x)", "x")), "shares the memory of x"),
    "writes an input": (
        PLAIN,
        "exact",
        edit("plain_function", ("    tl.store(y_ptr", "    tl.store(x_ptr + offsets, 0.0, mask=offsets == 5)\n    tl.store(y_ptr")),
        "",
    ),
    "another dtype": (
        PLAIN,
        "exact",
        edit("plain_function", ("empty_like(x)", "empty_like(x, dtype=torch.float64)")),
        "the dtype of return is float64",
    ),
    "a kept buffer": (
        PLAIN,
        "exact",
        edit(
            "plain_function",
            ("def scale(x", "_kept = {}\ndef scale(x"),
            ("torch.empty_like(x)", "_kept.setdefault(x.shape, torch.empty_like(x))"),
        ),
        "overwrites the result of the first",
    ),
    "raises": (PLAIN, "exact", edit("plain_function", ("n = x.numel()", "n = x.nmel()")), "it raises AttributeError"),
    "random": (
        PLAIN,
        "exact",
        edit(
            "plain_function",
            ("    return y\n", "    y += torch.rand(()).item() * 1e-7\n    return y\n"),
            ("import torch\n", "import torch\nimport itertools\n_count = itertools.count()\n"),
        ),
        "",
    ),
    "float16 sum": (
        STATIC,
        "reassociates",
        edit("static_method", (SUM, "tl.sum(x.to(tl.float16), axis=0)")),
        "elements of return are wrong",
    ),
    "assumes contiguous rows": (STATIC, "exact", edit("static_method", ("row * stride", "row * n_cols")), "elements of return are wrong"),
    "writes beside its view": (
        VIEWS,
        "exact",
        edit("in_place", ("q - k, mask=mask)", "q - k, mask=mask)\n    tl.store(q_ptr + row * stride + 130 + cols, q, mask=cols < 5)")),
        "outside of q, into the rest of its buffer",
    ),
    "loses an alias": (VIEWS, "exact", edit("in_place", ("return out.view(-1)", "return out.view(-1).clone()")), "has memory of its own"),
    "wrong helper": (PACKAGE, "exact", edit("package.ops.kernels", ("(1.0 +", "(1.1 +")), "elements of return are wrong"),
    "saves something else": (
        FORWARD,
        "exact",
        edit("autograd", ("sig_ptr + offsets, sig,", "sig_ptr + offsets, sig * 2,")),
        "ctx.saved_tensors[1] are wrong",
    ),
    "saves nothing": (
        FORWARD,
        "exact",
        edit("autograd", ("save_for_backward(x, sig)", "save_for_backward(x, y)")),
        "its outputs differ from the original's",
    ),
}
BAD["writes an input"] = (
    PLAIN,
    "exact",
    edit(
        "plain_function",
        (
            "def scale_kernel(x_ptr, y_ptr, factor, n, BLOCK: tl.constexpr):",
            "def scale_kernel(x_ptr, y_ptr, factor, n, BLOCK: tl.constexpr):\n    tl.store(x_ptr, 7.0)",
        ),
    ),
    "writes the input x",
)
BAD["random"] = (
    PLAIN,
    "exact",
    edit(
        "plain_function",
        ("import torch\n", "import itertools\n\nimport torch\n\n_count = itertools.count()\n"),
        ("    return y\n", "    y[0] += next(_count) * 1e-6\n    return y\n"),
    ),
    "two runs of it differ in return",
)


@pytest.mark.parametrize("name", GOOD)
def test_good(replay, name):
    captured, numerics, edits = GOOD[name]
    run = replay(*captured)
    result = run.check(run.variant("a" * 64, *edits), numerics, input_sets=[0])
    assert [c["reason"] for c in result["cases"] if not c["ok"]] == []
    assert result["interpreted"]
    assert result["not_exercised"] == []


@pytest.mark.parametrize("name", BAD)
def test_bad(replay, name):
    captured, numerics, edits, words = BAD[name]
    run = replay(*captured)
    result = run.check(run.variant("b" * 64, *edits), numerics, input_sets=[0])
    reasons = [c["reason"] for c in result["cases"] if not c["ok"]]
    assert reasons, name
    assert any(words in r for r in reasons), reasons


def test_two_runs_that_differ_are_not_deterministic(replay):
    captured, numerics, edits, _ = BAD["random"]
    run = replay(*captured)
    assert not all(c["deterministic"] for c in run.check(run.variant("c" * 64, *edits), numerics, input_sets=[0])["cases"])


def test_the_original_passes_against_itself_and_a_float64_reference_that_it_takes(replay):
    cases = replay(*STATIC).check(None, "reassociates")["cases"]
    assert all(c["ok"] and c["deterministic"] for c in cases)
    assert {o["error_ratio"] for c in cases for o in c["outputs"]} == {1.0}
    assert {c["input_set"] for c in cases} == {0, 1}


def test_an_edited_function_that_no_case_reaches_is_told(replay):
    run = replay(*FORWARD)
    edits = edit("autograd", ("dy * (sig + x * sig * (1.0 - sig))", "dy * (sig + x * (sig * (1.0 - sig)))"))
    assert run.check(run.variant("d" * 64, *edits))["not_exercised"] == ["swish_bwd_kernel"]


def test_comments_are_no_edits(replay):
    run = replay(*FORWARD)
    edits = edit("autograd", ("    dy = tl.load", "    # the gradient\n    dy = tl.load"))
    assert run.check(run.variant("e" * 64, *edits))["not_exercised"] == []


def test_an_unknown_variant_or_case_is_refused(replay):
    run = replay(*CLOSURE)
    with pytest.raises(OperationFailed, match="isn't loaded"):
        run.check("f" * 64)
    run.cases[0]["id"] = "0" * 16
    with pytest.raises(OperationFailed, match="isn't in the store"):
        run.check(None)


READS_TOO_FAR = """
import torch
import triton
import triton.language as tl


@triton.jit
def shift_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, x + 1, mask=offsets < n)


def shift(x):
    y = torch.empty_like(x)
    shift_kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
    return y


def test_shift():
    shift(torch.randn(300, device="cuda"))
"""


def test_faults_of_the_original_are_nobody_elses(make):
    run = make({"shifts.py": READS_TOO_FAR})
    run.capture("shifts", "shift_kernel", ["shift"], "test_shift")
    assert [found["kind"] for found in run.outside] == ["load"]
    load, store = "x = tl.load(x_ptr + offsets)", "tl.store(y_ptr + offsets, x + 1, mask=offsets < n)"
    same = run.variant("the same fault", ("shifts", "x + 1,", "1 + x,"))
    mended = run.variant("none", ("shifts", load, "x = tl.load(x_ptr + offsets, mask=offsets < n)"))
    other = run.variant(
        "a store instead", ("shifts", store, "tl.store(y_ptr + offsets, x + 1)"), ("shifts", load, load[:-1] + ", mask=offsets < n)")
    )
    for variant, kinds in ((same, set()), (mended, set()), (other, {"store"})):
        result = run.check(variant)
        assert {found["kind"] for found in result["out_of_bounds"]} == kinds
        assert all(case["ok"] for case in result["cases"]) is not bool(kinds)
