"""What a run holds while it goes on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from attrs import define, field

from kernelband.history import Store, runs
from kernelband.judge.judge import Judge
from kernelband.search._base import Policy, Pull
from kernelband.search._lab import Lab
from kernelband.search.budget import Budget, PhaseClock
from kernelband.search.events import Event, Listener, PhaseChanged
from kernelband.search.frontier import Frontier
from kernelband.search.options import Options
from kernelband.search.preparer import Preparer
from kernelband.search.profile import Profiler
from kernelband.search.programs import Programs
from kernelband.source.model import Patch
from kernelband.strategies import Numerics
from kernelband_worker.wire import Case

#: What a phase is called in the clock.
SPAN_OF = {"measure": "time", "done": "other"}


@define
class Journal:
    """Phase, clock, heartbeat and events of a run: what others see of it."""

    run: str
    store: Store
    listen: Listener
    budget: Budget
    clock: PhaseClock
    phase: str = "start"

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
    """What the end needs of a trial. ``files`` None after a resume until they are served again."""

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

    def count(self, what: str, by: int = 1) -> None:
        """Proposed, compiled, executed, verified ..."""
        self.counts[what] = self.counts.get(what, 0) + by

    @property
    def spent(self) -> int:
        """Trials in the sense of the budget: executed variants, and failures where the policy pays for them."""
        if not self.policy.failures_cost:
            return len(self.trials)
        return sum(p.outcome != "nothing_left" for p in self.log)

    @property
    def leader(self) -> int:
        """The variant that looks best so far; 0 is the original."""
        return self.frontier.best.variant
