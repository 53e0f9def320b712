"""``report``: what is known of a kernel; ``runReport``: all that a graphical report of one run needs (docs/report.md)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelband.errors import UsageError
from kernelband.explain.words import line
from kernelband.history import Store, runs, view
from kernelband.history.view import RunView
from kernelband.lsp.features import pages, progress
from kernelband.lsp.findings import Finding
from kernelband.lsp.index import place
from kernelband.lsp.liverun import LiveRun
from kernelband.lsp.markdown import as_code, escaped
from kernelband.lsp.remedies import words
from kernelband.lsp.server import KernelBandServer

MOST_RUNS = 10  # in the text, as variants
MOST_VARIANTS = 10
OF_RUN = ("id", "path", "kernel", "created", "mode", "device", "gpu", "state", "reason", "objective", "trials", "policy")
OF_VARIANT = (
    *("number", "title", "what", "why", "moves", "numerics", "author", "verified", "ratio", "low", "high", "cases"),
    *("tier", "fact", "gain", "decision"),
)


async def report(server: KernelBandServer, uri: str, kernel: str, run: str | None = None) -> dict[str, Any]:
    """All that is known of a kernel, as JSON: the live run, the runs that are kept, their variants.

    ``accepted`` and ``stale`` are of the run ``told``, as the text was when it last rested: the newest with variants, or an older one that
    the text belongs to. With ``run`` they are of that one, as the text is now; without it, all is shown as a text, too, unless the client
    does something with the answer.
    """
    live = server.runs.of(place(uri), kernel)
    standing = server.standings.of(uri, kernel)
    finding = standing.finding if standing is not None else server.findings.find(place(uri), kernel)
    accepted, stale = (standing.accepted, standing.stale) if standing is not None else (None, "")
    if run is not None:
        accepted, stale = await server.standings.against(run, place(uri), kernel)
    elif not pages.opens_itself(server):
        await pages.show_text(server, f"{kernel}.md", _overview(kernel, live, finding))
    telling = finding.telling
    return {
        "live": progress.changed(live) if live is not None else None,
        "accepted": accepted,
        "stale": stale,
        "told": telling.id if telling is not None else None,
        "runs": [_as_json(known) for known in finding.runs],
    }


def _as_json(run: RunView) -> dict[str, Any]:
    versions = {name: run.versions.get(name, "") for name in ("triton", "torch")}
    variants = [{"run": run.id, **{name: getattr(v, name) for name in OF_VARIANT}} for v in run.variants]
    return {**{name: getattr(run, name) for name in OF_RUN}, "seconds": run.seconds_used, **versions, "variants": variants}


async def run_report(server: KernelBandServer, run: str) -> dict[str, Any]:
    """From the history, with ``live`` as ``kernelband/runChanged`` tells of a run that goes on here, else null."""
    live = server.runs.get(run)
    going = live if live is not None and not live.ended else None
    report = await asyncio.to_thread(_read, server.findings.db, run, dict(going.counts) if going is not None else {})
    if report is not None:
        report["run"]["reason"] = words(report["run"]["reason"])
        return {**report, "live": progress.changed(going) if going is not None else None}
    if going is not None:
        raise UsageError(f"Run {run} has recorded nothing yet: try again in a moment.")
    if live is not None and live.error:
        raise UsageError(f"Run {run} recorded nothing: {live.error}")
    raise UsageError(f"There is no run {run} in {server.findings.db}: it may have been deleted.")


def _read(db: Path, run: str, counts: Mapping[str, int]) -> dict[str, Any] | None:
    """None where the history has no such run."""
    from kernelband.explain.runreport import run_report as made
    from kernelband.explain.runreport import to_json

    if not db.exists() or not db.stat().st_size:  # none yet, or one that is being made
        return None
    with Store.read(db) as store:
        return to_json(made(store, runs.find(store, run), counts)) if view.run_row(store, run) is not None else None


def _overview(kernel: str, live: LiveRun | None, finding: Finding) -> str:
    """A kernel's runs and the best variants of the last one, as Markdown: for clients that have no view of their own.

    Args:
        kernel: its name.
        live: its run of this session, if any; shown while it goes on.
        finding: what the history knows.
    """
    parts = [f"# {escaped(kernel)}"]
    if live is not None and not live.ended:
        counts = ", ".join(f"{live.counts[name]} {name}" for name in ("proposed", "compiled", "executed") if name in live.counts)
        parts += [f"Run {live.id} is running: {escaped(live.headline)}{f' ({counts})' if counts else ''}.", *_listed(live.notes)]
    telling = finding.telling
    if telling is not None:
        ended = f"{telling.state}: {telling.reason}" if telling.reason else telling.state
        parts += [f"## Run {telling.id}, {_when(telling)}, on {escaped(telling.device)}", escaped(f"{ended}.")]
        parts += [_variants(telling)] if telling.variants else []
    if finding.runs:
        rows = ["| run | date | device | trials | state |", "|---|---|---|---:|---|"]
        rows += [f"| {as_code(r.id)} | {_when(r)} | {escaped(r.device)} | {r.trials} | {r.state} |" for r in finding.runs[:MOST_RUNS]]
        parts += ["## Runs", "\n".join(rows), f"`kernelband show {finding.runs[0].id}` shows more."]
    if len(parts) == 1:
        parts.append("Nothing is known about it yet: optimize it.")
    return "\n\n".join(parts) + "\n"


def _variants(run: RunView) -> str:
    return "\n".join(f"- variant {v.number}: {escaped(line(run.device, v))}" for v in run.variants[:MOST_VARIANTS])


def _listed(notes: list[str]) -> list[str]:
    return ["\n".join(f"- {escaped(note)}" for note in notes)] if notes else []


def _when(run: RunView) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created))
