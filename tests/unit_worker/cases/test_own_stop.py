"""Our own stop is no error of the program, wherever it comes and whatever is made of it, and no recording is cut in two."""

from __future__ import annotations

import signal
import sys
import textwrap
import time
from types import SimpleNamespace

import pytest
import torch
import torch.fx.experimental.symbolic_shapes  # what torch imports later: an import that is stopped halfway spoils the process for others

from kernelband_worker.cases import alarm, entry, keeping
from kernelband_worker.cases.store import Store
from kernelband_worker.cases.tensors import same_bytes
from kernelband_worker.cpu import language
from kernelband_worker.errors import OperationFailed

RING = "signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
WAIT = "until = time.monotonic() + 20\nwhile time.monotonic() < until:\n    pass\n"
HEAD = "import signal\nimport time\n"
WRAPPED = """
def test_it():
    try:
        {ring}
        time.sleep(20)
    except BaseException as error:
        raise RuntimeError("the build failed") from error
"""


LOST = """
def test_it():
    try:
        {ring}
        time.sleep(20)
    except BaseException:
        pass
    raise TypeError("expected a sequence of integers")  # as numpy does where what it calls back is stopped
"""


@pytest.mark.parametrize(
    "text",
    [f"{HEAD}{RING}{WAIT}def test_it():\n    pass\n", *(HEAD + text.format(ring=RING.strip()) for text in (WRAPPED, LOST))],
    ids=["during its import", "made another error", "made an error that knows nothing of it"],
)
def test_it_is_told_as_time(make, text):
    result = make({"slow_one.py": text}).run_entry("slow_one", "test_it")
    assert result["ok"] is False
    assert "took more than" in result["reason"]


@pytest.mark.parametrize(("file", "hook"), [("slow_one.py", "pytest_generate_tests(metafunc)"), ("conftest.py", "pytest_sessionstart()")])
def test_in_the_middle_of_pytests_own_work_it_is_told_as_time(make, file, hook):
    waits = f"{HEAD}def {hook}:\n" + textwrap.indent(RING + WAIT, "    ")
    texts = {"slow_one.py": "", "conftest.py": "", file: waits}
    result = make({**texts, "slow_one.py": texts["slow_one.py"] + "def test_it():\n    pass\n"}).run_entry("slow_one", "test_it", "pytest")
    assert result["ok"] is False
    assert "took more than" in result["reason"]


@pytest.mark.parametrize("kind", ["callable", "pytest"])
def test_of_a_slow_import_it_is_said(make, kind):
    text = make().served.files["plain_function.py"] + f"\n{HEAD}{WAIT}"
    with pytest.raises(OperationFailed, match=r"The entry test_scale was still being imported after \d+ s: name a quicker entry"):
        make({"slow_one.py": text}).capture("slow_one", "scale_kernel", ["scale"], "test_scale", kind, seconds=1.0)


#: An import that takes a hundred seconds by the clock that is looked at, and an alarm that rings before anything was recorded.
LONG = "\nfrom kernelband_worker.cases import alarm\nalarm.time.late += 100.0\n\ndef test_late():\n    import signal, time\n    {ring}"
LONG += "    end = time.monotonic() + 0.1\n    while time.monotonic() < end:\n        pass\n    test_scale()\n"


@pytest.fixture
def late(make, monkeypatch):
    clock = SimpleNamespace(late=0.0)
    clock.monotonic = lambda: time.monotonic() + clock.late
    monkeypatch.setattr(alarm, "time", clock)
    return make({"slow_one.py": make().served.files["plain_function.py"] + LONG.format(ring=RING)})


@pytest.mark.parametrize("kind", ["callable", "pytest"])
def test_importing_is_left_aside_from_the_seconds_of_an_entry(late, kind):
    cases = late.capture("slow_one", "scale_kernel", ["scale"], "test_late", kind, seconds=90.0, at_most_s=250.0, input_sets=1)
    assert cases[0]["replayable"]


def test_but_not_for_longer_than_all_of_it_may_take(late):
    with pytest.raises(OperationFailed, match="test_late didn't launch scale_kernel within"):
        late.capture("slow_one", "scale_kernel", ["scale"], "test_late", seconds=90.0, at_most_s=95.0)


@pytest.mark.parametrize("how", ["import pytest; pytest.skip('no disk')", "import unittest; raise unittest.SkipTest('no disk')"])
def test_a_test_that_skips_itself_does_not_fail(make, how):
    with pytest.raises(OperationFailed, match=r"doesn't run: it skips itself \(no disk\)"):
        make({"own.py": f"def test_it():\n    {how}\n"}).run_entry("own", "test_it")


def test_an_error_of_the_program_stays_its_own(make):
    result = make({"own.py": "def test_it():\n    raise RuntimeError('mine')\n"}).run_entry("own", "test_it")
    assert "RuntimeError: mine" in result["reason"]


ONCE = """

def test_once():
    import time

    scale(torch.ones(100, device='cuda'))
    time.sleep(600)
"""
TWICE = ONCE.replace("    time.sleep", "    scale(torch.ones(200, device='cuda'))\n    time.sleep")


def test_the_stop_waits_for_what_is_being_written_down(make, monkeypatch):
    put = Store.put_tensor

    def late(*given):
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.1)
        return put(*given)

    monkeypatch.setattr(Store, "put_tensor", late)
    run = make({"twice.py": make().served.files["plain_function.py"] + TWICE})
    cases = run.capture("twice", "scale_kernel", ["scale"], "test_once", seconds=250.0, input_sets=1, neighbours=False)
    assert cases
    assert all(c["replayable"] for c in cases), "whole ones only"


def test_the_stop_leaves_nothing_of_the_interpreter_in_the_language(make, monkeypatch):
    """It waits while the language is patched for a launch and put back after it: stopped there, nothing would compile any more."""
    meant, changes, seen = vars(language.tl.core)["load"], language._changes, []

    def late(place, held):
        if isinstance(getattr(signal.getsignal(signal.SIGALRM), "__self__", None), alarm.Alarm):
            seen.append(place)
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            time.sleep(0.01)
        return changes(place, held)

    monkeypatch.setattr(language, "_changes", late)
    run = make({"twice.py": make().served.files["plain_function.py"] + TWICE})
    assert run.capture("twice", "scale_kernel", ["scale"], "test_once", seconds=250.0, input_sets=1, neighbours=False)
    assert seen
    assert vars(language.tl.core)["load"] is meant


def test_what_the_device_cannot_compare_is_compared_on_the_host(make, monkeypatch):
    compared = []

    def same(a, b):
        compared.append(a)
        if len(compared) == 1:
            raise TypeError("function takes exactly 25 arguments (21 given)")
        return same_bytes(a, b)

    monkeypatch.setattr(keeping, "same_bytes", same)
    run = make({"once.py": make().served.files["plain_function.py"] + ONCE.replace("600", "0")})
    (case,) = run.capture("once", "scale_kernel", ["scale"], "test_once", seconds=250.0, input_sets=1, neighbours=False)
    assert case["replayable"]


def test_arguments_that_cannot_be_copied_are_refused_and_the_program_goes_on(make, monkeypatch):
    def fails(*given, **options):
        raise TypeError("function takes exactly 25 arguments (21 given)")

    run = make({"once.py": make().served.files["plain_function.py"] + ONCE.replace("600", "0")})
    monkeypatch.setattr(torch.Tensor, "clone", fails)
    (case,) = run.capture("once", "scale_kernel", ["scale"], "test_once", seconds=250.0, input_sets=1, neighbours=False)
    assert not case["replayable"]
    assert case["reason"] == "its arguments can't be copied (TypeError: function takes exactly 25 arguments (21 given))"


def test_launches_of_our_own_copies_are_not_the_entrys(make, monkeypatch):
    """A program may have replaced the operators by which its arguments are copied and compared."""
    run = make({"once.py": make().served.files["plain_function.py"] + ONCE.replace("600", "0")})
    put = Store.put_tensor

    def launching(store, tensor):
        sys.modules["once"].scale(torch.ones(7, device="cuda"))
        return put(store, tensor)

    monkeypatch.setattr(Store, "put_tensor", launching)
    (case,) = run.capture("once", "scale_kernel", ["scale"], "test_once", seconds=250.0, input_sets=1, neighbours=False)
    assert case["replayable"]
    assert case["calls"] == 1
    assert len(case["launches"]) == 1


def test_a_call_that_cannot_be_written_down_is_refused_and_the_program_goes_on(make, monkeypatch):
    def fails(*given):
        raise TypeError("function takes exactly 25 arguments (21 given)")

    monkeypatch.setattr(Store, "put_tensor", fails)
    run = make({"once.py": make().served.files["plain_function.py"] + ONCE.replace("600", "0")})
    (case,) = run.capture("once", "scale_kernel", ["scale"], "test_once", seconds=250.0, input_sets=1, neighbours=False)
    assert not case["replayable"]
    assert "can't be copied (TypeError: function takes exactly 25 arguments (21 given))" in case["reason"]


LARGE = """

def test_large(first=100):
    for n in (first, 1 << 60):
        scale(torch.ones(n, device='cuda'))

def test_only_large():
    test_large(1 << 60)
"""


FULL = """

def test_full(first=100):
    scale(torch.ones(first, device='cuda'))
    raise torch.cuda.OutOfMemoryError('CUDA out of memory. Tried to allocate 64 GiB')
"""


def test_what_ran_before_a_gpus_memory_was_used_up_counts(make, monkeypatch):
    monkeypatch.setattr(entry, "_memory", lambda state: None)  # as beside a GPU
    run = make({"full.py": make().served.files["plain_function.py"] + FULL})
    (case,) = run.capture("full", "scale_kernel", ["scale"], "test_full", neighbours=False)
    assert case["replayable"]
    assert "The entry was stopped, for there is no memory left (torch.OutOfMemoryError: CUDA out of memory" in run.notes[0]


def test_it_stops_where_this_machines_memory_ends(make):
    text = make().served.files["plain_function.py"] + LARGE
    run = make({"large.py": text, "larger.py": text})
    assert [c["replayable"] for c in run.capture("large", "scale_kernel", ["scale"], "test_large", neighbours=False)] == [True]
    assert any(note.startswith("The entry was stopped, for without a GPU tensors lie in this machine's memory") for note in run.notes)
    with pytest.raises(OperationFailed, match="can't be recorded here: without a GPU tensors lie in this machine's memory"):
        run.capture("larger", "scale_kernel", ["scale"], "test_only_large")


SETS = """import pytest, time

@pytest.mark.parametrize("number", range(5))
def test_it(number):
    while number == {hangs}:
        pass
    assert number != {wrong}
"""


@pytest.mark.parametrize(
    ("sets_s", "numbers", "said"),
    [
        (0.0, (None, 4), "The first 1 of 5 parameter sets of test_it were run: all would take too long."),
        (0.0, (None, 0), "test_it fails"),
        (1e6, (None, 4), "test_it fails"),
        (1e6, (None, None), None),
        (1e6, (1, None), "took more than"),
    ],
    ids=["enough were run", "the first fails", "the last fails", "all are run", "one hangs"],
)
def test_of_many_parameter_sets_a_proof_runs_those_there_is_time_for(make, monkeypatch, sets_s, numbers, said):
    hangs, wrong = numbers
    monkeypatch.setattr(entry, "SETS_S", sets_s)
    run = make({"sets.py": SETS.format(hangs=hangs, wrong=wrong)})
    result = run.run_entry("sets", "test_it", "pytest", seconds=2.0 if hangs else 250.0)
    assert result["ok"] is (said is None or "parameter sets" in said)
    assert (said or "") in (result["reason"] or "")
    assert (said is None) == (result["reason"] is None)
