#!/usr/bin/env python3
"""How well the forecast ranks what was measured: rank correlation by kernel, and what the first tier was worth.

    python benchmarks/forecast.py [HISTORY.db | LANDSCAPE.json.gz ...]

For each landscape, and each run in measured mode with at least --least executed variants: Spearman's rank correlation of forecast and
screening ratio, with the formula as it stands now (facts and traffic of every launch are kept) and as it stood when the candidates were
ranked; and of the variants that the formula calls likely faster without knowing the original's time, as where there is no GPU, how many
really were faster than the original by 2 %, beside the share of all, which is what a random pick finds. Default: benchmarks/landscapes.
A run executes what was forecast to be good, so its correlation says little of the others; a landscape has all kinds.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from attrs import frozen
from recorded import Landscape, load

from kernelband.hardware import find_device
from kernelband.hardware.forecast import forecast
from kernelband.history import Store, runs, trials
from kernelband.history.records import RunRow
from kernelband.history.values import works_of

HERE = Path(__file__).resolve().parent
FASTER = 1.02


@frozen
class Point:
    """A variant: ratio in screening, and what was forecast; ``then`` by the formula of its run, ``blind`` as without a GPU."""

    measured: float
    now: float
    then: float
    likely: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="histories and landscapes; default: every landscape in benchmarks/landscapes")
    parser.add_argument("--least", type=int, default=6, help="variants of a run that counts")
    options = parser.parse_args()
    print("| recorded | kernel | variants | Spearman now | Spearman then | likely faster | really | of all |\n|" + " --- |" * 8)
    now: list[float] = []
    called = right = everything = faster = 0
    for name, kernel, points in sources(options.files or sorted((HERE / "landscapes").glob("*.json.gz"))):
        if len(points) < options.least:
            continue
        ours, theirs = (spearman([getattr(p, x) for p in points], [p.measured for p in points]) for x in ("now", "then"))
        now += [] if ours is None else [ours]
        likely = [p for p in points if p.likely]
        good, better = (sum(p.measured >= FASTER for p in some) for some in (likely, points))
        called, right, everything, faster = called + len(likely), right + good, everything + len(points), faster + better
        told = (f"{len(likely)}", f"{good}", f"{better} of {len(points)}")
        print(f"| {name} | {kernel} | {len(points)} | {shown(ours)} | {shown(theirs)} | {' | '.join(told)} |")
    if not now:
        sys.exit(f"Nothing has {options.least} measured variants whose ratios and forecasts differ, so nothing can be ranked.")
    print(f"\nMedian Spearman {median(now):.2f} over {len(now)} kernels. Likely faster: {right} of {called} were.", end=" ")
    print(f"Of all variants {faster} of {everything} were.")
    return 0


def sources(files: list[Path]) -> Iterator[tuple[str, str, list[Point]]]:
    """Name, kernel and points of each landscape, and of each measured run of a history."""
    for path in files:
        if path.name.endswith(".json.gz"):
            found = load(path)
            date, device = found.facts["date"], found.facts["gpu"].get("name", found.device)
            yield f"{found.example}, {device}, {date}", found.kernel, of_landscape(found)
            continue
        with Store.read(path) as store:
            for run in runs.listing(store, limit=1000):
                if run.mode == "measured":
                    yield run.id, run.kernel, of_run(store, run)


def of_landscape(found: Landscape) -> list[Point]:
    """Every executed and correct variant, each program once."""
    device, before, took = find_device(found.device), found.works(0), found.device_us
    points: list[Point] = []
    for node in found.nodes.values():
        if node.id and node.cases and node.same_as is None:
            after = found.works(node.id)
            score, blind = forecast(device, before, after, took).score, forecast(device, before, after)
            points.append(Point(math.exp(found.log(node)), score, node.forecast or 1.0, blind.tier == "likely faster"))
    return points


def of_run(store: Store, run: RunRow) -> list[Point]:
    """Every executed variant that has a ratio and kept its launches."""
    device = find_device(run.device)
    facts: dict[int, dict[str, dict[str, object]]] = {}
    for row in trials.facts(store, run.id):
        facts.setdefault(row.variant, {})[row.key] = row.facts
    variants = {v.id: v for v in trials.variants(store, run.id)}
    works = {v.id: works_of(v, facts.get(v.id, {})) for v in variants.values()}  # type: ignore[arg-type]
    before = works.get(0)
    took = {c.id: c.facts["device_us"] for c in trials.cases(store, run.id) if c.facts.get("device_us")}
    points: list[Point] = []
    for trial in trials.trials(store, run.id):
        after = works.get(trial.variant)
        if before and after and trial.score:
            then = variants[trial.variant].forecast.get("score", 1.0)
            blind = forecast(device, before, after)
            points.append(Point(trial.score, forecast(device, before, after, took).score, then, blind.tier == "likely faster"))
    return points


def spearman(first: list[float], second: list[float]) -> float | None:
    """Rank correlation, ties sharing their mean rank; None where one side is all equal."""
    a, b = ranks(first), ranks(second)
    if a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def ranks(values: list[float]) -> np.ndarray:
    """Mean ranks; differences under half a per cent are ties."""
    rounded = [round(math.log(max(v, 1e-9)) / 0.005) for v in values]
    order = sorted(rounded)
    return np.array([order.index(v) + (order.count(v) - 1) / 2 for v in rounded], dtype=float)


def shown(value: float | None) -> str:
    return "all equal" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
