"""One given edit is judged instead of a search: compiled, checked, and measured by the protocol of the final, whatever screening says."""

from __future__ import annotations

import time
from collections.abc import Sequence

from attrs import frozen

from kernelband.history import trials
from kernelband.history.outcome import FAULTS, Outcome, of_final
from kernelband.history.outcome import outcome as outcome_of
from kernelband.history.records import FinalRow, TrialRow
from kernelband.judge.protocol import Verdict
from kernelband.judge.result import Result
from kernelband.search import finish
from kernelband.search._base import Choice
from kernelband.search.attempts import CORRECT, Attempt
from kernelband.search.candidate import Candidate
from kernelband.search.events import ArmChosen, CandidatesCompiled
from kernelband.search.loop import Loop
from kernelband.search.session import Session
from kernelband.source import between
from kernelband.strategies import Numerics, Proposal
from kernelband_worker.wire import Case, CheckResult

STRATEGY, MOVE = "yours", "edit"  # in place of a strategy and its move
AUTHOR = "you"
SAME = "It launches the same machine code, in the same way, as the original."


@frozen
class About:
    """What was judged, against what, on which device; names for sentences."""

    kernel: str
    against: str
    device: str


def judge(s: Session, loop: Loop) -> tuple[str, int | None, tuple[int, ...]]:
    """Judge ``options.edited`` against the run's original and write it down: a sentence, the variant if it is better, what is verified.

    Raises:
        KernelBandError: what isn't the edit's fault.
    """
    started, begin, before = time.time(), time.monotonic(), s.journal.clock.snapshot()
    candidate = s.preparer.candidate(0, proposal(s), AUTHOR)
    candidate.strange = True  # anything may have been edited: it meets no state of the original's
    choice = Choice(0, STRATEGY, 0, 0.0, 1.0, f"your edit, against {s.options.against}")
    s.journal.emit(ArmChosen(0, 0, STRATEGY, choice.reason))
    with s.journal.during("compile", 1, span="waiting"):
        failed = s.preparer.build(candidate)
    s.count("proposed")
    s.count("compiled", failed not in ("compile_error", "oom"))
    s.journal.emit(CandidatesCompiled(0, STRATEGY, 1, not failed, failed in ("compile_error", "oom"), failed == "duplicate"))
    verdict = loop.execute(Attempt(1, 0, choice, candidate, started, begin, before), _known(candidate, failed))
    trial = s.trials[1]
    runs = trial.outcome in CORRECT and trial.outcome != "equal"
    if runs and s.lab.measured:
        (verdict,) = finish.run_final(s, [trial])
    verified = (1,) if verdict.result.verified else ()
    s.count("verified", len(verified))
    best = (1 if verified else None) if s.lab.measured else finish.bet(s)
    store, run = s.journal.store, s.journal.run
    final = next(iter(trials.finals(store, run)), None)
    about = About(s.programs.base.kernel.place.name, s.options.against, s.lab.device.name)
    if runs and not s.lab.measured:
        return predicted(about, trial.tier or "unclear", trial.fact or ""), best, verified
    where = worst_case(s.cases, verdict.check) if verdict.result.correctness == "wrong" else ""
    return sentence(about, trials.trials(store, run)[0], final, where), best, verified


def predicted(about: About, tier: str, fact: str) -> str:
    """What came out where nothing is measured: no figure, and what it rests on."""
    says = "neither likely faster nor likely slower" if tier == "unclear" else tier
    because = f": {fact.rstrip('.')}" if fact else ""
    return f"predicted, not measured: your edit of {about.kernel} is {says} than {about.against} on {about.device}{because}"


def worst_case(cases: Sequence[Case], check: CheckResult | None) -> str:
    """Of the cases whose result is wrong, the one that is off most, and by how much; "" where no comparison says so."""
    off = [
        (o["max_abs"], c["case"], o["name"]) for c in (check["cases"] if check else ()) if not c["ok"] for o in c["outputs"] if o["wrong"]
    ]
    if not off:
        return ""
    error, case, output = max(off)
    arguments = next((c["arguments"] for c in cases if c["id"] == case), case[:8])
    return f"on {arguments} the largest error of {output} is {error:.3g}"


def proposal(s: Session) -> Proposal:
    """The edit as if a move had made it."""
    classes: tuple[Numerics, ...] = ("lowers_precision", "reassociates", "exact")
    numerics: Numerics = next(n for n in classes if n in s.options.allowed)  # what an edit does to numbers is not known: as much as it may
    patch = between(s.programs.texts(0), s.options.edited)
    count = len(patch.files)
    what = f"your edit of {s.programs.base.kernel.place.name}" + (f" in {count} files" if count > 1 else "")
    return Proposal(STRATEGY, MOVE, {"against": s.options.against}, patch, numerics, what, f"asked for, against {s.options.against}")


def _known(candidate: Candidate, failed: str) -> Verdict | None:
    """The verdict on what need not be executed."""
    if not failed:
        return None
    if failed == "duplicate":
        return Verdict(candidate.files["id"], Result(performance="equal", reason=SAME))
    fault = "oom" if failed == "oom" else "compile_error"
    return Verdict(candidate.files["id"], Result(fault=fault, reason=candidate.problem))


def sentence(about: About, trial: TrialRow, final: FinalRow | None, where: str = "") -> str:
    """What came out of a measured edit, or of one that failed, without the point at its end. Figures are those of the final only.
    ``where`` tells of a wrong one on which case it is wrong most.
    """
    found = of_final(final) if final is not None else outcome_of(trial)
    reason = str((final.result if final is not None else trial.result)["reason"]).rstrip(".")
    edit, against, device = f"your edit of {about.kernel}", about.against, about.device
    if found in FAULTS:
        return f"{edit} {FAULTS[found]} on {device}: {reason}"
    if found in (Outcome.WRONG, Outcome.NONDETERMINISTIC):
        does = "computes something else than" if found is Outcome.WRONG else "doesn't give the same result twice, unlike"
        return f"{edit} {does} {against}: " + "; ".join(x for x in (where, reason) if x)
    if found is Outcome.EQUAL:
        return f"{edit} changes nothing that runs: {reason[:1].lower()}{reason[1:]} ({against})"
    if found in (Outcome.REJECTED, Outcome.SUSPECT):
        return f"{edit} can't be trusted: {reason}"
    if final is None or final.score is None or final.low is None or final.high is None:
        return f"nothing can be said of {edit}: {reason}"
    figure = f"{final.score:.2f}× ({final.low:.2f} to {final.high:.2f}) against {against} on {device}"
    if found is Outcome.VERIFIED:
        return f"{edit} is faster: {figure}"
    more = f": {reason}" if reason else ""
    if found is Outcome.SLOWER:
        return f"{edit} is slower: {figure}{more}"
    if found is Outcome.FASTER:  # measured, and not verified
        return f"{edit} looks faster, {figure}, and isn't verified{more}"
    return f"no difference is sure: {figure}{more}"
