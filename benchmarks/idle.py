#!/usr/bin/env python3
"""How long the GPU had nothing to do in a search: from the clocks that each run keeps.

    python benchmarks/idle.py --db PATH [RUN ...]

The span is that from the beginning of the first trial to the end of the last one: between baseline and final. Busy are the seconds in which
the device checked or timed a variant, as the run waited for it; what the executor's host does in between counts as busy.
Shares of the rest say what the GPU waited for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

BUSY = ("time", "check")  # spans of search.budget.SPANS in which the device works


@frozen
class Idle:
    """Seconds between baseline and final, and where those went in which the device neither checked nor timed."""

    span_s: float
    busy_s: float
    waits: Mapping[str, float]

    @property
    def share(self) -> float:
        """0 when the device was never without work."""
        return max(0.0, 1.0 - self.busy_s / self.span_s) if self.span_s > 0 else 0.0


def idle(trials: Sequence[Mapping[str, Any]]) -> Idle | None:
    """From a run's trials, as ``show --json`` gives them; None without any."""
    if not trials:
        return None
    begin = min(t["started"] for t in trials)
    end = max(t["started"] + t["seconds"] for t in trials)
    waits: dict[str, float] = {}
    busy = 0.0
    for trial in trials:
        for name, seconds in trial["clock"].items():
            if name in BUSY:
                busy += seconds
            else:
                waits[name] = waits.get(name, 0.0) + seconds
    span = end - begin
    unclaimed = span - busy - sum(waits.values())  # choices that led to no trial, and the clock of none
    if unclaimed > 0.01:
        waits["between trials"] = unclaimed
    return Idle(span, min(busy, span), dict(sorted(waits.items(), key=lambda item: -item[1])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--db", type=Path, required=True)
    parser.add_argument("runs", nargs="*", help="default: every measured run")
    options = parser.parse_args()
    from attrs import asdict

    from kernelband.errors import KernelBandError
    from kernelband.history import Store, runs, trials

    try:
        with Store.read(options.db) as store:
            rows = [r for r in runs.listing(store, limit=10_000) if r.mode == "measured" and (not options.runs or r.id in options.runs)]
            print("| run | kernel | trials | between baseline and final, s | idle | waiting for |\n|" + " --- |" * 6)
            for row in rows:
                found = trials.trials(store, row.id)
                seen = idle([asdict(t) for t in found])
                if seen is not None:
                    waits = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in list(seen.waits.items())[:4])
                    print(f"| {row.id} | {row.kernel} | {len(found)} | {seen.span_s:.1f} | {seen.share:.0%} | {waits} |")
    except KernelBandError as error:
        print(error.message, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
