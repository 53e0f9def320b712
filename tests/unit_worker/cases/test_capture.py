"""Capture in this process: input sets, refusals, limits, entries with a variant in the original's place."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

import pytest
import torch

from kernelband_worker.cases import capture as capturing
from kernelband_worker.cases.replay import open_case
from kernelband_worker.cases.store import Store
from kernelband_worker.errors import OperationFailed

PLAIN = ("plain_function", "scale_kernel", ["scale"], "test_scale")


def test_input_sets_differ_and_are_the_same_again(make):
    run = make()
    run.capture(*PLAIN)
    replay = open_case(run.state, run.cases[0]["id"])
    first, second = replay.inputs(0), replay.inputs(1)
    assert not torch.equal(first.storages[0], second.storages[0])
    assert torch.equal(second.storages[0], replay.inputs(1).storages[0])


def test_restore_brings_mutated_inputs_back(make):
    run = make()
    run.capture("in_place", "rotate_kernel", ["rotate_"], "test_rotate")
    replay = open_case(run.state, run.cases[0]["id"])
    prepared = replay.inputs(0)
    before = [s.clone() for s in prepared.storages]
    replay.call(None, prepared)
    assert not all(torch.equal(a, b) for a, b in zip(before, prepared.storages, strict=True))
    replay.restore(prepared)
    assert all(torch.equal(a, b) for a, b in zip(before, prepared.storages, strict=True))


@pytest.mark.parametrize("returned", ["out", "q", "(q, out)", "{'k': k, 'out': out}", "None"])
def test_a_function_may_return_what_it_was_given(make, returned):
    text = make().served.files["in_place.py"].replace("return out.view(-1)", f"return {returned}")
    text = text.replace("flat = rotate_", "rotate_").replace("    assert flat.data_ptr() == out.data_ptr()\n", "")
    run = make({"given.py": text})
    cases = [c for c in run.capture("given", "rotate_kernel", ["rotate_"], "test_rotate") if not c["neighbour_of"]]
    assert [(c["boundary"], c["replayable"], c["reason"]) for c in cases] == [("host_call", True, None)]
    slow = run.variant("slow", ("given", "next_power_of_2(cols)", "next_power_of_2(2 * cols)"))
    wrong = run.variant("wrong", ("given", "(q, k, out, q.stride(0), cols", "(q, k, out, q.stride(0), cols - 1"))
    assert [all(c["ok"] for c in run.check(v)["cases"]) for v in (slow, wrong)] == [True, False]


def test_deterministic_inputs_are_drawn_within_their_range(make):
    files = {"fixed.py": make().served.files["plain_function.py"].replace("torch.randn(n, device", "torch.linspace(1, 2, n, device")}
    run = make(files)
    (case,) = [c for c in run.capture("fixed", "scale_kernel", ["scale"], "test_scale", neighbours=False) if c["call_index"] == 0]
    assert case["tensors"][0]["policy"] == "drawn"
    drawn = open_case(run.state, case["id"]).inputs(1).storages[0].view(torch.float32)
    assert 1 <= drawn.min() < drawn.max() <= 2


def test_calls_of_one_kind_are_one_case(make):
    run = make()
    cases = [c for c in run.capture(*PLAIN) if c["neighbour_of"] is None]
    assert [(c["tensors"][0]["shape"], c["calls"]) for c in cases] == [([1000], 2), ([4096], 2)]


def test_neighbours_are_for_checking_only(make):
    run = make()
    made = [c for c in run.capture("static_method", "row_sum_kernel", ["Ops.row_sum"], "test_static") if c["neighbour_of"]]
    assert [c["tensors"][0]["shape"] for c in made] == [[32, 201], [32, 199], [32, 100], [32, 200]]
    assert made[-1]["tensors"][0]["stride"] == [208, 1]
    assert {c["role"] for c in made} == {"check"}
    assert run.cases[0]["id"] in {c["neighbour_of"] for c in made}


def test_without_time_for_them_there_are_no_neighbours(make, monkeypatch):
    monkeypatch.setattr(capturing, "NEIGHBOUR_SECONDS", -1.0)
    assert {c["neighbour_of"] for c in make().capture(*PLAIN)} == {None}


def test_a_size_that_the_original_does_not_accept_makes_no_neighbour(make):
    text = (
        make()
        .served.files["plain_function.py"]
        .replace("    y = torch.empty_like(x)", "    assert x.numel() % 8 == 0\n    y = torch.empty_like(x)")
    )
    run = make({"strict.py": text})
    made = [c for c in run.capture("strict", "scale_kernel", ["scale"], "test_scale") if c["neighbour_of"]]
    assert all(c["tensors"][0]["shape"][0] % 8 == 0 for c in made)


STRIDED = """
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n)
    tl.store(y_ptr + row * stride + cols, 2 * x, mask=cols < n)


def double(x):
    y = torch.empty_like(x)  # contiguous, and written by the strides of x
    double_kernel[(x.shape[0],)](x, y, x.stride(0), x.shape[1], BLOCK=32)
    return y


def test_double():
    torch.manual_seed(0)
    double(torch.randn(4, 32))
"""


def test_what_the_original_does_wrong_only_with_a_neighbour_is_neither_a_case_nor_a_finding(make):
    run = make({"strided.py": STRIDED})
    made = [c for c in run.capture("strided", "double_kernel", ["double"], "test_double") if c["neighbour_of"]]
    # A block holds 32 columns, so one more stays unwritten; rows further apart would be written past the end.
    assert [c["tensors"][0]["stride"] for c in made] == [[31, 1], [16, 1]]
    assert run.outside == []


def test_it_stops_at_the_number_of_cases(make):
    run = make()
    cases = [c for c in run.capture(*PLAIN, distinct_cases=1) if c["neighbour_of"] is None]
    assert len(cases) == 1


CHOOSING = """

class Scale:
    def __init__(self, dtype, where):
        self.dtype, self.where, self.calls = dtype, where, 0

    def forward(self, x):
        self.calls += 1
        y = torch.empty(x.shape, dtype=self.dtype, device="cuda")
        scale_kernel[(1,)](x, y, 2.0, x.numel(), BLOCK=128 if self.where == "small" else 256)
        return y


def test_scales():
    x = torch.ones(100, device="cuda")
    for scale in (Scale(torch.float32, "small"), Scale(torch.float32, "large"), Scale(torch.float16, "small")):
        scale.forward(x)
        scale.forward(x)
"""


def test_what_an_object_says_tells_calls_apart_and_what_it_counts_does_not(make):
    run = make({"choosing.py": make().served.files["plain_function.py"] + CHOOSING})
    cases = run.capture("choosing", "scale_kernel", ["Scale.forward"], "test_scales", input_sets=1, neighbours=False)
    assert [c["calls"] for c in cases] == [2, 2, 2]
    assert sorted((c["constants"]["self.where"], c["constants"]["self.dtype"]) for c in cases) == [
        ("large", "torch.float32"),
        ("small", "torch.float16"),
        ("small", "torch.float32"),
    ]


# The time is up once something was recorded, however busy the machine is: the entry itself brings the alarm forward.
SLOW = """

def test_slow():
    import signal
    import time

    scale(torch.ones(100, device='cuda'))
    assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 250
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(600)
"""


def test_it_stops_at_the_time(make):
    run = make({"slow.py": make().served.files["plain_function.py"] + SLOW})
    cases = run.capture("slow", "scale_kernel", ["scale"], "test_slow", seconds=250.0, input_sets=1)
    assert cases[0]["replayable"]


LATE = """

def test_late():
    import time

    time.sleep(0.7)
    for n in range(1, 1000):
        scale(torch.ones(100 * n, device='cuda'))
"""


def test_once_something_is_recorded_its_share_of_the_time_is_enough(make):
    run = make({"late.py": make().served.files["plain_function.py"] + LATE})
    cases = run.capture("late", "scale_kernel", ["scale"], "test_late", seconds=250.0, within_s=0.5, neighbours=False)
    assert [c["replayable"] for c in cases] == [True]


SEVERAL = """

def test_several():
    for n in (100, 200, 300):
        scale(torch.ones(n, device='cuda'))
"""


def test_what_there_is_no_time_to_replay_is_left_out(make, monkeypatch):
    now = [0.0]

    def slowly(*what):
        now[0] += 100.0
        return open_case(*what)

    for module in ("capture", "recorder"):
        monkeypatch.setattr(f"kernelband_worker.cases.{module}.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("kernelband_worker.cases.accept.open_case", slowly)
    run = make({"several.py": make().served.files["plain_function.py"] + SEVERAL})
    assert len(run.capture("several", "scale_kernel", ["scale"], "test_several", within_s=60.0, neighbours=False)) == 1
    assert run.notes == ["There was no time to replay 2 of 3 recorded calls: they are left out."]


SPAWNS = """

def test_spawn():
    import multiprocessing

    process = multiprocessing.get_context("fork").Process(target=print)
    process.start()
    process.join()
"""


def test_several_processes_are_refused(make):
    text = make().served.files["plain_function.py"] + SPAWNS
    run = make({"ranks.py": text})
    with pytest.raises(OperationFailed, match="several processes"):
        run.capture("ranks", "scale_kernel", ["scale"], "test_spawn")


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        ("gone", "callable", "There is no gone in"),
        ("scale", "callable", r"needs arguments \(x\)"),
        ("test_gone", "pytest", "pytest finds no such test"),
    ],
)
def test_entries_that_cannot_run(make, entry, kind, words):
    with pytest.raises(OperationFailed, match=words):
        make().capture("plain_function", "scale_kernel", ["scale"], entry, kind)


CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", default=False)

def pytest_configure(config):
    global QUICK
    QUICK = config.getoption("--quick")
"""


def test_a_tests_module_is_imported_when_its_conftest_is_configured(make):
    run = make({"conftest.py": CONFTEST, "configured.py": "from conftest import QUICK\n\ndef test_it():\n    assert QUICK is False\n"})
    assert run.run_entry("configured", "test_it", "pytest")["reason"] is None


def test_an_entry_runs_in_a_scratch_folder(make):
    text = (
        make().served.files["plain_function.py"]
        + "\n\ndef test_file():\n    __import__('pathlib').Path('left.txt').write_text('x')\n    scale(torch.ones(100, device='cuda'))\n"
    )
    run, here = make({"writes.py": text}), os.getcwd()
    run.capture("writes", "scale_kernel", ["scale"], "test_file")
    assert os.getcwd() == here
    assert not os.path.exists("left.txt")


def test_the_entry_runs_with_the_variant_in_the_originals_place(make):
    for old, new, ok in (("BLOCK=256", "BLOCK=512", True), ("* factor", "+ factor", False)):
        run = make()
        variant = run.variant("9" * 64, ("plain_function", old, new))
        result = run.run_entry("plain_function", "test_scale", variant=variant)
        assert result["ok"] == ok
        assert ok or result["reason"].startswith("The entry test_scale fails: AssertionError")
        run.loader.uninstall()


def test_what_the_entry_prints_is_seen_while_it_runs(make, capsys):
    text = "import sys\ndef test_it():\n    print('to one')\n    print('to the other', file=sys.stderr)\n"
    assert make({"talks.py": text}).run_entry("talks", "test_it")["ok"]
    assert capsys.readouterr().err == "to one\nto the other\n"


def test_a_torn_write_leaves_no_case(tmp_path):
    store = Store(str(tmp_path / "s"))
    digest = store.put(b"abc")
    assert store.get(digest) == b"abc"
    assert store.ids() == []
    with pytest.raises(OperationFailed, match="is gone from the store"):
        store.get("0" * 64)
    with pytest.raises(OperationFailed, match="isn't in the store"):
        store.load("nothing")


REPLACING = """

@triton.jit
def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


def cloned(x, memory_format=None):
    CLONED.append(x)
    y = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
    copy_kernel[(triton.cdiv(x.numel(), 64),)](x.view(-1), y.view(-1), x.numel(), BLOCK=64)
    return y


CLONED = []


def entry():
    library = torch.library.Library("aten", "IMPL")
    library.impl("clone", cloned, "CUDA")
    try:
        scale(torch.arange(1.0, 64 * 500 + 1, device="cuda"))
    finally:
        library._destroy()
"""


def test_what_is_recorded_is_copied_by_torch_whatever_the_program_replaced(make):
    run = make({"replacing.py": make().served.files["plain_function.py"] + REPLACING})
    (case,) = run.capture("replacing", "scale_kernel", ["scale"], "entry", input_sets=1, neighbours=False)
    assert case["replayable"], case["reason"]
    assert sys.modules["replacing"].CLONED == []
