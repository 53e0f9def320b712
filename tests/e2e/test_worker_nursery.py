"""Executors that are forked from a process with the libraries imported: like any other, and ended like any other."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import ExecutorFault, WorkerError, WorkloadError
from kernelband.worker import CompilePool, Worker, WorkerCommand
from kernelband_worker import system
from tests.e2e.conftest import OPERATIONS, StartWorker, all_end, family, is_alive
from tests.e2e.test_worker_kills import PATIENT

HERE = Path(__file__).parent
#: Stands in for a torch that is slow to import; what the worker's modules would need of it isn't there, so they are left out.
TORCH = """
import numpy.random
__version__ = "2.7.1"
class default_generator:
    seed = staticmethod(lambda: None)
set_num_threads = lambda number: None
class cuda:
    is_available = is_initialized = staticmethod(lambda: False)
"""
LIBRARIES = {
    "triton/__init__.py": b"__version__ = '3.6.0'\n",
    **{f"kernelband_worker/{name}.py": b"" for name in ("triton_versions", "cpu/device")},
}
NURSERY_OPERATIONS = {**OPERATIONS, "nursery_operations.py": (HERE / "nursery_operations.py").read_bytes()}


def command(torch: str = TORCH, loader: str = "") -> WorkerCommand:
    """A worker with that torch, which hears out where an executor hangs; ``loader`` is what a nursery imports before it is ready."""
    texts = {"torch/__init__.py": torch, "kernelband_worker/loader.py": loader}
    extra = {**PATIENT.extra, **NURSERY_OPERATIONS, **LIBRARIES, **{path: text.encode() for path, text in texts.items()}}
    return WorkerCommand((), sys.executable, executor="nursery_operations", extra=extra)


def forked(
    worker: Worker, name: str, role: str = "gpu", gpu: int | None = None, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Start an executor until it is one that has been forked; what it tells."""
    end = time.monotonic() + 120
    while True:
        worker.start_executor(name, role, gpu, environment)
        told = worker.call(name, "told", {}, 60)
        if told["forked"]:
            return told
        assert time.monotonic() < end, "no nursery came"
        time.sleep(0.05)


def nurseries(worker: Worker) -> list[int]:
    mark = f"KERNELBAND_EXECUTOR={worker.hello['scratch']}#nursery"
    return [pid for pid in system.marked(mark) if pid in family(worker.hello["pid"])]


def zombies(worker: Worker) -> list[int]:
    return [pid for pid in family(worker.hello["pid"]) if not is_alive(pid)]


def none_stay(worker: Worker, seconds: float = 60.0) -> bool:
    """Whether all that ended among the supervisor's children is reaped within that time."""
    end = time.monotonic() + seconds
    while zombies(worker) and time.monotonic() < end:
        time.sleep(0.05)
    return not zombies(worker)


# ---------------------------------------------------------------- like any other


@pytest.mark.parametrize("role", ["gpu", "cpu", "compile"])
def test_it_is_like_one_with_a_python_of_its_own(start: StartWorker, role: str) -> None:
    worker = start(command())
    worker.start_executor("first", role, environment={"KERNELBAND_NICE": "3"})
    first = worker.call("first", "told", {}, 60)
    second = forked(worker, "second", role, environment={"KERNELBAND_NICE": "3"})
    assert not first["forked"]
    assert first["like any other"]["bytecode"] == [False, f"{worker.hello['scratch']}/bytecode"]  # and so beside nobody's files
    assert second["like any other"] == first["like any other"]
    assert first["like any other"]["parent"] == worker.hello["pid"]
    assert first["like any other"]["ends with it"] == signal.SIGKILL
    environments = [{k: v for k, v in told["environment"].items() if k != "KERNELBAND_EXECUTOR"} for told in (first, second)]
    assert environments[0] == environments[1]
    assert worker.call("second", "prints", {}, 60) == {"read": ""}


def test_another_gpu_but_no_other_environment(start: StartWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    worker = start(command())
    for gpu, seen in [(0, "0"), (1, "1"), (None, "none")]:
        told = forked(worker, "a", "gpu", gpu)
        assert (told["environment"].get("CUDA_VISIBLE_DEVICES", "none"), told["to libraries"]) == (seen, seen)
    assert len(nurseries(worker)) == 1
    for role, environment in [("cpu", {}), ("gpu", {"TRITON_DEBUG": "1"})]:
        worker.start_executor("b", role, environment=environment)
        assert not worker.call("b", "told", {}, 60)["forked"]


def test_whoever_comes_after_the_first_answer_is_forked_with_a_role_and_a_priority_of_its_own(start: StartWorker) -> None:
    own = {"KERNELBAND_NICE": "3", "KERNELBAND_THREADS": "1"}
    alone, shared = start(command()), start(command(loader="import time\ntime.sleep(0.5)\n"))
    alone.start_executor("a", "compile", environment=own)
    first = alone.call("a", "told", {}, 60)
    shared.start_executor("a", "cpu")
    shared.call("a", "told", {}, 60)
    shared.start_executor("b", "compile", environment=own)
    second = shared.call("b", "told", {}, 60)
    assert second["forked"]
    of_the_worker = {"parent": 0, "path": [], "bytecode": []}
    assert {**second["like any other"], **of_the_worker} == {**first["like any other"], **of_the_worker}
    assert len(nurseries(shared)) == 1


def test_no_two_draw_the_same(start: StartWorker) -> None:
    worker = start(command())
    drawn = []
    for name in "abc":
        forked(worker, name)
        drawn.append(worker.call(name, "draws", {}, 60)["drawn"])
    for values in zip(*drawn, strict=True):
        assert len(set(values)) == 3


def test_all_that_a_program_starts_carries_the_mark_of_its_executor(start: StartWorker) -> None:
    worker = start(command())
    other, one = forked(worker, "other"), forked(worker, "one")
    mark = f"KERNELBAND_EXECUTOR={one['environment']['KERNELBAND_EXECUTOR']}"
    assert mark in one["to the kernel"]
    assert mark not in other["to the kernel"]
    pids = worker.call("one", "children", {}, 60)["pids"]  # with exec in the group and outside, and a daemon without exec
    assert all(mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") for pid in pids)
    worker.stop_executor("one")
    assert all_end([one["pid"], *pids])
    assert worker.call("other", "echo", {}, 60)["pid"] == other["pid"]
    assert forked(worker, "three")["pid"] != one["pid"]
    assert len(nurseries(worker)) == 1


def test_a_pool_has_its_own_and_the_end_of_the_first_is_not_the_nurserys(start: StartWorker) -> None:
    worker = start(command())
    with CompilePool(worker, None, size=1, nice=4) as pool:
        first = pool.submit({}, operation="told").result(60)
        end, told = time.monotonic() + 120, first
        while not told["forked"] and time.monotonic() < end:
            with pytest.raises(ExecutorFault, match="SIGKILL"):
                pool.submit({"signal": int(signal.SIGKILL)}, operation="die").result(60)
            told = pool.submit({}, operation="told").result(60)
    assert told["forked"]
    assert told["like any other"] == first["like any other"]


def test_a_nursery_holds_nothing_of_the_first(start: StartWorker) -> None:
    worker = start(command())
    forked(worker, "a")
    (nursery,) = nurseries(worker)
    held = sorted(os.readlink(file).split(":")[0] for file in Path(f"/proc/{nursery}/fd").iterdir())
    assert held == ["/dev/null", "/dev/null", "/dev/null", "socket"]
    assert os.readlink(f"/proc/{nursery}/cwd") == "/"


def test_with_the_libraries_themselves(start: StartWorker, worker_python: str) -> None:
    """A run's executors of role cpu, one after the other: the first imports, the others are forked and compute."""
    worker = start(WorkerCommand((), worker_python, executor="nursery_operations", extra=NURSERY_OPERATIONS))
    worker.start_executor("first", "cpu")
    found = [worker.call("first", "computes", {}, 120)]
    end = time.monotonic() + 120
    while len(found) < 4:
        worker.start_executor("other", "cpu")
        one = worker.call("other", "computes", {}, 120)
        if one["forked"]:
            found.append(one)
        assert time.monotonic() < end, "no nursery came"
    for name in ("torch", "numpy"):
        assert len({one[name] for one in found}) == 4, f"the same random numbers of {name}"
    assert {one["product"] for one in found} == {400 * 400 * 400.0}
    assert len({one["kernel threads"] for one in found}) == 1
    worker.start_executor("one of a pool", "compile", environment={"KERNELBAND_THREADS": "1"})
    one = worker.call("one of a pool", "computes", {}, 120)
    assert (one["forked"], one["threads"]) == (True, 1)


# ---------------------------------------------------------------- ended like any other


@pytest.mark.parametrize(
    ("operation", "params", "words"),
    [
        ("die", {"signal": int(signal.SIGSEGV)}, "SIGSEGV"),
        ("die", {"signal": int(signal.SIGKILL)}, "SIGKILL"),
        ("leave", {"code": 4}, "exited with code 4"),
        ("garbage", {}, "wrote into its own protocol"),
        ("cuda_is_broken", {}, "CUDA can't be used any more"),
    ],
)
def test_how_it_ended_is_known(start: StartWorker, operation: str, params: dict[str, int], words: str) -> None:
    worker = start(command(), heartbeat_s=1.5)
    pid = forked(worker, "a")["pid"]
    with pytest.raises(ExecutorFault, match=words):
        worker.call("a", operation, params, 60)
    assert not is_alive(pid)
    assert none_stay(worker)


def test_its_deadline_holds_and_it_says_where_it_hangs(start: StartWorker) -> None:
    worker = start(command())
    forked(worker, "a")
    with pytest.raises(ExecutorFault, match="took longer") as caught:
        worker.call("a", "spin", {}, 2.0)
    assert "in spin" in caught.value.detail


def test_a_forked_copy_of_it_does_not_answer_and_leaves_no_zombie(start: StartWorker) -> None:
    worker = start(command(), heartbeat_s=1.5)
    pid = forked(worker, "a")["pid"]
    worker.call("a", "children", {}, 60)
    worker.call("a", "forks", {}, 60)
    assert worker.call("a", "echo", {"n": 1}, 60)["pid"] == pid
    worker.stop_executor("a")
    assert none_stay(worker)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_all_end_with_the_supervisor(start: StartWorker, how: signal.Signals) -> None:
    worker = start(command())
    pids = [forked(worker, name)["pid"] for name in "ab"] + nurseries(worker)
    pids += worker.call("a", "children", {}, 60)["pids"]
    worker.submit("b", "sleep_in_c", {}, 600)
    assert len(pids) == 6
    os.kill(worker.hello["pid"], how)
    assert all_end(pids)


# ---------------------------------------------------------------- a nursery with a fault


def test_a_nursery_that_is_killed_takes_nobody_along(start: StartWorker) -> None:
    worker = start(command(), heartbeat_s=1.5)
    pid = forked(worker, "a")["pid"]
    (nursery,) = nurseries(worker)
    os.kill(nursery, signal.SIGKILL)
    assert all_end([nursery])
    worker.start_executor("b", "gpu")
    assert not worker.call("b", "told", {}, 60)["forked"]
    assert worker.call("a", "echo", {}, 60)["pid"] == pid
    forked(worker, "c")
    assert nurseries(worker) != [nursery]
    assert none_stay(worker)


def test_a_nursery_that_does_nothing_is_done_without(start: StartWorker) -> None:
    worker = start(command())
    forked(worker, "a")
    (nursery,) = nurseries(worker)
    os.kill(nursery, signal.SIGSTOP)
    worker.start_executor("b", "gpu")
    assert not worker.call("b", "told", {}, 60)["forked"]
    assert worker.call("a", "echo", {}, 60)


def test_nobody_waits_for_libraries_that_never_come(start: StartWorker) -> None:
    worker = start(command("import time\ntime.sleep(600)\n"))
    began = time.monotonic()
    for name in "abc":
        worker.start_executor(name, "gpu")
    for name in "bc":  # the first one imports them; these would if an operation asked
        assert not worker.call(name, "told", {}, 60)["forked"]
    with pytest.raises(ExecutorFault, match="took longer") as caught:
        worker.call("a", "require", {}, 3.0)
    assert "torch/__init__.py" in caught.value.detail
    assert time.monotonic() - began < 150
    assert nurseries(worker) == []


@pytest.mark.parametrize(
    ("torch", "words"),
    [
        ("raise OSError('libcudart.so.12: no such file')", "imported .OSError: libcudart"),
        ("import sys\nsys.exit(3)", r"sys.exit\(3\)"),
        # Whatever makes the second attempt in one process fail in another way.
        ("import sys\nif hasattr(sys, 'was'): raise OSError('again')\nsys.was = 1\nraise OSError('the cause')", "the cause"),
    ],
)
def test_why_the_libraries_do_not_come_is_said_when_asked(start: StartWorker, torch: str, words: str) -> None:
    worker = start(command(torch))
    for _ in range(5):
        worker.start_executor("a", "gpu")
        assert worker.call("a", "echo", {}, 60)["role"] == "gpu"
        with pytest.raises((WorkerError, WorkloadError), match=words):
            worker.call("a", "require", {}, 60)
    assert nurseries(worker) == []


def test_libraries_that_end_the_process(start: StartWorker) -> None:
    worker = start(command("import os\nos._exit(5)"))
    worker.start_executor("a", "gpu")
    with pytest.raises(ExecutorFault, match="exited with code 5"):
        worker.call("a", "require", {}, 60)


@pytest.mark.parametrize(
    "torch",
    [
        TORCH.replace("lambda: False", "lambda: True"),  # no fork survives an initialised CUDA
        TORCH + "import threading, time\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
    ],
    ids=["cuda", "threads"],
)
def test_what_can_not_be_forked_is_not(start: StartWorker, torch: str) -> None:
    worker = start(command(torch))
    for _ in range(4):
        worker.start_executor("a", "gpu")
        assert not worker.call("a", "told", {}, 60)["forked"]
        time.sleep(0.1)
    assert nurseries(worker) == []
