"""Every way to die: the deadline holds, the rest goes on, and nobody is left."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelband.errors import ExecutorFault, WorkerError
from kernelband.worker import CompilePool, WorkerCommand
from tests.e2e.conftest import OPERATIONS, ROOT, StartWorker, all_end, family, gone, is_alive

_CHILD = (ROOT / "server" / "kernelband_worker" / "child.py").read_bytes()
_WORDS = b"_WORDS_S, _QUIET_S = 1.0, 0.1"
assert _WORDS in _CHILD
#: A worker that hears out where an executor hangs, however long a busy machine lets that take.
PATIENT = WorkerCommand(
    (),
    sys.executable,
    executor="worker_operations",
    extra={**OPERATIONS, "kernelband_worker/child.py": _CHILD.replace(_WORDS, b"_WORDS_S, _QUIET_S = 60.0, 1.0")},
)

_ENGINE = """
import sys, time
sys.path.insert(0, {root!r})
from kernelband.worker import Worker
from tests.e2e.conftest import Files, command
worker = Worker.start(command(), files=Files(), deadline_s=120.0, on_progress=lambda name, text: print(text, flush=True))
print(worker.hello["pid"], worker.hello["scratch"], flush=True)
for name in ("a", "b", "c"):
    worker.start_executor(name, "cpu")
print(*[worker.call(name, "echo", {{}}, 120)["pid"] for name in ("a", "b", "c")], flush=True)
hang = [("a", "spin", {{}}), ("b", "sleep_in_c", {{}}), ("c", "children", {{"hang": True}})]
futures = [worker.submit(*call, 600) for call in hang]
time.sleep(600)
"""


@pytest.fixture
def engine() -> Iterator[subprocess.Popen[str]]:
    """A process with a worker whose three executors hang: in Python, in C, and with grandchildren."""
    code = _ENGINE.format(root=str(ROOT))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_pids(engine: subprocess.Popen[str]) -> tuple[int, str, list[int]]:
    """Supervisor, scratch folder, executors and their children."""
    assert engine.stdout is not None
    supervisor, scratch = engine.stdout.readline().split()
    executors = [int(pid) for pid in engine.stdout.readline().split()]
    children = [int(pid) for pid in engine.stdout.readline().split()]
    return int(supervisor), scratch, executors + children


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_engine_dies(engine: subprocess.Popen[str], how: signal.Signals) -> None:
    supervisor, scratch, others = read_pids(engine)
    everybody = set(family(engine.pid)) | set(others)
    assert {supervisor, *others} <= everybody
    engine.send_signal(how)
    engine.wait(60)
    assert all_end(list(everybody))
    assert gone(scratch) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_supervisor_dies(engine: subprocess.Popen[str], how: signal.Signals) -> None:
    supervisor, scratch, others = read_pids(engine)
    everybody = [*set(family(supervisor)) | set(others)]
    assert len(everybody) >= 8  # supervisor, guardian, three executors, three grandchildren
    os.kill(supervisor, how)
    assert all_end(everybody)
    assert gone(scratch) == []


def test_the_supervisor_is_told_to_end_while_it_waits_for_the_engine(start: StartWorker) -> None:
    """Its first thread stays in the read: the signal is taken by another, as when it comes right before that read."""
    worker = start()
    worker.start_executor("a", "cpu")
    pids = [worker.call("a", "echo", {}, 60)["pid"], *family(supervisor := worker.hello["pid"])]
    other = max(int(name) for name in os.listdir(f"/proc/{supervisor}/task"))
    assert other != supervisor
    assert ctypes.CDLL(None, use_errno=True).tgkill(supervisor, other, signal.SIGTERM) == 0
    assert all_end(pids)


def test_the_guardian_dies_and_the_supervisor_still_cleans(start: StartWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelband.worker.connection._GONE_S", 90.0)  # after that it would be killed, with nobody to clean up
    worker = start()
    (guardian,) = [pid for pid in family(worker.hello["pid"]) if pid != worker.hello["pid"]]
    os.kill(guardian, signal.SIGKILL)
    worker.start_executor("a", "cpu")
    pids = worker.call("a", "children", {}, 60)["pids"]
    worker.close()
    assert all_end(pids)


def test_a_lost_supervisor_fails_every_call_at_once(start: StartWorker) -> None:
    worker = start()
    for name in ("a", "b"):
        worker.start_executor(name, "cpu")
    futures = [worker.submit(name, "sleep", {"seconds": 300}, 300) for name in ("a", "b", "a")]
    began = time.monotonic()
    os.kill(worker.hello["pid"], signal.SIGKILL)
    for future in futures:
        with pytest.raises(WorkerError, match="is gone"):
            future.result(200)
    assert time.monotonic() - began < 150  # each would have slept five
    with pytest.raises(WorkerError, match="is gone"):
        worker.start_executor("c", "cpu")


def test_a_stopped_supervisor_counts_as_lost(start: StartWorker) -> None:
    worker = start(heartbeat_s=2.0)
    worker.start_executor("a", "cpu")
    future = worker.submit("a", "sleep", {"seconds": 600}, 600)
    os.kill(worker.hello["pid"], signal.SIGSTOP)
    with pytest.raises(WorkerError, match="hasn't answered for"):
        future.result(120)


@pytest.mark.parametrize("operation", ["spin", "sleep_in_c", "stop_itself"])
def test_deadlines_hold_against_anything(start: StartWorker, operation: str) -> None:
    worker = start(PATIENT if operation == "spin" else None)
    worker.start_executor("a", "cpu")
    pid = worker.call("a", "echo", {}, 60)["pid"]
    began = time.monotonic()
    with pytest.raises(ExecutorFault) as caught:
        worker.call("a", operation, {}, 2.0)
    assert caught.value.fault == "timeout"
    assert time.monotonic() - began < 90  # it would have gone on for ten minutes, or for ever
    assert not is_alive(pid)
    if operation == "spin":
        assert "in spin" in caught.value.detail  # where it hung
    with pytest.raises(ExecutorFault):  # this one isn't coming back
        worker.call("a", "echo", {}, 5)
    worker.start_executor("a", "cpu")
    assert worker.call("a", "echo", {}, 60)["pid"] != pid


def test_one_that_is_slow_to_say_where_it_hangs_is_heard(start: StartWorker) -> None:
    worker = start(PATIENT)
    worker.start_executor("a", "cpu")
    worker.call("a", "echo", {}, 60)
    with pytest.raises(ExecutorFault, match="took longer") as caught:
        worker.call("a", "stop_itself", {"seconds": 2.3}, 2.0)
    assert "in stop_itself" in caught.value.detail


def test_a_stopped_executor_with_a_full_pipe_holds_nobody_up(start: StartWorker) -> None:
    worker = start()
    worker.start_executor("a", "cpu")
    worker.start_executor("b", "cpu")
    os.kill(worker.call("a", "echo", {}, 60)["pid"], signal.SIGSTOP)
    stuck = worker.submit("a", "large", {"text": "x" * 1_000_000}, 8)
    assert worker.call("b", "echo", {"n": 1}, 60)["params"] == {"n": 1}
    assert not stuck.done()
    with pytest.raises(ExecutorFault, match="took longer"):
        stuck.result(30)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_an_executor_dies(start: StartWorker, number: signal.Signals) -> None:
    worker = start()
    worker.start_executor("a", "cpu")
    worker.start_executor("b", "cpu")
    with pytest.raises(ExecutorFault, match=number.name) as caught:
        worker.call("a", "die", {"signal": int(number)}, 30)
    assert caught.value.fault == "crashed"
    assert "last words" in caught.value.detail
    assert worker.call("b", "echo", {}, 60)["role"] == "cpu"


def test_an_executor_dies_between_calls(start: StartWorker) -> None:
    worker = start()
    worker.start_executor("a", "cpu")
    os.kill(worker.call("a", "echo", {}, 60)["pid"], signal.SIGKILL)
    with pytest.raises(ExecutorFault, match="SIGKILL"):
        worker.call("a", "echo", {}, 60)


def test_an_executor_exits_or_breaks_the_protocol(start: StartWorker) -> None:
    worker = start()
    for operation, words in [("leave", "exited with code 4"), ("garbage", "wrote into its own protocol")]:
        worker.start_executor("a", "cpu")
        began = time.monotonic()
        with pytest.raises(ExecutorFault, match=words):
            worker.call("a", operation, {"code": 4}, 120)
        assert time.monotonic() - began < 100  # not at the deadline, but when it happens


def test_a_sticky_cuda_error_ends_the_executor(start: StartWorker) -> None:
    worker = start()
    worker.start_executor("a", "gpu")
    with pytest.raises(ExecutorFault, match="CUDA can't be used any more") as caught:
        worker.call("a", "cuda_is_broken", {}, 60)
    assert caught.value.fault == "crashed"
    assert "illegal memory access" in caught.value.detail
    with pytest.raises(ExecutorFault):
        worker.call("a", "echo", {}, 60)


def test_a_gpu_that_others_have_filled_is_not_called_a_crash(start: StartWorker) -> None:
    worker = start()
    worker.start_executor("a", "gpu")
    with pytest.raises(ExecutorFault, match="The GPU had no memory left during cuda_is_broken") as caught:
        worker.call("a", "cuda_is_broken", {"error": "out of memory"}, 60)
    assert caught.value.fault == "oom"


@pytest.mark.parametrize("how", ["stop", "deadline", "close"])
def test_grandchildren_go_along(start: StartWorker, how: str) -> None:
    told: list[str] = []
    worker = start(on_progress=lambda _, text: told.append(text))
    worker.start_executor("a", "cpu")
    if how == "deadline":
        worker.call("a", "echo", {}, 60)
        with pytest.raises(ExecutorFault, match="took longer"):
            worker.call("a", "children", {"hang": True}, 6)
        pids = [int(pid) for pid in told[0].split()]
    else:
        pids = worker.call("a", "children", {}, 60)["pids"]
        assert all(map(is_alive, pids))
        worker.stop_executor("a") if how == "stop" else worker.close()
    assert all_end(pids)


def test_garbage_from_the_engine_ends_the_worker(start: StartWorker) -> None:
    worker = start()
    worker.start_executor("a", "cpu")
    pid = worker.call("a", "echo", {}, 60)["pid"]
    worker._connection._stdin.write(b"Content-Length: many\r\n\r\n")  # what no engine sends
    assert all_end([worker.hello["pid"], pid])
    with pytest.raises(WorkerError, match="is gone"):
        worker.call("a", "echo", {}, 60)


def test_a_supervisor_that_prints_garbage_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    from kernelband.worker import Worker, WorkerCommand
    from tests.e2e.conftest import Files

    boot = b"import os, time\ndef main(scratch, archive, executor):\n    os.write(1, b'hello\\n\\n'); time.sleep(600)\n"
    began = time.monotonic()
    with pytest.raises(WorkerError, match="protocol was disturbed"):
        Worker.start(WorkerCommand((), sys.executable, extra={"kernelband_worker/boot.py": boot}), files=Files())
    assert time.monotonic() - began < 100  # it would have slept ten minutes


def test_scratch_folders_of_the_dead_are_swept(start: StartWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    dead, alive_file = tmp_path / "kernelband-worker-dead", "alive"
    fresh, old = tmp_path / "kernelband-worker-fresh", tmp_path / "kernelband-worker-old"
    for folder in (dead, fresh, old, tmp_path / "others"):
        folder.mkdir()
        (folder / "file").touch()
    (dead / alive_file).touch()
    os.utime(old, (0, 0))
    first = start()
    second = start()
    assert gone(str(dead)) == []
    assert gone(str(old)) == []
    assert sorted(p.name for p in tmp_path.iterdir() if p.name in ("others", fresh.name)) == sorted(["others", fresh.name])
    assert Path(first.hello["scratch"]).exists()
    assert Path(second.hello["scratch"]).exists()


def test_a_pool_replaces_the_one_that_hangs(start: StartWorker) -> None:
    worker = start()
    with CompilePool(worker, {"id": "s"}, size=2, deadline_s=8.0, nice=7) as pool:
        jobs = [pool.submit({}, operation="spin", deadline_s=1.0) if n == 3 else pool.submit({}, operation="facts") for n in range(8)]
        results = [job.exception(120) or job.result() for job in jobs]
        assert isinstance(results[3], ExecutorFault)
        assert results[3].fault == "timeout"
        facts = [r for r in results if isinstance(r, dict)]
        assert len(facts) == 7
        assert {f["nice"] for f in facts} == {min(19, os.nice(0) + 7)}
        assert {f["environment"]["CUDA_VISIBLE_DEVICES"] for f in facts} == {""}
        assert len({f["pid"] for f in facts}) <= 3
        hung = [pool.submit({}, operation="sleep_in_c", deadline_s=300) for _ in range(2)]
        waiting = pool.submit({}, operation="facts")
        end = time.monotonic() + 60
        while not all(job.running() for job in hung) and time.monotonic() < end:
            time.sleep(0.05)
        began = time.monotonic()
    assert time.monotonic() - began < 100  # who leaves doesn't wait for the deadlines
    assert all(isinstance(job.exception(10), ExecutorFault) for job in hung)
    assert waiting.cancelled()
    with pytest.raises(WorkerError, match="pool is closed"):
        pool.submit({})


def test_a_pool_starts_no_more_than_it_needs(start: StartWorker) -> None:
    worker = start()
    with CompilePool(worker, None, size=4) as pool:
        pids = {pool.submit({}, operation="facts").result(60)["pid"] for _ in range(5)}
    assert len(pids) == 1
