#!/usr/bin/env python3
"""Compare policies on recorded landscapes, without a GPU: the best ratio so far after 5, 10 and 20 trials.

    python benchmarks/policies.py [LANDSCAPE.json.gz ...] [--seeds 100] [--policies A,B,...] [--each]

Every figure is a geometric mean over the landscapes, then over the seeds, with the 95 % interval of the mean over seeds; ratios are those
that were recorded (screening on the GPU that the landscapes name), so they compare policies and are no results. The last column is the
mean log-gain at 20 trials over that of the best that is recorded.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from math import exp, sqrt
from pathlib import Path
from statistics import fmean, stdev

from recorded import Landscape, load
from replay import curves

from kernelband.errors import KernelBandError
from kernelband.judge.student import t_quantile
from kernelband.search.policies import NAMES, make_policy
from kernelband.search.policies.mends import MENDS, WITHOUT

HERE = Path(__file__).resolve().parent
AT = (5, 10, 20)

Curves = list[tuple[float, ...]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="default: every landscape in benchmarks/landscapes")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--policies", help="names with commas; default: all, and kernelband without each of its mends")
    parser.add_argument("--each", action="store_true", help="also a table with a line for each landscape, at 20 trials")
    given = parser.parse_args()
    files = given.files or sorted((HERE / "landscapes").glob("*.json.gz"))
    if not files:
        sys.exit("There is no landscape: record some with benchmarks/landscape.py on a machine with a GPU.")
    names = given.policies.split(",") if given.policies else [*NAMES, *(WITHOUT + m for m in MENDS)]
    begin = time.monotonic()
    try:
        for name in names:
            make_policy(name)
        landscapes = [load(f) for f in files]
    except KernelBandError as error:
        sys.exit(error.message)
    unmeasured = [f.name for f, x in zip(files, landscapes, strict=True) if not x.facts["measured"]]
    if unmeasured:
        sys.exit(f"Nothing was executed for {', '.join(unmeasured)}: record without --dry.")
    jobs = [(str(f), name, given.seeds) for name in names for f in files]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(one, jobs, chunksize=1))
    by_policy = {name: found[i * len(files) : (i + 1) * len(files)] for i, name in enumerate(names)}
    header(landscapes)
    table(by_policy, landscapes)
    if "kernelband" in by_policy and len(by_policy) > 1:
        against(by_policy)
    if given.each:
        each(by_policy, landscapes)
    print(f"\n{given.seeds} seeds, {time.monotonic() - begin:.0f} s.")
    return 0


def one(job: tuple[str, str, int]) -> Curves:
    """All seeds of a policy on a landscape."""
    file, name, seeds = job
    return curves(load(Path(file)), make_policy(name), range(seeds), max(AT))


def header(landscapes: list[Landscape]) -> None:
    """What the landscapes are."""
    for x in landscapes:
        executed = sum(bool(n.cases) for n in x.nodes.values())
        f = x.facts
        print(
            f"{x.example}: {len(x.nodes) - 1} variants, {executed} executed and correct, best recorded {exp(x.best()):.2f}×; "
            f"{f['gpu'].get('name', x.device)}, torch {f['environment']['torch']}, Triton {f['environment']['triton']}, {f['date']}"
        )


def interval(values: list[float]) -> str:
    """Mean of logs as a ratio, with the 95 % interval of the mean."""
    return "{:.3f} ({:.3f} to {:.3f})".format(*(exp(x) for x in bounds(values)))


def percent(values: list[float]) -> str:
    """The same as a gain in percent."""
    return "{:+.2f}% ({:+.2f} to {:+.2f})".format(*(100 * (exp(x) - 1) for x in bounds(values)))


def bounds(values: list[float]) -> tuple[float, float, float]:
    """Mean, and its 95 % interval by Student's t."""
    centre = fmean(values)
    reach = t_quantile(0.975, len(values) - 1) * stdev(values) / sqrt(len(values)) if len(values) > 1 else float("nan")
    return centre, centre - reach, centre + reach


def table(by_policy: dict[str, list[Curves]], landscapes: list[Landscape]) -> None:
    """Geometric means over landscapes."""
    best = fmean(x.best() for x in landscapes)
    print(f"\n| policy | {' | '.join(f'{n} trials' for n in AT)} | of the best |\n|{' --- |' * (len(AT) + 2)}")
    for name, found in by_policy.items():
        cells = [interval([fmean(c[seed][n - 1] for c in found) for seed in range(len(found[0]))]) for n in AT]
        share = fmean(c[seed][-1] for c in found for seed in range(len(c))) / best if best > 0 else 0.0
        print(f"| {name} | {' | '.join(cells)} | {share:.0%} |")


def against(by_policy: dict[str, list[Curves]], reference: str = "kernelband") -> None:
    """What the reference gains over each other policy, by pairs of runs with the same seed: where the interval holds 0, no difference."""
    print(f"\n| {reference} gains over | {' | '.join(f'{n} trials' for n in AT)} |\n|{' --- |' * (len(AT) + 1)}")
    for name, found in by_policy.items():
        if name == reference:
            continue
        pairs = [list(zip(ours, theirs, strict=True)) for ours, theirs in zip(by_policy[reference], found, strict=True)]
        gains = [[fmean(p[seed][0][n - 1] - p[seed][1][n - 1] for p in pairs) for seed in range(len(pairs[0]))] for n in AT]
        print(f"| {name} | {' | '.join(percent(values) for values in gains)} |")


def each(by_policy: dict[str, list[Curves]], landscapes: list[Landscape]) -> None:
    """Every landscape, at the last column's trials."""
    print(f"\n| at {AT[-1]} trials | {' | '.join(x.example for x in landscapes)} |\n|{' --- |' * (len(landscapes) + 1)}")
    print(f"| best recorded | {' | '.join(f'{exp(x.best()):.2f}' for x in landscapes)} |")
    for name, found in by_policy.items():
        print(f"| {name} | {' | '.join(f'{exp(fmean(c[-1] for c in curves_)):.2f}' for curves_ in found)} |")


if __name__ == "__main__":
    sys.exit(main())
