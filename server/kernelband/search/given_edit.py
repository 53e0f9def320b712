"""One given edit is judged instead of a search: compiled, checked, and measured by the protocol of the final, whatever screening says.

What it is judged against: the kernel as it was saved, as it is in a file, or as it was committed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from attrs import evolve, frozen

from kernelband.errors import SourceError, UsageError
from kernelband.history import trials
from kernelband.history.outcome import FAULTS, Outcome, of_final
from kernelband.history.outcome import outcome as outcome_of
from kernelband.history.records import BEFORE, SAVED, FinalRow, TrialRow
from kernelband.judge.protocol import Verdict
from kernelband.judge.result import Result
from kernelband.search import finish
from kernelband.search._base import CORRECT, Choice
from kernelband.search.events import ArmChosen, CandidatesCompiled
from kernelband.search.execution import Execution
from kernelband.search.options import Options
from kernelband.search.session import Session
from kernelband.search.start import read
from kernelband.search.trial import Trial
from kernelband.source import Workspace, between, committed_text, form, require_parsable
from kernelband.source.model import Program
from kernelband.strategies import Numerics, Proposal
from kernelband_worker.wire import NUMERICS, Case, CheckResult

HEAD = "HEAD"
STRATEGY, MOVE = "yours", "edit"  # in place of a strategy and its move
AUTHOR = "you"
SAME = "It launches the same machine code, in the same way, as the original."


@frozen
class About:
    """What was judged, against what, on which device; names for sentences."""

    kernel: str
    against: str
    device: str


def judge(s: Session) -> tuple[str, int | None, tuple[int, ...]]:
    """Judge ``options.edited`` against the run's original and write it down: a sentence, the variant if it is better, what is verified.

    Raises:
        KernelBandError: what isn't the edit's fault.
    """
    watch = s.journal.stopwatch()
    trial = s.builder.trial(0, proposal(s), AUTHOR)
    trial.strange = True  # anything may have been edited: it meets no state of the original's
    choice = Choice(0, STRATEGY, reason=f"your edit, against {s.options.against}")
    s.journal.emit(ArmChosen(0, 0, STRATEGY, choice.reason))
    with s.journal.during("compile", 1, span="waiting"):
        outcome = s.builder.build(trial)
    failed = outcome in ("compile_error", "oom")
    s.count("proposed")
    s.count("compiled", not failed)
    s.journal.emit(CandidatesCompiled(0, STRATEGY, proposed=1, compiled=not outcome, failed=failed, duplicates=outcome == "duplicate"))
    verdict = Execution(s).execute(trial, choice, 0, watch, _not_executed(trial, outcome))
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
        tier, fact = (trial.forecast.tier, trial.forecast.fact) if trial.forecast is not None else ("unclear", "")
        return predicted(about, tier, fact), best, verified
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
    # What an edit does to numbers is not known: as much as it may.
    numerics: Numerics = next(n for n in reversed(NUMERICS) if n in s.options.allowed)
    patch = between(s.programs.base.texts, s.options.edited)
    count = len(patch.files)
    what = f"your edit of {s.programs.base.kernel.place.name}" + (f" in {count} files" if count > 1 else "")
    why = f"asked for, against {s.options.against}"
    return Proposal(STRATEGY, MOVE, {"against": s.options.against}, patch, numerics, what=what, why=why)


def _not_executed(trial: Trial, outcome: str) -> Verdict | None:
    """The verdict on what need not be executed."""
    if not outcome:
        return None
    if outcome == "duplicate":
        return Verdict(trial.files["id"], Result(performance="equal", reason=SAME))
    return Verdict(trial.files["id"], Result(fault="oom" if outcome == "oom" else "compile_error", reason=trial.problem))


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


# ---------------------------------------------------------------- the original


def given_edit(options: Options, against: str | None, before: Mapping[str, str] | None = None) -> Options:
    """Options that judge the text at hand (``options.overlays`` over the disk), as one variant of an original.

    Files of the program (kernel, helpers, host functions) are those of the original; all others are as they are now on both sides.

    Args:
        options: of the text at hand.
        against: a file, whose text the kernel's own file had, or a commit. None: the saved files where an unsaved text differs from them,
            else HEAD.
        before: texts of the original, by path, where it is neither. A file that isn't among them is as it is now.

    Raises:
        SourceError: there is no such original, or the kernel isn't in it.
        UsageError: the edit changes nothing of the kernel, or there are two originals.
    """
    if before and against is not None:
        raise UsageError("The original is given twice: give --against or --against-overlay.")
    _, now = read(options)
    if against is None:
        against = BEFORE if before else SAVED if _is_unsaved(options, now) else HEAD
    old = {options.path: now.texts[options.path], **before} if before else _texts(now, against, options.path)
    original = _original(options, old, against, now.kernel.place.qualname)
    if form(original) == form(now):
        raise UsageError(
            f"{now.kernel.place.qualname} is the same as in {against}, with its host functions, so there is nothing to verify: "
            "edit it, or name another original with --against."
        )
    texts = {path: old[path] for path in original.texts if path in old}
    overlays = {**options.overlays, **texts}
    edited = {path: now.texts[path] for path in texts if path in now.texts and now.texts[path] != texts[path]}
    return evolve(options, kernel=now.kernel.place.qualname, overlays=overlays, edited=edited, against=against, trials=1, seconds=None)


def _is_unsaved(options: Options, now: Program) -> bool:
    """Whether the text at hand differs from the saved one in what matters to the kernel."""
    saved = _present({path: _saved(path) for path in options.overlays if path in now.texts})
    if all(saved.get(path) == text for path, text in now.texts.items() if path in options.overlays):
        return False
    try:
        _, before = read(evolve(options, kernel=now.kernel.place.qualname, overlays={**options.overlays, **saved}))
    except SourceError:  # what is saved is no program: then it is no original either
        return False
    return form(before) != form(now)


def _texts(now: Program, against: str, kernel_path: str) -> dict[str, str]:
    """The program's files as they were; those that the original hasn't are left as they are."""
    if against == SAVED:
        return _present({path: _saved(path) for path in now.texts})
    if os.path.isfile(against):
        return {kernel_path: Workspace.for_file(against).read(against)}
    return _present({path: committed_text(path, against) for path in now.texts})


def _present(texts: Mapping[str, str | None]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if text is not None}


def _saved(path: str) -> str | None:
    return Workspace.for_file(path).read(path) if os.path.isfile(path) else None


def _original(options: Options, old: Mapping[str, str], against: str, kernel: str) -> Program:
    if options.path not in old:
        raise SourceError(f"{options.path} is not in {against}, so there is nothing to compare with: name another original with --against.")
    require_parsable(old[options.path], f"{options.path} ({against})")
    try:
        return read(evolve(options, kernel=kernel, overlays={**options.overlays, **old}))[1]
    except SourceError as error:
        raise SourceError(f"The original of {kernel} can't be found in {against}: {error.message}") from error
