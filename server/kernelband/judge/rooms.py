"""The processes of a final verification: each in a room of its own, started together, ended together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress

from attrs import define, field

from kernelband.errors import ExecutorFault, KernelBandError, WorkerError
from kernelband.judge.protocol import Executor, MakeExecutor, Settings, prepare_deadline
from kernelband_worker.wire import PrepareParams

_LOOK_S = 0.2


@define(eq=False)
class Room:
    """The executor of one process; a fault costs it, and whoever enters next gets another.

    One thread at a time works in a room; any thread may shut it, which ends what goes on inside. ``share`` is the share of free GPU memory
    that it may fill with inputs, and again with results, None for the worker's own choice.
    """

    make: MakeExecutor
    name: str
    settings: Settings
    share: float | None = None
    _executor: Executor | None = None
    _made: int = 0
    _shut: bool = False
    _lock: threading.Lock = field(factory=threading.Lock)

    def enter(self) -> Executor:
        """Its executor, with torch imported and the GPU's context made.

        Raises:
            ExecutorFault: it ended while it started; the room is left.
            KernelBandError: it can't start, or the room is shut.
        """
        with self._lock:
            if self._shut:
                raise WorkerError("The final verification was given up.", kind="lost")
            if self._executor is not None:
                return self._executor
            executor = self._executor = self.make(self.name if self._made == 0 else f"{self.name}-{self._made}")
            self._made += 1
        params: PrepareParams = {"cases": []}
        if self.share is not None:
            params["share"] = self.share
        try:
            executor.call("prepare", params, prepare_deadline((), self.settings))
        except KernelBandError:
            self.leave()
            raise
        return executor

    def warm(self, program: str | None = None, lock: str | None = None) -> None:
        """Starts the process ahead of its first use, and imports the program of that case: of a large project that takes 10 s and more,
        which all processes then do at once. What goes wrong here goes wrong again there, where it is dealt with.
        """
        with suppress(KernelBandError):
            executor = self.enter()
            if program is not None:
                executor.call("prepare", {"cases": [], "open": program}, self.settings.import_s, lock, shared=True)

    def prepare(self, variant: str | None, cases: Sequence[str], deadline_s: float, lock: str | None, *, shared: bool) -> None:
        """Everything that a first timed call would wait for; ``shared``: beside other rooms that do the same.

        Raises:
            KernelBandError: as ``Executor.call``; after a fault the room is left.
        """
        params: PrepareParams = {"variant": variant, "cases": list(cases)}
        try:
            self.enter().call("prepare", params, deadline_s, lock, shared=shared)
        except ExecutorFault:
            self.leave()
            raise

    def leave(self) -> None:
        """Ends the process, if there is one."""
        with self._lock:
            executor, self._executor = self._executor, None
        if executor is not None:
            executor.close()

    def shut(self) -> None:
        """Ends the process, and nobody gets another."""
        with self._lock:
            self._shut = True
        self.leave()


class Crew:
    """Threads that work in rooms at the same time. At the end of the block, however it comes, all rooms are shut and all threads done."""

    def __init__(self, rooms: Sequence[Room], at_once: int) -> None:
        self._rooms = rooms
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="final")

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        ends = [threading.Thread(target=_shut, args=(room,), name=f"end {room.name}") for room in self._rooms]
        for end in ends:
            end.start()
        for end in ends:
            end.join()
        self._threads.shutdown()

    def together(self, jobs: Sequence[Callable[[], object]]) -> None:
        """Runs all jobs and waits for them.

        Raises:
            KernelBandError: the first one that a job raised, at once; the others go on until the block ends.
        """
        left = {self._threads.submit(job) for job in jobs}
        while left:
            # Not for ever at once: an interrupt that comes just before the wait, or on Windows during it, is seen after it only.
            done, left = wait(left, timeout=_LOOK_S, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()


def _shut(room: Room) -> None:
    with suppress(KernelBandError):  # a worker that is gone has nothing left to end
        room.shut()
