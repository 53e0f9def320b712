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
from kernelband.propose import Tried, is_model
from kernelband.search import record
from kernelband.search.options import Options
from kernelband.search.session import Session, Trial
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


def _scale(s: Session, row: VariantRow) -> float:
    """The original's time of now over that of before: a variant stays as fast against it as it was."""
    before = record.member_of(row)
    return s.frontier[0].seconds / before.seconds if s.lab.measured and before is not None and before.seconds > 0 else 1.0


def restore(s: Session, store: Store) -> None:
    """Frontier, log, trials and what was proposed, as if the run had never stopped."""
    run = s.journal.run
    pulls = trials.pulls(store, run)
    rows = {v.id: v for v in trials.variants(store, run)}
    facts: dict[int, dict[str, CompileFacts]] = {}
    for fact in trials.facts(store, run):
        facts.setdefault(fact.variant, {})[fact.key] = cast("CompileFacts", fact.facts)
    for pull in pulls:
        s.log.append(record.pull_of(pull))
        if pull.outcome == "nothing_left":
            s.frontier.exhaust(pull.parent, pull.strategy)
        else:
            s.preparer.seen.setdefault(pull.parent, set()).add(pull.key)
            s.preparer.learn(pull.strategy, pull.move, pull.key, pull.outcome)
        failed = not pull.executed and pull.outcome in ("compile_error", "oom")
        s.count("compile_errors", failed)
        s.count("duplicates", pull.outcome == "duplicate")
        s.count("proposed", pull.outcome != "nothing_left")
        s.count("compiled", pull.outcome != "nothing_left" and not failed)
    outcomes = {p.variant: p.outcome for p in pulls if p.variant is not None}
    scale = _scale(s, rows[0])
    for trial in trials.trials(store, run):
        row = rows[trial.variant]
        patch = patch_from_json(row.patch)
        s.preparer.know(row.identity)
        member = record.member_of(row)
        if member is not None and row.mean_seconds is not None:
            times = (math.log1p(member.seconds * scale * 1e3), *member.features[1:])
            s.frontier.add(evolve(member, seconds=member.seconds * scale, features=times), row.mean_seconds * scale)
        s.programs.add(row.id, patch, facts.get(row.id, {}))
        if is_model(row.author) or row.parent in s.preparer.strange:
            s.preparer.strange.add(row.id)
        s.preparer.stories.born(row.id, row.parent or 0, row.what)
        s.preparer.stories.add(row.parent or 0, Tried(row.key, row.what, outcomes[row.id], trial.reason))
        works = works_of(row, facts.get(row.id, {}))
        if works is not None:
            s.works[row.id] = works
        forecast = row.forecast if not s.lab.measured else {}
        s.trials[trial.number] = Trial(
            trial.number,
            row.numerics,  # pyright: ignore[reportArgumentType] - one of the literals, as written
            outcomes[row.id],
            trial.score if s.lab.measured else None,
            trial.low if s.lab.measured else None,
            trial.seconds,
            patch,
            row.strategy,
            row.what,
            forecast.get("tier"),
            forecast.get("fact"),
            row.parent or 0,
            row.move,
            row.key,
            s.edits(row.parent or 0, row.parameters),
            row.parameters,
            record.ratios(trial.result, s.options.objective),
        )
        s.count("executed")
