"""What a run holds while it goes on."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Literal

from attrs import Factory, define, field, frozen

from kernelband.hardware.work import Work
from kernelband.history import Store, runs
from kernelband.history.records import FinalRow
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Executor
from kernelband.search._base import Policy, Pull
from kernelband.search._lab import Lab
from kernelband.search.budget import Budget, PhaseClock
from kernelband.search.builder import Builder
from kernelband.search.events import Event, Listener, Noted, PhaseChanged
from kernelband.search.frontier import Frontier
from kernelband.search.options import Options
from kernelband.search.preparer import Preparer
from kernelband.search.profile import Instruments, Profiler
from kernelband.search.programs import Programs
from kernelband.search.trial import Trial, chain_of
from kernelband_worker.wire import Case, LaunchSpec

#: What a run may reach, as its summary and its last event have it: ``verified`` by a final, ``checked`` where nothing is measured.
Reached = Literal["seconds_to_verified", "seconds_to_checked"]

#: What a phase is called in the clock.
SPAN_OF = {"measure": "time", "done": "other"}


@define
class Journal:
    """Phase, clock, heartbeat and events of a run: what others see of it. ``reached``: seconds from its start to what it reached first."""

    run: str
    store: Store
    listen: Listener
    budget: Budget
    clock: PhaseClock
    phase: str = "start"
    reached: dict[Reached, float] = field(factory=dict[Reached, float])

    def reach(self, what: Reached) -> None:
        """Now, if it is the first: written down at once, for a run that is cut off."""
        if what not in self.reached:
            self.reached[what] = round(self.budget.elapsed, 3)
            runs.update(self.store, self.run, summary={**runs.find(self.store, self.run).summary, **self.reached})

    def emit(self, event: Event) -> None:
        """To the front end."""
        self.listen(event)

    @contextmanager
    def during(self, phase: str, trial: int | None = None, *, span: str | None = None) -> Generator[None, None, None]:
        """The run is in this phase inside, for the clock and for whoever watches."""
        before = self.phase
        self.phase = phase
        self.emit(PhaseChanged(phase, trial))
        with self.clock.span(span or SPAN_OF.get(phase, phase)):
            yield
        self.phase = before

    def stopwatch(self) -> Stopwatch:
        """For what begins now."""
        return Stopwatch(time.time(), time.monotonic(), self.clock.snapshot())

    def beat(self) -> None:
        """Tell the database that the run lives."""
        runs.beat(self.store, self.run, phase=self.phase, seconds_used=self.budget.elapsed, clock=dict(self.clock.seconds))


@frozen
class Stopwatch:
    """Started with a trial. ``started``: time of day, ``begin``: monotonic, both in seconds; ``clock`` is the run's by then."""

    started: float
    begin: float
    clock: dict[str, float]

    @property
    def seconds(self) -> float:
        """Up to now."""
        return time.monotonic() - self.begin

    def spans(self, after: Mapping[str, float]) -> dict[str, float]:
        """What went on since, of the run's clock as it is now."""
        before = self.clock
        return {k: round(v - before.get(k, 0.0), 3) for k, v in after.items() if v > before.get(k, 0.0)}


#: The first profile takes 6 to 9 s on an H200, with its processes.
WORTH_PROFILING_S = 180.0


def _instruments(s: Session) -> Instruments | None:
    """What profiles representatives; None where nothing is measured, or the seconds are so few that a trial is worth more."""
    timing = [c for c in s.cases if c["role"] == "time"]
    seconds = s.journal.budget.seconds
    if not s.lab.measured or not timing or (seconds is not None and seconds < WORTH_PROFILING_S):
        return None
    longest = max(timing, key=lambda c: c["device_us"] or 0.0)
    ncu = s.lab.environment.get("tools", {}).get("ncu")
    return Instruments(s.lab.device, longest, s.judge.gpu, ncu, lambda text: s.journal.emit(Noted(text)))


@define
class Session:
    """Everything between the baseline and the end."""

    options: Options
    journal: Journal
    judge: Judge
    policy: Policy
    preparer: Preparer
    cases: tuple[Case, ...]
    launches: tuple[LaunchSpec, ...] = ()  # of the original, on every case that can be replayed
    frontier: Frontier = field(factory=Frontier)
    log: list[Pull] = field(factory=list[Pull])
    counts: dict[str, int] = field(factory=dict[str, int])
    finals: dict[int, FinalRow] = field(factory=dict[int, FinalRow])  # what the newest final said, by variant
    instruments: Instruments | None = field(init=False, default=Factory(_instruments, takes_self=True))

    def look(self) -> None:
        """Give the clusters' representatives the headroom that a profiler sees, where there is one."""
        if self.instruments is None:
            return
        with self.journal.clock.span("profile"):
            self.instruments.update(self.frontier, tuple(self.log), self._launches, self._ask, self.journal.budget.elapsed)

    def _launches(self, variant: int) -> tuple[Work, ...]:
        return self.profile.before if variant == 0 else self.trials[variant].works or ()

    def _ask(self, variant: int) -> tuple[Executor, str | None]:
        """An executor that knows the variant, and its name there."""
        return self.lab.measuring(), self.trials[variant].files["id"] if variant else None

    @property
    def builder(self) -> Builder:
        """Of the preparer."""
        return self.preparer.builder

    @property
    def lab(self) -> Lab:
        """The worker with its executors."""
        return self.builder.lab

    @property
    def programs(self) -> Programs:
        """By variant."""
        return self.builder.programs

    @property
    def profile(self) -> Profiler:
        """Of the original's launches."""
        return self.builder.profiler

    @property
    def trials(self) -> dict[int, Trial]:
        """What was executed, by number; a variant has the number of its trial."""
        return self.builder.programs.trials

    def count(self, what: str, by: int = 1) -> None:
        """Proposed, compiled, executed, verified ..."""
        self.counts[what] = self.counts.get(what, 0) + by

    def distrust(self) -> None:
        """A final found variants wrong: neither they nor what is made of them lead any more, or are built on."""
        wrong = {n for n, row in self.finals.items() if row.result["correctness"] == "wrong"}
        for number in self.trials if wrong else ():
            if any(t.number in wrong for t in chain_of(self.trials, number)):
                self.frontier.drop(number)

    @property
    def spent(self) -> int:
        """Trials in the sense of the budget: executed variants, and failures where the policy pays for them."""
        if not self.policy.failures_cost:
            return len(self.trials)
        return sum(p.outcome != "nothing_left" for p in self.log)

    def speed(self, variant: int) -> float:
        """Of a variant on the frontier over the original's, as far as the search knows."""
        return self.frontier[0].seconds / self.frontier[variant].seconds

    @property
    def pace(self) -> float:
        """Median seconds of a trial, everything included; 0 while there is none."""
        return median(t.seconds for t in self.trials.values()) if self.trials else 0.0

    @property
    def leader(self) -> int:
        """The variant that looks best so far; 0 is the original."""
        return self.frontier.best.variant
