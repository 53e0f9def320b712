"""The end of a run: the few best in fresh processes, or, predicted, the candidate that one would bet on; and what goes into the row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from attrs import evolve

from kernelband.history import trials
from kernelband.history.records import ArmRow
from kernelband.judge import specialisations
from kernelband.judge.final import final
from kernelband.judge.protocol import Candidate, FinalReport, Verdict
from kernelband.search import choice_by_size
from kernelband.search.clusters import replay, representative
from kernelband.search.events import FinalEnded, Noted
from kernelband.search.session import Session
from kernelband.search.trial import Trial, final_row, measurement_rows

CONFIRM = ("faster", "inconclusive")  # what screening may have said of a finalist
WORTH = 1.02  # an inconclusive one must at least look better
NEAR = 1.03  # within so much of the best screening figure, a variant with fewer edits may be the better answer
AS_FAST = 1.01  # ratios of the final that differ by less than this are the same to a reader of the patch
FIRST_TRIAL_S = 1.0  # on the device, until one is known
CHECK_S = 1.5  # of a finalist more under stress: they are checked beside each other, and compile for sizes of their own
TURNS_S = 0.1  # of a version in a round, on each timing case
HIDDEN_S = 4.0  # of one that a model wrote, under stress among its timed calls; expected, not yet measured
ORDINARY_S = 3.0  # that timing the original takes where there is no long import and no tuning
AGAIN = 2.0  # times that the rest of it comes again: for measuring, and later for proofs
SHARE = 0.6  # of the seconds, at most, that are kept back for the final


def finalists(s: Session) -> list[Trial]:
    """At most ``settings.finalists`` trials, none that screening showed to be no better: the best screening figure first, then what is
    nearly as fast with the fewest edits, then the next best. Where the best chooses by size, what it must beat comes before those. An
    earlier final's winner is one more: all that are verified were compared with each other.
    """
    able = [t for t in s.trials.values() if t.outcome in CONFIRM and t.score is not None and not s.frontier.is_dropped(t.number)]
    able = [t for t in able if t.outcome == "faster" or (t.score or 0) >= WORTH]
    able.sort(key=lambda t: (t.outcome != "faster", -(t.score or 0), t.number))
    near = [t for t in able if (t.score or 0) * NEAR >= (able[0].score or 0)]
    first = [*able[:1], *sorted(near, key=lambda t: t.edits)[:1]]
    able.sort(key=lambda t: first.index(t) if t in first else len(first))
    chosen = choice_by_size.in_final(s, able)[: s.judge.settings.finalists]
    return [*chosen, *(s.trials[n] for n in winners(s) if s.trials[n] not in chosen)]


def winners(s: Session) -> tuple[int, ...]:
    """What the newest final verified, by number."""
    return tuple(n for n, row in s.finals.items() if row.verified)


def in_order(verified: Mapping[int, float], edits: Mapping[int, int]) -> tuple[int, ...]:
    """Verified variants (their ratios) as a person should see them: the fastest first, but of those that are as fast the one with the
    fewest edits.
    """
    best = max(verified.values(), default=0.0)
    plain = min((n for n, ratio in verified.items() if ratio * AS_FAST >= best), key=lambda n: (edits[n], -verified[n], n), default=None)
    return tuple(sorted(verified, key=lambda n: (n != plain, -verified[n], n)))


def reserve(s: Session, capture_s: float, first_s: float = 0.0) -> float:
    """Seconds that the final will take, from what the run has seen: processes are forked, and make their contexts beside each other;
    they import the program and tune as the first one did (``first_s`` seconds, with the original's times), those that prove later than
    those that measure; finalists are checked under stress; in each round original, finalists and a copy take turns; winners run the
    entry, a part of what capture did (``capture_s``).

    Of three finalists 17 s are expected where 16.6 were taken (matmul, three timing cases; H200, 16 slow cores). With a long import three
    programs took 41 to 48 s, of which 15 to 18 were expected before that counted (Liger-Kernel's; H200, 16 cores).
    """
    if s.journal.budget.seconds is None:
        return 0.0
    if not s.lab.measured:  # nothing comes after: most of the trial itself must fit in; the first ones also wait for compilers to start
        return min(s.pace / 2, SHARE * s.journal.budget.seconds)
    chosen = finalists(s)
    if s.trials and not news(s, chosen):
        return 0.0
    hidden_s = HIDDEN_S * sum(t.isolated for t in chosen)
    count = len(chosen) if s.trials else s.judge.settings.finalists
    return min(seconds_of(s, count, capture_s, first_s) + hidden_s, SHARE * s.journal.budget.seconds)


def seconds_of(s: Session, count: int, capture_s: float, first_s: float) -> float:
    """What a final of so many is expected to take; ``reserve`` says from what."""
    spent = s.journal.clock.seconds
    trial_s = spent.get("time", 0.0) / len(s.trials) if s.trials else FIRST_TRIAL_S
    timed = sum(c["role"] == "time" for c in s.cases)
    rounds_s = s.judge.settings.processes * (2 + count) * TURNS_S * max(1, timed)
    guess = 0.75 * spent.get("start", 3.0) + CHECK_S * count + trial_s + capture_s / 10 + rounds_s
    return guess + AGAIN * max(0.0, first_s - ORDINARY_S)


def news(s: Session, chosen: Sequence[Trial]) -> bool:
    """Whether there is anybody among them whom no final has verified."""
    return not {t.number for t in chosen} <= set(winners(s))


def confirm(s: Session) -> tuple[int, ...]:
    """Run the final of the finalists and write it down; the numbers of the verified variants, the best first.

    Raises:
        KernelBandError: what isn't a variant's fault.
    """
    chosen = finalists(s)
    if s.lab.measured and news(s, chosen):
        run_final(s, chosen)
    good = {n: s.finals[n].score or 0.0 for n in winners(s)}
    order = in_order(good, {t.number: t.edits for t in chosen})
    if order and good[order[0]] < max(good.values()):
        fastest = max(good, key=lambda n: good[n])
        s.journal.emit(Noted(f"Variant {order[0]} comes first: it is as fast as {fastest} within 1 %, with fewer edits."))
    return order


def run_final(s: Session, chosen: Sequence[Trial]) -> tuple[Verdict, ...]:
    """The final of these trials, written down and told; verdicts in their order.

    Raises:
        KernelBandError: what isn't a variant's fault.
    """
    candidates = [candidate(s, trial) for trial in chosen]
    choice = choice_by_size.chooser(s, chosen[0].number)
    if choice is not None:
        ids = {t.number: c.id for t, c in zip(chosen, candidates, strict=True)}
        candidates[0] = evolve(candidates[0], dispatch=choice_by_size.dispatch(s, choice, ids))
    s.lab.make_way(s.judge.gpu)
    with s.journal.during("final"):
        report = final(s.judge, s.lab.fresh, candidates)
    conclude(s, [t.number for t in chosen], report)
    return report.verdicts


def candidate(s: Session, trial: Trial) -> Candidate:
    """What a final judges."""
    facts = s.programs.facts
    said = specialisations.remark(facts(0), facts(trial.number), sum(c["replayable"] for c in s.cases))
    return Candidate(trial.files, trial.proposal.numerics, ours=not trial.isolated, remark=said)


def conclude(s: Session, numbers: Sequence[int], report: FinalReport, *, early: bool = False) -> None:
    """Write down what a final said of these variants, in one transaction and in place of what an earlier one said, and tell it."""
    run = s.journal.run
    if any(verdict.result.verified for verdict in report.verdicts):
        s.journal.reach("seconds_to_verified")
    found = list(zip(numbers, report.verdicts, strict=True))
    finals = tuple(final_row(run, number, verdict) for number, verdict in found)
    measured = [*measurement_rows(run, 0, "final", report.baseline)]
    for number, verdict in found:
        measured += (
            *measurement_rows(run, number, "final", verdict.measurements),
            *measurement_rows(run, number, "unseen", verdict.unseen),
        )
    with s.journal.during("commit"):
        trials.write(s.journal.store, trials.Rows(finals=finals, measurements=tuple(measured)))
    s.finals = {row.variant: row for row in finals}
    if early:
        s.distrust()
    for number, verdict in found:
        result = verdict.result
        score, low, high = attrs.astuple(result.score) if result.score is not None else (None, None, None)
        s.journal.emit(FinalEnded(number, result.verified, result.reason, score=score, low=low, high=high, early=early))


def bet(s: Session) -> int | None:
    """Predicted mode: the candidate to look at first, None when there is none that one would bet on."""
    likely = {t.number: s.speed(t.number) for t in s.trials.values() if t.outcome == "likely_faster"}
    return next(iter(in_order(likely, {n: s.trials[n].edits for n in likely})), None)


def arms_rows(s: Session) -> tuple[ArmRow, ...]:
    """The arms table as the policy sees it now."""
    arms = s.policy.arms(s.frontier.members, tuple(s.log), s.options.seed)
    return tuple(ArmRow(run=s.journal.run, **attrs.asdict(arm)) for arm in arms)


def summary(s: Session, best: int | None, verified: tuple[int, ...]) -> dict[str, Any]:
    """For the run's row: no figure of a variant in predicted mode."""
    return {
        "best": best,
        "verified": list(verified),
        "counts": dict(s.counts),
        "seconds_per_trial": round(s.pace, 3) if s.trials else None,
        "background": {k: round(v, 3) for k, v in s.builder.seconds.items()},
        "clusters": clusters(s),
    }


def clusters(s: Session) -> list[dict[str, Any]]:
    """What the arms table numbers: each cluster's members and the one that stands for it. Empty for a policy that has none, or others."""
    if s.policy.name != "paper" and not s.policy.name.startswith("kernelband"):
        return []
    members = s.frontier.members
    found = replay(members, tuple(s.log))
    own = {label: found.members(label, members) for label in range(found.count)}
    return [
        {"cluster": label, "representative": representative(of).variant, "members": [m.variant for m in of]}
        for label, of in own.items()
        if of
    ]
