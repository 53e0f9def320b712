"""A kernel's runs and the best variants of the last one, as Markdown: for clients that have no view of their own."""

from __future__ import annotations

import time

from kernelband.lsp.findings import Finding
from kernelband.lsp.liverun import LiveRun
from kernelband.lsp.markdown import as_code, escaped
from kernelband.lsp.run_finding import RunFinding
from kernelband.lsp.wording import title

MOST_RUNS = 10
MOST_VARIANTS = 10


def overview(kernel: str, live: LiveRun | None, finding: Finding) -> str:
    """The text.

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


def _variants(run: RunFinding) -> str:
    return "\n".join(f"- variant {v.number}: {escaped(title(run.device, v))}" for v in run.variants[:MOST_VARIANTS])


def _listed(notes: list[str]) -> list[str]:
    return ["\n".join(f"- {escaped(note)}" for note in notes)] if notes else []


def _when(run: RunFinding) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created))
