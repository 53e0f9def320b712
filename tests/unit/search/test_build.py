"""Sessions of a lab's executors, and compile jobs: the first failure ends the rest, and what it cancelled answers nobody twice."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from kernelband.errors import WorkloadError
from kernelband.hardware import find_device
from kernelband.search.worker_lab import WorkerLab, _Build
from kernelband.source import Workspace


class Opened:
    """A worker that notes the sessions of its executors."""

    def __init__(self) -> None:
        self.hello = {"scratch": "/scratch/run", "cpus": 4}
        self.sessions: dict[str, dict] = {}

    def start_executor(self, name, *_):
        pass

    def call(self, name, operation, params, *_, **__):
        if operation == "session/open":
            self.sessions[name] = params
        return {}


def test_all_configurations_of_an_autotuned_variant_compete_in_the_final_only(tmp_path):
    (tmp_path / "k.py").write_text("import triton\n")
    worker = Opened()
    lab = WorkerLab(worker, Workspace.for_file(str(tmp_path / "k.py"), {}), 0)
    for executor in (lab._executor("main", "gpu"), lab.fresh("final-0")):
        executor.call("check", {}, 1.0)
    assert "tuning" not in worker.sessions["main"]
    assert worker.sessions["final-0"] == {**worker.sessions["main"], "tuning": "all"}


class Pool:
    def __init__(self) -> None:
        self.jobs: list[Future] = []

    def submit(self, params, **more):
        self.jobs.append(Future())
        return self.jobs[-1]


def test_jobs_that_are_cancelled_by_the_first_failure_end_the_build_once(caplog):
    pool, out = Pool(), Future()
    specialised = {"launches": [{"key": name} for name in "abc"], "host_hash": {}}
    _Build(pool, find_device("h200"), None, specialised, out).begin()
    pool.jobs[0].set_exception(WorkloadError("It doesn't compile.", kind="compile_error"))
    with pytest.raises(WorkloadError):
        out.result(0)
    assert all(job.cancelled() for job in pool.jobs[1:])
    assert "exception calling callback" not in caplog.text
