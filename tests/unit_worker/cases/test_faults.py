"""What the original does wrong itself is told once and makes no variant wrong; what goes beyond it does."""

from __future__ import annotations

import itertools

import pytest
import torch

from kernelband_worker.cases.faults import Faults, more, told
from kernelband_worker.cases.replay import Outside
from tests.unit_worker.cases.conftest import Run

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n"

READS_PAST = (
    HEAD
    + """
@triton.jit
def far_kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n + 1)
    w = tl.load(w_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x * w, mask=offsets < n)


def far(x, w):
    y = torch.empty_like(x)
    far_kernel[(triton.cdiv(x.numel(), 256),)](x, w, y, x.numel(), BLOCK=256)
    return y


def test_it():
    far(torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda"))
"""
)
WRITES_PAST_ITS_VIEW = (
    HEAD
    + """
@triton.jit
def past_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x + 2, mask=offsets < n + 1)


def past(x, out):
    past_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)


def test_it():
    whole = torch.zeros(1200, device="cuda")
    past(torch.rand(1000, device="cuda"), whole[100:1100])
"""
)
LEAVES_A_TAIL = (
    HEAD
    + """
@triton.jit
def tail_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)


def tail(x):
    n = x.numel()
    y = torch.empty(n + 24, device=x.device)
    tail_kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK=256)
    return y


def test_it():
    tail(torch.randn(1000, device="cuda"))
"""
)
# Programs are interpreted one after the other, so that atomics add up in one order: the host function stands in for another one each time.
SUMS_IN_ANY_ORDER = (
    HEAD
    + """
import itertools

order = itertools.count()


@triton.jit
def sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y_ptr, tl.sum(tl.load(x_ptr + offsets, mask=offsets < n), axis=0))


def total(x):
    y = torch.zeros(1, device=x.device)
    sum_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    y *= 1 + (next(order) % 3) * 1e-6
    return y


def test_it():
    total(torch.rand(1000, device="cuda"))
"""
)
# As it is captured it does the same each time; a test makes it restless.
RESTLESS = (
    HEAD
    + """
import itertools

order = itertools.repeat(0)


@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * 2, mask=offsets < n)


def double(x):
    y = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    y[:3] += next(order)
    return y


def test_it():
    double(torch.rand(1000, device="cuda"))
"""
)
PROGRAMS = {
    "far": (READS_PAST, "reads outside of x (prog.py, line 9)"),
    "past": (WRITES_PAST_ITS_VIEW, "writes outside of out, into the rest of its buffer"),
    "tail": (LEAVES_A_TAIL, "leaves 24 of 1024 elements of return unwritten"),
    "total": (SUMS_IN_ANY_ORDER, "gives results that differ by up to 2.0e-06 of their RMS from call to call"),
}
X, W = "offsets, mask=offsets < n + 1)", "w_ptr + offsets, mask=offsets < n)"
LOAD = "x = tl.load(x_ptr + offsets, mask=offsets < n + 1)"
ELSEWHERE = "outside of out, into the rest of its buffer"
#: What does as much as the original, or less.
NO_MORE = {
    "far, the same": ("far", [("x * w", "w * x")]),
    "far, in two statements": ("far", [(LOAD, f"{LOAD}\n    again = {LOAD[4:]}"), ("x * w", "again * w")]),
    "far, with other names": ("far", [("x_ptr", "a_ptr"), ("x_ptr", "a_ptr")]),
    "far, in another block": ("far", [(", 256)", ", 128)"), ("BLOCK=256", "BLOCK=128")]),
    "far, mended": ("far", [("n + 1", "n")]),
    "past, the same": ("past", [("x + 2", "2 + x")]),
    "past, mended": ("past", [("n + 1", "n")]),
    "tail, the same": ("tail", [("mask=offsets < n) * 2", "mask=offsets < n, other=0.0) * 2")]),
    "tail, mended": ("tail", [("torch.empty(", "torch.zeros(")]),
    "total, the same": ("total", [("mask=offsets < n)", "mask=offsets < n, other=0.0)")]),
    "total, mended": ("total", [("(next(order) % 3) * 1e-6", "0.0")]),
}
MORE = {
    "far, one element further": ("far", [("n + 1", "n + 2")], "outside of a tensor"),
    "far, before the start instead": ("far", [("x_ptr + offsets", "x_ptr + offsets - 1"), ("n + 1", "n")], "outside of a tensor"),
    "far, of another tensor": ("far", [("n + 1", "n"), ("w_ptr + offsets, mask=offsets < n", "w_ptr + offsets, mask=offsets <= n")],
                               "outside of a tensor"),
    "far, a store": ("far", [("x * w, mask=offsets < n", "x * w, mask=offsets < n + 1")], "outside of a tensor"),
    "past, one element further": ("past", [("n + 1", "n + 2")], ELSEWHERE),
    "past, elsewhere": ("past", [("    tl.store", "    tl.store(y_ptr - 7, 1.0)\n    tl.store"), ("n + 1", "n")], ELSEWHERE),
    "past, other values there": ("past", [("x + 2", "tl.where(offsets < n, x + 2, x + 3)")], "other values than the original"),
    "tail, one element more": ("tail", [("* 2, mask=offsets < n", "* 2, mask=offsets < n - 1")], "it leaves 1 of "),
    "total, by more": ("total", [("* 1e-6", "* 1e-3")], "return"),
}  # fmt: skip


@pytest.fixture(scope="module")
def run(request, shim, tmp_path_factory):
    """A capture of one program. What the original gives is kept for all variants of it."""
    name = request.param
    made = Run(shim, tmp_path_factory.mktemp("store"), {"prog.py": PROGRAMS[name][0]})
    made.capture("prog", f"{name}_kernel" if name != "total" else "sum_kernel", [name], "test_it")
    yield made
    made.loader.uninstall()


def edited(run, edits, module="prog"):
    text = run.served.files[f"{module}.py"]
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return run.variant(f"{len(run.served.blobs)}", (module, run.served.files[f"{module}.py"], text))


@pytest.mark.parametrize(("run", "says"), [(name, says) for name, (_, says) in PROGRAMS.items()], indirect=["run"])
def test_it_is_told_once_in_a_sentence_that_says_whose_it_is(run, says):
    assert [n for n in run.notes if "original itself" in n] == [
        f"The original itself {says}: a variant is wrong only where it goes beyond that."
    ]


def test_nothing_is_told_of_an_original_that_does_all_right(make):
    run = make()
    run.capture("plain_function", "scale_kernel", ["scale"], "test_scale")
    assert not any("original" in note for note in run.notes)


@pytest.mark.parametrize(("run", "edits"), NO_MORE.values(), ids=NO_MORE, indirect=["run"])
def test_what_does_no_more_than_the_original_is_not_wrong(run, edits):
    result = run.check(edited(run, edits), "reassociates")
    assert [case["reason"] for case in result["cases"] if not case["ok"]] == []
    assert result["out_of_bounds"] == []


@pytest.mark.parametrize(("run", "edits", "says"), MORE.values(), ids=MORE, indirect=["run"])
def test_more_than_the_original_does_is_wrong(run, edits, says):
    result = run.check(edited(run, edits), "reassociates")
    reasons = [case["reason"] for case in result["cases"] if not case["ok"]]
    assert reasons
    assert all(says in reason for reason in reasons), reasons
    assert bool(result["out_of_bounds"]) == ("outside of a tensor" in says)


@pytest.mark.parametrize("run", ["far", "tail"], indirect=True)
def test_its_own_faults_are_no_reason_to_leave_neighbours_and_stress_out(run):
    assert [case["arguments"].rpartition("(")[2] for case in run.cases if case["neighbour_of"]] == ["one more)", "one less)", "half)"]
    found = {s["name"]: s["used"] for s in run.check(None, input_sets=[0], stress=True)["stress"]}
    assert found["twice the size and one"]
    assert found["large values"]


@pytest.mark.parametrize(
    ("edits", "verdicts"),
    [
        ([("* 2, mask", "* 2.0, mask")], {(True, True)}),  # the first three elements are what the first run of the original gives
        ([("* 2, mask", "* 2 + (offsets < 2), mask")], {(False, False)}),
        ([("* 2, mask", "* 2 + (offsets < 4), mask")], {(False, True)}),
        ([("+= next(order)", "+= 7")], {(False, False)}),
    ],
)
def test_where_two_runs_of_the_original_differ_nothing_is_said_of_a_variant(make, edits, verdicts):
    run = make({"restless.py": RESTLESS})
    run.capture("restless", "double_kernel", ["double"], "test_it", neighbours=False, input_sets=1)
    run.loader.original("restless").order = itertools.count()
    result = run.check(edited(run, edits, "restless"), input_sets=[0])
    assert {(case["ok"], case["comparable"]) for case in result["cases"]} == verdicts
    assert all(case["ok"] or case["comparable"] or "the original itself" in case["reason"] for case in result["cases"])
    assert all(case["deterministic"] for case in result["cases"])


def test_between_zones_a_variant_may_write_as_far_beside_as_the_original_does():
    own = Faults(strays={"x": (0, 8), "what it allocates": (16, 0)})
    assert more(Faults(strays={"x": (0, 8)}), own) is None
    for further in ({"x": (0, 16)}, {"x": (8, 8)}, {"y": (0, 8)}):
        assert more(Faults(strays=further), own) == f"it writes outside of every tensor, beside {next(iter(further))}"


def test_much_is_told_in_one_sentence():
    many = Faults(unwritten={f"return[{i}]": (1, 2) for i in range(9)}, strays={"x": (0, 8)}, noise=1e-6)
    other = Faults(hanging={"y": (3, 9)}, outside={"q": Outside(torch.ones(1, dtype=torch.bool), torch.ones(1))}, noise=2e-6)
    said = told([many, other, many])
    assert said is not None
    assert said.count(". ") == 0
    assert said.startswith("The original itself writes outside of every tensor, beside x, leaves 1 of 2 elements of return[0] unwritten, ")
    assert "does 6 more faults like these and gives results that differ by up to 2.0e-06 of their RMS" in said
    assert "reads outside of its tensors, on which 3 of 9 elements of y depend" in told([other])
    assert told([Faults(), Faults()]) is None
