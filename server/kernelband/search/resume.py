"""Continue a run that was cut off: only on the same text, the same cases and the same versions; from its rows alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from attrs import evolve

from kernelband.errors import HistoryError, StaleText
from kernelband.history import Store, runs, trials
from kernelband.history.records import RunRow, VariantRow
from kernelband.history.values import works_of
from kernelband.search.options import Options
from kernelband.search.session import Session
from kernelband.search.trial import Trial, member_of, pull_of
from kernelband.source import patch_from_json
from kernelband.source.model import text_hash
from kernelband_worker.wire import Case, CompileFacts


def peek(db: Path, run: str) -> RunRow:
    """The row of a run that may be resumed; nothing is claimed yet.

    Raises:
        HistoryError: there is none, it is finished, or someone runs it.
    """
    with Store.read(db) as store:
        row = runs.find(store, run)
    if row.state == "running":
        raise HistoryError(f"Run {row.id} is still running ({row.owner}): stop it there first, or wait until it is done.")
    if row.options.get("against"):
        raise HistoryError(f"Run {row.id} judged one edit, so there is nothing to resume: `kernelband verify` judges it again.")
    if row.state == "finished":
        raise HistoryError(f"Run {row.id} is finished: there is nothing to resume. `kernelband show {row.id}` shows it.")
    return row


def options_of(db: Path, run: str) -> Options:
    """What was asked of the run, with the texts of its overlays.

    Raises:
        HistoryError: there is no such run.
    """
    with Store.read(db) as store:
        row = runs.find(store, run)
        return Options.from_json(row.options, runs.base_texts(store, row.id))


def require_same_texts(db: Path, row: RunRow, texts: Mapping[str, str]) -> None:
    """Every file that the run started from must say what it said then.

    Raises:
        StaleText: one has changed or is gone.
    """
    with Store.read(db) as store:
        base = runs.base_texts(store, row.id)
    for path in sorted({*base, *texts}):
        if path not in texts or path not in base or text_hash(texts[path]) != text_hash(base[path]):
            raise StaleText(f"{path} has changed since run {row.id} started: restore it, or start a new run.")


def require_same_world(row: RunRow, key: str, environment: Mapping[str, object], cases: Sequence[Case], known: Sequence[str]) -> None:
    """Figures of two worlds don't mix.

    Raises:
        HistoryError: versions or cases differ from those of the run's beginning.
    """
    if known and [c["id"] for c in cases] != list(known):
        raise HistoryError(f"The program makes other cases than when run {row.id} started: start a new run.")
    if row.kernel_key in ("", key):
        return
    for name in ("triton", "torch", "driver", "ptxas"):
        if row.environment.get(name) != environment.get(name):
            raise HistoryError(
                f"Run {row.id} began with {name} {row.environment.get(name)}, and now it is {environment.get(name)}: start a new run."
            )
    raise HistoryError(f"The program, GPU or settings are not those of run {row.id}'s beginning: start a new run.")


def restore(s: Session, store: Store) -> None:
    """Frontier, log, trials and what was proposed, as if the run had never stopped."""
    run, builder = s.journal.run, s.builder
    pulls = trials.pulls(store, run)
    rows = {v.id: v for v in trials.variants(store, run)}
    facts: dict[int, dict[str, CompileFacts]] = {}
    for fact in trials.facts(store, run):
        facts.setdefault(fact.variant, {})[fact.key] = cast("CompileFacts", fact.facts)
    for pull in pulls:
        s.log.append(pull_of(pull))
        if pull.outcome == "nothing_left":
            s.frontier.exhaust(pull.parent, pull.strategy)
        else:
            builder.seen.setdefault(pull.parent, set()).add(pull.key)
            s.preparer.ordering.learn(pull.strategy, pull.move, pull.key, pull.outcome)
        failed = not pull.executed and pull.outcome in ("compile_error", "oom")
        s.count("compile_errors", failed)
        s.count("duplicates", pull.outcome == "duplicate")
        s.count("proposed", pull.outcome != "nothing_left")
        s.count("compiled", pull.outcome != "nothing_left" and not failed)
    outcomes = {p.variant: p.outcome for p in pulls if p.variant is not None}
    s.finals = {row.variant: row for row in trials.finals(store, run)}
    scale, base = _scale(s, rows[0]), dict(s.programs.base.texts)
    for said in trials.trials(store, run):
        row = rows[said.variant]
        patch = patch_from_json(row.patch)
        files = s.lab.keep(patch.apply(base), [f.path for f in patch.files])
        trial = Trial.from_rows(row, said, s.trials.get(row.parent or 0), files, s.options.objective)
        trial.outcome, trial.facts = outcomes[row.id], facts.get(row.id, {})
        trial.works = works_of(row, trial.facts)
        s.trials[trial.number] = trial
        builder.know(row.identity)
        builder.tell(trial, trial.outcome, said.reason)
        if trial.member is not None:
            seconds, mean = trial.member.seconds * scale, trial.member.mean_seconds * scale
            features = (math.log1p(seconds * 1e3), *trial.member.features[1:])
            s.frontier.add(evolve(trial.member, seconds=seconds, features=features, mean_seconds=mean))
        s.count("executed")
    s.distrust()


def _scale(s: Session, original: VariantRow) -> float:
    """The original's time of now over that of before: a variant stays as fast against it as it was."""
    before = member_of(original)
    return s.frontier[0].seconds / before.seconds if s.lab.measured and before is not None and before.seconds > 0 else 1.0
