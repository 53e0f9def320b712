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
from kernelband.propose import Author
from kernelband.search._base import Choice
from kernelband.search._lab import Built, Lab
from kernelband.search.candidate import Candidate
from kernelband.search.programs import Programs
from kernelband.source import compose
from kernelband.source.model import Program
from kernelband.strategies import Facts, Proposal
from kernelband_worker.wire import Case, CompileFacts, SpecialiseResult

Rank = Callable[[Candidate], Forecast]
#: Fresh proposals are added while fewer than this many compiled ones wait for the device.
ENOUGH = 4
#: Seconds without news from the compilers after which the device gets what is ready.
STALL_S = 3.0
#: Outcomes that speak against a move.
FAILED = frozenset({"wrong", "nondeterministic", "rejected", "crashed", "timeout", "oom", "compile_error", "duplicate"})


@frozen
class Prepared:
    """``candidates``: the forecast's best first. ``dropped``: (candidate, outcome), in proposal order, outcomes of free failures."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[tuple[Candidate, str], ...]
    proposed: int
    exhausted: bool  # the author has nothing more for this arm


@define
class Preparer:
    """Not thread-safe: one preparation at a time. ``seen`` holds the keys that were proposed, by parent."""

    lab: Lab
    author: Author
    programs: Programs
    cases: tuple[Case, ...]
    rank: Rank
    facts: Callable[[int], Facts]  # of a parent
    seen: dict[int, set[str]] = field(factory=dict[int, set[str]])
    seconds: dict[str, float] = field(factory=dict[str, float])  # spent here, by step; beside the device
    _waiting: dict[tuple[int, str], list[Candidate]] = field(factory=dict[tuple[int, str], list[Candidate]])
    _dry: set[tuple[int, str]] = field(factory=set[tuple[int, str]])
    _known: set[str] = field(factory=set[str])  # names of identities (``identity_key``)
    _outcomes: dict[str, list[bool]] = field(factory=dict[str, list[bool]])  # by move, and by proposal: was it any good?
    _texts: set[str] = field(factory=set[str])
    _building: list[tuple[Future[Built], Candidate]] = field(factory=list[tuple[Future[Built], Candidate]])

    def __attrs_post_init__(self) -> None:
        self._texts.add(_digest(self.programs.texts(0)))

    def know(self, name: str) -> None:
        """An identity (``identity_key``) that no candidate may have again: the original's, and of what was executed before a resume."""
        if name:
            self._known.add(name)

    def learn(self, strategy: str, move: str, key: str, outcome: str) -> None:
        """What came of a proposal: a move that often fails comes later, the same proposal for another parent last."""
        for name in (f"{strategy}.{move}", key):
            self._outcomes.setdefault(name, []).append(outcome not in FAILED)

    def _order(self, candidate: Candidate) -> tuple[bool, float]:
        p = candidate.proposal
        failed = False in self._outcomes.get(p.key, ())
        past = self._outcomes.get(f"{p.strategy}.{p.move}", ())
        prior = (1 + sum(past)) / (1 + len(past))
        return failed, -prior * (candidate.forecast.score if candidate.forecast is not None else 1.0)

    def is_building(self, parent: int, strategy: str) -> bool:
        """Whether the compilers still work for this arm."""
        return (parent, strategy) in self._building_arms

    def prepare(self, choice: Choice, limit: int, *, patient: bool = False) -> Prepared:
        """Candidates for the choice: those that wait, and up to ``limit`` new ones when few wait.

        ``patient``: there is no other arm, so wait for a straggler.

        Raises:
            KernelBandError: the worker is gone.
        """
        arm = choice.parent, choice.strategy
        waiting = self._waiting.setdefault(arm, [])
        dropped = self._collect()
        proposed = 0
        while len(waiting) < min(ENOUGH, limit) and not (arm in self._dry and arm not in self._building_arms):
            if arm not in self._dry and arm not in self._building_arms:
                written = self._write(choice, limit)
                proposed += len(written)
                for candidate in written:
                    if self._is_new(candidate):
                        self._building.append((self.lab.build(candidate.files, self._case_ids), candidate))
                    else:
                        dropped.append((candidate, "duplicate"))
            self._wait(arm, patient=patient or not self.lab.measured)  # without a device nothing is kept waiting
            dropped += self._collect()
            if arm in self._building_arms:
                break  # a straggler: the device gets what is ready, of this arm or another
            if limit == 1 and dropped:  # a policy of one proposal a choice pays for a failure: no second try
                break
        waiting.sort(key=self._order)  # stable: the author's order among equals
        return Prepared(tuple(waiting), tuple(dropped), proposed, arm in self._dry and arm not in self._building_arms)

    def take(self, candidate: Candidate) -> None:
        """It goes to the device now."""
        candidate.executed = True
        self._waiting[candidate.parent, candidate.proposal.strategy].remove(candidate)

    # ------------------------------------------------------------ steps
    def _write(self, choice: Choice, limit: int) -> list[Candidate]:
        start = time.monotonic()
        seen = self.seen.setdefault(choice.parent, set())
        try:
            program = self.programs.program(choice.parent)
        except KernelBandError:  # an edit took the kernel out of sight: nothing can be built on this parent
            self._dry.add((choice.parent, choice.strategy))
            return []
        draft = self.author.write(program, choice.strategy, self.facts(choice.parent), seen, limit)
        seen |= {p.key for p in draft.proposals}
        if draft.exhausted or not draft.proposals:
            self._dry.add((choice.parent, choice.strategy))
        out = [self._candidate(choice.parent, p) for p in draft.proposals]
        self._spent("propose", start)
        return out

    def _candidate(self, parent: int, proposal: Proposal) -> Candidate:
        base = dict(self.programs.texts(0))
        patch = compose(self.programs.patch(parent), proposal.patch, base)
        texts = patch.apply(base)
        files = self.lab.keep(texts, [f.path for f in patch.files])
        return Candidate(parent, self.author.name, proposal, patch, texts, files)

    def _is_new(self, candidate: Candidate) -> bool:
        """Whether no other way led to the same text before: there and back again, say."""
        digest = _digest(candidate.texts)
        new = digest not in self._texts
        self._texts.add(digest)
        return new

    @property
    def _case_ids(self) -> list[str]:
        return [c["id"] for c in self.cases if c["replayable"]]

    @property
    def _building_arms(self) -> set[tuple[int, str]]:
        return {(c.parent, c.proposal.strategy) for _, c in self._building}

    def _wait(self, arm: tuple[int, str], *, patient: bool) -> None:
        """Until everything of the arm is built, or, unless ``patient``, nothing has come for some time: one hanging compiler must not keep
        the device waiting.
        """
        start = time.monotonic()
        left = {job for job, c in self._building if (c.parent, c.proposal.strategy) == arm}
        while left:
            done, left = wait(left, timeout=None if patient else STALL_S, return_when=FIRST_COMPLETED)
            if not done:
                break
        self._spent("compile", start)

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
            return "compile_error"
        built = job.result()
        candidate.specialised, candidate.facts = built.specialised, built.facts
        candidate.identity = identity(built.specialised, built.facts, outside_kernels(built.specialised, self.programs.base))
        name = identity_key(candidate.identity)
        if name in self._known:
            return "duplicate"
        self.know(name)
        candidate.forecast = self.rank(candidate)
        return ""

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
