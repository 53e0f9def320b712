"""The engine's handle on one worker: its supervisor and the executors in it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Protocol, cast

from kernelband.errors import WorkerError
from kernelband.worker.command import WorkerCommand
from kernelband.worker.connection import Connection
from kernelband_worker.wire import PROTOCOL, Hello, LockWaiting, ModuleFile

_START_EXECUTOR_S = 30.0


class FileServer(Protocol):
    """Who knows the workspace's files: the overlaid texts, the variants, and the modules that they import."""

    def find_module(self, name: str) -> ModuleFile | None:
        """The workspace's module of that absolute name; None if it isn't the workspace's."""
        ...

    def top_level(self) -> list[str]:
        """First components of the module names that there are."""
        ...

    def blob(self, sha256: str) -> bytes:
        """The content that ``find_module`` or a variant has named by its hash. Raises KernelBandError if there is none."""
        ...


def _no_log(executor: str, text: str) -> None:
    """Nobody listens."""


class Worker:
    """A running worker. Thread-safe; a context manager that closes it.

    ``hello`` says what machine and Python it is on.
    """

    def __init__(self, connection: Connection, hello: Hello) -> None:
        self._connection = connection
        self.hello = hello

    @classmethod
    def start(
        cls,
        command: WorkerCommand,
        *,
        files: FileServer,
        on_log: Callable[[str, str], None] = _no_log,
        on_waiting: Callable[[LockWaiting], None] | None = None,
        on_progress: Callable[[str, str], None] | None = None,
        deadline_s: float = 15.0,
        heartbeat_s: float = 5.0,
    ) -> Worker:
        """Start the worker's supervisor.

        Args:
            command: where and with which Python.
            files: answers what executors import.
            on_log: takes (executor, text); the executor "worker" is the command itself.
            on_waiting: told about once a second while another process holds the GPU.
            on_progress: takes (executor, text).
            deadline_s: for all of the start.
            heartbeat_s: six of these without a byte and the worker is lost.

        Raises:
            WorkerError: one sentence why not, within ``deadline_s`` and a few seconds for cleaning up.
        """

        def message(method: str, params: dict[str, Any]) -> None:
            if method == "log":
                on_log(params["executor"], params["text"])
            elif method == "lock/waiting" and on_waiting is not None:
                on_waiting(cast("LockWaiting", params))
            elif method == "progress" and on_progress is not None:
                on_progress(params["executor"], params["text"])

        def request(method: str, params: dict[str, Any]) -> Any:
            if method == "module/find":
                return files.find_module(str(params["name"]))
            if method == "module/names":
                return {"names": files.top_level()}
            if method == "blob/get":
                return {"base64": base64.b64encode(files.blob(str(params["sha256"]))).decode("ascii")}
            raise WorkerError(f"The engine doesn't serve {method}.", kind="bad_request")

        began = time.monotonic()
        connection = Connection(
            command, deadline_s=deadline_s, heartbeat_s=heartbeat_s, on_log=on_log, on_message=message, on_request=request
        )
        try:
            params = {"protocol": PROTOCOL, "heartbeat_s": heartbeat_s}
            rest_s = max(1.0, deadline_s - (time.monotonic() - began))
            hello = cast("Hello", connection.request("initialize", params).result(rest_s))
        except TimeoutError as error:
            connection.kill()
            raise WorkerError(f"The worker ({command.name}) started, but didn't introduce itself within {deadline_s:g} s.") from error
        except WorkerError as error:
            connection.kill()
            ended = error.kind == "lost" and not connection.disturbed
            raise (connection.failure(deadline_s=deadline_s) if ended else error) from error
        except BaseException:
            connection.kill()
            raise
        return cls(connection, hello)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The worker command as the user knows it."""
        return self._connection.command.name

    def start_executor(self, name: str, role: str, gpu: int | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Start a fresh executor process; one of the same name is killed first.

        Args:
            name: for calls, logs and sentences.
            role: "gpu", "cpu" or "compile".
            gpu: the index of the only one that it sees; None leaves all.
            environment: added to the scrubbed environment of the worker.

        Raises:
            WorkerError: the worker is lost, or can't start a process.
        """
        params: dict[str, Any] = {"name": name, "role": role, "environment": dict(environment or {})}
        if gpu is not None:
            params["gpu"] = gpu
        self._ask("executor/start", params)

    def stop_executor(self, name: str) -> None:
        """Kill an executor and its group; its calls fail with ExecutorFault. None of that name is fine."""
        self._ask("executor/stop", {"name": name})

    def _ask(self, method: str, params: dict[str, Any]) -> None:
        try:
            self._connection.request(method, params).result(_START_EXECUTOR_S)
        except TimeoutError as error:
            raise WorkerError(f"The worker ({self.name}) didn't answer {method} within {_START_EXECUTOR_S:g} s.") from error

    def submit(
        self, name: str, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False
    ) -> Future[dict[str, Any]]:
        """Queue an operation; an executor runs one at a time.

        Args:
            name: the executor.
            operation: of ``wire.py``, with its parameters.
            params: see there.
            deadline_s: seconds from its start (not from its queueing, nor while it waits for the lock); then the executor is killed.
            lock: UUID of the GPU that nobody else may measure on meanwhile.
            shared: other calls of this worker that say so too may hold the lock at the same time.

        Returns:
            A future that fails with WorkloadError, WorkerError or HardwareError (the operation said no; ``kind`` tells), ExecutorFault
            (timeout, crashed, oom), or WorkerError at once when the worker is lost.
        """
        call: dict[str, Any] = {"name": name, "operation": operation, "params": params, "deadline_s": deadline_s, "lock": lock}
        if shared:
            call["shared"] = True
        return self._connection.request("executor/call", call)

    def call(
        self, name: str, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False
    ) -> dict[str, Any]:
        """``submit`` and wait; raises what its future fails with."""
        return self.submit(name, operation, params, deadline_s, lock, shared=shared).result()

    def close(self) -> None:
        """End the worker and everything in it. Calls that still wait fail."""
        self._connection.close()
