"""From a choice to candidates worth the device: written, specialised, compiled, duplicates dropped, ranked.

Runs in a thread of its own, ahead of the device. What was compiled and not executed stays for the next pull of the same arm.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from hashlib import sha256

from attrs import define, field, frozen

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.hardware.forecast import Forecast
from kernelband.judge.faults import fault_of
from kernelband.judge.identity import Identity, identity
from kernelband.propose import Author, Informed, Tried
from kernelband.propose.boundary import unseen_host
from kernelband.search._base import Choice
from kernelband.search._lab import Built, Lab
from kernelband.search.candidate import Candidate
from kernelband.search.demand import STALL_S, Demand
from kernelband.search.ordering import Ordering
from kernelband.search.programs import Programs
from kernelband.search.stories import Stories
from kernelband.source import compose
from kernelband.source.model import Program
from kernelband.strategies import STRATEGIES, Facts, Proposal
from kernelband_worker.wire import Case, CompileFacts, SpecialiseResult

Rank = Callable[[Candidate], Forecast]
#: Fresh proposals are added while fewer than this many compiled ones wait for the device.
ENOUGH = 4
LOOK_S = 0.1  # between two looks whether the device waits
WAIT_SHARE = 0.1  # of the seconds left, for the rest of what an arm compiles where there is no device


@frozen
class Outlook:
    """By (parent, strategy): the best forecast of what is compiled and waits; arms that have nothing left to propose."""

    forecasts: dict[tuple[int, str], float] = field(factory=dict[tuple[int, str], float])
    empty: frozenset[tuple[int, str]] = frozenset()


@frozen
class Prepared:
    """``candidates`` in proposal order. ``dropped``: (candidate, outcome), in proposal order, outcomes of free failures."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[tuple[Candidate, str], ...]
    proposed: int
    exhausted: bool  # the author has nothing more for this arm
    outlook: Outlook = field(factory=Outlook)


@define
class Preparer:
    """Not thread-safe: one preparation at a time. ``seen`` holds the keys that were proposed, by parent."""

    lab: Lab
    author: Author
    programs: Programs
    cases: tuple[Case, ...]
    rank: Rank
    facts: Callable[[int], Facts]  # of a parent
    left: Callable[[], float] = field(default=lambda: float("inf"))  # seconds of the budget
    seen: dict[int, set[str]] = field(factory=dict[int, set[str]])
    strange: set[int] = field(factory=set[int])  # variants with code that a model wrote
    stories: Stories = field(factory=Stories)  # what was tried, for authors that learn
    seconds: dict[str, float] = field(factory=dict[str, float])  # spent here, by step; beside the device
    demand: Demand = field(factory=Demand)
    _waiting: dict[tuple[int, str], list[Candidate]] = field(factory=dict[tuple[int, str], list[Candidate]])
    _dry: set[tuple[int, str]] = field(factory=set[tuple[int, str]])
    _enough: set[tuple[int, str]] = field(factory=set[tuple[int, str]])  # arms whose author isn't asked again for the same choice
    _known: set[str] = field(factory=set[str])  # names of identities (``identity_key``)
    _ordering: Ordering = field(factory=Ordering)
    _texts: set[str] = field(factory=set[str])
    _building: list[tuple[Future[Built], Candidate]] = field(factory=list[tuple[Future[Built], Candidate]])
    _early: dict[tuple[int, str], int] = field(factory=dict[tuple[int, str], int])  # proposed ahead of any choice, and not yet counted
    _lost: list[tuple[Candidate, str]] = field(factory=list[tuple[Candidate, str]])  # free failures not yet told

    def __attrs_post_init__(self) -> None:
        self._texts.add(_digest(self.programs.texts(0)))

    def know(self, name: str) -> None:
        """An identity (``identity_key``) that no candidate may have again: the original's, and of what was executed before a resume."""
        if name:
            self._known.add(name)

    def learn(self, strategy: str, move: str, key: str, outcome: str) -> None:
        """What came of a proposal: a move that often fails comes later, the same proposal for another parent last."""
        self._ordering.learn(strategy, move, key, outcome)

    def _order(self, candidate: Candidate) -> tuple[bool, float]:
        p = candidate.proposal
        return self._ordering.rank(p.strategy, p.move, p.key, candidate.forecast.score if candidate.forecast is not None else None)

    def outlook(self) -> Outlook:
        """What is known of the arms now: the forecasts of what waits for the device, and arms that turned out to have nothing.

        For the preparing thread, or while it rests.
        """
        self._lost += self._collect()
        scores = {
            arm: max(c.forecast.score for c in waiting if c.forecast is not None)
            for arm, waiting in self._waiting.items()
            if any(c.forecast is not None for c in waiting)
        }
        building = self._building_arms
        return Outlook(scores, frozenset(arm for arm in self._dry if arm not in building and not self._waiting.get(arm)))

    def is_building(self, parent: int, strategy: str) -> bool:
        """Whether the compilers still work for this arm."""
        return (parent, strategy) in self._building_arms

    def look_ahead(self, parent: int, limit: int) -> None:
        """Queue up to ``limit`` proposals of every arm of a promising parent, so that compilers have work while the device has.

        Raises:
            KernelBandError: the worker is gone.
        """
        for strategy in STRATEGIES:
            arm = parent, strategy.card.name
            if arm not in self._dry and arm not in self._building_arms and not self._waiting.get(arm):
                self._early[arm] = self._early.get(arm, 0) + self._propose(arm, limit, self._lost)

    def prepare(self, choice: Choice, limit: int, *, patient: bool = False) -> Prepared:
        """Candidates for the choice: those that wait, and up to ``limit`` new ones when few wait.

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
        while len(waiting) < min(ENOUGH, limit) and not (arm in self._dry and arm not in self._building_arms):
            if arm not in self._dry and arm not in self._building_arms:
                proposed += self._propose(arm, limit, dropped)
            self._wait(arm, patient=patient)
            dropped += self._collect()
            if arm in self._building_arms or (not patient and self._is_urgent()):
                break  # a straggler, or duplicates only: the device gets what is ready, of this arm or another
            if waiting and arm in self._enough:
                break
            if limit == 1 and dropped:  # a policy of one proposal a choice pays for a failure: no second try
                break
        return self._prepared(arm, dropped, proposed)

    def _prepared(self, arm: tuple[int, str], dropped: list[tuple[Candidate, str]], proposed: int) -> Prepared:
        exhausted = arm in self._dry and arm not in self._building_arms
        found = tuple(self._waiting.get(arm, ()))
        outlook = self.outlook()  # what has come meanwhile is told with the next preparation
        proposed += sum(self._early.pop(gone, 0) for gone in outlook.empty)  # nobody will choose them
        return Prepared(found, tuple(dropped), proposed, exhausted, outlook)

    def take(self, prepared: Prepared) -> Candidate:
        """The one that goes to the device now: the forecast's best, the author's order among equals.

        Chosen here, not while preparing: whether a preparation beside the device ends before or after the trial there must not decide what
        is tried next.
        """
        candidate = min(prepared.candidates, key=self._order)
        candidate.executed = True
        self._waiting[candidate.parent, candidate.proposal.strategy].remove(candidate)
        return candidate

    def special(self, parent: int, proposal: Proposal) -> Candidate | None:
        """The candidate of a proposal that no arm would make, compiled while the caller waits; None when it doesn't compile, or does what
        something executed does.

        Raises:
            KernelBandError: the worker is gone.
        """
        if unseen_host(self.programs.program(parent), proposal.patch, self.facts(parent).cases):
            return None
        candidate = self.candidate(parent, proposal, self.author.name)
        texts = _digest(candidate.texts)
        for waiting in self._waiting.values():
            for other in waiting:
                if _digest(other.texts) == texts:  # an arm has made it, and nobody has executed it
                    waiting.remove(other)
                    other.executed = True
                    return other
        if not self._is_new(candidate):
            return None
        if self.build(candidate):
            return None
        candidate.executed = True
        return candidate

    def build(self, candidate: Candidate) -> str:
        """Compile it while the caller waits; the outcome of a free failure, "" where there is none.

        Raises:
            KernelBandError: the worker is gone.
        """
        start = time.monotonic()
        job = self.lab.build(candidate.files, self.cases)
        wait([job])
        self._spent("compile", start)
        return self._sort_out(job, candidate)

    # ------------------------------------------------------------ steps
    def _propose(self, arm: tuple[int, str], limit: int, dropped: list[tuple[Candidate, str]]) -> int:
        """Write proposals and queue them for the compilers; how many there were."""
        written = self._write(arm, limit)
        for candidate in written:
            if self._is_new(candidate):
                self._building.append((self.lab.build(candidate.files, self.cases), candidate))
            else:
                dropped.append((candidate, "duplicate"))
        return len(written)

    def _write(self, arm: tuple[int, str], limit: int) -> list[Candidate]:
        start = time.monotonic()
        parent, strategy = arm
        seen = self.seen.setdefault(parent, set())
        try:
            program = self.programs.program(parent)
        except KernelBandError:  # an edit took the kernel out of sight: nothing can be built on this parent
            self._dry.add(arm)
            return []
        if isinstance(self.author, Informed):
            self.author.inform(self.stories.of(parent))
        draft = self.author.write(program, strategy, self.facts(parent), seen, limit)
        seen |= {p.key for p in draft.proposals}
        if draft.exhausted or not draft.proposals:
            self._dry.add(arm)
        (self._enough.add if draft.enough else self._enough.discard)(arm)
        out = [self.candidate(parent, p, draft.authors.get(p.key, self.author.name)) for p in draft.proposals]
        self._spent("propose", start)
        return out

    def candidate(self, parent: int, proposal: Proposal, author: str) -> Candidate:
        """A proposal with its patch to the run's base texts; nothing is compiled yet."""
        base = dict(self.programs.texts(0))
        patch = compose(self.programs.patch(parent), proposal.patch, base)
        texts = patch.apply(base)
        files = self.lab.keep(texts, [f.path for f in patch.files])
        return Candidate(parent, author, proposal, patch, texts, files, strange=parent in self.strange)

    def _is_new(self, candidate: Candidate) -> bool:
        """Whether no other way led to the same text before: there and back again, say."""
        digest = _digest(candidate.texts)
        new = digest not in self._texts
        self._texts.add(digest)
        return new

    @property
    def _building_arms(self) -> set[tuple[int, str]]:
        return {(c.parent, c.proposal.strategy) for _, c in self._building}

    def _wait(self, arm: tuple[int, str], *, patient: bool) -> None:
        """Until everything of the arm is built, the budget is over, or, unless ``patient``, nothing has come for some time or the device
        waits: one hanging compiler must not keep it waiting. Without a device nothing but the budget is kept waiting: what is ready is
        tried after a share of what is left.
        """
        start = news = time.monotonic()
        until = start if self.lab.measured else start + WAIT_SHARE * self.left()
        left = {job for job, c in self._building if (c.parent, c.proposal.strategy) == arm}
        while left and self.left() > 0:
            done, left = wait(left, timeout=min(LOOK_S, max(0.0, self.left())), return_when=FIRST_COMPLETED)
            now = time.monotonic()
            news = now if done else news
            if not patient and now >= until and (self._is_urgent() or (self.lab.measured and now - news >= STALL_S)):
                break
        self._spent("compile", start)

    def _is_urgent(self) -> bool:
        """The device has waited long enough, and something is compiled."""
        ready = any(self._waiting.values()) or any(job.done() and not job.exception() for job, _ in self._building)
        return ready and self.demand.urgent

    def _collect(self) -> list[tuple[Candidate, str]]:
        """Sort out what is built, in proposal order; the free failures of it.

        Raises:
            KernelBandError: the worker is gone.
        """
        lost: list[tuple[Candidate, str]] = []
        for job, candidate in [x for x in self._building if x[0].done()]:
            self._building.remove((job, candidate))
            outcome = self._sort_out(job, candidate)
            if outcome:
                lost.append((candidate, outcome))
            else:
                self._waiting.setdefault((candidate.parent, candidate.proposal.strategy), []).append(candidate)
        return lost

    def _sort_out(self, job: Future[Built], candidate: Candidate) -> str:
        """The outcome of a free failure; nothing when the candidate may go to the device."""
        error = job.exception()
        if error is not None:
            if not isinstance(error, KernelBandError) or (fault_of(error) is None and not isinstance(error, ExecutorFault)):
                raise error
            candidate.problem = error.message
            outcome = "oom" if fault_of(error) == "oom" else "compile_error"
            self._tell_author(candidate, outcome, f"{error.message} {error.detail}".strip())
            return outcome
        built = job.result()
        candidate.specialised, candidate.facts, candidate.traffic = built.specialised, built.facts, built.traffic
        candidate.identity = identity(built.specialised, built.facts, outside_kernels(built.specialised, self.programs.base))
        name = identity_key(candidate.identity)
        if name in self._known:
            self._tell_author(candidate, "duplicate")
            return "duplicate"
        self.know(name)
        candidate.forecast = self.rank(candidate)
        return ""

    def _tell_author(self, candidate: Candidate, outcome: str, reason: str = "") -> None:
        self.stories.add(candidate.parent, Tried(candidate.proposal.key, candidate.proposal.what, outcome, reason))

    def _spent(self, step: str, start: float) -> float:
        now = time.monotonic()
        self.seconds[step] = self.seconds.get(step, 0.0) + now - start
        return now


def _digest(texts: dict[str, str]) -> str:
    return sha256("\0".join(f"{path}\0{texts[path]}" for path in sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()


def outside_kernels(specialised: SpecialiseResult, program: Program) -> set[str]:
    """Names of ``host_hash`` that aren't kernels: those speak for themselves by their machine code."""
    kernels = {k.place.qualname for k in (program.kernel, *program.helpers)}
    return {name for name in specialised["host_hash"] if name.partition(":")[2] not in kernels}


def identity_key(found: Identity | None) -> str:
    """A name for it: equal exactly for what ``judge.identity.equal`` calls equal; "" for what nothing can be said of."""
    if found is None or not found.launches:
        return ""
    content = sorted(found.launches.items()), sorted(found.hosts.items())
    return sha256(repr(content).encode()).hexdigest()[:32]


def facts_of(candidate: Candidate) -> tuple[CompileFacts, ...]:
    """Its compile facts in the order of its launches."""
    return tuple(candidate.facts.values())
