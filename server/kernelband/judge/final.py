"""Final verification: the few best, in fresh processes, beside the original against itself (JUDGING, section 3).

Selection happened on screening data, so those are never counted again: the winner of many noisy figures is noisy. In each process
the original is timed against itself and against each finalist, the finalists in rotating order. What differs between two processes of the
same program (addresses, clocks, allocator) then stands in both spreads.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from attrs import define, evolve, field

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.judge.blocks import Block, Place
from kernelband.judge.entry import run_entry
from kernelband.judge.judge import Judge
from kernelband.judge.numerics import judge_check
from kernelband.judge.protocol import Candidate, Executor, FinalReport, MakeExecutor, Measurement, Verdict
from kernelband.judge.result import Result
from kernelband_worker.wire import CheckResult

BASELINE = Candidate(None)
WARM_S = 60.0


@define
class _Finalist:
    """A candidate on its way. ``result`` is set as soon as nothing more is to be measured of it."""

    candidate: Candidate
    found: list[Measurement] = field(factory=list[Measurement])
    checked: list[CheckResult] = field(factory=list[CheckResult])
    methods: dict[str, str] = field(factory=dict[str, str])
    said: str = ""
    result: Result | None = None
    seconds: float = 0.0


@define
class _Room:
    """The executor of one process; a fault costs it, and the next candidate gets another."""

    make: MakeExecutor
    name: str
    executor: Executor | None = None
    made: int = 0
    fresh: bool = True

    def enter(self) -> Executor:
        if self.executor is None:
            self.executor = self.make(self.name if self.made == 0 else f"{self.name}-{self.made}")
            self.made += 1
            self.fresh = True
        return self.executor

    def warm(self) -> None:
        """Starts the process ahead of its first use. What goes wrong here goes wrong again there, where it is dealt with."""
        with suppress(KernelBandError):
            self.enter().call("environment", {}, WARM_S)

    def leave(self) -> None:
        if self.executor is not None:
            executor, self.executor = self.executor, None
            executor.close()


_Step = Callable[[Judge, _Room, _Finalist, int], None]


def final(judge: Judge, make_executor: MakeExecutor, candidates: Sequence[Candidate]) -> FinalReport:
    """Verdicts on the best candidates, at most ``settings.finalists`` of them, in the order given.

    Each is checked on every input set of every case, held-out ones included, and must pass the user's own entry; what fails isn't timed.

    Raises:
        KernelBandError: what isn't a variant's fault.
    """
    settings = judge.settings
    judge.task.timed()
    finalists = [_Finalist(c) for c in candidates[: settings.finalists]]
    baseline: list[Measurement] = []
    methods: dict[str, str] = {}
    rooms = [_Room(make_executor, f"final-{process}") for process in range(settings.processes)]
    try:
        _start(rooms, settings.starts_at_once)
        for process, room in enumerate(rooms):
            if process == 0:
                for finalist in finalists:
                    _attempt(judge, room, finalist, _check)
            left = [f for f in finalists if f.result is None]
            if not left:
                break
            judge.tell(f"Final verification: process {process + 1} of {settings.processes}.")
            block = _baseline(judge, room, process, methods)
            methods = methods or dict(block.methods)
            baseline += block.measurements
            for i in range(len(left)):
                _attempt(judge, room, left[(i + process) % len(left)], _time, process)
            room.leave()
    finally:
        for room in rooms:
            room.leave()
    for finalist in finalists:
        if finalist.result is None:
            finalist.result = judge.result(finalist.found, finalist.checked[-1], finalist.said, baseline)
            if finalist.result.integrity == "suspect":
                room = _Room(make_executor, "final-again")
                try:
                    _attempt(judge, room, finalist, _doubt)
                finally:
                    room.leave()
            if finalist.result.performance == "faster":
                _own_entry(judge, make_executor, finalist)
    return FinalReport(tuple(_verdict(f) for f in finalists), tuple(baseline))


def _start(rooms: Sequence[_Room], at_once: int) -> None:
    starters = ThreadPoolExecutor(at_once)
    try:
        for room in rooms:
            room.enter()
        list(starters.map(_Room.warm, rooms))
    except BaseException:  # an interrupt: ending the processes ends the calls that the starters wait for
        starters.shutdown(wait=False, cancel_futures=True)
        for room in rooms:
            room.leave()
        raise
    starters.shutdown()


def _attempt(judge: Judge, room: _Room, finalist: _Finalist, step: _Step, process: int = 0) -> None:
    start = time.monotonic()
    try:
        step(judge, room, finalist, process)
    except KernelBandError as error:
        if isinstance(error, ExecutorFault):
            room.leave()
        finalist.result = evolve(judge.faulty(error, bool(finalist.checked)), stage="final")
    finally:
        finalist.seconds += time.monotonic() - start


def _check(judge: Judge, room: _Room, finalist: _Finalist, process: int) -> None:  # noqa: ARG001  a step
    executor = room.enter()
    cases = judge.task.of_role("check", "time", "held_out")
    finalist.checked.append(judge.check(executor, finalist.candidate, cases, sets=None, fresh=room.fresh))
    room.fresh = False
    correctness, finalist.said = judge_check(finalist.checked[-1], finalist.candidate.numerics)
    if correctness != "passed":
        finalist.result = Result(correctness=correctness, reason=finalist.said, stage="final")


def _baseline(judge: Judge, room: _Room, process: int, methods: dict[str, str]) -> Block:
    """The original against itself. An executor that dies of that is replaced once: the program is known to run."""
    cases = judge.task.timed()
    try:
        block = judge.measure(room.enter(), BASELINE, cases, judge.settings.pairs, _place(room, process), methods=methods)
    except ExecutorFault as fault:
        judge.tell(f"{fault.message} Measuring the original again in another process.")
        room.leave()
        block = judge.measure(room.enter(), BASELINE, cases, judge.settings.pairs, _place(room, process), methods=methods)
    room.fresh = False
    return block


def _place(room: _Room, process: int) -> Place:
    return Place("final", process, fresh=room.fresh)


def _time(judge: Judge, room: _Room, finalist: _Finalist, process: int) -> None:
    executor = room.enter()
    place = _place(room, process)
    block = judge.measure(executor, finalist.candidate, judge.task.timed(), judge.settings.pairs, place, methods=finalist.methods)
    room.fresh = False
    finalist.methods = finalist.methods or dict(block.methods)
    finalist.found += block.measurements


def _doubt(judge: Judge, room: _Room, finalist: _Finalist, process: int) -> None:  # noqa: ARG001  a step
    executor = room.enter()
    if finalist.result is not None:
        finalist.result = judge.doubt(executor, finalist.candidate, finalist.result, finalist.checked)


def _own_entry(judge: Judge, make_executor: MakeExecutor, finalist: _Finalist) -> None:
    """A winner that the user's own asserts refuse isn't one. It has an executor to itself: there it bears the original's names."""
    entry = judge.task.entry
    if entry is None or finalist.candidate.files is None or finalist.result is None:
        return
    room = _Room(make_executor, f"entry-{finalist.candidate.id[:8]}")
    start = time.monotonic()
    try:
        said = run_entry(room.enter(), finalist.candidate, entry, judge.settings, judge.gpu)
        if said:
            finalist.result = evolve(finalist.result, correctness="wrong", reason=said)
    except KernelBandError as error:
        finalist.result = evolve(finalist.result, fault=judge.faulty(error, checked=True).fault, reason=error.message)
    finally:
        room.leave()
        finalist.seconds += time.monotonic() - start


def _verdict(finalist: _Finalist) -> Verdict:
    checked = finalist.checked[-1] if finalist.checked else None
    return Verdict(finalist.candidate.id, finalist.result or Result(), tuple(finalist.found), checked, finalist.seconds)
