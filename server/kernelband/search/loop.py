"""The loop: ask, prepare ahead, execute the forecast's best, judge, commit, tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import takewhile
from statistics import fmean, median

from attrs import define, evolve, field, frozen

from kernelband.hardware.changes import changes
from kernelband.history import trials
from kernelband.history.records import PullRow
from kernelband.judge.protocol import Candidate as Judged
from kernelband.judge.protocol import Verdict
from kernelband.judge.result import Result
from kernelband.search import record
from kernelband.search._base import Choice, Member, Pull
from kernelband.search.candidate import Candidate
from kernelband.search.events import ArmChosen, CandidatesCompiled, TrialEnded
from kernelband.search.frontier import reward, reward_paper
from kernelband.search.preparer import Prepared
from kernelband.search.session import Session, Trial

#: Outcomes after which a variant may be a parent.
CORRECT = ("faster", "slower", "inconclusive", "equal", "likely_faster", "unclear", "likely_slower")


@frozen
class Attempt:
    """A trial on its way: ``clock`` is the run's when it began."""

    number: int
    step: int
    choice: Choice
    candidate: Candidate
    started: float
    begin: float
    clock: dict[str, float]


@define
class Loop:
    """``reserve`` says how many seconds the final needs, as far as is known."""

    s: Session
    reserve: Callable[[], float]
    step: int = 0
    _ahead: tuple[Choice, Future[Prepared]] | None = None
    _late: list[PullRow] = field(factory=list[PullRow])
    _stalled: set[tuple[int, str]] = field(factory=set[tuple[int, str]])  # arms whose compilers hang

    def run(self) -> None:
        """Until trials, seconds or ideas are used up.

        Raises:
            KernelBandError: what isn't a variant's fault.
        """
        self.step = max((p.step for p in self.s.log), default=-1) + 1
        background = ThreadPoolExecutor(1, thread_name_prefix="prepare")
        try:
            while self.s.journal.budget.allows(self.s.spent, self.reserve()) and self._once(background):
                pass
        finally:
            background.shutdown(wait=False, cancel_futures=True)  # what it still compiles ends with the worker
            self._flush()

    def _once(self, background: ThreadPoolExecutor) -> bool:
        """One choice; False when every arm is exhausted."""
        s, started, before = self.s, time.time(), dict(self.s.journal.clock.snapshot())
        begin = time.monotonic()
        ahead = self._ahead or self._begin(background, pending=None)
        self._ahead = None
        if ahead is None:
            return False
        choice, future = ahead
        s.journal.emit(ArmChosen(self.step, choice.parent, choice.strategy, choice.reason))
        with s.journal.during("compile", len(s.trials) + 1, span="waiting"):
            prepared = future.result()
        step, self.step = self.step, self.step + 1
        self._count(step, choice, prepared)
        for candidate, outcome in prepared.dropped:
            self._tell(step, choice, candidate, outcome)
        if not prepared.candidates:
            if s.preparer.is_building(choice.parent, choice.strategy):
                self._stalled.add((choice.parent, choice.strategy))
            elif prepared.exhausted:
                s.frontier.exhaust(choice.parent, choice.strategy)
                self._append(Pull(step, choice.parent, choice.strategy, None, False, 0.0, 0.0, "nothing_left"), "", choice)
            return True
        candidate = prepared.candidates[0]
        s.preparer.take(candidate)
        number = len(s.trials) + 1
        if not s.policy.failures_cost and s.journal.budget.allows(s.spent + 1, self.reserve()):
            self._ahead = self._begin(background, pending=self._pending(step, choice, candidate, number))
        self._execute(Attempt(number, step, choice, candidate, started, begin, before))
        return True

    def _begin(self, background: ThreadPoolExecutor, pending: Pull | None) -> tuple[Choice, Future[Prepared]] | None:
        """Ask, and let the answer be prepared beside the device."""
        s = self.s
        log = (*s.log, pending) if pending is not None else tuple(s.log)
        step = self.step
        self._stalled = {arm for arm in self._stalled if s.preparer.is_building(*arm)}
        with s.journal.clock.span("propose"):
            members = s.frontier.members
            open_ = tuple(evolve(m, exhausted=m.exhausted | {name for v, name in self._stalled if v == m.variant}) for m in members)
            choice = s.policy.ask(step, open_, log, s.options.seed)
            patient = choice is None and bool(self._stalled)
            if patient:
                choice = s.policy.ask(step, members, log, s.options.seed)
        if choice is None:
            return None
        return choice, background.submit(s.preparer.prepare, choice, s.policy.proposals, patient=patient)

    def _pending(self, step: int, choice: Choice, candidate: Candidate, number: int) -> Pull:
        # Nothing is known of it yet: counted as a pull without a reward, so that the next choice doesn't bet on the same card twice.
        return Pull(step, choice.parent, choice.strategy, number, True, 0.0, 0.0, "pending", candidate.proposal.move)

    # ------------------------------------------------------------ execute

    def _execute(self, attempt: Attempt) -> None:
        s, choice, candidate, number = self.s, attempt.choice, attempt.candidate, attempt.number
        with s.journal.during("measure" if s.lab.measured else "check", number):
            verdict = self._judge(candidate)
        best, incumbent = s.frontier.best, s.leader
        member, mean = self._member(candidate, number, verdict)
        outcome = self._outcome(candidate, verdict.result)
        correct = outcome in CORRECT and member is not None
        gain = 0.0
        paper = 0.0
        if correct and member is not None and mean is not None:
            gain = reward(best.seconds, member.seconds, counts=outcome in ("faster", "likely_faster"))
            paper = reward_paper(s.frontier.means[choice.parent], mean)
            s.frontier.add(member, mean)
            s.programs.add(number, candidate.patch, candidate.facts)
        pull = Pull(
            attempt.step,
            choice.parent,
            choice.strategy,
            number,
            True,
            paper,
            gain,
            outcome,
            candidate.proposal.move,
            incumbent,
            choice.propensity,
        )
        self._append(pull, candidate.proposal.key, choice)
        seconds = time.monotonic() - attempt.begin
        self._commit(attempt, verdict, member if correct else None, mean, seconds)
        s.count("executed")
        self._report(candidate, number, outcome, verdict.result, seconds)

    def _judge(self, candidate: Candidate) -> Verdict:
        s = self.s
        judged = Judged(candidate.files, candidate.proposal.numerics)
        executor = s.lab.measuring()
        return s.judge.screen(executor, judged) if s.lab.measured else s.judge.interpret(executor, judged)

    def _outcome(self, candidate: Candidate, result: Result) -> str:
        if self.s.lab.measured:
            return record.outcome(result)
        if result.fault != "none" or result.correctness != "interpreted":
            return record.outcome(result) if result.fault != "none" or result.correctness != "untested" else "inconclusive"
        return record.tier_outcome(candidate.forecast)

    def _member(self, candidate: Candidate, number: int, verdict: Verdict) -> tuple[Member | None, float | None]:
        s, result = self.s, verdict.result
        if result.fault != "none" or candidate.specialised is None:
            return None, None
        original, base_mean = s.frontier[0], s.frontier.means[0]
        found = s.profile.works(candidate.specialised["launches"], candidate.facts, candidate.traffic)
        moved = changes(s.lab.device, s.profile.before, found)
        candidate.gains = tuple(c.sentence for c in moved if c.better)
        candidate.costs = tuple(c.sentence for c in moved if not c.better)
        if not s.lab.measured:
            score = candidate.forecast.score if candidate.forecast is not None else 1.0
            return s.profile.member(number, found, original.seconds / max(score, 1e-6), None), base_mean / max(score, 1e-6)
        if result.score is None or result.score.value <= 0:
            return None, None
        objective = s.options.objective
        times = {c.case: c.device_after_us if objective == "device" else c.call_after_us for c in result.cases}
        seconds = original.seconds / result.score.value
        return s.profile.member(number, found, seconds, times), fmean(times.values()) * 1e-6

    # ------------------------------------------------------------ write down

    def _tell(self, step: int, choice: Choice, candidate: Candidate, outcome: str) -> None:
        """A free failure: counted, not executed."""
        pull = Pull(
            step,
            candidate.parent,
            candidate.proposal.strategy,
            None,
            False,
            0.0,
            0.0,
            outcome,
            candidate.proposal.move,
            self.s.leader,
            choice.propensity,
        )
        self._append(pull, candidate.proposal.key, choice, candidate.problem)

    def _append(self, pull: Pull, key: str, choice: Choice, problem: str = "") -> None:
        self._late.append(record.pull_row(self.s.journal.run, len(self.s.log), pull, key, problem or choice.reason))
        self.s.log.append(pull)
        if key:
            self.s.preparer.learn(pull.strategy, pull.move, key, pull.outcome)

    def _commit(self, attempt: Attempt, verdict: Verdict, member: Member | None, mean: float | None, seconds: float) -> None:
        s, candidate, number, before = self.s, attempt.candidate, attempt.number, attempt.clock
        run = s.journal.run
        result = verdict.result
        with s.journal.during("commit", number):
            after = s.journal.clock.snapshot()
            clock = {k: round(v - before.get(k, 0.0), 3) for k, v in after.items() if v > before.get(k, 0.0)}
            rows = trials.Rows(
                variants=(record.variant_row(run, number, candidate, member, mean if member else None),),
                trials=(record.trial_row(run, number, result, attempt.started, (seconds, clock)),),
                measurements=record.measurement_rows(run, number, "screening", verdict.measurements),
                facts=record.facts_rows(run, number, candidate.facts),
                pulls=tuple(self._late),
            )
            trials.write(s.journal.store, rows)
            self._late.clear()
        score = result.score if s.lab.measured else None
        s.trials[number] = Trial(
            number,
            candidate.proposal.numerics,
            s.log[-1].outcome,
            score.value if score else None,
            score.low if score else None,
            seconds,
            candidate.patch,
            candidate.proposal.strategy,
            candidate.proposal.what,
            None if s.lab.measured or candidate.forecast is None else candidate.forecast.tier,
            None if s.lab.measured or candidate.forecast is None else candidate.forecast.fact,
        )

    def _flush(self) -> None:
        """Free failures after the last trial: they belong to the log too. The pull of a trial is written with its trial or not at all."""
        rows = tuple(takewhile(lambda row: not row.executed, self._late))
        self._late.clear()
        if rows:
            trials.write(self.s.journal.store, trials.Rows(pulls=rows))

    # ------------------------------------------------------------ say

    def _count(self, step: int, choice: Choice, prepared: Prepared) -> None:
        failed = sum(outcome == "compile_error" for _, outcome in prepared.dropped)
        duplicates = len(prepared.dropped) - failed
        self.s.count("proposed", prepared.proposed)
        self.s.count("compiled", prepared.proposed - failed)
        self.s.count("compile_errors", failed)
        self.s.count("duplicates", duplicates)
        compiled = len(prepared.candidates)
        self.s.journal.emit(CandidatesCompiled(step, choice.strategy, prepared.proposed, compiled, failed, duplicates))

    def _report(self, candidate: Candidate, number: int, outcome: str, result: Result, seconds: float) -> None:
        s = self.s
        trial = s.trials[number]
        s.journal.emit(
            TrialEnded(
                number,
                number,
                candidate.parent,
                trial.strategy,
                trial.what,
                outcome,
                result.reason,
                seconds,
                s.leader,
                trial.tier,
                trial.fact,
                trial.score,
            )
        )


def pace(s: Session) -> float:
    """Median seconds of a trial, everything included; 0 while there is none."""
    return median(t.seconds for t in s.trials.values()) if s.trials else 0.0
