"""Final verification: the few best, in fresh processes, beside the original against itself (JUDGING, section 3).

Selection happened on screening data, so those are never counted again: the winner of many noisy figures is noisy. In each process
the original is timed against itself and against each finalist, the finalists in rotating order. What differs between two processes of the
same program (addresses, clocks, allocator) then stands in both spreads.

Only measuring needs the GPU to itself. The processes start together, check one finalist each and prepare together; then one after the other
measures while the rest sit idle; then the proofs run together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from attrs import define, evolve, field

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.judge.blocks import Block, Place
from kernelband.judge.dispatch import refusal
from kernelband.judge.entry import run_entry
from kernelband.judge.faults import fault_of
from kernelband.judge.judge import Judge
from kernelband.judge.numerics import judge_check
from kernelband.judge.protocol import Candidate, FinalReport, MakeExecutor, Measurement, Verdict, can_work_together, prepare_deadline
from kernelband.judge.result import Result
from kernelband.judge.rooms import Crew, Room
from kernelband_worker.wire import CheckResult

BASELINE = Candidate(None)
SHARE = 0.25  # of free memory, for the inputs that all processes keep; again as much for their results


@define
class _Finalist:
    """A candidate on its way. ``result`` is set as soon as nothing more is to be measured of it."""

    candidate: Candidate
    proof: Room  # for the user's own entry: there the variant bears the original's names
    found: list[Measurement] = field(factory=list[Measurement])
    unseen: list[Measurement] = field(factory=list[Measurement])  # at sizes of no timing case: for choices by size only
    checked: list[CheckResult] = field(factory=list[CheckResult])
    methods: dict[str, str] = field(factory=dict[str, str])
    said: str = ""
    result: Result | None = None
    refused: Result | None = None  # what it is if the user's own entry is right, which the original must pass for that
    seconds: float = 0.0


def final(judge: Judge, make_executor: MakeExecutor, candidates: Sequence[Candidate]) -> FinalReport:
    """Verdicts on the best candidates, at most ``settings.finalists`` of them, in the order given.

    Each is checked on every input set of every case, held-out ones included, and must pass the user's own entry; what fails isn't timed.

    Raises:
        KernelBandError: what isn't a variant's fault.
    """
    judge.task.timed()
    settings = judge.settings
    chosen = candidates[: settings.finalists]
    together = can_work_together(judge.task, judge.device, settings)
    share = SHARE / settings.processes if together else None
    rooms = [Room(make_executor, f"final-{i}", settings, share) for i in range(settings.processes)]
    finalists = [_Finalist(c, Room(make_executor, f"proof-{i}", settings, 0.0)) for i, c in enumerate(chosen)]
    every = [*rooms, *(f.proof for f in finalists)]
    with Crew(every, settings.starts_at_once) as crew:
        return _Final(judge, crew, rooms, finalists, together).run()


_Step = Callable[[Room, _Finalist], None]


@define
class _Final:
    """``together``: there is room for all processes to work on the GPU at once. Else each keeps to its turn, also for checks."""

    judge: Judge
    crew: Crew
    rooms: list[Room]
    finalists: list[_Finalist]
    together: bool
    baseline: list[Measurement] = field(factory=list[Measurement])
    spent: dict[str, float] = field(factory=dict[str, float])

    def run(self) -> FinalReport:
        with self._span("start"):
            proofs = [f.proof for f in self.finalists if self._must_prove(f)]
            self.crew.together([room.warm for room in (*self.rooms, *proofs)])
        with self._span("check"):
            self._check_all()
        if self.together:
            with self._span("prepare"):
                self.crew.together([partial(self._prepare, room) for room in self.rooms])
        with self._span("measure"):
            self._measure()
            for finalist in self._left():
                self._conclude(finalist)
        with self._span("proof"):
            self._prove_all()
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.spent.items())
        self.judge.tell(f"Final verification took {sum(self.spent.values()):.1f} s: {parts}.")
        return FinalReport(tuple(_verdict(f) for f in self.finalists), tuple(self.baseline), dict(self.spent))

    def _left(self) -> list[_Finalist]:
        return [f for f in self.finalists if f.result is None]

    @contextmanager
    def _span(self, name: str) -> Generator[None, None, None]:
        start = time.monotonic()
        yield
        self.spent[name] = time.monotonic() - start

    def _attempt(self, room: Room, finalist: _Finalist, step: _Step) -> None:
        start = time.monotonic()
        try:
            step(room, finalist)
        except KernelBandError as error:
            if isinstance(error, ExecutorFault):
                room.leave()
            finalist.result = evolve(self.judge.faulty(error, bool(finalist.checked)), stage="final")
        finally:
            finalist.seconds += time.monotonic() - start

    # ------------------------------------------------------------ check and prepare

    def _check_all(self) -> None:
        if not self.together:
            for finalist in self.finalists:
                self._attempt(self.rooms[0], finalist, self._check)
            return
        count = len(self.rooms)
        self.crew.together([partial(self._check_some, room, self.finalists[i::count]) for i, room in enumerate(self.rooms)])
        for finalist in self.finalists:
            if finalist.result is not None and finalist.result.fault == "oom":  # perhaps for want of what the others took
                finalist.result = None
                self._attempt(self.rooms[0], finalist, self._check)

    def _check_some(self, room: Room, finalists: Sequence[_Finalist]) -> None:
        """One room's part, and the original prepared beside it; no variant runs unchecked beside another room's inputs."""
        for finalist in finalists:
            self._attempt(room, finalist, self._check)
        with suppress(KernelBandError):  # what goes wrong here goes wrong again, and is dealt with, when the original is measured
            self._warm_up(room, BASELINE)

    def _check(self, room: Room, finalist: _Finalist) -> None:
        executor = room.enter()
        cases = self.judge.task.of_role("check", "time", "held_out")
        checked = self.judge.check(executor, finalist.candidate, cases, sets=None, fresh=room.fresh, shared=self.together)
        room.fresh = False
        finalist.checked.append(checked)
        correctness, finalist.said = judge_check(checked)
        if correctness != "passed":
            finalist.result = Result(correctness=correctness, reason=finalist.said, stage="final")

    def _prepare(self, room: Room) -> None:
        for finalist in self._left():
            self._prepare_one(room, finalist)

    def _prepare_one(self, room: Room, finalist: _Finalist) -> None:
        try:
            self._warm_up(room, finalist.candidate)
        except KernelBandError as error:
            if fault_of(error) != "oom":  # that may be for want of what the others took: timing will tell
                finalist.result = evolve(self.judge.faulty(error, bool(finalist.checked)), stage="final")

    def _warm_up(self, room: Room, candidate: Candidate) -> None:
        cases = self.judge.task.timed()
        deadline = prepare_deadline(cases, self.judge.settings, fresh=room.fresh)
        room.prepare(candidate.variant, [c["id"] for c in cases], deadline, self.judge.gpu)

    # ------------------------------------------------------------ measure

    def _measure(self) -> None:
        methods: dict[str, str] = {}
        for process, room in enumerate(self.rooms):
            left = self._left()
            if not left:
                return
            self.judge.tell(f"Final verification: process {process + 1} of {len(self.rooms)}.")
            block = self._original(room, process, methods)
            methods = methods or dict(block.methods)
            self.baseline += block.measurements
            for i in range(len(left)):
                self._attempt(room, left[(i + process) % len(left)], partial(self._time, process))
            for finalist in self._left():
                self._time_unseen(process, room, finalist)
            if not self.together:
                room.leave()  # and lets its memory go

    def _original(self, room: Room, process: int, methods: dict[str, str]) -> Block:
        """The original against itself. An executor that dies of that is replaced once: the program is known to run."""
        cases, pairs = self.judge.task.timed(), self.judge.settings.pairs
        try:
            block = self.judge.measure(room.enter(), BASELINE, cases, pairs, _place(room, process), methods=methods)
        except ExecutorFault as fault:
            self.judge.tell(f"{fault.message} Measuring the original again in another process.")
            room.leave()
            block = self.judge.measure(room.enter(), BASELINE, cases, pairs, _place(room, process), methods=methods)
        room.fresh = False
        return block

    def _time(self, process: int, room: Room, finalist: _Finalist) -> None:
        executor = room.enter()
        cases, pairs = self.judge.task.timed(), self.judge.settings.pairs
        block = self.judge.measure(executor, finalist.candidate, cases, pairs, _place(room, process), methods=finalist.methods)
        room.fresh = False
        finalist.methods = finalist.methods or dict(block.methods)
        finalist.found += block.measurements

    def _time_unseen(self, process: int, room: Room, finalist: _Finalist) -> None:
        """A choice by size, and the best version without one, at sizes that the choice wasn't made by. What goes wrong here speaks against
        the choice only: it can't be told from a loss.
        """
        choices = [(f, d) for f in self._left() if (d := f.candidate.dispatch) is not None]
        ids = {side.unseen for f, d in choices if f is finalist or d.single.id == finalist.candidate.id for side in d.sides}
        cases = tuple(c for c in self.judge.task.cases if c["id"] in ids)
        if not cases:
            return
        start = time.monotonic()
        place = Place("unseen", process, fresh=room.fresh)
        try:
            block = self.judge.measure(room.enter(), finalist.candidate, cases, self.judge.settings.first_pairs, place)
            room.fresh = False
            finalist.unseen += block.measurements
        except KernelBandError as error:
            self.judge.faulty(error, checked=True)  # raises what isn't a variant's
            if isinstance(error, ExecutorFault):
                room.leave()
        finally:
            finalist.seconds += time.monotonic() - start

    # ------------------------------------------------------------ conclude

    def _conclude(self, finalist: _Finalist) -> None:
        result = self.judge.result(finalist.found, finalist.checked[-1], finalist.said, self.baseline)
        if finalist.candidate.dispatch is not None and result.performance == "faster":
            found = {f.candidate.id: (*f.found, *f.unseen) for f in self.finalists}
            said = refusal(finalist.candidate.dispatch, finalist.candidate.id, found, self.judge.task.objective)
            if said:
                result = evolve(result, performance="inconclusive", reason=f"{result.reason} {said}".strip())
        finalist.result = result
        if result.integrity == "suspect":
            room = self.rooms[0]
            room.leave()  # its doubts are looked into in a process that has seen nothing
            self._attempt(room, finalist, partial(self._doubt, result))

    def _doubt(self, result: Result, room: Room, finalist: _Finalist) -> None:
        finalist.result = self.judge.doubt(room.enter(), finalist.candidate, result, finalist.checked)

    def _must_prove(self, finalist: _Finalist) -> bool:
        return self.judge.task.entry is not None and finalist.candidate.files is not None

    def _prove_all(self) -> None:
        """The rooms end meanwhile: an entry may need the memory."""
        winners = [f for f in self.finalists if f.result is not None and f.result.performance == "faster" and self._must_prove(f)]
        again: list[_Finalist] = []
        self.crew.together([*(room.leave for room in self.rooms), *(partial(self._prove, f, again) for f in winners)])
        for finalist in again:
            self._prove(finalist, None)
        refused = [f for f in winners if f.refused is not None]
        if refused:
            self._conclude_proofs(refused)

    def _conclude_proofs(self, refused: Sequence[_Finalist]) -> None:
        """An entry that the original doesn't pass either says nothing of a variant: one that is too slow, or fails here anyway."""
        entry, room = self.judge.task.entry, refused[0].proof
        assert entry is not None
        try:
            problem = run_entry(room.enter(), None, entry, self.judge.settings, self.judge.gpu)
        except KernelBandError as error:
            self.judge.faulty(error, checked=True)  # raises what is nobody's
            problem = error.message
        finally:
            room.leave()
        for finalist in refused:
            assert finalist.result is not None
            reason = f"{finalist.result.reason} Not proven by {entry['name']}, which the original doesn't pass here either.".strip()
            finalist.result = evolve(finalist.result, reason=reason) if problem else finalist.refused

    def _prove(self, finalist: _Finalist, again: list[_Finalist] | None) -> None:
        """A winner that the user's own asserts refuse isn't one. Beside others it may run out of memory for their sake: ``again`` then."""
        entry = self.judge.task.entry
        assert entry is not None
        assert finalist.result is not None
        start = time.monotonic()
        try:
            executor = finalist.proof.enter()
            variant = finalist.candidate.variant
            said = run_entry(executor, variant, entry, self.judge.settings, self.judge.gpu, shared=again is not None)
            if said:
                finalist.refused = evolve(finalist.result, correctness="wrong", reason=said)
        except KernelBandError as error:
            fault = self.judge.faulty(error, checked=True).fault
            if fault == "oom" and again is not None:
                again.append(finalist)
            else:
                finalist.refused = evolve(finalist.result, fault=fault, reason=error.message)
        finally:
            finalist.proof.leave()
            finalist.seconds += time.monotonic() - start


def _place(room: Room, process: int) -> Place:
    return Place("final", process, fresh=room.fresh)


def _verdict(finalist: _Finalist) -> Verdict:
    checked = finalist.checked[-1] if finalist.checked else None
    result = finalist.result or Result()
    return Verdict(finalist.candidate.id, result, tuple(finalist.found), checked, finalist.seconds, tuple(finalist.unseen))
