"""Compiling in parallel without a GPU: executors of role ``compile``, each killable alone."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import Any

from attrs import field, frozen

from kernelband.errors import WorkerError
from kernelband.worker.client import Worker
from kernelband.worker.executor import Executor
from kernelband_worker.wire import NICE, THREADS, SessionParams, VariantFiles

START_S = 120.0  # importing torch, many times at once
MOST = 32  # at once: each takes some 350 MB, and what isn't warm takes seconds when it is needed
DEADLINE_S = 20.0  # ptxas can hold one register-blown tile for two minutes

IMPORT = "import"
#: The turn of a job for which somebody waits.
NOW = 0


@frozen(order=True)
class _Job:
    turn: int
    number: int  # of its submission
    future: Future[dict[str, Any]] = field(order=False)
    operation: str = field(order=False)
    params: Mapping[str, Any] = field(order=False)
    deadline_s: float = field(order=False)
    last: bool = field(default=False, order=False)  # its thread ends, and does nothing


class CompilePool:
    """A fixed number of compile executors, started as jobs come; one that hangs is killed, and replaced for its next job.

    Args:
        worker: in which they run.
        session: opened in each; names the target.
        size: how many at once; the worker's cores less one, at least one and at most ``MOST``, if not given.
        variants: gives the files of a variant that a job names.
        deadline_s: of a job that names none.
        name: the beginning of their names.
        role: ``compile``, or ``cpu`` for what interprets.
        nice: by how much they give way to other processes: what is measured beside them must not wait.
    """

    def __init__(
        self,
        worker: Worker,
        session: SessionParams | None,
        *,
        size: int | None = None,
        variants: Callable[[str], VariantFiles] | None = None,
        deadline_s: float = DEADLINE_S,
        name: str = "compile",
        role: str = "compile",
        nice: int = 0,
    ) -> None:
        self._deadline_s = deadline_s
        self.size = max(1, size or min(MOST, worker.hello["cpus"] - 1))
        self._jobs: queue.PriorityQueue[_Job] = queue.PriorityQueue()
        self._numbers = itertools.count(NOW + 1)
        self._lock = threading.Lock()
        self._closed = False
        self._idle = 0  # threads that wait or are about to, less jobs that nobody has taken yet
        self._threads: list[threading.Thread] = []
        environment = {NICE: str(nice), THREADS: "1"}  # the pool is the parallelism
        self._executors = [
            Executor(worker, f"{name}-{index}", role, session=session, variants=variants, environment=environment)
            for index in range(self.size)
        ]

    def __enter__(self) -> CompilePool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def turn(self) -> int:
        """One behind all that were given out: of the jobs of one variant, which go before those of later ones, whenever they are queued."""
        return next(self._numbers)

    def submit(
        self, params: Mapping[str, Any], *, operation: str = "compile", deadline_s: float | None = None, turn: int | None = None
    ) -> Future[dict[str, Any]]:
        """Queue a job: last, or with those of its ``turn``. Its future fails like ``Executor.call``, and can be cancelled until it begins.

        Raises:
            WorkerError: the pool is closed.
        """
        future: Future[dict[str, Any]] = Future()
        with self._lock:
            if self._closed:
                raise WorkerError("The compile pool is closed.", kind="lost")
            self._idle -= 1
            if self._idle < 0 and len(self._threads) < self.size:
                executor = self._executors[len(self._threads)]
                thread = threading.Thread(target=self._work, args=(executor,), daemon=True, name=executor.name)
                self._threads.append(thread)
                self._idle += 1
                thread.start()
        number = next(self._numbers)
        self._jobs.put(_Job(number if turn is None else turn, number, future, operation, params, deadline_s or self._deadline_s))
        return future

    def warm(self) -> None:
        """Start executors in the background, ahead of the first jobs. Importing torch takes seconds: the first one does it alone, and the
        others are forked from what it leaves behind.
        """

        def others(first: Future[dict[str, Any]]) -> None:
            if first.cancelled() or first.exception() is not None:
                return  # a job will say why
            with contextlib.suppress(WorkerError):  # closed meanwhile
                for _ in range(self.size):
                    self.submit({}, operation="environment", deadline_s=START_S)

        self.submit({}, operation="environment", deadline_s=START_S).add_done_callback(others)

    def import_ahead(self, modules: Sequence[str]) -> None:
        """Have executors import modules of the user's in the background: a large project takes 10 s and more, and all do it at once. Where
        it fails, a job will say why, in a fresh process: what is half imported may fail in another way.
        """
        with contextlib.suppress(WorkerError):  # closed meanwhile
            for _ in range(self.size):
                self.submit({"modules": list(modules)}, operation=IMPORT, deadline_s=START_S)

    def close(self) -> None:
        """Cancel what waits, kill what runs."""
        with self._lock:
            self._closed = True
            threads = list(self._threads)
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait().future.cancel()
        for _ in threads:
            self._jobs.put(_Job(NOW, NOW, Future(), "", {}, 0.0, last=True))
        for executor, _ in zip(self._executors, threads, strict=False):
            with contextlib.suppress(WorkerError):  # a lost worker has none left
                executor.stop()
        for thread in threads:
            thread.join(5)

    def _work(self, executor: Executor) -> None:
        while not (job := self._jobs.get()).last:
            tell = _outcome(executor, job) if job.future.set_running_or_notify_cancel() else None
            with self._lock:
                self._idle += 1  # before anybody is told, who may submit the next job at once
            if tell is not None:
                tell()


def _outcome(executor: Executor, job: _Job) -> Callable[[], None]:
    """Do the job; what is returned tells its future."""
    try:
        return partial(job.future.set_result, executor.call(job.operation, job.params, job.deadline_s))
    except BaseException as error:  # noqa: BLE001  # belongs to the one who waits
        if job.operation == IMPORT:
            executor.restart()
        return partial(job.future.set_exception, error)
