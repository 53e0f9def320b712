"""The worker's first process: speaks with the engine, keeps executors to their deadlines, and leaves nothing behind.

Standard library only, so that it answers before torch is imported and whatever torch does.
"""

from __future__ import annotations

import os
import platform
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Tuple

from kernelband_worker import frames, lock, scrub, system
from kernelband_worker.blobs import Blobs
from kernelband_worker.child import Call, Child, command
from kernelband_worker.guardian import Guardian, remove
from kernelband_worker.nursery import MARK, Nurseries, mark
from kernelband_worker.wire import EXECUTOR_MISSING, OPERATION_FAILED, PROTOCOL, Hello

_RELAYED = ("module/find", "module/names", "blob/get")
_ROLES = ("gpu", "cpu", "compile")
#: The path of a socket has at most 107 bytes, and multiprocessing makes its own in TMPDIR, in folders of such names.
_LONGEST_TMPDIR = 107 - len("/pymp-01234567/listener-01234567")


class BadRequestError(Exception):
    """The engine sent what isn't in wire.py."""


class Supervisor:
    """``run`` returns never: it ends the process when the engine has left or a signal says so."""

    def __init__(
        self,
        reader: BinaryIO,
        writer: BinaryIO,
        *,
        scratch: Path,
        archive: str,
        executor: str,
        guardian: Guardian,
        nurseries: Nurseries,
        marker: Tuple[str, str],
    ) -> None:
        self._reader, self._writer = reader, frames.Writer(writer)
        self._scratch, self._archive, self._executor, self._marker = scratch, archive, executor, marker
        self._temporary = scratch / "tmp"
        self._temporary.mkdir(mode=0o700)
        self._guardian = guardian
        self._blobs = Blobs(scratch / "blobs")
        self.locks = lock.Shared()
        self._children: Dict[str, Child] = {}
        self._starts = 0
        self._nurseries = nurseries
        self._unreaped: Dict[int, Child] = {}  # each is for its child to reap; what else ends here are orphans
        self._starting = threading.Lock()  # held while a child may be there that isn't yet among the unreaped
        self._relayed: Dict[int, Tuple[Child, Any, Any]] = {}  # our number -> who asked, its number, the hash if it is a blob
        self._numbers = 0
        self._lock = threading.Lock()
        self._leaving = threading.Lock()

    def run(self) -> None:
        """Serve until end of input, a broken frame, SIGTERM or SIGHUP; then clean up and exit."""
        self._leave_when_told()
        try:
            while True:
                message = frames.read(self._reader)
                if message is None:
                    break
                self._receive(message)
        except frames.FrameError as error:
            sys.stderr.write(f"kernelband: the engine's protocol was disturbed: {error}\n")
        finally:
            self._leave()
            threading.Event().wait(60)  # another thread is leaving, and ends the process when all is clean

    def _leave_when_told(self) -> None:
        """By a thread of its own: a handler in Python would wait until ``run`` reads the engine's next message."""
        ear, mouth = socket.socketpair()
        mouth.setblocking(False)
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), lambda *_: None)
        signal.set_wakeup_fd(mouth.detach(), warn_on_full_buffer=False)

        def wait() -> None:
            ear.recv(1)
            self._leave()

        threading.Thread(target=wait, daemon=True, name="signals").start()

    def _leave(self) -> None:
        if not self._leaving.acquire(blocking=False):  # a signal while leaving, or a second thread
            return
        for child in list(self._children.values()):
            child.stop()
        for child in list(self._children.values()):
            child.wait(5)
        system.kill_marked("=".join(self._marker))
        remove(self._scratch)
        os._exit(0)

    # ------------------------------------------------------------ Relay

    def answer(self, message: Dict[str, Any]) -> None:
        """Send a frame to the engine."""
        try:
            self._writer.send(message)
        except (OSError, ValueError):
            self._leave()

    def tell(self, method: str, params: Dict[str, Any]) -> None:
        """Send a notification to the engine."""
        self.answer(frames.notification(method, params))

    def ask(self, child: Child, message: Dict[str, Any]) -> None:
        """Answer an executor's request from the disk or pass it on to the engine."""
        method, params = message["method"], message.get("params")
        if method not in _RELAYED or not isinstance(params, dict):
            child.send(frames.failure(message["id"], frames.METHOD_NOT_FOUND, f"The engine doesn't know {method!r}."))
            return
        sha256 = params.get("sha256") if method == "blob/get" else None
        content = self._blobs.get(sha256)
        if content is not None:
            child.send(frames.response(message["id"], {"base64": content}))
            return
        with self._lock:
            self._numbers += 1
            number = self._numbers
            self._relayed[number] = (child, message["id"], sha256)
        self.answer(frames.request(number, method, params))

    def ended(self, child: Child) -> None:
        """Forget a group and the requests that it was waiting for."""
        self._guardian.forget(child.process.pid)
        with self._starting:
            if self._unreaped.get(child.process.pid) is child:  # else the number is another's already
                del self._unreaped[child.process.pid]
        with self._lock:
            self._relayed = {n: entry for n, entry in self._relayed.items() if entry[0] is not child}

    # ------------------------------------------------------------ the engine's messages

    def _receive(self, message: Dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:
            self._pass_back(message)
            return
        params = message.get("params")
        try:
            if not isinstance(params, dict):
                raise BadRequestError(f"{method} without parameters.")
            if method == "executor/call":
                self._call(number, params)
                return
            if method == "executor/stop":
                self._stop(number, params)
                return
            handler = {
                "initialize": self._initialize,
                "executor/start": self._start,
                "shutdown": lambda _: {},
            }.get(str(method))
            if handler is None:
                self.answer(frames.failure(number, frames.METHOD_NOT_FOUND, f"The worker doesn't know {method!r}."))
                return
            result = handler(params)
        except BadRequestError as error:
            self.answer(frames.failure(number, OPERATION_FAILED, str(error), {"kind": "bad_request"}))
            return
        except OSError as error:  # no memory or processes left, disk full
            sentence = f"The worker can't do {method}: {error.strerror or error}."
            self.answer(frames.failure(number, OPERATION_FAILED, sentence, {"kind": "internal"}))
            return
        self.answer(frames.response(number, result))
        if method == "shutdown":
            self._leave()

    def _pass_back(self, message: Dict[str, Any]) -> None:
        number = message.get("id")
        with self._lock:
            entry = self._relayed.pop(number, None) if isinstance(number, int) else None
        if entry is None:
            return  # its executor has ended
        child, own, sha256 = entry
        result = message.get("result")
        if "error" not in message and sha256 is not None:
            wrong = self._blobs.put(sha256, result.get("base64") if isinstance(result, dict) else None)
            if wrong is not None:
                child.send(frames.failure(own, frames.INTERNAL_ERROR, f"The content of {sha256} that the engine sent {wrong}."))
                return
        child.send({**message, "id": own})

    def _initialize(self, params: Dict[str, Any]) -> Hello:
        if params.get("protocol") != PROTOCOL:
            raise BadRequestError(
                f"The engine speaks protocol {params.get('protocol')} and the worker {PROTOCOL}: they are of different versions."
            )
        interval = float(params.get("heartbeat_s", 5.0))
        threading.Thread(target=self._beat, args=(interval,), daemon=True, name="heartbeat").start()
        return {
            "protocol": PROTOCOL,
            "python": platform.python_version(),
            "executable": sys.executable,
            "platform": sys.platform,
            "host": system.host(),
            "user": system.user(),
            "pid": os.getpid(),
            "cpus": system.cpus(),
            "scratch": str(self._scratch),
        }

    def _beat(self, interval: float) -> None:
        pause = threading.Event()
        while not pause.wait(interval):
            self.tell("heartbeat", {})
            if self._starting.acquire(blocking=False):
                try:
                    self._nurseries.reap_orphans(self._unreaped)
                finally:
                    self._starting.release()

    def _start(self, params: Dict[str, Any]) -> Dict[str, Any]:
        name, role = params.get("name"), params.get("role")
        if not isinstance(name, str) or not name or role not in _ROLES:
            raise BadRequestError(f"An executor needs a name and one of the roles {', '.join(_ROLES)}.")
        self._end(name)
        self._starts += 1
        environment = self._environment(str(role), params)
        environment[MARK] = mark(self._scratch, self._starts)
        with self._starting:
            process = self._nurseries.start(
                command(self._archive, self._executor, str(role)), str(role), environment, self._scratch / "executors" / str(self._starts)
            )
            child = Child(name, process, marker=f"{MARK}={environment[MARK]}", relay=self)
            self._unreaped[process.pid] = child
        self._guardian.watch(process.pid)
        self._children[name] = child
        return {}

    def _environment(self, role: str, params: Dict[str, Any]) -> Dict[str, str]:
        out = scrub.scrubbed(os.environ, agents=False)
        gpu = params.get("gpu")
        if role != "gpu":
            out["CUDA_VISIBLE_DEVICES"] = ""
            # On a busy machine threads that wait for each other make products of small tiles a hundred times slower.
            out.setdefault("OPENBLAS_NUM_THREADS", "1")
        elif gpu is not None:
            # The index counts what this process may see; a scheduler may already have narrowed that.
            visible: List[str] = [x for x in out.get("CUDA_VISIBLE_DEVICES", "").split(",") if x.strip()]
            if visible and int(gpu) >= len(visible):
                raise BadRequestError(f"There is no GPU {gpu} here: CUDA_VISIBLE_DEVICES names {len(visible)}.")
            out["CUDA_VISIBLE_DEVICES"] = visible[int(gpu)].strip() if visible else str(int(gpu))
        if len(str(self._temporary)) <= _LONGEST_TMPDIR:
            # A compiler that is killed leaves its files behind, so what is temporary goes with the scratch folder. Inductor's is a cache.
            out.setdefault("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), f"torchinductor_{system.user()}"))
            out["TMPDIR"] = str(self._temporary)
        out.update({str(k): str(v) for k, v in (params.get("environment") or {}).items()})
        out[self._marker[0]] = self._marker[1]
        return out

    def _stop(self, number: Any, params: Dict[str, Any]) -> None:
        child = self._children.pop(str(params.get("name")), None)
        if child is not None:
            child.stop()

        def answer() -> None:  # a process with much on the GPU takes its time to end: the others go on meanwhile
            if child is not None:
                child.wait(5)
            self.answer(frames.response(number, {}))

        threading.Thread(target=answer, daemon=True, name="stop").start()

    def _end(self, name: str) -> None:
        child = self._children.pop(name, None)
        if child is not None:
            child.stop()
            child.wait(5)  # in a driver call it may stay a while; its answers are sent when it goes

    def _call(self, number: Any, params: Dict[str, Any]) -> None:
        name, operation, deadline_s = params.get("name"), params.get("operation"), params.get("deadline_s")
        if not isinstance(operation, str) or not isinstance(deadline_s, (int, float)) or not 0 < deadline_s < threading.TIMEOUT_MAX:
            raise BadRequestError("A call needs an operation and a positive deadline_s.")
        child = self._children.get(str(name))
        if child is None:
            self.answer(frames.failure(number, EXECUTOR_MISSING, f"No executor {name!r} is running.", {"kind": "bad_request"}))
            return
        wanted, shared = params.get("lock"), bool(params.get("shared"))
        child.submit(Call(number, operation, params.get("params") or {}, float(deadline_s), str(wanted) if wanted else None, shared))
