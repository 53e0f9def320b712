"""What takes long beside a GPU: what a variant moves is counted unless the original's count took long, and compiling ends in time."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

from kernelband.hardware import find_device
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


@pytest.mark.parametrize(("seconds", "deadline_s"), [(None, 90.0), (20.0, 15.0), (120.0, 30.0), (3600.0, 90.0)])
def test_no_compilation_takes_the_whole_run(seconds: float | None, deadline_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = {"name": "NVIDIA H200", "capability": "9.0", "uuid": "GPU-1"}
    worker = SimpleNamespace(hello={"scratch": "/scratch/1", "cpus": 4})
    executor = SimpleNamespace(call=lambda *_: {"gpus": [gpu]})
    pools: list[dict[str, Any]] = []
    monkeypatch.setattr(worker_lab.Worker, "start", lambda *_, **__: worker)
    monkeypatch.setattr(worker_lab, "from_gpu", lambda _: find_device("h200"))
    monkeypatch.setattr(worker_lab, "CompilePool", lambda *_, **more: pools.append(more))
    monkeypatch.setattr(WorkerLab, "_executor", lambda *_: executor)
    workspace: Any = SimpleNamespace(top_level=list)
    lab = WorkerLab.start(workspace, worker="ssh there", python=None, gpu=None, seed=0, on_log=lambda *_: None, seconds=seconds)
    assert lab.measured
    assert pools[0]["deadline_s"] == deadline_s
