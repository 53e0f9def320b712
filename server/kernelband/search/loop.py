"""The loop: ask, prepare ahead, execute the forecast's best, judge, commit, tell."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import takewhile
from statistics import median

from attrs import Factory, define, evolve, field

from kernelband.history import trials
from kernelband.history.records import PullRow
from kernelband.judge.protocol import Verdict
from kernelband.judge.result import Result
from kernelband.propose import Tried
from kernelband.search import attempts, record
from kernelband.search._base import Choice, Member, Pull
from kernelband.search.attempts import Attempt
from kernelband.search.candidate import Candidate
from kernelband.search.events import ArmChosen, CandidatesCompiled, TrialEnded
from kernelband.search.frontier import reward, reward_paper
from kernelband.search.offer import offered
from kernelband.search.preparer import Outlook, Prepared
from kernelband.search.session import Session, Trial
from kernelband.search.specials import Prepare, Specials
from kernelband.search.stop import NOTHING_LEFT, Progress, percent_of_light, why_stop

#: With fewer compilers what is chosen keeps them busy.
LEAST_BUILDERS = 4


@define
class Loop:
    """``reserve`` says how many seconds the final needs, as far as is known."""

    s: Session
    reserve: Callable[[], float]
    step: int = 0
    stopped: str = ""  # why, at the end
    light: float | None = None  # percent of the speed of light that the leader reaches
    launches: str = ""  # that launching the original takes longer than its work
    _ahead: tuple[Choice, Future[Prepared]] | None = None
    _late: list[PullRow] = field(factory=list[PullRow])
    _stalled: set[tuple[int, str]] = field(factory=set[tuple[int, str]])  # arms whose compilers lag behind
    _early: Future[None] | None = None
    _outlook: Outlook = field(factory=Outlook)
    _specials: Specials = field(init=False, default=Factory(lambda self: Specials(self.s), takes_self=True))
    _background: ThreadPoolExecutor = field(factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="prepare"))

    def run(self) -> None:
        """Until trials, seconds or ideas are used up.

        Raises:
            KernelBandError: what isn't a variant's fault.
        """
        self.step = max((p.step for p in self.s.log), default=-1) + 1
        background = self._background
        try:
            if self._early is not None:
                self._early.result()  # an error of its thread is the run's
                self._know(self.s.preparer.outlook())
            while True:
                ending = self.stopped or self._why_stop()
                if self._special(ending=bool(ending)):
                    continue
                if ending:
                    break
                if not self._once(background):
                    self.stopped = NOTHING_LEFT
        finally:
            background.shutdown(wait=False, cancel_futures=True)  # what it still compiles ends with the worker
            self._flush()

    def look_ahead(self, parent: int) -> None:
        """Let proposals of every arm of a promising parent be compiled beside what the device does. Measured runs of policies that pay for
        trials only; of a parent in depth as far as there are compilers.
        """
        policy, builders = self.s.policy, self.s.lab.builders
        free = self.s.preparer.author.free
        if free and self.s.lab.measured and not policy.failures_cost and policy.proposals > 1 and builders >= LEAST_BUILDERS:
            limit = policy.proposals if parent == 0 else max(1, builders // LEAST_BUILDERS)
            self._early = self._background.submit(self.s.preparer.look_ahead, parent, limit)

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
        s.look()  # while the choice compiles
        with s.journal.during("compile", len(s.trials) + 1, span="waiting"), s.preparer.demand.waiting(self._patience()):
            prepared = future.result()
        step = self._settle(choice, prepared)
        if not prepared.candidates:
            if s.preparer.is_building(choice.parent, choice.strategy):
                self._stalled.add((choice.parent, choice.strategy))
            elif prepared.exhausted:
                s.frontier.exhaust(choice.parent, choice.strategy)
                self._append(Pull(step, choice.parent, choice.strategy, None, False, 0.0, 0.0, "nothing_left"), "", choice)
            return True
        if s.trials and not s.journal.budget.allows(s.spent, self.reserve()):
            return True  # the compilers took what was left; the first trial is worth being late for
        candidate = s.preparer.take(prepared)
        rest = [c.forecast.score for c in prepared.candidates if c is not candidate and c.forecast is not None]
        arm = candidate.parent, candidate.proposal.strategy
        others = {a: score for a, score in self._outlook.forecasts.items() if a != arm}
        self._outlook = evolve(self._outlook, forecasts=others | ({arm: max(rest)} if rest else {}))
        number = len(s.trials) + 1
        if not s.policy.failures_cost and s.journal.budget.allows(s.spent + 1, self.reserve()):
            self._ahead = self._begin(background, pending=self._pending(step, choice, candidate, number))
        self.execute(Attempt(number, step, choice, candidate, started, begin, before))
        return True

    def _special(self, *, ending: bool) -> bool:
        """Execute a variant that no arm would make, when the search is nearly over; whether there was one."""
        budget = self.s.journal.budget

        def is_last(count: int) -> bool:
            return ending or not budget.allows(self.s.spent + count, self.reserve() + 2 * count * pace(self.s))

        able = budget.allows(self.s.spent, self.reserve())
        return able and any(self._execute_special(prepare, reason) for prepare, reason in self._specials.ideas(is_last))

    def _execute_special(self, prepare: Prepare, reason: str) -> bool:
        s = self.s
        started, begin, before = time.time(), time.monotonic(), dict(s.journal.clock.snapshot())
        if self._ahead is not None:  # one preparation at a time; what it compiled stays
            choice, future = self._ahead
            self._ahead = None
            self._settle(choice, future.result())
        with s.journal.during("compile", len(s.trials) + 1, span="waiting"):
            candidate = prepare()
        if candidate is None:
            return False
        p = candidate.proposal
        choice = Choice(candidate.parent, p.strategy, 0, 0.0, 1.0, f"{reason}: {p.why}")
        s.journal.emit(ArmChosen(self.step, choice.parent, p.strategy, choice.reason))
        step = self._settle(choice, Prepared((candidate,), (), 1, exhausted=False))
        self.execute(Attempt(len(s.trials) + 1, step, choice, candidate, started, begin, before))
        return True

    def _settle(self, choice: Choice, prepared: Prepared) -> int:
        """Count and write down what became of a preparation; its step."""
        self._know(prepared.outlook)
        step, self.step = self.step, self.step + 1
        self._count(step, choice, prepared)
        for candidate, outcome in prepared.dropped:
            self._tell(step, choice, candidate, outcome)
        return step

    def _begin(self, background: ThreadPoolExecutor, pending: Pull | None) -> tuple[Choice, Future[Prepared]] | None:
        """Ask, and let the answer be prepared beside the device."""
        s = self.s
        log = (*s.log, pending) if pending is not None else tuple(s.log)
        step = self.step
        self._stalled = {arm for arm in self._stalled if s.preparer.is_building(*arm)}
        with s.journal.clock.span("propose"):
            members, patient = s.frontier.members, False
            choice = None
            if self._stalled and pending is None:  # the device waits: what is compiled goes first
                choice = s.policy.ask(step, offered(members, self._outlook, self._stalled, only_ready=True), log, s.options.seed)
            if choice is None:
                choice = s.policy.ask(step, offered(members, self._outlook, self._stalled), log, s.options.seed)
            if choice is None and self._stalled:
                choice, patient = s.policy.ask(step, offered(members, self._outlook), log, s.options.seed), True
        if choice is None:
            return None
        return choice, background.submit(s.preparer.prepare, choice, s.policy.proposals, patient=patient)

    def _patience(self) -> float:
        """Seconds that the device may wait for better than what is compiled: as many as a trial can spare."""
        return self.s.journal.budget.spare(self.s.spent, pace(self.s), self.reserve())

    def _why_stop(self) -> str:
        s = self.s
        progress = Progress(len(s.trials), s.spent, s.leader, self.light, self.launches)
        self.stopped = why_stop(s.journal.budget, progress, self.reserve(), final=s.lab.measured)
        return self.stopped

    def see(self, device_us: Mapping[str, float]) -> None:
        """The leader's device time by case: how near it is to the speed of light."""
        s = self.s
        timing = [c for c in s.cases if c["role"] == "time"]
        known = s.lab.measured and s.options.objective == "device"  # submission has no such limit
        self.light = percent_of_light(s.lab.device, timing, s.profile.before, device_us) if known else None

    def _know(self, outlook: Outlook) -> None:
        """Arms that are known to have nothing leave the game without costing a step."""
        self._outlook = outlook
        for parent, strategy in outlook.empty:
            self.s.frontier.exhaust(parent, strategy)

    def _pending(self, step: int, choice: Choice, candidate: Candidate, number: int) -> Pull:
        # Nothing is known of it yet: counted as a pull without a reward, so that the next choice doesn't bet on the same card twice.
        return Pull(step, choice.parent, choice.strategy, number, True, 0.0, 0.0, "pending", candidate.proposal.move)

    # ------------------------------------------------------------ execute

    def execute(self, attempt: Attempt, known: Verdict | None = None) -> Verdict:
        """Judge it, unless the verdict is ``known``, and write it down."""
        s, choice, candidate, number = self.s, attempt.choice, attempt.candidate, attempt.number
        with s.journal.during("measure" if s.lab.measured else "check", number):
            verdict = known or attempts.judge(s, attempt)
        if verdict.result.checked:
            s.journal.reach("seconds_to_checked")
        best, incumbent = s.frontier.best, s.leader
        member, mean = attempts.member(s, attempt, verdict)
        outcome = attempts.outcome(s, candidate, verdict.result)
        correct = outcome in attempts.CORRECT and member is not None
        gain = 0.0
        paper = 0.0
        if correct and member is not None and mean is not None:
            if candidate.forecast is not None:
                member = evolve(member, forecast=candidate.forecast.score)
            gain = reward(best.seconds, member.seconds, counts=outcome in ("faster", "likely_faster"))
            paper = reward_paper(s.frontier.means[choice.parent], mean)
            s.frontier.add(member, mean)
            s.programs.add(number, candidate.patch, candidate.facts)
            s.works[number] = candidate.works or ()
            if candidate.isolated:
                s.preparer.strange.add(number)
            s.preparer.stories.born(number, choice.parent, candidate.proposal.what)
        s.preparer.stories.add(choice.parent, Tried(candidate.proposal.key, candidate.proposal.what, outcome, verdict.result.reason))
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
        if s.leader == number:
            self.look_ahead(number)
            self.see({c.case: c.device_after_us for c in verdict.result.cases})
        self._report(candidate, number, outcome, verdict.result, seconds)
        return verdict

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
            form = s.programs.form(number, candidate.patch)
            rows = trials.Rows(
                variants=(record.variant_row(run, number, candidate, member, mean if member else None, form=form),),
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
            candidate.parent,
            candidate.proposal.move,
            candidate.proposal.key,
            s.edits(candidate.parent, candidate.proposal.parameters),
            candidate.proposal.parameters,
            record.ratios(rows.trials[0].result, s.options.objective),
        )

    def _flush(self) -> None:
        """Free failures after the last trial: they belong to the log too. The pull of a trial is written with its trial or not at all."""
        rows = tuple(takewhile(lambda row: not row.executed, self._late))
        self._late.clear()
        if rows:  # an interrupt may come when they are written, and before they are forgotten here
            written = {p.position for p in trials.pulls(self.s.journal.store, self.s.journal.run)}
            trials.write(self.s.journal.store, trials.Rows(pulls=tuple(r for r in rows if r.position not in written)))

    # ------------------------------------------------------------ say

    def _count(self, step: int, choice: Choice, prepared: Prepared) -> None:
        failed = sum(outcome in ("compile_error", "oom") for _, outcome in prepared.dropped)
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
                *(candidate.step or (None, None)),
            )
        )


def pace(s: Session) -> float:
    """Median seconds of a trial, everything included; 0 while there is none."""
    return median(t.seconds for t in s.trials.values()) if s.trials else 0.0
