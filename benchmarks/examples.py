#!/usr/bin/env python3
"""`kernelband optimize` on every example, and the table that the README shows.

    python benchmarks/examples.py [--python PYTHON] [--worker CMD] [--trials 20] [--seconds 300] [--db PATH] [EXAMPLE.py ...]

Runs the command line as a user would (entry ``bench``), then reads the figures out of the history that it wrote. Every figure is
of the final processes; a ratio stands with the 95 % prediction interval for one more fresh process. Exits with 1 when a variant was
wrong in the final.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from math import exp, log
from pathlib import Path
from statistics import fmean, median
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
RUN_S = 900  # for one example, everything included
TITLES = [
    "example",
    "device µs",
    "call µs",
    "ratio",
    "winning moves",
    "trials to best",
    "proposed / compiled / executed",
    "wrong",
    "s per trial",
    "run s",
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="default: every example")
    parser.add_argument("--entry", default="bench")
    parser.add_argument("--python", help="the Python that has torch and triton")
    parser.add_argument("--worker", help="a command in front of it, such as 'ssh box'")
    parser.add_argument("--trials", default="20")
    parser.add_argument("--seconds", default="300")
    parser.add_argument("--policy", default="kernelband")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--db", type=Path, help="keep the history here")
    options = parser.parse_args()
    database = options.db or Path(tempfile.mkdtemp()) / "history.db"
    rows, scores, wrong, header = [], [], 0, ""
    for file in options.files or sorted(EXAMPLES.glob("*.py")):
        run = optimize(file, options, database)
        if run["run"]["mode"] != "measured":
            sys.exit("The benchmark needs a real GPU, and the worker's Python sees none. Name a machine with --worker 'ssh HOST'.")
        versions = run["run"]["environment"]
        header = (
            f"{run['run']['device']}, torch {versions['torch']}, Triton {versions['triton']}, Python {versions['python']}, driver "
            f"{versions['driver']}, {datetime.now(timezone.utc):%Y-%m-%d}; {run['run']['policy']} policy, seed {run['run']['seed']}, "
            f"{run['run']['trials_budget']} trials, no model"
        )
        cells, score, bad = row(file.stem, run)
        rows.append(cells)
        scores.append(score)
        wrong += bad
        print(f"| {' | '.join(cells)} |", file=sys.stderr, flush=True)
    print(f"\n{header}\n\n| {' | '.join(TITLES)} |\n|{' --- |' * len(TITLES)}")
    for cells in rows:
        print(f"| {' | '.join(cells)} |")
    faster, mean = sum(s > 1 for s in scores), exp(fmean(log(s) for s in scores))
    print(f"\n{faster} of {len(scores)} verified faster, geometric mean {mean:.2f}x (unchanged counts as 1.00x).")
    return 1 if wrong else 0


def optimize(file: Path, options: argparse.Namespace, database: Path) -> dict[str, Any]:
    """One run, and what ``show --json`` says of it."""
    command = [sys.executable, "-m", "kernelband", "optimize", str(file), "--json", "--db", str(database), "--entry", options.entry]
    for name in ("trials", "seconds", "policy", "seed", "python", "worker"):
        if getattr(options, name):
            command += [f"--{name}", getattr(options, name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_S, check=False)
    if done.returncode:
        sys.exit(f"{file.name}: {done.stderr or done.stdout[-2000:]}")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    run = next(e["run"] for e in events if e.get("run"))
    show = [sys.executable, "-m", "kernelband", "show", run, "--json", "--db", str(database)]
    return json.loads(subprocess.run(show, capture_output=True, text=True, timeout=60, check=True).stdout)


def row(name: str, run: dict[str, Any]) -> tuple[list[str], float, int]:
    """The table's cells, the verified ratio (1 when nothing was verified), and how many finalists were wrong."""
    finals, trials = run["finals"], run["trials"]
    wrong = sum(f["result"]["correctness"] == "wrong" for f in finals)
    best = max((f for f in finals if f["verified"]), key=lambda f: f["score"], default=None)
    counts = run["run"]["summary"]["counts"]
    executed_wrong = sum(t["correctness"] in ("wrong", "nondeterministic") for t in trials)
    common = [
        f"{counts.get('proposed', 0)} / {counts.get('compiled', 0)} / {counts.get('executed', 0)}",
        f"{executed_wrong} dropped, {wrong} in the final",
        f"{median(t['seconds'] for t in trials):.1f}" if trials else "",
        f"{run['run']['seconds_used']:.0f}",
    ]
    if best is None:
        before = ", ".join(f"{c['facts']['device_us']:.1f}" for c in run["cases"] if c["role"] == "time")
        return [name, before, "", "nothing verified", "", "", *common], 1.0, wrong
    cases = best["result"]["cases"]
    ratio = f"**{best['score']:.2f}x** ({best['low']:.2f} to {best['high']:.2f})"
    variants = {v["id"]: v for v in run["variants"]}
    moves: list[str] = []
    at = variants.get(best["variant"])
    while at is not None and at["strategy"]:
        moves.insert(0, f"{at['strategy']}.{at['move']}")
        at = variants.get(at["parent"])
    number = next(t["number"] for t in trials if t["variant"] == best["variant"])
    return [name, *times(cases), ratio, ", ".join(dict.fromkeys(moves)), str(number), *common], best["score"], wrong


def times(cases: list[dict[str, Any]]) -> list[str]:
    """Device and call time before and after, each case."""
    pairs = [[f"{c[f'{kind}_before_us']:.1f} → {c[f'{kind}_after_us']:.1f}" for c in cases] for kind in ("device", "call")]
    return [", ".join(p) for p in pairs]


if __name__ == "__main__":
    sys.exit(main())
