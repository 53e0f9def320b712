"""A trial on the device: judged, made a member of the frontier where it is right, written down with all that came before it, told."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import takewhile
from statistics import fmean

from attrs import define, evolve, field

from kernelband.hardware.changes import changes
from kernelband.hardware.work import Work
from kernelband.history import trials
from kernelband.history.outcome import Outcome
from kernelband.history.outcome import outcome as outcome_of
from kernelband.history.records import PullRow
from kernelband.judge.protocol import Candidate, Verdict
from kernelband.judge.result import Result
from kernelband.search._base import CORRECT, Choice, Member, Pull
from kernelband.search.events import TrialEnded
from kernelband.search.frontier import reward, reward_paper
from kernelband.search.session import Session, Stopwatch
from kernelband.search.trial import Moved, Trial, pull_row


@define
class Execution:
    """Of one run. The pulls of free failures are written with the next trial's."""

    s: Session
    _late: list[PullRow] = field(factory=list[PullRow])

    def execute(self, trial: Trial, choice: Choice, step: int, watch: Stopwatch, known: Verdict | None = None) -> Verdict:
        """Judge it, unless the verdict is ``known``, and write it down.

        Raises:
            KernelBandError: what isn't the trial's fault.
        """
        s, p = self.s, trial.proposal
        number = trial.number = len(s.trials) + 1
        with (
            s.journal.during("measure" if s.lab.measured else "check", number),
            ThreadPoolExecutor(1, thread_name_prefix="form") as beside,  # reading a large file takes as long as a short trial
        ):
            form = beside.submit(s.programs.form, trial)
            verdict = known or self._judge(trial, step)
        result = verdict.result
        if result.checked:
            s.journal.reach("seconds_to_checked")
        best, incumbent = s.frontier.best, s.leader
        trial.outcome = self._outcome(trial, result)
        pull = evolve(trial.pull(step, trial.outcome), incumbent=incumbent, propensity=choice.propensity)
        member = self._member(trial, result)
        if trial.outcome in CORRECT and member is not None:
            if trial.forecast is not None:
                member = evolve(member, forecast=trial.forecast.score)
            gain = reward(best.seconds, member.seconds, counts=trial.outcome in ("faster", "likely_faster"))
            paper = reward_paper(s.frontier[trial.parent].mean_seconds, member.mean_seconds)
            pull = evolve(pull, reward=gain, reward_paper=paper)
            trial.member = member
            s.frontier.add(member)
            if s.frontier.is_dropped(trial.parent):  # it was prepared when that wasn't known
                s.frontier.drop(number)
        s.builder.tell(trial, trial.outcome, result.reason)
        self._append(pull, p.key, choice.reason)
        self._commit(trial, verdict, form.result(), watch)
        s.count("executed")
        said = trial.forecast if not s.lab.measured else None
        gains, costs = trial.moved_here or (None, None)
        s.journal.emit(
            TrialEnded(
                number=number,
                variant=number,
                parent=trial.parent,
                strategy=p.strategy,
                what=p.what,
                outcome=trial.outcome,
                reason=result.reason,
                seconds=trial.seconds,
                best=s.leader,
                tier=said.tier if said is not None else None,
                fact=said.fact if said is not None else None,
                score=trial.score,
                parent_gains=gains,
                parent_costs=costs,
            )
        )
        return verdict

    def drop(self, trial: Trial, choice: Choice, step: int, outcome: str) -> None:
        """A free failure: counted, not executed."""
        pull = evolve(trial.pull(step, outcome), incumbent=self.s.leader, propensity=choice.propensity)
        self._append(pull, trial.proposal.key, trial.problem or choice.reason)

    def exhaust(self, choice: Choice, step: int) -> None:
        """The chosen arm had nothing left."""
        self.s.frontier.exhaust(choice.parent, choice.strategy)
        self._append(Pull(step, choice.parent, choice.strategy, outcome="nothing_left"), "", choice.reason)

    def flush(self) -> None:
        """Free failures after the last trial: they belong to the log too. The pull of a trial is written with its trial or not at all."""
        rows = tuple(takewhile(lambda row: not row.executed, self._late))
        self._late.clear()
        if rows:  # an interrupt may come when they are written, and before they are forgotten here
            written = {p.position for p in trials.pulls(self.s.journal.store, self.s.journal.run)}
            trials.write(self.s.journal.store, trials.Rows(pulls=tuple(r for r in rows if r.position not in written)))

    # ------------------------------------------------------------ steps

    def _judge(self, trial: Trial, step: int) -> Verdict:
        """Checked and timed, or interpreted where nothing is measured.

        What a model wrote is judged in a process that nothing else of the run uses, neither before nor after: it meets no state of the
        original's.
        """
        s = self.s
        judged = Candidate(trial.files, trial.proposal.numerics)
        judge = partial(s.judge.screen, lead=self._lead()) if s.lab.measured else s.judge.interpret
        if not trial.isolated:
            return judge(s.lab.measuring(), judged)
        executor = s.lab.fresh(f"apart-{step}-{trial.number}")
        try:
            return judge(executor, judged)
        finally:
            executor.close()

    def _lead(self) -> dict[str, float]:
        """The leader's ratio by case."""
        return {case: ratio.value for case, ratio in self.s.trials[self.s.leader].cases.items()} if self.s.leader else {}

    def _outcome(self, trial: Trial, result: Result) -> str:
        """What the pull is called: by measured speed, or by the forecast's tier where nothing is measured."""
        found = outcome_of(result, trial.forecast.tier if trial.forecast is not None else None)
        if found is Outcome.UNTESTED:
            return "not_measured" if self.s.lab.measured else "inconclusive"
        return found.logged

    def _member(self, trial: Trial, result: Result) -> Member | None:
        """What it is on the frontier; None after a fault or without a time.

        Tells the trial what its launches do, and which facts became better and worse by it.
        """
        s = self.s
        if result.fault != "none" or trial.built is None:
            return None
        original, parent = s.frontier[0], s.trials.get(trial.parent)
        trial.works = found = s.profile.works(trial.launches, trial.facts, trial.built.traffic)
        trial.moved = self._moved(s.profile.before, found)
        if parent is not None and parent.works is not None:
            trial.moved_here = self._moved(parent.works, found)
        if not s.lab.measured:
            score = max(trial.forecast.score if trial.forecast is not None else 1.0, 1e-6)
            return s.profile.member(trial.number, (original.seconds / score, original.mean_seconds / score), found, None)
        if result.score is None or result.score.value <= 0:
            return None
        times = {c.case: c.device_after_us if s.options.objective == "device" else c.call_after_us for c in result.cases}
        seconds = original.seconds / result.score.value, fmean(times.values()) * 1e-6
        return s.profile.member(trial.number, seconds, found, times)

    def _moved(self, before: Sequence[Work], after: Sequence[Work]) -> Moved:
        moved = changes(self.s.lab.device, before, after)
        return tuple(c.sentence for c in moved if c.better), tuple(c.sentence for c in moved if not c.better)

    def _append(self, pull: Pull, key: str, reason: str) -> None:
        s = self.s
        self._late.append(pull_row(s.journal.run, len(s.log), pull, key, reason))
        s.log.append(pull)
        if key:
            s.preparer.ordering.learn(pull.strategy, pull.move, key, pull.outcome)

    def _commit(self, trial: Trial, verdict: Verdict, form: str | None, watch: Stopwatch) -> None:
        s = self.s
        trial.started, trial.seconds = watch.started, watch.seconds
        with s.journal.during("commit", trial.number):
            trial.clock = watch.spans(s.journal.clock.snapshot())
            rows = trial.to_rows(s.journal.run, verdict, form, s.options.objective)
            trials.write(s.journal.store, evolve(rows, pulls=tuple(self._late)))
            self._late.clear()
        trial.built = None  # nobody asks again what it launches and moves: a run may have hundreds of trials
        s.trials[trial.number] = trial
