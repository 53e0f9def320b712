#!/usr/bin/env python3
"""`kernelband optimize` on every example, and the table that docs/measured.md begins with.

    python benchmarks/examples.py [--python PYTHON] [--worker CMD] [--trials 20] [--seconds 300] [--gpus 0,1,2,3] [--out FOLDER] [FILE ...]

Runs the command line as a user would (entry ``bench``) on each kernel, then reads the figures out of the history that it wrote. Every
figure is of the final processes; a ratio stands with the 95 % prediction interval for one more fresh process. With ``--gpus`` the examples
are spread over GPUs of this machine, one run at a time on each. An example that fails is a row that says so.

FOLDER gets, as they come: ``runs.json`` (example, history, run id, row), one history per GPU, ``table.md``.
Exits with 1 when a variant was wrong in the final or an example failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from figures import TITLES, Row, failed, header, row, summary
from gpus import FailedError, Lane, lanes, run, spread
from targets import examples, label

SHOW_S = 60.0


@frozen
class Outcome:
    """A finished run: its row, and where its history is."""

    row: Row
    shown: dict[str, Any]
    run: str
    db: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="FILE or FILE::KERNEL; default: every kernel of the examples")
    parser.add_argument("--entry", default="bench")
    parser.add_argument("--python", help="the Python that has torch and triton")
    parser.add_argument("--worker", help="a command in front of it, such as 'ssh box'")
    parser.add_argument("--trials", default="20")
    parser.add_argument("--seconds", default="300", help="of each run; trials usually end it")
    parser.add_argument("--policy", default="kernelband")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--gpus", help="GPUs of this machine to spread the examples over, such as 0,1,2,3")
    parser.add_argument("--jobs", type=int, help="the same, by number: GPUs 0 to N-1")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which an example is given up, everything included")
    parser.add_argument("--out", type=Path, help="keep histories, runs.json and table.md in this folder")
    options = parser.parse_args()
    gpus = options.gpus or (",".join(map(str, range(options.jobs))) if options.jobs else None)
    if gpus and options.worker:
        parser.error("--gpus and --jobs spread over this machine's GPUs; a --worker's are not this machine's")
    files = options.files or examples()
    folder = options.out or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    found: dict[str, Row] = {}
    runs: list[dict[str, Any]] = []
    title = ""
    for file, outcome in spread(files, lanes(gpus), lambda file, lane: optimize(file, options, folder, lane)):
        if isinstance(outcome, Outcome):
            found[label(file)] = outcome.row
            runs.append(
                {"example": label(file), "path": str(file.resolve()), "run": outcome.run, "db": outcome.db, "row": asdict(outcome.row)}
            )
            title = header(outcome.shown, f"{datetime.now(timezone.utc):%Y-%m-%d}")
        else:
            sentence = str(outcome) if isinstance(outcome, FailedError) else f"{type(outcome).__name__}: {outcome}"
            found[label(file)] = failed(label(file), sentence)
        print(found[label(file)].line, file=sys.stderr, flush=True)
        (folder / "runs.json").write_text(json.dumps(runs, indent=1))
        (folder / "table.md").write_text(table([found[label(f)] for f in files if label(f) in found], title))
    rows = [found[label(f)] for f in files]
    print(table(rows, title))
    print(f"{len(rows)} examples in {time.monotonic() - began:.0f} s on {len(lanes(gpus))} GPU(s); {folder}", file=sys.stderr)
    return 1 if any(r.wrong or r.error for r in rows) else 0


def table(rows: list[Row], title: str) -> str:
    """Markdown, with what the summary says under it."""
    head = f"{title}\n\n| {' | '.join(TITLES)} |\n|{' --- |' * len(TITLES)}\n"
    return head + "\n".join(r.line for r in rows) + "\n\n" + "\n".join(summary(rows)) + "\n"


def optimize(file: Path, options: argparse.Namespace, folder: Path, lane: Lane) -> Outcome:
    """One run, and what ``show --json`` says of it.

    Raises:
        FailedError: it failed, in one sentence.
    """
    database = folder / f"history{lane.suffix}.db"
    command = [sys.executable, "-m", "kernelband", "optimize", str(file), "--json", "--db", str(database), "--entry", options.entry]
    for name in ("trials", "seconds", "policy", "seed", "python", "worker"):
        if getattr(options, name):
            command += [f"--{name}", getattr(options, name)]
    events = [json.loads(line) for line in run(command, options.limit, lane.environment).splitlines()]
    number = next((e["run"] for e in events if e.get("run")), None)
    if number is None:
        raise FailedError("It ended without a run.")
    show = [sys.executable, "-m", "kernelband", "show", number, "--json", "--db", str(database)]
    shown = json.loads(run(show, SHOW_S, lane.environment))
    if shown["run"]["mode"] != "measured":
        raise FailedError("Nothing was measured: the worker's Python sees no GPU. Name a machine with --worker 'ssh HOST'.")
    return Outcome(row(label(file), shown), shown, number, str(database.resolve()))


if __name__ == "__main__":
    sys.exit(main())
