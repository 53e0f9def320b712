"""An executor for the tests of the nursery: what a process can tell of itself. Runs in the worker; stdlib only."""

from __future__ import annotations

import ctypes
import multiprocessing.process
import os
import random
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import worker_operations

from kernelband_worker.executor import main as serve
from kernelband_worker.state import State

BEGAN = os.getpid()  # another's in a fork


def main() -> None:
    """As kernelband_worker.executor.main, with those of worker_operations and these."""
    serve(
        {
            **{name: f"worker_operations:{name}" for name in worker_operations.NAMES},
            **{name: f"nursery_operations:{name}" for name in ("told", "draws", "require", "computes")},
        }
    )


def told(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """All that the operating system and Python know of a process, but for its number and its times."""
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines())
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    with_parent = ctypes.c_int()
    libc.prctl(2, ctypes.byref(with_parent), 0, 0, 0)  # PR_GET_PDEATHSIG
    return {
        "forked": os.getpid() != BEGAN,
        "pid": os.getpid(),
        "environment": dict(os.environ),
        "to libraries": (libc.getenv(b"CUDA_VISIBLE_DEVICES") or b"none").decode(),
        "to the kernel": Path("/proc/self/environ").read_text().split("\0"),
        "like any other": {
            "parent": os.getppid(),
            "ends with it": with_parent.value,
            "leads": (os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid()),
            "signals": [status[name] for name in ("SigBlk", "SigIgn", "SigCgt")],
            "handlers": [repr(signal.getsignal(number)).split(" at ")[0] for number in sorted(signal.valid_signals())],
            "capabilities": [status[name] for name in ("CapEff", "NoNewPrivs", "Seccomp")],
            "nice": os.nice(0),
            "umask": status["Umask"],
            "limits": [resource.getrlimit(number) for number in range(10)],
            "cpus": sorted(os.sched_getaffinity(0)),
            "argv": sys.argv,
            "path": sys.path,
            "flags": str(sys.flags),
            "bytecode": (sys.dont_write_bytecode, sys.pycache_prefix),
            "main": sorted(vars(sys.modules["__main__"])),
            "filters": [repr(entry) for entry in sys.modules["warnings"].filters],
            "threads": sorted(thread.name for thread in threading.enumerate()),
            "working folder": Path.cwd().parent.name,
            "descriptors": sorted(_described(int(fd)) for fd in os.listdir("/proc/self/fd")),
            "role": state.role,
        },
    }


def _described(fd: int) -> str:
    try:
        target = os.readlink(f"/proc/self/fd/{fd}")
    except OSError:
        return "the listing itself"
    return f"{'inherited' if os.get_inheritable(fd) else 'own'} {target.split(':')[0]} {'0-2' if fd < 3 else ''}"


def draws(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """What a fresh process draws as it begins."""
    numpy = sys.modules["numpy.random"]
    return {"drawn": [random.random(), float(numpy.random()), multiprocessing.process.current_process().authkey.hex()]}


def require(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """As the first operation of a real executor does."""
    from kernelband_worker.environment import require

    require()
    return {}


def computes(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """With the libraries themselves, on as many threads as they like."""
    require(state, params)
    import numpy
    import torch

    ones = torch.ones(400, 400, dtype=torch.float64)
    ones.numpy() @ ones.numpy()
    return {
        "forked": os.getpid() != BEGAN,
        "product": float((ones @ ones).sum()),
        "torch": float(torch.rand(1, dtype=torch.float64)),
        "numpy": float(numpy.random.rand()),
        "threads": torch.get_num_threads(),
        "kernel threads": len(os.listdir("/proc/self/task")),
    }
