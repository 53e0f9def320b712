#!/usr/bin/env python3
"""What a search gains on kernels that nobody here wrote, at sizes of everyday use.

    python benchmarks/everyday.py DIR ... [--results FILE] [--seconds N] [--search N] [--only PATTERN] [--python PYTHON]
                                  [--gpus 0,1] [--keep FOLDER] [--table]

DIR is a checkout of a project that `everyday/kernels.json` names, called as there. `everyday/of_*.py` make inputs and call the projects
as their users do; nothing in them knows of a kernel's text. Each kernel gets `kernelband optimize FILE::KERNEL --entry INPUTS::FUNCTION`
and the seconds, nothing more, in the order of a hash of its name, so that whatever time there is goes to kernels that nobody chose. FILE
of --results gets one JSON line for each, as they come: give it to the next call, which leaves out what is there. With --seconds no search
begins that would end later. --table only tells what is there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from attrs import frozen
from finals_context import SERVER
from gpus import FailedError, Lane, ended, lanes, spread
from ledger import Allowance, Ledger, LedgerError

INPUTS = Path(__file__).parent / "everyday"
GRACE_S = 240.0  # that a run may outlast its search: its start, the capture, the original, the final
TITLES = ("kernel", "original µs", "busiest", "ratio", "winning edits", "tried", "first verified s", "run s")


@frozen
class Target:
    """A kernel of a project, and the function that runs it."""

    project: Path
    kernel: str  # FILE::KERNEL, the file from the project's folder
    entry: str

    @property
    def key(self) -> str:
        return f"{self.project.name}/{self.kernel}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--results", type=Path, default=Path("everyday.jsonl"), metavar="FILE")
    parser.add_argument("--seconds", type=float, help="of this call; what doesn't fit is left for the next")
    parser.add_argument("--search", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only kernels whose PROJECT/FILE::KERNEL is like that")
    parser.add_argument("--python", help="the Python that has torch and triton")
    parser.add_argument("--gpus", help="GPUs of this machine to spread the kernels over, such as 0,1")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep each run's events and history there")
    parser.add_argument("--table", action="store_true", help="run nothing")
    options = parser.parse_args()
    try:
        targets, ledger = targets_of(options.folders, options.only), Ledger(options.results)
    except (LedgerError, OSError, KeyError) as error:
        parser.error(str(error))
    left = 0 if options.table else search(targets, options, ledger)
    keys = {t.key for t in targets}
    print("\n".join(table([r for r in ledger.of("everyday") if r["key"] in keys])))
    if left:
        print(f"\n{left} kernels are left for the next call.")
    return 0


def targets_of(folders: Sequence[Path], only: str) -> list[Target]:
    """Of each folder the kernels that the table names, by the hash of their names.

    Raises:
        KeyError: the table has no project of a folder's name.
        OSError: a folder isn't there.
    """
    known = json.loads((INPUTS / "kernels.json").read_text())
    found: list[Target] = []
    for folder in (f.resolve(strict=True) for f in folders):
        if folder.name not in known:
            raise KeyError(f"everyday/kernels.json knows {', '.join(sorted(known))}, and no {folder.name}")
        project = known[folder.name]
        inputs = INPUTS / project["inputs"]
        found += [Target(folder, kernel, f"{inputs}::{function}") for kernel, function in project["kernels"].items()]
    return sorted((t for t in found if fnmatch(t.key, only)), key=lambda t: hashlib.sha256(t.key.encode()).hexdigest())


def search(targets: Sequence[Target], options: argparse.Namespace, ledger: Ledger) -> int:
    """Searches what isn't in the ledger yet; how many kernels are left for another call."""
    done = {r["key"] for r in ledger.of("everyday")}
    allowance = Allowance(options.seconds)

    def work(target: Target, lane: Lane) -> dict[str, Any] | None:
        return tried(target, options, lane) if allowance.fits([options.search + 30.0]) else None

    left = 0
    for target, outcome in spread([t for t in targets if t.key not in done], lanes(options.gpus), work):
        if outcome is None:
            left += 1
            continue
        if isinstance(outcome, Exception):
            raise outcome
        print(row(ledger.add("everyday", target.key, project=target.project.name, **outcome)), flush=True)
    return left


def tried(target: Target, options: argparse.Namespace, lane: Lane) -> dict[str, Any]:
    """A search of one kernel, as its events tell it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as state:
        kept = options.keep.resolve() / target.kernel.rpartition("::")[2] if options.keep else Path(state)
        kept.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "kernelband", "optimize", target.kernel, "--entry", target.entry, "--json"]
        command += ["--seconds", str(options.search), "--db", str(kept / "history.db")]
        command += ["--python", options.python] if options.python else []
        environment = {**lane.environment, "PYTHONPATH": os.pathsep.join(filter(None, (str(SERVER), os.environ.get("PYTHONPATH"))))}
        try:
            done = ended(command, options.search + GRACE_S, environment, str(target.project))
            out, failed = done.out, "" if done.out else f"It ended with code {done.code}: {done.last}"
        except FailedError as late:
            out, failed = late.out, str(late)
        if options.keep:
            (kept / "events.jsonl").write_text(out)
        busiest = busiest_of(kept / "history.db")
    events = [json.loads(text) for text in out.splitlines() if text.startswith("{") and text.endswith("}")]
    found = {**told(events), "busiest": busiest, "seconds": time.monotonic() - start}
    return {**found, "refused": failed} if failed else found


def busiest_of(database: Path) -> tuple[str, float] | None:
    """The resource that the original kernel uses most, and its share of the peak, as profiled; None where no profile was made."""
    if not database.exists():
        return None
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as history:
        found = history.execute("SELECT headroom FROM variants WHERE id = 0 AND headroom IS NOT NULL").fetchone()
    left: dict[str, float] = json.loads(found[0]) if found else {}
    return min(((name, 1.0 - share) for name, share in left.items()), key=lambda x: -x[1], default=None)


def told(events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a run's events say: the original's time, the best verified variant and the edits that made it, and why others weren't."""
    by: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        by.setdefault(event["event"], []).append(event)
    trials = {e["variant"]: e for e in by.get("trial_ended", []) if e["parent"] is not None}
    finals = by.get("final_ended", [])
    finals = [e for e in finals if not e.get("early")] or finals  # the last word
    best = max((e for e in finals if e["verified"]), key=lambda e: e["score"], default=None)
    edits: list[str] = []
    at = best["variant"] if best is not None else None
    while at in trials:
        edits.insert(0, f"{trials[at]['strategy']}: {trials[at]['what']}")
        at = trials[at]["parent"]
    end, error = by.get("run_ended", [{}])[-1], by.get("error", [{}])[-1]
    return {
        "device_us": by.get("baseline_known", [{}])[-1].get("device_us", {}),
        "ratio": best and [best["score"], best["low"], best["high"]],
        "edits": edits,
        "tried": len(trials),
        "outcomes": Counter(e["outcome"] for e in trials.values()),
        "screened": max((e["score"] for e in trials.values() if e["score"] is not None), default=None),
        "not_verified": [e["reason"] for e in finals if not e["verified"]],
        "to_verified": end.get("seconds_to_verified"),
        "ended": end.get("reason", ""),
        "clock": end.get("clock", {}),
        "refused": error.get("message", ""),
    }


# ------------------------------------------------------------ what is told


def row(record: Mapping[str, Any]) -> str:
    ratio, us = record["ratio"], ", ".join(f"{t:.1f}" for t in record["device_us"].values())
    said = f"**{ratio[0]:.2f}×** ({ratio[1]:.2f} to {ratio[2]:.2f})" if ratio else record["refused"] or record["ended"]
    edits = "; ".join(record["edits"]).replace("|", "\\|")
    first = "" if record["to_verified"] is None else f"{record['to_verified']:.0f}"
    busiest = f"{record['busiest'][0]} {record['busiest'][1]:.0%}" if record["busiest"] else ""
    return f"| {record['key']} | {us} | {busiest} | {said} | {edits} | {record['tried']} | {first} | {record['seconds']:.0f} |"


def table(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every kernel, the largest ratio first, and the means: what wasn't verified or not even captured counts as 1.00×."""
    ordered = sorted(records, key=lambda r: -(r["ratio"][0] if r["ratio"] else 0.0))
    lines = ["", f"| {' | '.join(TITLES)} |", "|" + " --- |" * len(TITLES), *map(row, ordered), ""]
    for name in [*sorted({r["project"] for r in records}), "all"]:
        these = [r for r in records if name in (r["project"], "all")]
        ratios = [r["ratio"][0] if r["ratio"] else 1.0 for r in these]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            faster = sum(1 for r in these if r["ratio"])
            captured = sum(1 for r in these if r["device_us"])
            lines.append(f"{name}: {len(these)} kernels, {captured} measured, {faster} verified faster, geometric mean {mean:.2f}×.")
    return lines


if __name__ == "__main__":
    sys.exit(main())
