"""The machinery on a real GPU: its facts, a sticky error, out of memory, a kernel that never ends, the lock."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from kernelband.errors import ExecutorFault
from kernelband.worker import Executor, Worker, WorkerCommand
from kernelband_worker import system
from tests.e2e.conftest import Files, gone, worker_python  # noqa: F401  # the fixture

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]

OPERATIONS = b"""
import torch, triton, triton.language as tl
from kernelband_worker.executor import OPERATIONS, main as serve

def main():
    serve({**OPERATIONS, **{name: "gpu_operations:" + name for name in ("fine", "illegal", "memory", "endless")}})

def fine(state, params):
    return {"sum": torch.ones(1000, device="cuda").sum().item(), "count": torch.cuda.device_count()}

@triton.jit
def far_away(x, offset):
    tl.store(x + offset, 1.0)

@triton.jit
def for_ever(x):
    i = 0
    while tl.load(x, volatile=True) == 0:
        i += 1
    tl.store(x, i)

def illegal(state, params):
    far_away[(1,)](torch.zeros(1, device="cuda"), 2**40)
    torch.cuda.synchronize()

def memory(state, params):
    return {"x": torch.empty(2**50, dtype=torch.uint8, device="cuda").numel()}

def endless(state, params):
    for_ever[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
    torch.cuda.synchronize()
"""


@pytest.fixture
def worker(worker_python: str):  # noqa: F811  # the fixture above
    made = Worker.start(WorkerCommand((), worker_python, executor="gpu_operations", extra={"gpu_operations.py": OPERATIONS}), files=Files())
    yield made
    made.close()
    assert gone(made.hello["scratch"]) == []


def test_facts(worker: Worker) -> None:
    with Executor(worker, "e", "gpu") as executor:
        found = executor.call("environment", {}, 120)
    assert found["driver"]
    assert found["ptxas"]
    for gpu in found["gpus"]:
        assert gpu["uuid"].startswith(("GPU-", "MIG-"))
        assert 0 < gpu["free_bytes"] <= gpu["memory_bytes"]
        assert min(gpu["multiprocessors"], gpu["l2_bytes"], gpu["shared_limit_bytes"], gpu["registers"]) > 0
        assert min(gpu["clock_khz"], gpu["memory_clock_khz"]) > 100_000


def test_each_fault_costs_one_call(worker: Worker) -> None:
    with Executor(worker, "e", "gpu", gpu=0) as executor:
        assert executor.call("fine", {}, 120) == {"sum": 1000.0, "count": 1}
        for operation, fault, deadline_s in [("illegal", "crashed", 60), ("memory", "oom", 60), ("endless", "timeout", 10)]:
            with pytest.raises(ExecutorFault) as caught:
                executor.call(operation, {}, deadline_s)
            assert caught.value.fault == fault, caught.value
            assert executor.call("fine", {}, 120)["sum"] == 1000.0


def test_our_own_processes_are_nobody_else(worker: Worker) -> None:
    with Executor(worker, "a", "gpu", gpu=0) as first, Executor(worker, "b", "gpu", gpu=0) as second:
        first.call("fine", {}, 120)
        (gpu,) = second.call("environment", {}, 120)["gpus"]
        alone = gpu["processes"]
        assert all(str(p).split()[1] not in map(str, [worker.hello["pid"]]) for p in alone)
        began = time.monotonic()
        assert second.call("fine", {}, 120, lock=gpu["uuid"])["sum"] == 1000.0
        assert time.monotonic() - began < 30


def test_forked_executors_have_a_cuda_of_their_own(worker: Worker) -> None:
    """The nursery behind them has never touched CUDA: each initialises it, sees its GPU only, and survives the other's fault."""
    with Executor(worker, "first", "gpu", gpu=0) as first:
        assert first.call("fine", {}, 120)["sum"] == 1000.0
        mark = f"KERNELBAND_EXECUTOR={worker.hello['scratch']}#nursery"
        end = time.monotonic() + 60
        while not list(system.marked(mark)) and time.monotonic() < end:
            time.sleep(0.1)
        (nursery,) = system.marked(mark)
        time.sleep(3)  # until it is ready
        began = time.monotonic()
        with Executor(worker, "a", "gpu", gpu=0) as one, Executor(worker, "b", "gpu", gpu=0) as two:
            assert one.call("fine", {}, 120) == two.call("fine", {}, 120) == {"sum": 1000.0, "count": 1}
            print(f"two forked executors were ready in {time.monotonic() - began:.2f} s")
            with pytest.raises(ExecutorFault):
                one.call("illegal", {}, 60)
            assert two.call("fine", {}, 120)["sum"] == 1000.0
        assert not any("nvidia" in str(file.readlink()) for file in Path(f"/proc/{nursery}/fd").iterdir())
