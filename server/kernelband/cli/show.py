"""``kernelband show RUN``: what a run found, with the reason why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import attrs
import click
from rich.markup import escape
from rich.table import Table

from kernelband.cli.output import console, echo
from kernelband.cli.target import db_option, find_run, json_option, open_history
from kernelband.explain.words import tier, titles_of, verdict
from kernelband.history import Store, trials
from kernelband.history.outcome import by_figure, by_tier, outcome, verified
from kernelband.history.records import ArmRow, RunRow, TrialRow, VariantRow


@click.command()
@click.argument("run", metavar="RUN")
@db_option
@json_option
def show(run: str, db: str | None, as_json: bool) -> None:
    """Show what a run found. RUN is an id, the beginning of one, or `last`."""
    run, _, number = run.partition("/")
    with open_history(db) as store:
        row = find_run(store, run)
        if as_json:
            echo(json.dumps(as_dict(store, row), indent=1))
            return
        if number.isdecimal():
            _variant(store, row, trials.variant(store, row.id, int(number)))
            return
        _run(store, row)


def as_dict(store: Store, row: RunRow) -> dict[str, Any]:
    """Everything of a run as JSON, its rows and what they say (``report``); no figure of a variant in predicted mode."""
    from kernelband.explain.runreport import run_report, to_json

    variants = [attrs.asdict(v) for v in trials.variants(store, row.id)]
    for v in variants:
        v["forecast"].pop("launches", None)  # for resuming, not for reading
    found = [attrs.asdict(t) for t in trials.trials(store, row.id)]
    if row.mode == "predicted":
        for v in variants:
            for name in ("seconds", "mean_seconds", "features", "headroom"):
                v[name] = None
            v["forecast"].pop("score", None)
        found = [{k: v for k, v in t.items() if k not in ("score", "low", "high")} for t in found]
    return {
        "run": attrs.asdict(row),
        "cases": [attrs.asdict(c) for c in trials.cases(store, row.id)],
        "variants": variants,
        "trials": found,
        "finals": [attrs.asdict(f) for f in trials.finals(store, row.id)],
        "pulls": [attrs.asdict(p) for p in trials.pulls(store, row.id)],
        "arms": [attrs.asdict(a) for a in trials.arms(store, row.id)],
        "decisions": [attrs.asdict(d) for d in trials.decisions(store, row.id)],
        "report": to_json(run_report(store, row)),
    }


def _run(store: Store, row: RunRow) -> None:
    from kernelband.cli.live import reached, spent

    out = console()
    out.print(f"[bold]Run {row.id}[/]: {escape(row.kernel)} in {escape(row.path)}", soft_wrap=True)
    where = f"on {row.device}" if row.mode == "measured" else f"predicted for {row.device}"
    versions = f"Triton {row.environment.get('triton')}, torch {row.environment.get('torch')}"
    out.print(f"{row.state}, {where} with {versions}; {row.policy} policy, seed {row.seed}, {row.objective} time", soft_wrap=True)
    if row.reason:
        out.print(escape(row.reason), soft_wrap=True)
    if row.state in ("interrupted", "failed") and "--resume" not in row.reason and not row.options.get("against"):
        out.print(f"Continue it: kernelband optimize --resume {row.id}")
    by_id = {v.id: v for v in trials.variants(store, row.id)}
    tried = trials.trials(store, row.id)
    if tried:
        (_predicted if row.mode == "predicted" else _measured)(store, row, by_id, tried)
    if arms := trials.arms(store, row.id):
        out.print("[bold]Arms[/], as the policy last saw them", soft_wrap=True)
        out.print(arms_table(arms, measured=row.mode == "measured"))
    if row.clock:
        out.print("Where the time went: " + spent(row.clock), soft_wrap=True)
    for line in reached(row.summary.get("seconds_to_verified"), row.summary.get("seconds_to_checked")):
        out.print(line, soft_wrap=True)


def _measured(store: Store, row: RunRow, by_id: dict[int, VariantRow], tried: tuple[TrialRow, ...]) -> None:
    finals = {f.variant: f for f in trials.finals(store, row.id)}
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("variant", "result", "final", "what"):
        table.add_column(column, justify="right" if column == "variant" else "left")
    said = titles_of(by_id, tried, finals)
    for t in by_figure(tried, verified(finals.values()), row.summary.get("best")):
        table.add_row(str(t.variant), outcome(t).word, verdict(finals.get(t.variant)), said[t.variant])
    console().print(table)


def _predicted(store: Store, row: RunRow, by_id: dict[int, VariantRow], tried: tuple[TrialRow, ...]) -> None:  # noqa: ARG001 - as _measured
    from kernelband.explain.compare import because
    from kernelband.explain.why import step

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("variant", "predicted", "because", "what"):
        table.add_column(column, justify="right" if column == "variant" else "left")
    said = titles_of(by_id, tried, None)
    tiers = {t.variant: tier(t, by_id[t.variant]) for t in tried}
    for t in by_tier(tried, tiers, row.summary.get("best")):
        v, of = by_id[t.variant], tiers[t.variant]
        why = t.reason if of is None else because(of, str(v.forecast.get("fact", "")), step(v))
        table.add_row(str(t.variant), of or outcome(t).word, why, said[v.id])
    console().print(table)


def _variant(store: Store, row: RunRow, v: VariantRow) -> None:
    from kernelband.cli.figuretable import render
    from kernelband.explain.why import tell

    told = tell(store, row, v)
    echo(f"Variant {v.id} of run {row.id}, made from {f'variant {v.parent}' if v.parent else 'the original'}")
    for line in (*told.lines, *told.judged):
        echo(line)
    if told.figures is not None:
        console().print(render(told.figures))
    echo(told.patch, nl=False)


def arms_table(rows: Sequence[ArmRow], *, measured: bool) -> Table:
    """A line for each arm, cluster by cluster; clusters are named only where there are several. Rewards only of what was measured."""
    several = len({r.cluster for r in rows}) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    if several:
        table.add_column("cluster", justify="right")
    table.add_column("strategy")
    table.add_column("pulls", justify="right")
    if measured:
        table.add_column("mean reward", justify="right")
    table.add_column("weight", justify="right")
    table.add_column("why")
    for r in sorted(rows, key=lambda r: r.cluster):  # a stable sort: strategies stay in the policy's order
        weight = "masked" if r.weight == 0 else f"{r.weight:.2f}"
        cells = [r.strategy, str(r.pulls), *([f"{r.mean_reward:.2f}"] if measured else []), weight, escape(r.why)]
        table.add_row(*([str(r.cluster)] if several else []), *cells)
    return table
