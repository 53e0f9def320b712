"""Final verification: fresh processes, of which each knows one version; the only source of figures that are shown.

Rounds of turns (``turns``): in each round original, finalists and a second copy of the original have processes of their own, and the spread
between rounds is what a person who runs the program again will see. Variants that our own moves made share one a round: what they are is
known. Finalists are checked before, on everything that there is, in processes that are not timed; what fails there isn't timed. What is
timed is looked at, too: the original's process compares what finalists got in timed calls. Processes start, check and prepare beside each
other; measuring needs the GPU to itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from attrs import define, evolve, field

from kernelband.errors import ExecutorFault, HardwareError, KernelBandError
from kernelband.judge.dispatch import refusal
from kernelband.judge.faults import fault_of
from kernelband.judge.finalist import Finalist, doubted, verdict_of
from kernelband.judge.hidden import Hidden
from kernelband.judge.judge import Judge
from kernelband.judge.numerics import judge_check
from kernelband.judge.proofs import Proofs, must_prove
from kernelband.judge.protocol import (
    Candidate,
    Case,
    FinalReport,
    MakeExecutor,
    Measurement,
    can_work_together,
    is_autotuned,
    prepare_deadline,
)
from kernelband.judge.result import Result
from kernelband.judge.rooms import Crew, Room
from kernelband.judge.turns import Clocks, Doubt, Round, Seat, plan_of, plan_of_sizes
from kernelband_worker.wire import SurveyResult, TurnCase

BASELINE = Candidate(None)
SHARE = 0.25  # of free memory, for the inputs that all processes keep; again as much for their results
SIZE_SWEEPS = 3


def final(judge: Judge, make_executor: MakeExecutor, candidates: Sequence[Candidate]) -> FinalReport:
    """Verdicts on the candidates, in the order given; each costs as many processes as there are rounds.

    Each is checked on every input set of every case, held-out ones and stress included, and must pass the user's own entry.

    Raises:
        KernelBandError: what isn't a variant's fault.
    """
    judge.task.timed()
    shared = [i for i, c in enumerate(candidates) if c.ours]
    groups = [*([shared] if shared else []), *([i] for i, c in enumerate(candidates) if not c.ours)]
    together = can_work_together(judge.task, judge.device, judge.settings, 1 + len(groups))
    for tries, pause_s in enumerate(judge.settings.pauses_s):
        try:
            return _final(judge, _again(make_executor, tries), candidates, groups, together=together and not tries)
        except ExecutorFault as fault:
            if fault.fault != "oom":
                raise
        judge.tell("The GPU's memory ran out, perhaps because others use it. Final verification begins again, one round at a time.")
        time.sleep(pause_s)
    return _final(judge, _again(make_executor, len(judge.settings.pauses_s)), candidates, groups, together=False)


def _again(make_executor: MakeExecutor, tries: int) -> MakeExecutor:
    return lambda name: make_executor(f"{name}-again-{tries}" if tries else name)


def _final(
    judge: Judge, make_executor: MakeExecutor, chosen: Sequence[Candidate], groups: Sequence[Sequence[int]], *, together: bool
) -> FinalReport:
    """``groups``: the candidates that share a process each round. ``together``: as in ``_Final``."""
    settings = judge.settings
    share = SHARE / (settings.processes * (1 + len(groups)) if together else 2 + len(groups))

    def rooms(name: str) -> list[Room]:
        return [Room(make_executor, f"{name}-{i}", settings, share) for i in range(settings.processes)]

    houses = [rooms(f"final-{g}") for g in range(len(groups))]
    house = {i: houses[g] for g, members in enumerate(groups) for i in members}

    def finalist(i: int, candidate: Candidate) -> Finalist:
        checks = Room(make_executor, f"check-{i}", settings, SHARE / len(chosen))
        return Finalist(f"finalist {i + 1}", candidate, house[i], checks, Room(make_executor, f"proof-{i}", settings, 0.0))

    finalists = [finalist(i, c) for i, c in enumerate(chosen)]
    originals = rooms("original")
    hidden = Hidden(Room(make_executor, "original-hidden", settings, share), settings.processes * settings.sweeps)
    every = [*originals, hidden.room, *(room for rooms in houses for room in rooms), *(r for f in finalists for r in (f.checks, f.proof))]
    with Crew(every, settings.starts_at_once) as crew:
        return _Final(judge, crew, originals, hidden, houses, finalists=finalists, together=together).run()


@define
class _Final:
    """``together``: there seems to be room for all processes at once. Else those of a round come and go, and nobody shares the GPU."""

    judge: Judge
    crew: Crew
    originals: list[Room]
    hidden: Hidden
    houses: list[list[Room]]
    finalists: list[Finalist]
    together: bool
    plan: dict[str, TurnCase] = field(factory=dict[str, TurnCase])
    clocks: Clocks = field(factory=Clocks)
    baseline: list[Measurement] = field(factory=list[Measurement])
    spent: dict[str, float] = field(factory=dict[str, float])

    def run(self) -> FinalReport:
        with self._span("check"):
            self._check_all()
        if self.together:
            with self._span("prepare"):
                self.crew.together([partial(self._prepare_all, room) for house in self.houses for room in house])
        with self._span("measure"):
            for process in range(len(self.originals)):
                self._round(process)
            self._believe(self.clocks.doubts())
            for finalist in self._left():
                self._conclude(finalist)
        with self._span("proof"):  # the rooms end meanwhile: an entry may need the memory
            ends = [room.leave for rooms in (self.originals, *self.houses) for room in rooms]
            Proofs(self.judge, self.finalists).prove(self.crew, ends)
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.spent.items())
        self.judge.tell(f"Final verification took {sum(self.spent.values()):.1f} s: {parts}.")
        return FinalReport(tuple(verdict_of(f) for f in self.finalists), tuple(self.baseline), dict(self.spent))

    def _left(self) -> list[Finalist]:
        return [f for f in self.finalists if f.result is None]

    @contextmanager
    def _span(self, name: str) -> Generator[None, None, None]:
        start = time.monotonic()
        yield
        self.spent[name] = time.monotonic() - start

    def _attempt(self, finalist: Finalist, room: Room, step: Callable[[], Doubt | None]) -> bool:
        """A step of a finalist in a room; whether it goes on. A fault of the variant's is its result, and so is a doubt."""
        start = time.monotonic()
        try:
            doubt = step()
            if doubt is not None:
                finalist.result = doubted(doubt)
        except KernelBandError as error:
            if isinstance(error, ExecutorFault):
                room.leave()
            finalist.result = evolve(self.judge.faulty(error, bool(finalist.checked)), stage="final")
        finally:
            finalist.seconds += time.monotonic() - start
        return finalist.result is None

    # ------------------------------------------------------------ check and prepare

    def _check_all(self) -> None:
        if not self.together:
            for finalist in self.finalists:
                self._check(finalist)
                finalist.checks.leave()
            self._hide()
            self.hidden.room.leave()
            return
        tuned = [self.originals[0], *(f.rooms[0] for f in self.finalists)] if is_autotuned(self.judge.task) else []
        first, wait = (*tuned, *(f.checks for f in self.finalists)), [f.proof for f in self.finalists if must_prove(self.judge, f)]
        rooms = [room for house in self.houses for room in house]
        # All others start beside the checks; or at once, where tuners need the GPU to themselves before these.
        early = dict.fromkeys((*first, *rooms, *self.originals) if tuned else first)
        self.crew.together([*(partial(self._warm, room) for room in early), *(room.warm for room in wait if tuned)])
        if tuned:
            self._tune()
        others = [partial(self._warm, room) for room in rooms]
        own = [partial(self._prepare_original, r) for r in self.originals]
        checks = [partial(self._check, f) for f in self._left()]
        self.crew.together([*checks, partial(self._hide, alone=False), *own, *others, *(room.warm for room in wait)])
        for finalist in self.finalists:
            if finalist.result is not None and finalist.result.fault == "oom":  # perhaps for want of what the others took
                finalist.result = None
                self._check(finalist)
                self._crowded(finalist)
        self._hide()
        self.crew.together([self.hidden.room.leave, *(f.checks.leave for f in self.finalists)])  # and lets its memory go

    def _warm(self, room: Room) -> None:
        room.warm(self.judge.task.timed()[0]["id"], self.judge.gpu)

    def _tune(self) -> None:
        """Tuners choose alone on the GPU: those of the finalists first, then the original's, among that and what it had."""
        for finalist in self._left():
            self._prepare_early(finalist, finalist.rooms[0], alone=True)
        self._prepare_original(self.originals[0], alone=True)

    def _hide(self, *, alone: bool = True) -> None:
        """Only for what others made: moves of ours are known."""
        if any(f.candidate.files is not None and not f.candidate.ours for f in self._left()):
            self.hidden.make(self._checked_on(), self.judge.settings, self.judge.gpu, shared=self.together, alone=alone)

    def _checked_on(self) -> Sequence[Case]:
        return self.judge.task.of_role("check", "time", "held_out")

    def _check(self, finalist: Finalist) -> None:
        self._attempt(finalist, finalist.checks, partial(self._compare, finalist))

    def _compare(self, finalist: Finalist) -> None:
        room, cases = finalist.checks, self._checked_on()
        executor = room.enter()
        checked = self.judge.check(executor, finalist.candidate, cases, sets=None, shared=self.together, stress=True)
        finalist.checked.append(checked)
        correctness, finalist.said = judge_check(checked)
        if correctness != "passed":
            finalist.result = Result(correctness=correctness, reason=finalist.said, stage="final")

    def _prepare_original(self, room: Room, *, alone: bool = False) -> None:
        with suppress(KernelBandError):  # what goes wrong here goes wrong again, and is dealt with, in its round
            self._prepare(room, BASELINE, alone=alone)

    def _prepare_all(self, room: Room) -> None:
        for finalist in [f for f in self._left() if room in f.rooms]:
            self._prepare_early(finalist, room)

    def _prepare_early(self, finalist: Finalist, room: Room, *, alone: bool = False) -> None:
        try:
            self._prepare(room, finalist.candidate, alone=alone)
        except KernelBandError as error:
            if fault_of(error) != "oom":  # that may be for want of what the others took: its turn will tell
                finalist.result = evolve(self.judge.faulty(error, bool(finalist.checked)), stage="final")

    def _prepare(self, room: Room, candidate: Candidate, cases: Sequence[Case] | None = None, *, alone: bool = False) -> None:
        cases = cases or self.judge.task.timed()
        deadline = prepare_deadline(cases, self.judge.settings)
        room.prepare(candidate.variant, [c["id"] for c in cases], deadline, self.judge.gpu, shared=self.together and not alone)

    # ------------------------------------------------------------ measure

    def _round(self, process: int) -> None:
        left = self._left()
        if not left:
            return
        self.judge.tell(f"Final verification: round {process + 1} of {len(self.originals)}.")
        here = self._seated(process, left)
        seats = [*here.seats]
        if not self.together:
            self._each(here, lambda seat: self._prepare(seat.room, seat.candidate))
        if not self.plan:
            surveys: list[SurveyResult] = []
            self._each(here, lambda seat: surveys.append(here.survey(seat)))
            self.plan = plan_of(surveys)
        here.sweeps(self.plan, self._attempt_seat)
        self._believe(here.referee())
        self.baseline += here.measurements(seats[-1], self.plan)
        for seat in seats[1:-1]:
            self._of(seat).found += here.measurements(seat, self.plan)
        self._sizes(process, here)
        if not self.together:
            for seat in seats:
                seat.room.leave()

    def _seated(self, process: int, left: Sequence[Finalist]) -> Round:
        """The second copy of the original is the process of another round."""
        original = Seat(self.originals[process], BASELINE, "original")
        copy = Seat(self.originals[(process + 1) % len(self.originals)], BASELINE, "copy of the original")
        seats = [original, *(Seat(f.rooms[process], f.candidate, f.name) for f in left), copy]
        timed, settings, lock = self.judge.task.timed(), self.judge.settings, self.judge.gpu
        return Round(seats, timed, settings, lock, process, clocks=self.clocks, hidden=self.hidden, threads=self.hidden.threads)

    def _of(self, seat: Seat) -> Finalist:
        return next(f for f in self.finalists if f.name == seat.name)

    def _each(self, here: Round, step: Callable[[Seat], None]) -> None:
        """A step of every seat; who doesn't come through leaves the round."""
        for seat in [*here.seats]:
            if not self._attempt_seat(seat, partial(step, seat)):
                here.seats.remove(seat)

    def _attempt_seat(self, seat: Seat, step: Callable[[], Doubt | None]) -> bool:
        """An original that dies is replaced once: the program is known to run."""
        finalist = next((f for f in self.finalists if f.name == seat.name), None)
        if finalist is not None:
            went_on = self._attempt(finalist, seat.room, step)
            self._crowded(finalist)
            return went_on
        try:
            doubt = step()
        except ExecutorFault as fault:
            self.judge.tell(f"{fault.message} Measuring the original again in another process.")
            seat.room.leave()
            doubt = step()
        if doubt is not None:
            raise HardwareError(f"Nothing can be measured here: {doubt.reason}", kind="unsupported")
        return True

    def _crowded(self, finalist: Finalist) -> None:
        """What was screened and runs out of memory among so many processes isn't to blame for it.

        Raises:
            ExecutorFault: it did: the final must be done with fewer.
        """
        if self.together and finalist.result is not None and finalist.result.fault == "oom":
            raise ExecutorFault(finalist.result.reason, fault="oom", kind="out_of_memory")

    def _believe(self, doubts: Sequence[Doubt]) -> None:
        """Doubts of results of timed calls, or of clocks."""
        for doubt in doubts:
            finalist = next(f for f in self.finalists if f.name == doubt.seat)
            finalist.result = finalist.result or doubted(doubt)

    def _sizes(self, process: int, here: Round) -> None:
        """Once at the sizes of check and held-out cases, where nobody may lose; where a finalist chooses by size, in every round at those
        that it wasn't chosen by. What goes wrong here speaks against that finalist only.
        """
        chosen = {side.unseen for f in self._left() if (d := f.candidate.dispatch) is not None for side in d.sides}
        cases = [c for c in self.judge.task.of_role("check", "held_out") if process == 0 or c["id"] in chosen]
        if not cases or not self._left():
            return
        settings = evolve(self.judge.settings, sweeps=SIZE_SWEEPS, repeats=0)
        others = [s for s in here.seats if s.candidate.files is not None and self._of(s).result is None]
        seats, lock = [here.original, *others], self.judge.gpu
        there = Round(seats, cases, settings, lock, process, stage="unseen", clocks=self.clocks, threads=self.hidden.threads)
        plan = plan_of_sizes(cases, self.plan)
        self._each(there, lambda seat: self._prepare(seat.room, seat.candidate, cases))
        there.sweeps(plan, self._attempt_seat)
        self._believe(there.referee())
        for seat in others:
            self._of(seat).unseen += there.measurements(seat, plan)

    # ------------------------------------------------------------ conclude

    def _conclude(self, finalist: Finalist) -> None:
        result = self.judge.result(
            finalist.found,
            finalist.checked[-1],
            finalist.said,
            self.baseline,
            sizes=finalist.unseen,
            finalists=len(self.finalists),
        )
        if finalist.candidate.dispatch is not None and result.performance == "faster":
            found = {f.candidate.id: (*f.found, *f.unseen) for f in self.finalists}
            said = refusal(finalist.candidate.dispatch, finalist.candidate.id, found, self.judge.task.objective)
            if said:
                result = evolve(result, performance="inconclusive", reason=f"{result.reason} {said}".strip())
        if result.performance == "faster":
            result = evolve(result, reason=f"{result.reason} {finalist.candidate.remark}".strip())
        finalist.result = result
