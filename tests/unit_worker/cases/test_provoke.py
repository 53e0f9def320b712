"""What a call writes is known though its arguments hold already what it writes; where it writes nothing, that is true or said with why."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from kernelband_worker.cases import alarm

PROGRAM = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)


@triton.jit
def relu_kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, tl.maximum(x, 0.0) * factor, mask=offsets < n)


@triton.jit
def scale_kernel(x_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * factor, mask=offsets < n)


@triton.jit
def order_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=9)
    tl.store(y_ptr + offsets, tl.where(x > 1, 1, 0), mask=offsets < n)


@triton.jit
def turn_kernel(x_ptr, y_ptr, n, least, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(y_ptr, tl.sum(x, axis=0))
    tl.store(x_ptr + offsets, tl.where(tl.load(x_ptr) > least, -x, x), mask=offsets < n)


def double(x, out):
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)


def relu_(x, factor=1.0):
    relu_kernel[(triton.cdiv(x.numel(), 256),)](x, x.numel(), factor, BLOCK=256)


def relu_back(x):
    relu_(x)
    return x


def relu_noisy(x):
    x += 0 * torch.rand_like(x)
    relu_(x)


def double_positive(x, out):
    if bool((x < 0).any()):
        raise ValueError("a number below zero")
    double(x, out)


def relu_of_known(x):
    if float(x[0]) != 0.5:
        raise ValueError("another number")
    relu_(x)


def scale_(x, factor=1.0):
    scale_kernel[(triton.cdiv(x.numel(), 256),)](x, x.numel(), factor, BLOCK=256)


def order(x, out):
    order_kernel[(1,)](x, out, x.numel(), BLOCK=16)


def look(x):
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, torch.empty_like(x), x.numel(), BLOCK=256)


def look_and_sum(x):
    look(x)
    return x.sum()


def turn(x, least):
    out = torch.empty(1, device=x.device)
    turn_kernel[(1,)](x, out, x.numel(), least, BLOCK=1024)
    return out


def nested(by):
    def relu_both(x):
        relu_(x)
        relu_(by)

    return relu_both


class Layer:
    def step(self, x):
        relu_(x)
        self.last = x * 2


def test_relu():
    relu_(torch.rand(1000, device="cuda"))


def test_bare():
    x = torch.rand(1000, device="cuda")
    relu_kernel[(4,)](x, 1000, 1.0, BLOCK=256)


def test_filled():
    x = torch.randn(1000, device="cuda")
    double(x, x * 2)


def test_back():
    relu_back(torch.rand(1000, device="cuda"))


def test_noisy():
    torch.manual_seed(3)
    x = torch.rand(1000, device="cuda")
    torch.rand_like(x)
    after = torch.rand(8)
    torch.manual_seed(3)
    relu_noisy(torch.rand(1000, device="cuda"))
    assert torch.equal(torch.rand(8), after)


def test_positive():
    x = torch.rand(1000, device="cuda")
    double_positive(x, x * 2)


def test_known():
    relu_of_known(torch.full((1000,), 0.5, device="cuda"))


def test_scale():
    scale_(torch.randn(1000, device="cuda"))
    scale_(torch.randn(2000, device="cuda"), factor=1.0)


def test_order():
    x = torch.arange(12, device="cuda") // 4
    order(x, (x > 1).long())


def test_ones():
    double(torch.zeros(600, dtype=torch.int32, device="cuda"), torch.zeros(600, dtype=torch.int32, device="cuda"))


def test_look():
    look(torch.randn(1000, device="cuda"))


def test_look_and_sum():
    look_and_sum(torch.randn(1000, device="cuda"))


def test_turn():
    turn(torch.linspace(-1, 1, 1000, device="cuda"), -0.999)


def test_seeds():
    torch.manual_seed(0)
    x = torch.randn(1000, device="cuda")
    turn(x.abs() if torch.initial_seed() else x.abs().neg(), 0.0)


def test_large():
    turn(torch.rand(1000, device="cuda"), 8.0)


def test_nested():
    nested(torch.rand(500, device="cuda"))(torch.rand(1000, device="cuda"))


def test_layer():
    Layer().step(torch.randn(1000, device="cuda"))
"""

WRITES = {
    "relu in place": ("relu_kernel", ["relu_"], "test_relu", ["x (mutated)"]),
    "a bare launch": ("relu_kernel", [], "test_bare", ["x_ptr (mutated)"]),
    "a filled buffer": ("double_kernel", ["double"], "test_filled", ["out (mutated)"]),
    "an argument that is returned": ("relu_kernel", ["relu_back"], "test_back", ["return"]),
    "random numbers in between": ("relu_kernel", ["relu_noisy"], "test_noisy", ["x (mutated)"]),
    "no number below zero": ("double_kernel", ["double_positive"], "test_positive", ["out (mutated)"]),
    "times one": ("scale_kernel", ["scale_"], "test_scale", ["x (mutated)"]),
    "whole numbers": ("order_kernel", ["order"], "test_order", ["out (mutated)"]),
    "a nested function": ("relu_kernel", ["nested.<locals>.relu_both"], "test_nested", ["x (mutated)", "by (mutated)"]),
    "on other input sets, drawn": ("turn_kernel", ["turn"], "test_turn", ["return", "x (mutated)"]),
    "on other input sets, recorded": ("turn_kernel", ["turn"], "test_seeds", ["return", "x (mutated)"]),
    "beside what it leaves in an object": ("relu_kernel", ["Layer.step"], "test_layer", ["x (mutated)", "self.last"]),
}
NOTHING = "it returns no tensor and changes none of its arguments{}, so there is nothing to compare"
NEVER = {
    "writes nothing": ("double_kernel", ["look"], "test_look", ""),
    "fails on other values": (
        "relu_kernel",
        ["relu_of_known"],
        "test_known",
        " as they were recorded, and with other values it fails (ValueError: another number)",
    ),
    "has but one value": ("double_kernel", ["double"], "test_ones", " as they were recorded, and there are no other values to try"),
}


def captured(make, kernel, hosts, entry, **more):
    run = make({"prog.py": PROGRAM})
    return run, [c for c in run.capture("prog", kernel, hosts, entry, **more) if c["neighbour_of"] is None]


@pytest.mark.parametrize(("kernel", "hosts", "entry", "outputs"), WRITES.values(), ids=WRITES)
def test_what_it_writes_is_an_output(make, kernel, hosts, entry, outputs):
    run, cases = captured(make, kernel, hosts, entry, neighbours=False)
    assert {(c["replayable"], c["reason"]) for c in cases} == {(True, None)}
    assert [c["outputs"] for c in cases] == [outputs] * len(cases)
    assert {c["calls"] for c in cases} == {1}
    assert all(c["ok"] for c in run.check(None)["cases"])
    written = {name.removesuffix(" (mutated)") for name in outputs if "mutated" in name} or {"x"}
    assert {t["name"] for c in cases for t in c["tensors"] if t["mutated"]} == written


@pytest.mark.parametrize(("kernel", "hosts", "entry", "known"), NEVER.values(), ids=NEVER)
def test_that_it_writes_nothing_is_true_or_said_with_what_is_known(make, kernel, hosts, entry, known):
    _, cases = captured(make, kernel, hosts, entry)
    assert [(c["replayable"], c["reason"]) for c in cases] == [(False, NOTHING.format(known))]


def test_what_writes_nothing_leaves_its_caller_to_be_recorded(make):
    _, cases = captured(make, "double_kernel", ["look", "look_and_sum"], "test_look_and_sum", neighbours=False)
    assert [(c["function"]["qualname"], c["replayable"], c["outputs"]) for c in cases] == [
        ("look", False, []),
        ("look_and_sum", True, ["return"]),
    ]


@pytest.mark.parametrize(
    ("kernel", "host", "entry", "edit"),
    [
        ("relu_kernel", "relu_", "test_relu", ("tl.maximum(x, 0.0) * factor", "tl.maximum(x, 0.0) * factor + 1")),
        ("turn_kernel", "turn", "test_turn", ("> least, -x, x)", "> least, x, x)")),
        ("turn_kernel", "turn", "test_seeds", ("> least, -x, x)", "> least, x, x)")),
        ("double_kernel", "double", "test_filled", ("* 2, mask", "* 2.01, mask")),
    ],
)
def test_what_is_written_is_compared(make, kernel, host, entry, edit):
    run, _ = captured(make, kernel, [host], entry, neighbours=False)
    assert not all(c["ok"] for c in run.check(run.variant("wrong", ("prog", *edit)))["cases"])


def test_an_input_that_only_stress_makes_it_write_is_an_output_there(make):
    run, cases = captured(make, "turn_kernel", ["turn"], "test_large", neighbours=False)
    assert cases[0]["outputs"] == ["return"]
    wrong = run.check(run.variant("wrong", ("prog", "> least, -x, x)", "> least, x, x)")), "reassociates", stress=True)
    assert ["(mutated)" in c["reason"] for c in wrong["cases"] if not c["ok"]] == [True]
    same = run.check(run.variant("same", ("prog", "> least, -x, x)", "> least, 0.0 - x, x)")), "reassociates", stress=True)
    assert [c["reason"] for c in same["cases"] if not c["ok"]] == []
    assert ("large values", True) in {(s["name"], s["used"]) for s in same["stress"]}


# The time is up while it is called once more.
SLOW = """
import signal
import time

_calls = []


def slow_relu_(x):
    _calls.append(1)
    if len(_calls) > 1:
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0]
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(600)
    relu_(x)


def test_slow():
    relu_(torch.randn(300, device="cuda"))
    slow_relu_(torch.rand(1000, device="cuda"))
"""


def test_a_stop_meanwhile_leaves_what_was_recorded(make):
    run = make({"prog.py": PROGRAM + SLOW})
    cases = run.capture("prog", "relu_kernel", ["slow_relu_", "relu_"], "test_slow", neighbours=False, input_sets=1, seconds=250.0)
    assert [c["replayable"] for c in cases] == [True, True]


def test_a_stop_meanwhile_is_said(make, monkeypatch):
    """While nothing is recorded yet, all of the time must be up: the program puts the alarm's clock on."""
    monkeypatch.setattr(alarm, "time", SimpleNamespace(monotonic=time.monotonic))
    late = "from kernelband_worker.cases import alarm\n        alarm.time.monotonic = lambda: time.monotonic() + 300.0\n        time.sleep"
    program = SLOW.replace('    relu_(torch.randn(300, device="cuda"))\n', "").replace("time.sleep", late)
    run = make({"prog.py": PROGRAM + program})
    cases = run.capture("prog", "relu_kernel", ["slow_relu_"], "test_slow", neighbours=False, input_sets=1, seconds=250.0)
    assert [(c["replayable"], c["reason"]) for c in cases] == [
        (False, NOTHING.format(" as they were recorded, and there was no time to try it with other values"))
    ]
