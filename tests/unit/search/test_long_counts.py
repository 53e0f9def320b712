"""What a variant moves is counted beside a GPU, unless counting the original has shown that it takes long."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from kernelband.search import worker_lab
from kernelband.search.worker_lab import WorkerLab

CASE: Any = {"id": "a", "replayable": True, "role": "time"}


class Pool:
    """Answers everything at once with nothing to compile; ``asked`` are the operations, ``clock`` moves on with each count."""

    def __init__(self, clock: SimpleNamespace, seconds: float) -> None:
        self.asked: list[str] = []
        self.clock, self.seconds = clock, seconds

    def turn(self) -> int:
        return 1

    def submit(self, params: Any, *, operation: str = "compile", **_: Any) -> Future[Any]:
        self.asked.append(operation)
        self.clock.now += self.seconds if operation == "traffic" else 0.0
        job: Future[Any] = Future()
        job.set_result({"launches": {} if operation == "traffic" else []})
        return job


@pytest.mark.parametrize(("seconds", "counts"), [(0.5, 2), (30.0, 1)])
def test_a_long_count_is_made_of_the_original_only(seconds: float, counts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(worker_lab.time, "monotonic", lambda: clock.now)
    worker: Any = SimpleNamespace(hello={"scratch": "/scratch/1"})
    workspace: Any = SimpleNamespace(top_level=list)
    lab = WorkerLab(worker, workspace, 0, counts=True)
    pool: Any = Pool(clock, seconds)
    monkeypatch.setattr(lab, "_device", SimpleNamespace(target={}))
    monkeypatch.setattr(lab, "_pool", pool)
    monkeypatch.setattr(lab, "_counters", pool)
    lab.count(None, ["a"]).result()
    lab.build({"id": "v", "files": []}, [CASE]).result()
    assert pool.asked.count("traffic") == counts
