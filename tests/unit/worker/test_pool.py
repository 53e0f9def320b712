"""The compile pool's own bookkeeping, on a worker that only writes down what it is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from queue import Queue
from typing import Any

from kernelband.errors import WorkloadError
from kernelband.worker import NOW, CompilePool

PATIENCE_S = 120.0  # only a failure waits so long


class Notebook:
    """Stands for a Worker: every executor starts and every call is answered after a moment."""

    hello: Mapping[str, Any] = {"cpus": 4}

    def __init__(self, together: int = 1, *, first_alone: bool = True) -> None:
        self.together = together  # a call lasts until so many executors have started
        self.first_alone = first_alone  # but not the first one
        self.started: list[str] = []
        self.calls: list[tuple[str, str]] = []
        self.before_the_first_answer: list[str] = []
        self._lock = threading.Lock()

    def start_executor(self, name: str, role: str, gpu: int | None, environment: Mapping[str, str] | None) -> None:
        assert role == "compile"
        assert environment == {"KERNELBAND_NICE": "0", "KERNELBAND_THREADS": "1"}, "the pool is the parallelism"
        with self._lock:
            self.started.append(name)

    def call(
        self, name: str, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, **_: Any
    ) -> dict[str, Any]:
        time.sleep(0.02)
        end = time.monotonic() + PATIENCE_S
        while len(self.started) < self.together and time.monotonic() < end:
            if self.first_alone and not self.before_the_first_answer:
                break
            time.sleep(0.01)
        with self._lock:
            self.before_the_first_answer = self.before_the_first_answer or list(self.started)
            self.calls.append((name, operation))
        return {}

    def stop_executor(self, name: str) -> None:
        """Nothing runs."""


def test_a_warm_pool_has_started_before_the_first_job() -> None:
    notebook = Notebook(together=3)
    with CompilePool(notebook, None) as pool:  # type: ignore[arg-type]
        pool.warm()
        deadline = time.monotonic() + PATIENCE_S / 2
        while len(notebook.started) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sorted(notebook.started) == ["compile-0", "compile-1", "compile-2"]
        assert notebook.before_the_first_answer == ["compile-0"]  # with torch imported, for the others to be forked from
        pool.submit({"launch": 1}).result(PATIENCE_S)
        assert len(notebook.started) == 3


def test_the_next_job_goes_to_the_one_that_has_just_ended() -> None:
    notebook = Notebook()
    second: Queue[Future[dict[str, Any]]] = Queue()

    def go_on(_: Future[dict[str, Any]]) -> None:
        second.put(pool.submit({}))
        time.sleep(0.2)  # time for another thread, if there is one, to take it

    with CompilePool(notebook, None) as pool:  # type: ignore[arg-type]
        pool.submit({}).add_done_callback(go_on)
        second.get(timeout=PATIENCE_S).result(PATIENCE_S)
        assert notebook.started == ["compile-0"]


def test_a_cold_pool_starts_as_jobs_come() -> None:
    notebook = Notebook()
    with CompilePool(notebook, None) as pool:  # type: ignore[arg-type]
        assert notebook.started == []
        pool.submit({}).result(PATIENCE_S)
        assert notebook.started == ["compile-0"]


def wait_for(there: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not there():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_modules_are_imported_ahead_by_all_that_compile() -> None:
    notebook = Notebook(together=3, first_alone=False)  # or it takes the second's job where this thread is slow
    with CompilePool(notebook, None) as pool:  # type: ignore[arg-type]
        pool.import_ahead(["p.kernels"])
        wait_for(lambda: len(notebook.calls) == 3)
        assert sorted(notebook.calls) == [(f"compile-{n}", "import") for n in range(3)]
    pool.import_ahead(["p.kernels"])  # nobody is there any more, and nobody waits for it


def test_what_can_not_be_imported_costs_its_process() -> None:
    class Failing(Notebook):
        def call(self, name: str, operation: str, *rest: Any, **more: Any) -> dict[str, Any]:
            super().call(name, operation, *rest, **more)
            if operation == "import":
                raise WorkloadError("It can't be imported.")
            return {}

    notebook = Failing()
    with CompilePool(notebook, None, size=1) as pool:  # type: ignore[arg-type]
        pool.import_ahead(["p.kernels"])
        wait_for(lambda: bool(notebook.calls))
        pool.submit({}).result(PATIENCE_S)
        assert notebook.started == ["compile-0", "compile-0"]


def test_jobs_of_one_turn_go_before_those_of_later_ones() -> None:
    class Slow(Notebook):
        """Its first call lasts until it may go on."""

        begun, go_on = threading.Event(), threading.Event()

        def call(self, name: str, operation: str, *rest: Any, **more: Any) -> dict[str, Any]:
            if operation == "first":
                self.begun.set()
                assert self.go_on.wait(PATIENCE_S)
            return super().call(name, operation, *rest, **more)

    notebook = Slow()
    with CompilePool(notebook, None, size=1) as pool:  # type: ignore[arg-type]
        pool.submit({}, operation="first")
        assert notebook.begun.wait(PATIENCE_S)
        one, two = pool.turn(), pool.turn()
        asked = [
            ("specialise 1", one),
            ("specialise 2", two),
            ("compile 1", one),
            ("of no turn", None),
            ("compile 2", two),
            ("waited for", NOW),
        ]
        jobs = [pool.submit({}, operation=operation, turn=turn) for operation, turn in asked]
        notebook.go_on.set()
        for job in jobs:
            job.result(PATIENCE_S)
    order = [operation for _, operation in notebook.calls]
    assert order[-6:] == ["waited for", "specialise 1", "compile 1", "specialise 2", "compile 2", "of no turn"]
