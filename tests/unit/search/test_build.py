"""Sessions of a lab's executors, and compile jobs: the first failure ends the rest, and what it cancelled answers nobody twice."""

from __future__ import annotations

import threading
from concurrent.futures import Future

import pytest

from kernelband.errors import ExecutorFault, WorkerError, WorkloadError
from kernelband.search import worker_lab
from kernelband.search.compile_jobs import ORIGINAL_S
from kernelband.search.worker_lab import WorkerLab
from kernelband.source import Workspace
from kernelband.worker import NOW

CASES = [{"id": "c", "replayable": True, "role": "time"}]
SEVERAL = [{"id": name, "replayable": True, "role": role} for name, role in (("a", "time"), ("b", "time"), ("c", "check"))]
LATE = ExecutorFault("ptxas works on.", fault="timeout", kind="timeout")


class Opened:
    """A worker without a GPU that notes the sessions of its executors."""

    def __init__(self):
        self.hello = {"scratch": "/scratch/run", "cpus": 4}
        self.sessions = {}
        self.calls, self.stopped = [], []

    def start_executor(self, *_):
        pass

    def stop_executor(self, name):
        self.stopped.append(name)

    def call(self, name, operation, params, _deadline_s, lock=None, *, shared=False):
        self.calls.append((name, operation, params, lock, shared))
        if operation == "session/open":
            self.sessions[name] = params
        return {"gpus": []}


class Jobs:
    """A compile pool that leaves its jobs to the test: what was asked, and the answer to come."""

    size = 1

    def __init__(self, *_, **__):
        self.asked, self.jobs, self.turns, self.deadlines = [], [], [], []
        self.closed = threading.Event()

    def close(self):
        self.closed.set()

    def turn(self):
        return 7

    def submit(self, params, turn=None, deadline_s=None, **_):
        self.turns.append(turn)
        self.deadlines.append(deadline_s)
        self.asked.append(params)
        self.jobs.append(Future())
        return self.jobs[-1]


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A lab whose ``worker`` and pool of ``compilers`` are these."""
    worker = Opened()
    monkeypatch.setattr(worker_lab.Worker, "start", lambda *_, **__: worker)
    monkeypatch.setattr(worker_lab, "CompilePool", Jobs)
    (tmp_path / "k.py").write_text("import triton\n")
    workspace = Workspace.for_file(str(tmp_path / "k.py"), {})
    made = WorkerLab.start(workspace, worker=None, python=None, gpu="h200", seed=0, on_log=lambda *_: None)
    made.worker = worker
    return made


def build(lab, launches):
    """A build that has got as far as its compile jobs: its result, and the jobs by launch."""
    out = lab.build(None, CASES)
    lab.compilers.jobs[0].set_result({"launches": [{"key": name, "case": "c"} for name in launches], "host_hash": {}})
    jobs = dict(zip((asked["launch"]["key"] for asked in lab.compilers.asked[1:]), lab.compilers.jobs[1:], strict=True))
    assert list(jobs) == list(launches)
    return out, jobs


def test_all_configurations_of_an_autotuned_variant_compete_in_the_final_only(lab):
    for executor in (lab.measuring(), lab.fresh("final-0")):
        executor.call("check", {}, 1.0)
    sessions = lab.worker.sessions
    assert "tuning" not in sessions["main"]
    assert sessions["final-0"] == {**sessions["main"], "tuning": "all"}


def test_references_are_waited_for_as_long_as_there_is_time(lab, monkeypatch):
    lab.references_built()  # none were asked for
    monkeypatch.setattr(lab, "_references_s", 60.0)
    lab.build_references(CASES)
    assert lab.compilers.turns == [NOW]
    waiting = threading.Thread(target=lab.references_built, daemon=True)
    waiting.start()
    lab.compilers.jobs[0].set_result({"launches": [{"key": name, "case": "c"} for name in "aab"], "host_hash": {}})
    assert [p["launch"]["key"] for p in lab.compilers.asked[1:]] == ["a", "b"]
    assert lab.compilers.turns == [NOW] * 3
    lab.compilers.jobs[1].set_result({})
    waiting.join(0.2)
    assert waiting.is_alive(), "one of them is still being compiled"
    lab.compilers.jobs[2].set_exception(WorkerError("ptxas failed"))
    waiting.join(30)
    assert not waiting.is_alive()


def test_references_that_take_long_are_not_waited_for(lab, monkeypatch):
    monkeypatch.setattr(lab, "_references_s", 0.0)
    lab.build_references(CASES)
    lab.references_built()
    lab.compilers.jobs[0].set_exception(WorkerError("it fails on doubles"))
    lab.references_built()


def test_jobs_that_are_cancelled_by_the_first_failure_end_the_build_once(lab, caplog):
    out, jobs = build(lab, "abc")
    jobs["a"].set_exception(WorkloadError("It doesn't compile.", kind="compile_error"))
    with pytest.raises(WorkloadError):
        out.result(0)
    assert jobs["b"].cancelled()
    assert jobs["c"].cancelled()
    assert "exception calling callback" not in caplog.text


def test_facts_are_in_the_order_of_the_launches(lab):
    """Not in that of the compilers coming back: strategies read the first, and the database keeps the order."""
    out, jobs = build(lab, ("first", "second", "third"))
    for name in reversed(jobs):
        jobs[name].set_result({"key": name})
    assert tuple(out.result(0).facts) == ("first", "second", "third")


def test_compiling_ends_and_memory_is_released_for_the_final(lab):
    lab.gpu = object()  # as where there is one
    lab.measuring().call("check", {}, 1.0)
    lab.make_way("GPU-1")
    assert lab.compilers.closed.wait(10)
    assert lab.worker.calls[-1] == ("main", "prepare", {"cases": [], "release": True}, "GPU-1", True)
    before = len(lab.worker.calls)
    lab.measuring().restart()
    lab.make_way("GPU-1")
    assert len(lab.worker.calls) == before  # nobody is there, and nobody is started for it


def ended(name):
    """Whatever threads of that name there are."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(10)
            assert not thread.is_alive()


def test_the_program_is_imported_ahead_where_there_is_a_gpu(lab):
    lab.open_ahead(CASES[0])
    assert all(call[1] != "prepare" for call in lab.worker.calls)  # nothing is measured here, and the cores have other work
    lab.gpu = {"uuid": "GPU-1"}
    lab.open_ahead(CASES[0])
    ended("prepare in main")
    assert lab.worker.calls[-1] == ("main", "prepare", {"open": "c"}, "GPU-1", True)


def test_compilers_that_were_started_ahead_import_it_while_the_entry_runs(lab, monkeypatch):
    asked = []
    monkeypatch.setattr(lab.compilers, "import_ahead", asked.append, raising=False)
    lab.import_ahead(["p.kernels"])
    assert not asked
    lab._warm = True
    lab.gpu = {"uuid": "GPU-1"}
    first = lab.measuring()
    lab.import_ahead(["p.kernels"])
    assert asked == [["p.kernels"]]
    ended("import in measuring")
    assert lab.worker.calls[-1] == ("measuring", "import", {"modules": ["p.kernels"]}, "GPU-1", True)
    assert lab.measuring() is first  # the entry still runs in it
    lab.open_ahead(CASES[0])
    ended("prepare in measuring")
    assert lab.worker.calls[-1] == ("measuring", "prepare", {"open": "c"}, "GPU-1", True)
    assert lab.measuring().running
    assert lab.worker.stopped == ["main"]


def test_that_it_cannot_be_imported_is_said_by_who_needs_it(lab, monkeypatch):
    asked = threading.Event()

    def fails(name, operation, params, _deadline_s, lock=None, *, shared=False):
        if operation == "session/open":
            return {}
        asked.set()
        raise WorkloadError("It can't be imported.")

    monkeypatch.setattr(lab.worker, "call", fails)
    lab.gpu = {"uuid": "GPU-1"}
    lab.open_ahead(CASES[0])  # an error in its thread would fail the test
    assert asked.wait(10)
    ended("prepare in main")
    assert not lab.measuring().running  # what is half imported may fail in another way
    with pytest.raises(WorkloadError, match="imported"):
        lab.measuring().call("time", {"cases": ["c"]}, 1.0, "GPU-1")


def test_all_jobs_of_a_variant_have_its_turn(lab):
    build(lab, ["one", "two"])
    assert lab.compilers.turns == [7, 7, 7]


def build_several(lab, files=None):
    """Of three cases with a launch each."""
    out = lab.build(files, SEVERAL)
    lab.compilers.jobs[0].set_result({"launches": [{"key": name.upper(), "case": name} for name in "abc"], "host_hash": {}})
    return out, dict(zip("ABC", lab.compilers.jobs[1:], strict=True))


def test_where_the_original_takes_too_long_to_compile_the_case_is_left_out(lab):
    out, jobs = build_several(lab)
    jobs["B"].set_exception(LATE)
    for name in "AC":
        jobs[name].set_result({"key": name})
    built = out.result(0)
    assert built.late == {"b"}
    assert [launch["case"] for launch in built.specialised["launches"]] == ["a", "c"]
    assert list(built.facts) == ["A", "C"]
    assert set(lab.compilers.deadlines[1:]) == {None}


def test_where_nothing_would_be_left_to_time_the_original_gets_longer(lab):
    out, jobs = build_several(lab)
    for name in "AB":
        jobs[name].set_exception(LATE)
    jobs["C"].set_result({"key": "C"})
    assert not out.done()
    assert [asked["launch"]["key"] for asked in lab.compilers.asked[4:]] == ["A", "B"]
    assert lab.compilers.deadlines[4:] == [ORIGINAL_S, ORIGINAL_S]
    lab.compilers.jobs[4].set_result({"key": "A"})
    lab.compilers.jobs[5].set_exception(LATE)
    with pytest.raises(ExecutorFault):
        out.result(0)


def test_of_a_variant_no_case_is_left_out(lab):
    out, jobs = build_several(lab, {"id": "v", "files": []})
    jobs["B"].set_exception(LATE)
    with pytest.raises(ExecutorFault):
        out.result(0)
