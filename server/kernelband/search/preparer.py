"""From a choice to trials worth the device: what waits, what is compiled, what is lost; the best of it goes first.

Runs in a thread of its own, ahead of the device. What was compiled and not executed stays for the next pull of the same arm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager

from attrs import define, field, frozen

from kernelband.propose.boundary import unseen_host
from kernelband.search._base import FAILED, FREE, Choice
from kernelband.search._lab import Built
from kernelband.search.builder import Builder
from kernelband.search.frontier import Outlook
from kernelband.search.trial import Trial
from kernelband.strategies import STRATEGIES, Proposal

#: Fresh proposals are added while fewer than this many compiled ones wait for the device.
ENOUGH = 4
LOOK_S = 0.1  # between two looks whether the device waits
WAIT_SHARE = 0.1  # of the seconds left, for the rest of what an arm compiles where there is no device
#: Seconds without news from the compilers after which the device gets what is ready.
STALL_S = 3.0
#: Seconds that the device waits at least for better than what is ready: about as long as a trial takes.
BRIEF_S = 1.0

Lost = list[tuple[Trial, str]]


@define
class Ordering:
    """Which of the compiled trials of an arm goes to the device first, from the forecast and from what came of its like before: by move and
    by proposal, was it any good?
    """

    _outcomes: dict[str, list[bool]] = field(factory=dict[str, list[bool]])

    def learn(self, strategy: str, move: str, key: str, outcome: str) -> None:
        """What came of a proposal: a move that often fails comes later, the same proposal for another parent last."""
        if outcome in FREE:  # says nothing of the move: what doesn't compile or is known already never gets to the device
            return
        for name in (f"{strategy}.{move}", key):
            self._outcomes.setdefault(name, []).append(outcome not in FAILED)

    def rank(self, strategy: str, move: str, key: str, forecast: float | None) -> tuple[bool, float]:
        """The smallest goes first."""
        failed = False in self._outcomes.get(key, ())
        past = self._outcomes.get(f"{strategy}.{move}", ())
        prior = (1 + sum(past)) / (1 + len(past))
        return failed, -prior * (forecast if forecast is not None else 1.0)


@frozen
class Prepared:
    """``ready`` in proposal order. ``dropped``: with the outcomes of free failures, in proposal order."""

    ready: tuple[Trial, ...]
    dropped: tuple[tuple[Trial, str], ...] = ()
    proposed: int = 1
    exhausted: bool = False  # the author has nothing more for this arm
    outlook: Outlook = field(factory=Outlook)


@define
class Preparer:
    """Not thread-safe but for ``device_waits``: one preparation at a time."""

    builder: Builder
    left: Callable[[], float]  # seconds of the budget
    ordering: Ordering = field(factory=Ordering)
    _waiting: dict[tuple[int, str], list[Trial]] = field(factory=dict[tuple[int, str], list[Trial]])
    _dry: set[tuple[int, str]] = field(factory=set[tuple[int, str]])
    _enough: set[tuple[int, str]] = field(factory=set[tuple[int, str]])  # arms whose author isn't asked again for the same choice
    _building: list[tuple[Trial, Future[Built]]] = field(factory=list[tuple[Trial, Future[Built]]])
    _early: dict[tuple[int, str], int] = field(factory=dict[tuple[int, str], int])  # proposed ahead of any choice, and not yet counted
    _lost: Lost = field(factory=Lost)  # free failures not yet told
    _until: float = float("inf")  # the device waits, when it has nothing to do

    @contextmanager
    def device_waits(self, patience: float) -> Generator[None, None, None]:
        """The device has nothing to do inside, and ``patience`` seconds to spare. For the thread that has the device."""
        self._until = time.monotonic() + min(STALL_S, max(BRIEF_S, patience))
        try:
            yield
        finally:
            self._until = float("inf")

    def outlook(self) -> Outlook:
        """What is known of the arms now: the forecasts of what waits for the device, and arms that turned out to have nothing.

        For the preparing thread, or while it rests.
        """
        self._lost += self._collect()
        scores = {
            arm: max(t.forecast.score for t in waiting if t.forecast is not None)
            for arm, waiting in self._waiting.items()
            if any(t.forecast is not None for t in waiting)
        }
        building = self.building
        return Outlook(scores, frozenset(arm for arm in self._dry if arm not in building and not self._waiting.get(arm)))

    @property
    def building(self) -> set[tuple[int, str]]:
        """The arms for which the compilers still work."""
        return {trial.arm for trial, _ in self._building}

    def look_ahead(self, parent: int, limit: int) -> None:
        """Queue up to ``limit`` proposals of every arm of a promising parent, so that compilers have work while the device has.

        Raises:
            KernelBandError: the worker is gone.
        """
        for strategy in STRATEGIES:
            arm = parent, strategy.card.name
            if arm not in self._dry and arm not in self.building and not self._waiting.get(arm):
                self._early[arm] = self._early.get(arm, 0) + self._propose(arm, limit, self._lost)

    def prepare(self, choice: Choice, limit: int, *, patient: bool = False) -> Prepared:
        """Trials for the choice: those that wait, and up to ``limit`` new ones when few wait.

        ``patient``: there is no other arm, so wait for a straggler.

        Raises:
            KernelBandError: the worker is gone.
        """
        arm = choice.parent, choice.strategy
        waiting = self._waiting.setdefault(arm, [])
        dropped, self._lost = [*self._lost, *self._collect()], []
        proposed = self._early.pop(arm, 0)
        if 0 < proposed < limit and arm not in self._dry:  # looked at ahead, not in depth
            proposed += self._propose(arm, limit - proposed, dropped)
            if waiting:
                return self._prepared(arm, dropped, proposed)  # the rest is ready for the arm's next pull
        while len(waiting) < min(ENOUGH, limit) and not (arm in self._dry and arm not in self.building):
            if arm not in self._dry and arm not in self.building:
                proposed += self._propose(arm, limit, dropped)
            self._wait(arm, patient=patient)
            dropped += self._collect()
            if arm in self.building or (not patient and self._is_urgent()):
                break  # a straggler, or duplicates only: the device gets what is ready, of this arm or another
            if waiting and arm in self._enough:
                break
            if limit == 1 and dropped:  # a policy of one proposal a choice pays for a failure: no second try
                break
        return self._prepared(arm, dropped, proposed)

    def _prepared(self, arm: tuple[int, str], dropped: Lost, proposed: int) -> Prepared:
        exhausted = arm in self._dry and arm not in self.building
        ready = tuple(self._waiting.get(arm, ()))
        outlook = self.outlook()  # what has come meanwhile is told with the next preparation
        proposed += sum(self._early.pop(gone, 0) for gone in outlook.empty)  # nobody will choose them
        return Prepared(ready, tuple(dropped), proposed, exhausted, outlook)

    def take(self, prepared: Prepared) -> Trial:
        """The one that goes to the device now: the forecast's best, the author's order among equals.

        Chosen here, not while preparing: whether a preparation beside the device ends before or after the trial there must not decide what
        is tried next.
        """
        trial = min(prepared.ready, key=self._order)
        self._waiting[trial.arm].remove(trial)
        return trial

    def _order(self, trial: Trial) -> tuple[bool, float]:
        p = trial.proposal
        return self.ordering.rank(p.strategy, p.move, p.key, trial.forecast.score if trial.forecast is not None else None)

    def special(self, parent: int, proposal: Proposal) -> Trial | None:
        """The trial of a proposal that no arm would make, compiled while the caller waits; None when it doesn't compile, or does what
        something executed does.

        Raises:
            KernelBandError: the worker is gone.
        """
        builder = self.builder
        if unseen_host(builder.programs.program(parent), proposal.patch, builder.facts(parent).cases):
            return None
        trial = builder.trial(parent, proposal, builder.author.name)
        for waiting in self._waiting.values():
            for other in waiting:
                if other.text == trial.text:  # an arm has made it, and nobody has executed it
                    waiting.remove(other)
                    return other
        return trial if builder.is_new(trial) and not builder.build(trial) else None

    # ------------------------------------------------------------ steps

    def _propose(self, arm: tuple[int, str], limit: int, dropped: Lost) -> int:
        """Have proposals written and queue them for the compilers; how many there were."""
        written = self.builder.propose(*arm, limit)
        if written.exhausted:
            self._dry.add(arm)
        (self._enough.add if written.enough else self._enough.discard)(arm)
        for trial in written.trials:
            if self.builder.is_new(trial):
                self._building.append((trial, self.builder.begin(trial)))
            else:
                dropped.append((trial, "duplicate"))
        return len(written.trials)

    def _wait(self, arm: tuple[int, str], *, patient: bool) -> None:
        """Until everything of the arm is built, the budget is over, or, unless ``patient``, nothing has come for some time or the device
        waits: one hanging compiler must not keep it waiting. Without a device nothing but the budget is kept waiting: what is ready is
        tried after a share of what is left.
        """
        start = news = time.monotonic()
        measured = self.builder.lab.measured
        until = start if measured else start + WAIT_SHARE * self.left()
        left = {job for trial, job in self._building if trial.arm == arm}
        while left and self.left() > 0:
            done, left = wait(left, timeout=min(LOOK_S, max(0.0, self.left())), return_when=FIRST_COMPLETED)
            now = time.monotonic()
            news = now if done else news
            if not patient and now >= until and (self._is_urgent() or (measured and now - news >= STALL_S)):
                break
        self.builder.spent("compile", start)

    def _is_urgent(self) -> bool:
        """The device has waited long enough, and something is compiled."""
        ready = any(self._waiting.values()) or any(job.done() and not job.exception() for _, job in self._building)
        return ready and time.monotonic() >= self._until

    def _collect(self) -> Lost:
        """Sort out what is built, in proposal order; the free failures of it.

        Raises:
            KernelBandError: the worker is gone.
        """
        lost: Lost = []
        for trial, job in [x for x in self._building if x[1].done()]:
            self._building.remove((trial, job))
            outcome = self.builder.finish(trial, job)
            if outcome:
                lost.append((trial, outcome))
            else:
                self._waiting.setdefault(trial.arm, []).append(trial)
        return lost
