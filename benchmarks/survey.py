"""Records a landscape: every proposal of the original, compiled and executed; then every proposal of the best and of a few others.

Three kinds of threads: one writes proposals, some compile ahead (in the lab's processes), and the caller's executes what is ready, arm by
arm in turn, alternately the author's first and the forecast's best: both kinds of policy will find what they would have chosen.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from attrs import define, evolve, field, frozen
from recorded import CORRECT
from surveyed import Entry

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.hardware.forecast import Forecast
from kernelband.history.outcome import outcome
from kernelband.judge.faults import fault_of
from kernelband.judge.identity import identity
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate, Verdict
from kernelband.propose import Author
from kernelband.search._base import ARMS
from kernelband.search._lab import Lab
from kernelband.search.preparation import Baseline
from kernelband.search.programs import Programs
from kernelband.search.trial import Trial
from kernelband.source import compose
from kernelband.source.model import text_hash
from kernelband.strategies import Facts, Proposal
from kernelband_worker.wire import Case

Arm = tuple[int, str]
MOST_READY = 200  # compiled and waiting: compiling farther ahead would only be thrown away
MOST_ERRORS = 5  # in a row that nobody can be blamed for: then something is wrong with the machine
JOIN_S = 30.0  # a compilation has a deadline of its own
EVERYTHING = 100_000  # proposals of an arm


@frozen
class Plan:
    """``first``: share of the seconds for depth 1. Parents of the next depth: the ``per_strategy`` best of each strategy, the ``best`` of
    all, and ``drawn`` at random. ``dry``: compile and forecast, execute nothing.
    """

    seconds: float
    depth: int = 2
    first: float = 0.4
    per_strategy: int = 2
    best: int = 12
    drawn: int = 4
    ahead: int = 24
    dry: bool = False
    seed: int = 0


@define
class Survey:
    """``entries`` are the nodes in the order of their writing, the original first."""

    lab: Lab
    judge: Judge
    author: Author
    programs: Programs
    cases: tuple[Case, ...]
    base: Baseline
    rank: Callable[[Trial], Forecast]
    facts: Callable[[int], Facts]
    plan: Plan
    objective: str = "device"
    tell: Callable[[str], None] = lambda _: None
    entries: list[Entry] = field(factory=list[Entry])
    executed: int = 0
    busy_s: float = 0.0  # the device's, of ``seconds``
    seconds: float = 0.0
    _texts: dict[str, int] = field(factory=dict[str, int])
    _known: dict[str, int] = field(factory=dict[str, int])
    _change: threading.Condition = field(factory=threading.Condition)
    _stop: bool = False
    _error: BaseException | None = None
    _written: dict[Arm, list[Entry]] = field(factory=dict[Arm, list[Entry]])  # not compiled yet
    _ready: dict[Arm, list[Entry]] = field(factory=dict[Arm, list[Entry]])
    _taken: dict[Arm, int] = field(factory=dict[Arm, int])  # given to the compilers
    _done: dict[Arm, int] = field(factory=dict[Arm, int])  # given to the device
    _writing: bool = False
    _building: int = 0
    _errors: int = 0

    def run(self) -> None:
        """Until everything to the planned depth is recorded, or the seconds are over.

        Raises:
            KernelBandError: the worker is gone; what was recorded so far stands in ``entries``.
        """
        begin = time.monotonic()
        self.entries.append(Entry.original(self.base, self.cases))
        self._texts[_text(self.programs.base.texts)] = 0
        if self.base.compiled.identity:
            self._known[self.base.compiled.identity] = 0
        parents = [0]
        try:
            for depth in range(1, self.plan.depth + 1):
                left = begin + self.plan.seconds - time.monotonic()
                share = self.plan.first if depth == 1 and self.plan.depth > 1 else 1 / (self.plan.depth - depth + 1)
                if left <= 0 or not parents:
                    break
                self._round(parents, time.monotonic() + left * share, depth)
                parents = self._parents(depth)
        finally:
            self.seconds = time.monotonic() - begin

    # ------------------------------------------------------------ one depth

    def _round(self, parents: Sequence[int], until: float, depth: int) -> None:
        self._written, self._ready, self._taken, self._done = {}, {}, {}, {}
        self._stop, self._writing, self._building = False, True, 0
        names = ["write", *(f"build-{i}" for i in range(self.plan.ahead))]
        jobs = [lambda: self._write(parents, depth), *[self._build_all] * self.plan.ahead]
        threads = [
            threading.Thread(target=self._guarded, args=(job,), name=name, daemon=True) for name, job in zip(names, jobs, strict=True)
        ]
        for thread in threads:
            thread.start()
        try:
            while (entry := self._next(until)) is not None:
                if self.plan.dry and entry.candidate is not None:
                    self.programs.trials[entry.id] = entry.candidate
                    entry.candidate = None
                else:
                    self._execute(entry)
        finally:
            with self._change:
                self._stop = True
                self._change.notify_all()
            for thread in threads:
                thread.join(JOIN_S)
            for entry in self.entries:
                entry.candidate = None  # nobody comes back to them
        self.tell(f"depth {depth}: {self.count()}")

    def _guarded(self, job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            with self._change:
                self._error = self._error or error
                self._change.notify_all()

    def _write(self, parents: Sequence[int], depth: int) -> None:
        try:
            for parent in parents:
                for arm in ARMS:
                    if self._stop:
                        return
                    try:
                        program = self.programs.program(parent)
                        draft = self.author.write(program, arm.name, self.facts(parent), set[str](), EVERYTHING)
                    except KernelBandError as error:  # an edit took the kernel out of sight: nothing can be built on it
                        self.tell(f"nothing can be built on node {parent}: {error.message}")
                        break
                    self._add((parent, arm.name), draft.proposals, depth)
        finally:
            with self._change:
                self._writing = False
                self._change.notify_all()

    def _add(self, arm: Arm, proposals: Sequence[Proposal], depth: int) -> None:
        base = dict(self.programs.base.texts)
        found: list[Entry] = []
        texts: dict[int, dict[str, str]] = {}
        for rank, proposal in enumerate(proposals):
            patch = compose(self.programs.patch(arm[0]), proposal.patch, base)
            after = patch.apply(base)
            files = self.lab.keep(after, [f.path for f in patch.files])
            candidate = Trial(arm[0], self.author.name, evolve(proposal, patch=patch), files)
            candidate.number = len(self.entries) + len(found)
            found.append(Entry.of(candidate.number, depth, rank, candidate))
            texts[found[-1].id] = after
        with self._change:
            self.entries += found
            new: list[Entry] = []
            for entry in found:
                same = self._texts.setdefault(_text(texts[entry.id]), entry.id)
                if same != entry.id:
                    entry.duplicate_of(same)
                else:
                    new.append(entry)
            self._written[arm] = new
            self._change.notify_all()

    # ------------------------------------------------------------ compile

    def _build_all(self) -> None:
        while (entry := self._to_build()) is not None:
            try:
                self._build(entry)
            finally:
                with self._change:
                    self._building -= 1
                    self._change.notify_all()

    def _to_build(self) -> Entry | None:
        """The author's next of the arm that had the fewest compiled."""
        with self._change:
            while True:
                if self._stop or self._error is not None:
                    return None
                open_ = [arm for arm, left in self._written.items() if left]
                full = not self.plan.dry and sum(map(len, self._ready.values())) >= MOST_READY
                if open_ and not full:
                    arm = min(open_, key=lambda a: self._taken.get(a, 0))
                    self._taken[arm] = self._taken.get(arm, 0) + 1
                    self._building += 1
                    return self._written[arm].pop(0)
                if not open_ and not self._writing:
                    return None
                self._change.wait(1.0)

    def _build(self, entry: Entry) -> None:
        candidate = entry.candidate
        assert candidate is not None
        begin = time.monotonic()
        try:
            built = self.lab.build(candidate.files, self.cases).result()
        except KernelBandError as error:
            if self._stop:
                return  # the round is over, and with it perhaps the lab
            if fault_of(error) is None and not isinstance(error, ExecutorFault):
                raise
            entry.failed("oom" if fault_of(error) == "oom" else "compile_error", error.message, time.monotonic() - begin)
            return
        entry.compile_s = time.monotonic() - begin
        candidate.built, candidate.facts = built, built.facts
        name = candidate.identity = identity(built.specialised, built.facts, self.programs.base.kernel_names)
        with self._change:
            same = self._known.setdefault(name, entry.id) if name else entry.id
            if same != entry.id:
                entry.duplicate_of(same, name)
                return
            candidate.forecast = self.rank(candidate)  # under the lock: made for one thread
            entry.compiled(name, candidate, self.base.compiled.profiler)
            self._ready.setdefault((entry.parent, entry.strategy), []).append(entry)
            self._change.notify_all()

    # ------------------------------------------------------------ execute

    def _next(self, until: float) -> Entry | None:
        """What is executed now; None at the end of the depth or of its time."""
        with self._change:
            while True:
                if self._error is not None:
                    raise self._error
                arms = [arm for arm, left in self._ready.items() if left]
                if time.monotonic() >= until:
                    return None
                if arms:
                    arm = min(arms, key=lambda a: self._done.get(a, 0))
                    turn = self._done[arm] = self._done.get(arm, 0) + 1
                    waiting = self._ready[arm]
                    first = turn % 2 == 1
                    entry = min(waiting, key=lambda e: e.rank if first else -(e.forecast_score or 0.0))
                    waiting.remove(entry)
                    self._change.notify_all()
                    return entry
                if not self._writing and not self._building and not any(self._written.values()):
                    return None
                self._change.wait(min(1.0, max(0.01, until - time.monotonic())))

    def _execute(self, entry: Entry) -> None:
        candidate = entry.candidate
        assert candidate is not None
        begin = time.monotonic()
        try:
            verdict = self.judge.screen(self.lab.measuring(), Candidate(candidate.files, candidate.proposal.numerics))
            self._errors = 0
        except KernelBandError as error:
            self._errors += 1
            if error.kind == "lost" or self._errors >= MOST_ERRORS:
                raise
            entry.failed("crashed", error.message, entry.compile_s)  # of one variant nobody knows: the next one decides
            self.lab.measuring().restart()  # an error of the device can outlive the call that caused it
            return
        finally:
            self.busy_s += time.monotonic() - begin
            entry.candidate = None  # the texts of a thousand variants would stay
        self.executed += 1
        self._judged(entry, candidate, verdict)
        if self.executed % 50 == 0:
            self.tell(self.count())

    def _judged(self, entry: Entry, candidate: Trial, verdict: Verdict) -> None:
        became = outcome(verdict.result).logged
        entry.judged(became, verdict)
        score = verdict.result.score
        if became not in CORRECT or score is None or score.value <= 0 or candidate.built is None:
            return
        times = {c.case: c.device_after_us if self.objective == "device" else c.call_after_us for c in verdict.result.cases}
        profiler = self.base.compiled.profiler
        found = profiler.works(candidate.launches, candidate.facts, candidate.built.traffic)
        seconds = self.base.member.seconds / score.value, fmean(times.values()) * 1e-6
        member = profiler.member(entry.id, seconds, found, times)
        entry.seen(member)
        self.programs.trials[entry.id] = candidate

    # ------------------------------------------------------------ the next depth

    def _parents(self, depth: int) -> list[int]:
        """The best of each strategy, the best of all, and some drawn from the rest; the best first."""
        able = [e for e in self.entries if e.depth == depth and self._may_be_parent(e)]
        able.sort(key=lambda e: -e.value)
        chosen = [e.id for e in able[: self.plan.best]]
        for arm in ARMS:
            chosen += [e.id for e in [e for e in able if e.strategy == arm.name][: self.plan.per_strategy]]
        rest = [e.id for e in able if e.id not in chosen]
        drawn = random.Random(self.plan.seed).sample(rest, min(self.plan.drawn, len(rest)))  # noqa: S311 - not a secret
        return list(dict.fromkeys([*chosen, *drawn]))

    def _may_be_parent(self, entry: Entry) -> bool:
        return entry.may_be_parent if not self.plan.dry else entry.id in self.programs.trials

    def count(self) -> str:
        """One line for people."""
        outcomes: dict[str, int] = {}
        for e in self.entries[1:]:
            outcomes[e.outcome] = outcomes.get(e.outcome, 0) + 1
        best = max((e.value for e in self.entries if e.outcome == "faster"), default=0.0)
        said = ", ".join(f"{n} {o}" for o, n in sorted(outcomes.items(), key=lambda x: -x[1]))
        return f"{len(self.entries) - 1} proposed, {self.executed} executed ({said}); best on screening {math.exp(best):.2f}×"


def _text(texts: Mapping[str, str]) -> str:
    return text_hash("\0".join(f"{path}\0{texts[path]}" for path in sorted(texts)))
