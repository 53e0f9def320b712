"""What the worker's Python has: versions and GPUs, or a sentence about what is missing, too old or broken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kernelband.errors import WorkerError
from kernelband.worker import Executor, WorkerCommand
from kernelband_worker.wire import SessionParams
from tests.e2e.conftest import StartWorker

# Packages in the archive come before the installed ones: stand-ins for installations that are too old or broken.
TORCH = {"torch/__init__.py": b"__version__ = '2.7.1+cu128'\n"}
TRITON = {"triton/__init__.py": b"__version__ = '3.6.0'\n"}


@pytest.mark.parametrize(
    ("extra", "kind", "words"),
    [
        ({}, "torch_missing", "has no torch: install it there"),
        (TORCH, "triton_missing", "has no triton: install it there"),
        ({"torch/__init__.py": b"__version__ = '2.5.1'\n", **TRITON}, "too_old", "has torch 2.5.1, and KernelBand needs 2.6 or newer"),
        ({**TORCH, "triton/__init__.py": b"__version__ = '3.1.0'\n"}, "too_old", "has triton 3.1.0, and KernelBand needs 3.2 or newer"),
        ({"torch/__init__.py": b"raise OSError('libcudart.so.12: no such file')\n"}, "torch_missing", "imported .OSError: libcudart"),
        ({"torch/__init__.py": b"import not_there\n"}, "torch_missing", "imported .ModuleNotFoundError: No module named 'not_there'"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("operation", ["environment", "session/open"])
def test_what_is_missing(start: StartWorker, extra: dict[str, bytes], kind: str, words: str, operation: str) -> None:
    worker = start(WorkerCommand((), sys.executable, extra=extra))
    worker.start_executor("e", "gpu")
    with pytest.raises(WorkerError, match=words) as caught:
        worker.call("e", operation, {"id": "s", "top_level": []}, 60)
    assert caught.value.kind == kind
    assert sys.executable in str(caught.value)


def test_what_is_there(start: StartWorker, worker_python: str) -> None:
    worker = start(WorkerCommand((), worker_python))
    with Executor(worker, "e", "gpu", environment={"TRITON_DEBUG": "0"}) as executor:
        found = executor.call("environment", {}, 60)
    assert found["python"] == worker.hello["python"]
    assert int(found["torch"].split(".")[0]) >= 2
    assert int(found["triton"].split(".")[0]) >= 3
    assert found["ptxas"]
    assert found["settings"]["TRITON_DEBUG"] == "0"
    assert isinstance(found["gpus"], list)


@pytest.mark.parametrize("role", ["cpu", "compile"])
def test_a_session_opens_without_a_gpu(start: StartWorker, worker_python: str, role: str) -> None:
    worker = start(WorkerCommand((), worker_python))
    scratch = worker.hello["scratch"]
    session: SessionParams = {
        "id": "s1",
        "top_level": ["user_kernels"],
        "store": f"{scratch}/store",
        "cache": f"{scratch}/cache",
        "seed": 0,
        "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
        "device_properties": {"multiprocessor_count": 132, "max_shared_mem": 232448, "max_num_regs": 65536, "warpSize": 32},
    }
    with Executor(worker, "e", role, session=session) as executor:
        found = executor.call("environment", {}, 60)
        assert found["settings"]["TRITON_CACHE_DIR"] == session.get("cache")
        assert found["gpus"] == []
        with pytest.raises(WorkerError, match="open in this executor already"):
            worker.call("e", "session/open", session, 60)
    assert Path(scratch).exists()
