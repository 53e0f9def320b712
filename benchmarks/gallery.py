#!/usr/bin/env python3
"""Winning patches with their explanations, as docs/gallery.md has them, out of the histories that examples.py wrote.

    python benchmarks/gallery.py --runs FOLDER/runs.json [--count 5] > docs/gallery.md

The best verified variant of each example, the largest ratio first, each first winning move at most three times, so that the gallery shows
different ideas. Ratios are of the final processes, with the prediction interval for one more fresh process.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from kernelband.explain.why import of_run
from kernelband.history import Store, runs, trials
from kernelband.history.records import FinalRow, RunRow

MOST_OF_A_MOVE = 3


@frozen
class Winner:
    """The best verified variant of an example's run."""

    example: str
    db: Path
    run: RunRow
    final: FinalRow
    move: str  # the first edit's, by strategy


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=Path, required=True, help="runs.json of examples.py")
    parser.add_argument("--count", type=int, default=5)
    options = parser.parse_args()
    found = [w for w in map(winner, json.loads(options.runs.read_text())) if w is not None]
    if not found:
        sys.exit(f"{options.runs} names no run with a verified variant, so there is nothing to show.")
    print(page(choose(found, options.count)))
    return 0


def winner(entry: Mapping[str, Any]) -> Winner | None:
    """None where nothing was verified."""
    with Store.read(Path(entry["db"])) as store:
        row = runs.find(store, entry["run"])
        verified = [f for f in trials.finals(store, row.id) if f.verified and f.score]
        if not verified:
            return None
        best = max(verified, key=lambda f: f.score or 0.0)
        by_id = {v.id: v for v in trials.variants(store, row.id)}
        first = by_id[best.variant]
        while first.parent:
            first = by_id[first.parent]
        return Winner(entry["example"], Path(entry["db"]), row, best, f"{first.strategy}.{first.move}")


def choose(found: Sequence[Winner], count: int) -> list[Winner]:
    """The largest ratios, no first move too often."""
    taken: list[Winner] = []
    seen: Counter[str] = Counter()
    for w in sorted(found, key=lambda w: -(w.final.score or 0.0)):
        if len(taken) < count and seen[w.move] < MOST_OF_A_MOVE:
            taken.append(w)
            seen[w.move] += 1
    return taken


def page(chosen: Sequence[Winner]) -> str:
    """Markdown."""
    out = [
        "# Gallery",
        "",
        "Patches that `kernelband optimize` found for the files under `examples/`, without a model, with the explanation that it gave.",
        "Made by `python benchmarks/gallery.py` from the histories of those runs; ratios are those of their final processes.",
    ]
    for w in chosen:
        told = of_run(w.db, w.run.id, w.final.variant)
        e = w.run.environment
        score, low, high = w.final.score or 0.0, w.final.low or 0.0, w.final.high or 0.0
        made = f"{w.run.device}, Triton {e.get('triton')}, torch {e.get('torch')}"
        out += ["", f"## {w.example}: {score:.2f}× ({low:.2f} to {high:.2f} in one more fresh process)", "", f"{made}.", ""]
        out += [f"> {line.strip()}  " for line in told.lines]
        out += ["", "```diff", told.patch.rstrip(), "```"]
    return "\n".join(out)


if __name__ == "__main__":
    sys.exit(main())
