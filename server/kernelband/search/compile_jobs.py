"""The compile jobs of one variant, or of the original: one for each distinct launch.

A launch of the original that takes too long to compile (a block for which ptxas works on for minutes) leaves out the cases with it, where
there are others to time.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any, cast

from attrs import define, evolve, field

from kernelband.errors import ExecutorFault, WorkerError
from kernelband.hardware import Device
from kernelband.search._lab import Built
from kernelband.worker import CompilePool
from kernelband_worker.wire import CompileFacts, LaunchSpec, SpecialiseResult, TrafficResult, VariantFiles

ORIGINAL_S = 240.0  # and of the original where no case is left without it


@define(eq=False)
class Build:
    """Queued by ``begin``; what comes of it goes to ``out``."""

    pool: CompilePool
    device: Device
    files: VariantFiles | None
    specialised: SpecialiseResult
    out: Future[Built]
    turn: int = field(kw_only=True)
    timed: Sequence[str] = field(kw_only=True)
    counting: Future[TrafficResult] | None = field(kw_only=True, default=None)
    _facts: dict[str, CompileFacts] = field(init=False, factory=dict[str, CompileFacts])
    _error: BaseException | None = field(init=False, default=None)
    _jobs: dict[str, Future[dict[str, Any]]] = field(init=False, factory=dict[str, Future[dict[str, Any]]])
    _left: int = field(init=False, default=0)
    _late: list[str] = field(init=False, factory=list[str])  # launches of the original that took too long, while others may do without them
    _last: bool = field(init=False, default=True)  # a launch that takes too long ends it
    _lock: threading.RLock = field(init=False, factory=threading.RLock)

    def begin(self) -> None:
        """Queue one job for each distinct launch."""
        launches = {launch["key"]: launch for launch in self.specialised["launches"]}
        if not launches:
            self.out.set_result(Built(self.specialised, {}))
            return
        self._last = self.files is not None or not any(self._others([key]) for key in launches)
        self._queue(launches)

    def _queue(self, launches: Mapping[str, LaunchSpec]) -> None:
        self._left = len(launches)
        variant = self.files["id"] if self.files is not None else None
        deadline_s = ORIGINAL_S if self.files is None and self._last else None
        for key, launch in launches.items():
            params = {"variant": variant, "launch": launch, "target": self.device.target, "instructions": False}
            job = self.pool.submit(params, deadline_s=deadline_s, turn=self.turn)
            self._jobs[key] = job
            job.add_done_callback(partial(self._done, key))

    def _others(self, late: Sequence[str]) -> list[str]:
        """The timing cases on which none of those is launched."""
        cases = self._cases(late)
        return [case for case in self.timed if case not in cases]

    def _cases(self, late: Sequence[str]) -> frozenset[str]:
        return frozenset(launch["case"] for launch in self.specialised["launches"] if launch["key"] in late)

    def _done(self, key: str, job: Future[dict[str, Any]]) -> None:
        with self._lock:
            self._left -= 1
            error = CancelledError() if job.cancelled() else job.exception()
            if error is None:
                facts = cast("CompileFacts", job.result())
                refused = facts.get("unusable")
                error = WorkerError(refused, kind="compile_error") if refused else None
                self._facts[key] = facts
            if isinstance(error, ExecutorFault) and error.fault == "timeout" and not self._last:
                self._late.append(key)
            elif error is not None and self._error is None:
                self._error = error
                for other in self._jobs.values():
                    other.cancel()  # what has begun goes on to its own deadline
            if self._left == 0 and not self.out.done():  # jobs that were cancelled just now came back in between
                self._end()

    def _end(self) -> None:
        if self._error is not None:
            if self.counting is not None:
                self.counting.cancel()
            self.out.set_exception(self._error)
            return
        if self._late and not self._others(self._late):
            self._last = True
            launches = {launch["key"]: launch for launch in self.specialised["launches"] if launch["key"] in self._late}
            self._late.clear()
            self._queue(launches)
            return
        late = self._cases(self._late)
        specialised: SpecialiseResult = {
            **self.specialised,
            "launches": [launch for launch in self.specialised["launches"] if launch["case"] not in late],
        }
        kept = {launch["key"] for launch in specialised["launches"]}
        in_order = {name: self._facts[name] for name in self._jobs if name in kept}  # not as the compilers came back
        built = Built(specialised, in_order, late=late)
        if self.counting is None:
            self.out.set_result(built)
        else:
            self.counting.add_done_callback(partial(self._counted, built))

    def _counted(self, built: Built, job: Future[TrafficResult]) -> None:
        known = not job.cancelled() and job.exception() is None
        self.out.set_result(evolve(built, traffic=job.result()["launches"] if known else None))
