"""What a run holds while it goes on."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from attrs import Factory, define, field

from kernelband.hardware.work import Work
from kernelband.history import Store, runs
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Executor
from kernelband.judge.result import Ratio
from kernelband.search._base import Policy, Pull
from kernelband.search._lab import Lab
from kernelband.search.budget import Budget, PhaseClock
from kernelband.search.events import Event, Listener, Noted, PhaseChanged
from kernelband.search.frontier import Frontier
from kernelband.search.instruments import Instruments
from kernelband.search.options import Options
from kernelband.search.preparer import Preparer
from kernelband.search.profile import Profiler
from kernelband.search.programs import Programs
from kernelband.source.model import Patch
from kernelband.strategies import Numerics
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

    def beat(self) -> None:
        """Tell the database that the run lives."""
        runs.beat(self.store, self.run, phase=self.phase, seconds_used=self.budget.elapsed, clock=dict(self.clock.seconds))


@define
class Trial:
    """What the end needs of a trial. ``parent``, ``move`` and ``key``: the edit that made its variant of another; ``edits``: how many there
    are between it and the original. ``cases``: what screening said of each timing case, in the objective.
    """

    number: int
    numerics: Numerics
    outcome: str
    score: float | None
    low: float | None
    seconds: float
    patch: Patch
    strategy: str
    what: str
    tier: str | None = None
    fact: str | None = None
    parent: int = 0
    move: str = ""
    key: str = ""
    edits: int = 1
    parameters: Mapping[str, Any] = field(factory=dict[str, Any])
    cases: Mapping[str, Ratio] = field(factory=dict[str, Ratio])


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
    """Everything between the baseline and the end. ``base_seconds``: of the original, geometric and arithmetic mean over timing cases."""

    options: Options
    journal: Journal
    lab: Lab
    judge: Judge
    policy: Policy
    programs: Programs
    preparer: Preparer
    cases: tuple[Case, ...]
    frontier: Frontier
    profile: Profiler
    log: list[Pull] = field(factory=list[Pull])
    trials: dict[int, Trial] = field(factory=dict[int, Trial])
    counts: dict[str, int] = field(factory=dict[str, int])
    works: dict[int, tuple[Work, ...]] = field(factory=dict[int, tuple[Work, ...]])  # launches by variant, of those that may be parents
    launches: tuple[LaunchSpec, ...] = ()  # of the original, on every case that can be replayed

    instruments: Instruments | None = field(init=False, default=Factory(_instruments, takes_self=True))

    def look(self) -> None:
        """Give the clusters' representatives the headroom that a profiler sees, where there is one."""
        if self.instruments is None:
            return
        with self.journal.clock.span("profile"):
            self.instruments.update(self.frontier, tuple(self.log), self._launches, self._ask, self.journal.budget.elapsed)

    def _launches(self, variant: int) -> tuple[Work, ...]:
        return self.profile.before if variant == 0 else self.works.get(variant, ())

    def _ask(self, variant: int) -> tuple[Executor, str | None]:
        """An executor that knows the variant, and its name there."""
        if variant == 0:
            return self.lab.measuring(), None
        patch = self.programs.patch(variant)
        files = self.lab.keep(patch.apply(dict(self.programs.texts(0))), [f.path for f in patch.files])
        return self.lab.measuring(), files["id"]

    def count(self, what: str, by: int = 1) -> None:
        """Proposed, compiled, executed, verified ..."""
        self.counts[what] = self.counts.get(what, 0) + by

    @property
    def spent(self) -> int:
        """Trials in the sense of the budget: executed variants, and failures where the policy pays for them."""
        if not self.policy.failures_cost:
            return len(self.trials)
        return sum(p.outcome != "nothing_left" for p in self.log)

    def edits(self, parent: int, parameters: Mapping[str, Any]) -> int:
        """How many edits lie between the original and a child of ``parent`` that was made with these parameters."""
        return (self.trials[parent].edits if parent else 0) + 1 + len(parameters.get("after", ()))

    def speed(self, variant: int) -> float:
        """Of a variant on the frontier over the original's, as far as the search knows."""
        return self.frontier[0].seconds / self.frontier[variant].seconds

    @property
    def leader(self) -> int:
        """The variant that looks best so far; 0 is the original."""
        return self.frontier.best.variant
