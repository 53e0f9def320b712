#!/usr/bin/env python3
"""How far kernels that nobody here wrote get: found, an entry found, captured, something tried; and in which words they were refused.

    python benchmarks/reach.py DIR ... [--results FILE] [--seconds N] [--search N] [--jobs N] [--every N] [--only PATTERN]
                               [--python PYTHON] [--worker CMD] [--gpu NAME] [--gpus 0,1]

Each kernel of the folders' programs gets a first try, `kernelband optimize FILE::KERNEL --seconds N` from the folder and nothing more said.
Jit functions that only serve other kernels are left out. FILE of --results gets one JSON line for each kernel, as they come: give it to the
next call, which leaves out what is there. With --seconds no search begins that would end later.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from attrs import frozen
from finals_context import SERVER
from gpus import FailedError, Lane, ended, lanes, spread
from ledger import Allowance, Ledger, LedgerError

from kernelband.source import find_kernels
from kernelband.source.folders import python_files

GRACE_S = 150.0  # that a run may outlast the seconds of its search: its start, the capture of a slow program, the original
ENOUGH = 3  # variants tried
TITLES = ("project", "kernels", "entry found", "captured", "at a host function", "tried one", f"tried {ENOUGH}", "refused", "no entry")


@frozen
class Target:
    """A kernel of a project: a folder, a file below it, a name."""

    project: Path
    file: Path
    kernel: str

    @property
    def key(self) -> str:
        return f"{self.project.name}/{self.file.relative_to(self.project)}::{self.kernel}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--results", type=Path, default=Path("reach.jsonl"), metavar="FILE")
    parser.add_argument("--seconds", type=float, help="of this call; what doesn't fit is left for the next")
    parser.add_argument("--search", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--jobs", type=int, default=1, help="searches side by side, where no --gpus are named")
    parser.add_argument("--every", type=int, default=1, help="only each Nth kernel of a project, in the order of their places")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="only kernels whose PROJECT/FILE::KERNEL is like that")
    parser.add_argument("--python", help="the Python that has torch and triton")
    parser.add_argument("--worker", help="a command in front of it, such as 'ssh box'")
    parser.add_argument("--gpu", default="h100", help="the GPU to predict for, when none is available")
    parser.add_argument("--gpus", help="GPUs of this machine to spread the kernels over, such as 0,1")
    options = parser.parse_args()
    missing = next((f for f in options.folders if not f.is_dir()), None)
    if missing is not None:
        parser.error(f"there is no folder {missing}")
    try:
        ledger = Ledger(options.results)
    except LedgerError as error:
        parser.error(str(error))
    targets = [t for folder in options.folders for t in kernels_of(folder.resolve())[:: options.every] if fnmatch(t.key, options.only)]
    left = reach(targets, options, ledger)
    keys = {t.key for t in targets}
    print("\n".join(summary([r for r in ledger.of("reach") if r["key"] in keys], TITLES, figures)))
    if left:
        print(f"\n{left} kernels are left for the next call.")
    return 0


def kernels_of(folder: Path) -> list[Target]:
    """Every kernel of a folder's programs that isn't only there for others."""
    found: list[Target] = []
    for name in sorted(python_files(str(folder))):
        text = Path(name).read_text(encoding="utf-8", errors="replace")
        if "triton" not in text:
            continue
        kernels = find_kernels(name, text)
        serving = {place for kernel in kernels for place in kernel.helpers}
        found += [Target(folder, Path(name), k.place.qualname) for k in kernels if k.place not in serving]
    return found


def reach(targets: Sequence[Target], options: argparse.Namespace, ledger: Ledger) -> int:
    """Tries what isn't in the ledger yet; how many kernels are left for another call."""
    done = {r["key"] for r in ledger.of("reach")}
    allowance = Allowance(options.seconds)
    on = lanes(options.gpus) if options.gpus else [Lane(None, None)] * max(1, options.jobs)

    def work(target: Target, lane: Lane) -> dict[str, Any] | None:
        return tried(target, options, lane) if allowance.fits([options.search]) else None

    left = 0
    for target, outcome in spread([t for t in targets if t.key not in done], on, work):
        if outcome is None:
            left += 1
            continue
        if isinstance(outcome, Exception):
            raise outcome
        record = ledger.add("reach", target.key, project=target.project.name, **outcome)
        print(line(record), flush=True)
    return left


def tried(target: Target, options: argparse.Namespace, lane: Lane) -> dict[str, Any]:
    """A search of one kernel, as its events tell it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as state:
        command = [sys.executable, "-m", "kernelband", "optimize", f"{target.file}::{target.kernel}", "--json"]
        command += ["--seconds", str(options.search), "--db", str(Path(state, "history.db"))]
        for name in ("python", "worker"):
            if getattr(options, name):
                command += [f"--{name}", getattr(options, name)]
        if not options.gpus:
            command += ["--gpu", options.gpu]
        environment = {**lane.environment, "PYTHONPATH": os.pathsep.join(filter(None, (str(SERVER), os.environ.get("PYTHONPATH"))))}
        try:
            done = ended(command, options.search + GRACE_S, environment, str(target.project))
            out, refused = done.out, f"It ended with code {done.code}: {done.last}" if not done.out else ""
        except FailedError as failed:
            out, refused = failed.out, str(failed)
    events = [json.loads(text) for text in out.splitlines() if text.startswith("{") and text.endswith("}")]
    return {**told(events, target.kernel), **({"refused": refused} if refused else {}), "seconds": time.monotonic() - start}


def told(events: Sequence[Mapping[str, Any]], kernel: str) -> dict[str, Any]:
    """What a run's events say of how far it came. ``boundary``: where its cases start, at a host function or at the launch itself."""
    by: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        by.setdefault(event["event"], []).append(event)
    cases = [c for event in by.get("cases_captured", []) for c in event["cases"] if c["replayable"]]
    launches = [c for c in cases if c["function"] == kernel]
    trials = [e for e in by.get("trial_ended", []) if e["parent"] is not None]
    finals = [e for e in by.get("final_ended", []) if not e.get("early")] or by.get("final_ended", [])  # the last word
    end, error = by.get("run_ended", [{}])[-1], by.get("error", [{}])[-1]
    return {
        "entry": by["run_started"][0]["entry"] if "run_started" in by else None,
        "cases": len(cases),
        "boundary": None if not cases else "launch" if len(launches) == len(cases) else "host function",
        "tried": len(trials),
        "outcomes": Counter(e["outcome"] for e in trials),
        "verified": max((e["score"] for e in finals if e["verified"]), default=None),
        "ended": end.get("reason", ""),
        "clock": end.get("clock", {}),
        "refused": error.get("message", ""),
        "detail": error.get("detail", ""),
    }


# ------------------------------------------------------------ what is told


def line(record: Mapping[str, Any]) -> str:
    if record["refused"]:
        return f"{record['key']}: {record['refused']} ({record['seconds']:.0f} s)"
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in record["outcomes"].items())
    said = f"{record['cases']} cases at a {record['boundary']}, {record['tried']} tried ({outcomes}) in {record['seconds']:.0f} s"
    return f"{record['key']}: {said}; {record['ended']}{f' at {best:.2f}×' if (best := record['verified']) else ''}"


Records = Sequence[Mapping[str, Any]]


def summary(records: Records, titles: Sequence[str], figures: Callable[[Records], list[str]]) -> list[str]:
    """A table by project, and every refusal by its sentence with how often it was said, and where first."""
    projects = sorted({r["project"] for r in records})
    rows = [[name, *figures([r for r in records if r["project"] == name])] for name in projects]
    rows += [["all", *figures(records)]] if len(projects) > 1 else []
    out = ["", f"| {' | '.join(titles)} |", "|" + " --- |" * len(titles), *(f"| {' | '.join(row)} |" for row in rows)]
    sentences: dict[str, list[str]] = {}
    for record in records:
        if record["refused"]:
            sentences.setdefault(plain(record["refused"]), []).append(record["key"])
    counts = Counter({sentence: len(keys) for sentence, keys in sentences.items()})
    return [*out, "", *(f"{count} x {sentence} (first: {sentences[sentence][0]})" for sentence, count in counts.most_common())]


def figures(records: Sequence[Mapping[str, Any]]) -> list[str]:
    captured = [r for r in records if r["cases"]]
    counts = [
        len(records),
        sum(1 for r in records if r["entry"]),
        len(captured),
        sum(1 for r in captured if r["boundary"] == "host function"),
        sum(1 for r in captured if r["tried"] >= 1),
        sum(1 for r in captured if r["tried"] >= ENOUGH),
        sum(1 for r in records if r["refused"]),
        sum(1 for r in records if not r["entry"]),
    ]
    return [str(count) for count in counts]


def plain(sentence: str) -> str:
    """Without what differs from kernel to kernel: paths, names with an underscore or a dot, numbers."""
    return re.sub(r"[\w./:\[\]-]*[_/][\w./:\[\]-]*\w|\b\d+\b", "…", sentence)


if __name__ == "__main__":
    sys.exit(main())
