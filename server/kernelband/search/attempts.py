"""A trial on its way: what the device is asked about a candidate, and what its answer makes of it: an outcome, and a member or none."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from attrs import frozen

from kernelband.hardware.changes import changes
from kernelband.hardware.work import Work
from kernelband.history.outcome import Outcome
from kernelband.history.outcome import outcome as outcome_of
from kernelband.judge.protocol import Candidate as Judged
from kernelband.judge.protocol import Verdict
from kernelband.judge.result import Result
from kernelband.search._base import Choice, Member
from kernelband.search.candidate import Candidate
from kernelband.search.session import Session

#: Outcomes after which a variant may be a parent.
CORRECT = ("faster", "slower", "inconclusive", "equal", "likely_faster", "unclear", "likely_slower")


@frozen
class Attempt:
    """A candidate that goes to the device as trial ``number``.

    ``started``: time of day, ``begin``: monotonic, both in seconds; ``clock`` is the run's when it began.
    """

    number: int
    step: int
    choice: Choice
    candidate: Candidate
    started: float
    begin: float
    clock: dict[str, float]


def judge(s: Session, attempt: Attempt) -> Verdict:
    """Checked and timed, or interpreted where nothing is measured.

    What a model wrote is judged in a process that nothing else of the run uses, neither before nor after: it meets no state of the
    original's.

    Raises:
        KernelBandError: what isn't the candidate's fault.
    """
    candidate = attempt.candidate
    judged = Judged(candidate.files, candidate.proposal.numerics)
    execute = s.judge.screen if s.lab.measured else s.judge.interpret
    if not candidate.isolated:
        return execute(s.lab.measuring(), judged)
    executor = s.lab.fresh(f"apart-{attempt.step}-{attempt.number}")
    try:
        return execute(executor, judged)
    finally:
        executor.close()


def outcome(s: Session, candidate: Candidate, result: Result) -> str:
    """What the pull is called: by measured speed, or by the forecast's tier where nothing is measured."""
    found = outcome_of(result, candidate.forecast.tier if candidate.forecast is not None else None)
    if found is Outcome.UNTESTED:
        return "not_measured" if s.lab.measured else "inconclusive"
    return "rejected" if found is Outcome.SUSPECT else found.value


def member(s: Session, attempt: Attempt, verdict: Verdict) -> tuple[Member | None, float | None]:
    """What it is on the frontier, and its arithmetic mean over timing cases in seconds; neither after a fault or without a time.

    Tells the candidate what its launches do, and which facts became better and worse by it.
    """
    candidate, result = attempt.candidate, verdict.result
    if result.fault != "none" or candidate.specialised is None:
        return None, None
    original, base_mean = s.frontier[0], s.frontier.means[0]
    found = s.profile.works(candidate.specialised["launches"], candidate.facts, candidate.traffic)
    candidate.works = found
    candidate.gains, candidate.costs = _moved(s, s.profile.before, found)
    if candidate.parent in s.works:
        candidate.step = _moved(s, s.works[candidate.parent], found)
    if not s.lab.measured:
        score = candidate.forecast.score if candidate.forecast is not None else 1.0
        return s.profile.member(attempt.number, found, original.seconds / max(score, 1e-6), None), base_mean / max(score, 1e-6)
    if result.score is None or result.score.value <= 0:
        return None, None
    objective = s.options.objective
    times = {c.case: c.device_after_us if objective == "device" else c.call_after_us for c in result.cases}
    seconds = original.seconds / result.score.value
    return s.profile.member(attempt.number, found, seconds, times), fmean(times.values()) * 1e-6


def _moved(s: Session, before: Sequence[Work], after: Sequence[Work]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Facts that became better, and worse."""
    moved = changes(s.lab.device, before, after)
    return tuple(c.sentence for c in moved if c.better), tuple(c.sentence for c in moved if not c.better)
