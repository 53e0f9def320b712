"""An executor for the tests of the machinery: the real loop with operations that misbehave. Runs in the worker; stdlib only."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import kernelband_worker
from kernelband_worker.errors import OperationFailed
from kernelband_worker.executor import main as serve
from kernelband_worker.state import State


def main() -> None:
    """As kernelband_worker.executor.main, with the table below."""
    table = {name: f"worker_operations:{name}" for name in NAMES}
    serve({**table, "session/open": "worker_operations:open_session", "variant/load": "worker_operations:load_variant"})


SEEN: dict[str, list[Any]] = {"opened": [], "loaded": []}


def open_session(state: State, params: dict[str, Any]) -> dict[str, Any]:
    SEEN["opened"].append(params)
    return {}


def load_variant(state: State, params: dict[str, Any]) -> dict[str, Any]:
    SEEN["loaded"].append(params["id"])
    return {}


def opened(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return dict(SEEN)


def echo(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return {"params": params, "pid": os.getpid(), "role": state.role}


def facts(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "pid": os.getpid(),
        "group": os.getpgrp(),
        "session": os.getsid(0),
        "nice": os.nice(0),
        "environment": dict(os.environ),
        "cwd": os.getcwd(),
        "stdin": os.readlink("/proc/self/fd/0"),
        "same": os.fstat(1).st_ino == os.fstat(2).st_ino,
        "path": sys.path,
        "loaded": kernelband_worker.__file__,
    }


def spin(state: State, params: dict[str, Any]) -> dict[str, Any]:
    while True:
        pass


def sleep_in_c(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """Holds the interpreter's lock all the time, as a bad extension does."""
    ctypes.PyDLL(None).sleep(600)
    return {}


def sleep(state: State, params: dict[str, Any]) -> dict[str, Any]:
    time.sleep(params["seconds"])
    return {"slept": params["seconds"]}


def meet(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """Say in a folder that this one has begun, and stay until ``go`` is there."""
    folder = Path(params["folder"])
    (folder / params["name"]).touch()
    while not (folder / "go").exists():
        time.sleep(0.01)
    return {}


def stop_itself(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """For good, or until another process has waited that long: as one that gets no turn on a busy machine."""
    if "seconds" in params:
        subprocess.Popen(["/bin/sh", "-c", f"sleep {params['seconds']}; kill -CONT {os.getpid()}"])
    os.kill(os.getpid(), signal.SIGSTOP)
    return spin(state, params)


def die(state: State, params: dict[str, Any]) -> dict[str, Any]:
    print("last words", flush=True)
    os.kill(os.getpid(), params["signal"])
    time.sleep(60)
    return {}


def leave(state: State, params: dict[str, Any]) -> dict[str, Any]:
    os._exit(params["code"])


def children(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """Grandchildren that would stay: one in the group, one in a session of its own, one daemon."""
    code = "import time; time.sleep(600)"
    one = subprocess.Popen([sys.executable, "-c", code])
    two = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    pipe, end = os.pipe()
    if os.fork() == 0:
        os.setsid()
        pid = os.fork()
        if pid == 0:
            time.sleep(600)
        os.write(end, str(pid).encode())
        os._exit(0)
    three = int(os.read(pipe, 20))
    if params.get("hang"):
        state.tell("progress", {"text": f"{one.pid} {two.pid} {three}"})
        time.sleep(600)
    return {"pids": [one.pid, two.pid, three]}


def prints(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """To Python's stdout, to fd 1, from a child."""
    print("from print", flush=True)
    os.write(1, b"from fd 1\nContent-Length: 5\r\n\r\n12345")
    subprocess.run(["/bin/echo", "from a child"], check=True)
    print("käse\udcff".encode("utf-8", "surrogateescape").decode("utf-8", "replace"), file=sys.stderr, flush=True)
    return {"read": sys.stdin.read()}


def flood(state: State, params: dict[str, Any]) -> dict[str, Any]:
    while True:
        os.write(1, b"x" * 9999 + b"\n")


def large(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return {"size": len(params["text"]), "text": params["text"]}


def ask(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return {"answer": state.ask(params["method"], params["params"])}


def fail(state: State, params: dict[str, Any]) -> dict[str, Any]:
    raise OperationFailed(params["message"], params["kind"], detail="the detail")


def internal(state: State, params: dict[str, Any]) -> dict[str, Any]:
    raise ZeroDivisionError("a bug")


def quits(state: State, params: dict[str, Any]) -> dict[str, Any]:
    sys.exit(3)


def no_memory(state: State, params: dict[str, Any]) -> dict[str, Any]:
    raise MemoryError


def not_json(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return {"set": {1, 2}}


def _is_writable(fd: int) -> bool:
    return fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY


def garbage(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """Write over the protocol's own descriptor."""
    for fd in map(int, os.listdir("/proc/self/fd")):
        if fd > 2 and Path(f"/proc/self/fd/{fd}").is_fifo() and _is_writable(fd):
            os.write(fd, b"Content-Length: twelve\r\n\r\n")
    time.sleep(60)
    return {}


def forks(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """A copy of the process comes back into the loop."""
    return {"pid": os.fork()}


def cuda_is_broken(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """A torch whose CUDA fails for good, as after an illegal memory access (or params["error"])."""
    error = f"CUDA error: {params.get('error', 'an illegal memory access was encountered')}"

    class Cuda:
        @staticmethod
        def is_initialized() -> bool:
            return True

        @staticmethod
        def synchronize() -> None:
            raise RuntimeError(f"{error}\nCUDA kernel errors might be reported later")

        @staticmethod
        def is_available() -> bool:
            return False

    class Torch:
        cuda = Cuda()

    sys.modules["torch"] = Torch()  # type: ignore[assignment]
    raise RuntimeError(error)


def readable(state: State, params: dict[str, Any]) -> dict[str, Any]:
    return {"readable": os.access(params["path"], os.R_OK)}


def threads(state: State, params: dict[str, Any]) -> dict[str, Any]:
    """Ask from several threads at once."""
    answers: dict[int, Any] = {}

    def one(index: int) -> None:
        answers[index] = state.ask("module/find", {"name": f"m{index}"})

    every = [threading.Thread(target=one, args=(index,)) for index in range(20)]
    for thread in every:
        thread.start()
    for thread in every:
        thread.join()
    return {"right": all(answers[index]["name"] == f"m{index}" for index in range(20))}


NAMES = [
    "echo", "facts", "spin", "sleep_in_c", "sleep", "meet", "stop_itself", "die", "leave", "children", "prints", "flood", "large", "ask",
    "fail", "internal", "quits", "no_memory", "not_json", "garbage", "forks", "cuda_is_broken", "threads",
    "opened",
    "readable",
]  # fmt: skip
