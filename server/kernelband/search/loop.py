"""The loop: ask, prepare ahead, execute the forecast's best, tell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor

from attrs import Factory, define, evolve, field

from kernelband.search._base import Choice, Pull
from kernelband.search.events import ArmChosen, CandidatesCompiled
from kernelband.search.execution import Execution
from kernelband.search.frontier import Outlook, offered
from kernelband.search.last_trials import LastTrials, Prepare
from kernelband.search.preparer import Prepared
from kernelband.search.session import Session, Stopwatch
from kernelband.search.stop import NOTHING_LEFT, Progress, percent_of_light, why_stop
from kernelband.search.trial import Trial

#: With fewer compilers what is chosen keeps them busy.
LEAST_BUILDERS = 4


@define
class Loop:
    """``reserve`` says how many seconds the final needs, as far as is known. ``between``: what is done between trials, while there are any
    to come.
    """

    s: Session
    reserve: Callable[[], float]
    between: Callable[[], None] = lambda: None
    step: int = 0
    stopped: str = ""  # why, at the end
    light: float | None = None  # percent of the speed of light that the leader reaches
    launches: str = ""  # that launching the original takes longer than its work
    _ahead: tuple[Choice, Future[Prepared]] | None = None
    _stalled: set[tuple[int, str]] = field(factory=set[tuple[int, str]])  # arms whose compilers lag behind
    _early: Future[None] | None = None
    _outlook: Outlook = field(factory=Outlook)
    _execution: Execution = field(init=False, default=Factory(lambda self: Execution(self.s), takes_self=True))
    _last: LastTrials = field(init=False, default=Factory(lambda self: LastTrials(self.s), takes_self=True))
    _background: ThreadPoolExecutor = field(factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="prepare"))

    def run(self) -> None:
        """Until trials, seconds or ideas are used up.

        Raises:
            KernelBandError: what isn't a variant's fault.
        """
        self.step = max((p.step for p in self.s.log), default=-1) + 1
        try:
            if self._early is not None:
                self._early.result()  # an error of its thread is the run's
                self._know(self.s.preparer.outlook())
            while True:
                ending = self.stopped or self._why_stop()
                if not ending:
                    self.between()
                if self._special(ending=bool(ending)):
                    continue
                if ending:
                    break
                if not self._once():
                    self.stopped = NOTHING_LEFT
        finally:
            self._background.shutdown(wait=False, cancel_futures=True)  # what it still compiles ends with the worker
            self._execution.flush()

    def look_ahead(self, parent: int) -> None:
        """Let proposals of every arm of a promising parent be compiled beside what the device does. Measured runs of policies that pay for
        trials only; of a parent in depth as far as there are compilers.
        """
        policy, builders = self.s.policy, self.s.lab.builders
        free = self.s.builder.author.free
        if free and self.s.lab.measured and not policy.failures_cost and policy.proposals > 1 and builders >= LEAST_BUILDERS:
            limit = policy.proposals if parent == 0 else max(1, builders // LEAST_BUILDERS)
            self._early = self._background.submit(self.s.preparer.look_ahead, parent, limit)

    def _once(self) -> bool:
        """One choice; False when every arm is exhausted."""
        s, watch = self.s, self.s.journal.stopwatch()
        ahead = self._ahead or self._begin(pending=None)
        self._ahead = None
        if ahead is None:
            return False
        choice, future = ahead
        s.journal.emit(ArmChosen(self.step, choice.parent, choice.strategy, choice.reason))
        s.look()  # while the choice compiles
        with s.journal.during("compile", len(s.trials) + 1, span="waiting"), s.preparer.device_waits(self._patience()):
            prepared = future.result()
        step = self._settle(choice, prepared)
        if not prepared.ready:
            if (choice.parent, choice.strategy) in s.preparer.building:
                self._stalled.add((choice.parent, choice.strategy))
            elif prepared.exhausted:
                self._execution.exhaust(choice, step)
            return True
        if s.trials and not s.journal.budget.allows(s.spent, self.reserve()):
            return True  # the compilers took what was left; the first trial is worth being late for
        trial = s.preparer.take(prepared)
        rest = [t.forecast.score for t in prepared.ready if t is not trial and t.forecast is not None]
        others = {arm: score for arm, score in self._outlook.forecasts.items() if arm != trial.arm}
        self._outlook = evolve(self._outlook, forecasts=others | ({trial.arm: max(rest)} if rest else {}))
        if not s.policy.failures_cost and s.journal.budget.allows(s.spent + 1, self.reserve()):
            trial.number = len(s.trials) + 1
            # Nothing is known of it yet: a pull without a reward, so that the next choice doesn't bet on the same card twice.
            self._ahead = self._begin(pending=trial.pull(step, "pending"))
        self._execute(trial, choice, step, watch)
        return True

    def _special(self, *, ending: bool) -> bool:
        """Execute a variant that no arm would make, when the search is nearly over; whether there was one."""
        budget = self.s.journal.budget

        def is_last(count: int) -> bool:
            return ending or not budget.allows(self.s.spent + count, self.reserve() + 2 * count * self.s.pace)

        able = budget.allows(self.s.spent, self.reserve())
        return able and any(self._execute_special(prepare, reason) for prepare, reason in self._last.ideas(is_last))

    def _execute_special(self, prepare: Prepare, reason: str) -> bool:
        s, watch = self.s, self.s.journal.stopwatch()
        if self._ahead is not None:  # one preparation at a time; what it compiled stays
            choice, future = self._ahead
            self._ahead = None
            self._settle(choice, future.result())
        with s.journal.during("compile", len(s.trials) + 1, span="waiting"):
            trial = prepare()
        if trial is None:
            return False
        p = trial.proposal
        choice = Choice(trial.parent, p.strategy, reason=f"{reason}: {p.why}")
        s.journal.emit(ArmChosen(self.step, choice.parent, p.strategy, choice.reason))
        self._execute(trial, choice, self._settle(choice, Prepared((trial,))), watch)
        return True

    def _execute(self, trial: Trial, choice: Choice, step: int, watch: Stopwatch) -> None:
        verdict = self._execution.execute(trial, choice, step, watch)
        if self.s.leader == trial.number:
            self.look_ahead(trial.number)
            self.see({c.case: c.device_after_us for c in verdict.result.cases})

    def _settle(self, choice: Choice, prepared: Prepared) -> int:
        """Count and write down what became of a preparation; its step."""
        self._know(prepared.outlook)
        step, self.step = self.step, self.step + 1
        self._count(choice, step, prepared)
        for trial, outcome in prepared.dropped:
            self._execution.drop(trial, choice, step, outcome)
        return step

    def _count(self, choice: Choice, step: int, prepared: Prepared) -> None:
        s, proposed = self.s, prepared.proposed
        failed = sum(outcome in ("compile_error", "oom") for _, outcome in prepared.dropped)
        duplicates = len(prepared.dropped) - failed
        for what, count in (
            ("proposed", proposed),
            ("compiled", proposed - failed),
            ("compile_errors", failed),
            ("duplicates", duplicates),
        ):
            s.count(what, count)
        ready = len(prepared.ready)
        s.journal.emit(CandidatesCompiled(step, choice.strategy, proposed=proposed, compiled=ready, failed=failed, duplicates=duplicates))

    def _begin(self, pending: Pull | None) -> tuple[Choice, Future[Prepared]] | None:
        """Ask, and let the answer be prepared beside the device."""
        s = self.s
        log = (*s.log, pending) if pending is not None else tuple(s.log)
        step = self.step
        self._stalled &= s.preparer.building
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
        return choice, self._background.submit(s.preparer.prepare, choice, s.policy.proposals, patient=patient)

    def _patience(self) -> float:
        """Seconds that the device may wait for better than what is compiled: as many as a trial can spare."""
        return self.s.journal.budget.spare(self.s.spent, self.s.pace, self.reserve())

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
