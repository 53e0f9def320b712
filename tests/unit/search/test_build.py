"""A variant's compile jobs: the first failure ends the rest, and what was cancelled by it answers nobody twice."""

from __future__ import annotations

from concurrent.futures import Future

import pytest

from kernelband.errors import WorkloadError
from kernelband.hardware import find_device
from kernelband.search.worker_lab import _Build


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
