"""``kernelband history``: the runs that are kept, and ``--forget``."""

from __future__ import annotations

import json
import os
import time

import attrs
import click

from kernelband.cli.output import console, echo
from kernelband.cli.target import db_option, find_run, json_option, open_history
from kernelband.explain.words import came_to, nothing, tier, verdict
from kernelband.history import Store, best_so_far, runs, trials
from kernelband.history.outcome import Outcome, of_final
from kernelband.history.outcome import outcome as outcome_of
from kernelband.history.records import RunRow


@click.command()
@click.option("--file", "file", metavar="FILE", help="Only the runs of this file.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="List at most this many, the newest first.")
@click.option("--forget", metavar="RUN", help="Delete a run with everything it found.")
@db_option
@json_option
def history(file: str | None, limit: int, forget: str | None, db: str | None, as_json: bool) -> None:
    """List the runs that are kept, the newest first."""
    with open_history(db) as store:
        if forget is not None:
            row = runs.forget(store, find_run(store, forget).id)
            store.shrink()
            echo(json.dumps({"forgotten": row.id}) if as_json else f"Forgot run {row.id} ({row.kernel} in {_short(row.path)}).")
            return
        rows = runs.listing(store, os.path.realpath(file) if file else None, limit)
        if as_json:
            echo(json.dumps([attrs.asdict(r) for r in rows], indent=1))
            return
        if not rows:
            echo(f"No runs are kept{' of ' + file if file else ''}.")
            return
        _table(store, rows)


def _table(store: Store, rows: tuple[RunRow, ...]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "when", "kernel", "file", "device", "policy", "trials", "state", "result"):
        table.add_column(column, justify="right" if column == "trials" else "left", no_wrap=column in ("run", "when"))
    for row in rows:
        count = len(trials.trials(store, row.id))
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.created))
        table.add_row(row.id, when, row.kernel, _short(row.path), row.device, row.policy, str(count), row.state, outcome(store, row))
    console().print(table)


def outcome(store: Store, row: RunRow) -> str:
    """The result in a few words; a predicted run never shows a figure."""
    if row.options.get("against") and row.state == "finished":
        return f"your edit: {edit_word(store, row)}"
    best = row.summary.get("best")
    if row.mode == "predicted":
        best = best or best_so_far(store, row.id, row.mode)
        return f"predicted: variant {best} {came_to(None, likely=True)}" if best else f"predicted: {nothing(row.mode)}"
    verified = [f for f in trials.finals(store, row.id) if f.verified]
    first = next((f for f in verified if f.variant == best), next(iter(verified), None))
    if first is not None and first.score is not None:
        return f"variant {first.variant} {came_to(first.score)}"
    if row.state == "finished":
        return nothing(row.mode)
    best = best_so_far(store, row.id, row.mode)
    return f"best so far: variant {best}, not verified" if best else ""


def edit_word(store: Store, row: RunRow) -> str:
    """Of a run that judged one edit: what the final said, else the trial, else the forecast."""
    trial, final = trials.trials(store, row.id)[0], next(iter(trials.finals(store, row.id)), None)
    predicted = tier(trial, trials.variant(store, row.id, trial.variant))
    if predicted is not None or final is None:
        return f"{predicted} (predicted)" if predicted is not None else outcome_of(trial).word
    found = of_final(final)
    if found in (Outcome.FASTER, Outcome.REJECTED, Outcome.SUSPECT):
        return "not verified"
    return verdict(final) if found is Outcome.VERIFIED else found.value.replace("_", " ")


def _short(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
