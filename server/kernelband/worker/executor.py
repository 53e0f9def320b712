"""An executor that is always fresh for the next call: started, its session open, the variant of the call loaded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from kernelband.errors import ExecutorFault
from kernelband.worker.client import Worker
from kernelband_worker.wire import SessionParams, VariantFiles

OPEN_S = 120.0  # importing torch from a cold network disk
PROGRAM_S = 30.0  # importing the user's program, and what that imports


class Executor:
    """One named executor of a worker. Calls from several threads run one after the other.

    Args:
        worker: in which it runs.
        name: its name there.
        role: "gpu", "cpu" or "compile".
        gpu: the index of the only GPU that it sees.
        session: opened before the first call; None for operations that need none (``environment``).
        variants: gives the files of a variant that a call names; asked once per process.
        environment: added to its environment.
    """

    def __init__(
        self,
        worker: Worker,
        name: str,
        role: str,
        *,
        gpu: int | None = None,
        session: SessionParams | None = None,
        variants: Callable[[str], VariantFiles] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._worker, self.name, self.role, self.gpu = worker, name, role, gpu
        self._session, self._variants, self._environment = session, variants, environment
        self._running = False
        self._imported = False
        self._loaded: set[str] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def call(
        self, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False
    ) -> dict[str, Any]:
        """Run an operation, in a fresh process if the last call ended the old one.

        A variant named by ``params["variant"]`` is loaded first, within the same deadline each. The first operation of a process on cases
        imports the user's program, for which it gets PROGRAM_S more. With ``shared`` the lock is held beside other calls of this worker
        that share it.

        Raises:
            ExecutorFault: it took too long, crashed or ran out of memory. The next call gets a fresh process.
            WorkloadError, HardwareError, WorkerError: the operation said no; the process lives on.
        """
        with self._lock:
            try:
                self._prepare(params, deadline_s)
                has_program = self._session is not None and bool(self._session.get("top_level"))
                limit = deadline_s + (PROGRAM_S if has_program and not self._imported else 0.0)
                result = self._worker.call(self.name, operation, params, limit, lock, shared=shared)
                self._imported = self._imported or any(params.get(k) for k in ("cases", "case", "modules"))
                return result
            except ExecutorFault:
                self._running = False
                raise

    @property
    def running(self) -> bool:
        """Whether the next call finds a process."""
        return self._running

    def restart(self) -> None:
        """Make the next call start a fresh process: for measurements that must not share one."""
        with self._lock:
            self._running = False

    def stop(self) -> None:
        """Kill the process from another thread: a running call fails with ExecutorFault."""
        self._worker.stop_executor(self.name)

    def close(self) -> None:
        """Kill the process. The next call would start another."""
        self.stop()
        with self._lock:
            self._running = False

    def _prepare(self, params: Mapping[str, Any], deadline_s: float) -> None:
        if not self._running:
            self._loaded.clear()
            self._imported = False
            self._worker.start_executor(self.name, self.role, self.gpu, self._environment)
            if self._session is not None:
                self._worker.call(self.name, "session/open", self._session, OPEN_S)
            self._running = True
        variant = params.get("variant")
        if variant is not None and self._variants is not None and variant not in self._loaded:
            self._worker.call(self.name, "variant/load", self._variants(variant), deadline_s)
            self._loaded.add(variant)
