"""``kernelband history``: the runs that are kept, and ``--forget``."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import attrs
import click

from kernelband.cli.output import console, echo
from kernelband.cli.target import db_option, find_run, json_option, open_history
from kernelband.explain.outcome import verdict, word
from kernelband.history import Store, best_so_far, runs, trials
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
    summary: dict[str, Any] = row.summary
    if row.options.get("against") and row.state == "finished":
        return f"your edit: {edit_word(store, row)}"
    if row.mode == "predicted":
        best = summary.get("best")
        best = best or best_so_far(store, row.id, row.mode)
        return f"predicted: variant {best} likely faster" if best else "predicted: nothing likely faster"
    verified = [f for f in trials.finals(store, row.id) if f.verified]
    first = next((f for f in verified if f.variant == summary.get("best")), next(iter(verified), None))
    if first is not None and first.score is not None:
        return f"variant {first.variant} verified {first.score:.2f}×"
    if row.state == "finished":
        return "nothing verified"
    best = best_so_far(store, row.id, row.mode)
    return f"best so far: variant {best}, not verified" if best else ""


def edit_word(store: Store, row: RunRow) -> str:
    """Of a run that judged one edit: what the final said, else the trial, else the forecast."""
    trial = trials.trials(store, row.id)[0]
    if trial.correctness == "interpreted" and trial.fault == "none":
        tier = next((v.forecast.get("tier") for v in trials.variants(store, row.id) if v.id == trial.variant), None)
        return f"{tier or 'unclear'} (predicted)"
    final = next(iter(trials.finals(store, row.id)), None)
    if final is None:
        return word(trial)
    r = final.result
    if final.verified:
        return verdict(final)
    if r["fault"] != "none":
        return str(r["fault"]).replace("_", " ")
    if r["correctness"] != "passed":
        return str(r["correctness"])
    doubtful = r["integrity"] != "ok" or r["performance"] == "faster"
    return "not verified" if doubtful else str(r["performance"])


def _short(path: str) -> str:
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative
