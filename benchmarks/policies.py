#!/usr/bin/env python3
"""Compare policies on recorded landscapes, without a GPU: the best ratio so far after 5, 10 and 20 trials.

    python benchmarks/policies.py [LANDSCAPE.json.gz ...] [--seeds 100] [--policies A,B,...] [--each]

Every figure is a geometric mean over seeds and landscapes. Its 95 % interval is by bootstrap over the landscapes: what would be said of
other kernels like these, of which there are few. Ratios are those that were recorded (screening on the GPU that the landscapes name), so
they compare policies and are no results. The last column is the mean log-gain at 20 trials over that of the best that is recorded.

Beside the search's own policies: `round-robin` (strategies in turns, with the forecast), `greedy-tuned` (how much of a forecast greedy
believes, chosen for each landscape on the others), `paper` and `kernelband` without being told what limits a variant, and
`kernelband-lean`, the default without the parts that make no difference one by one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from math import exp
from pathlib import Path
from statistics import fmean

import numpy as np
from baselines import BELIEFS, LEAN, TUNED, UNPROFILED, opponent
from recorded import UNMEASURED, Landscape, load
from replay import curves

from kernelband.errors import KernelBandError
from kernelband.search.policies import NAMES
from kernelband.search.policies.mends import MENDS, WITHOUT

HERE = Path(__file__).resolve().parent
AT = (5, 10, 20)
DRAWS = 10_000
OTHERS = ("round-robin", TUNED, LEAN, f"paper{UNPROFILED}", f"kernelband{UNPROFILED}")

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
    names = given.policies.split(",") if given.policies else [*NAMES, *OTHERS, *(WITHOUT + m for m in MENDS)]
    begin = time.monotonic()
    try:
        asked = [n for name in names for n in (believers() if name == TUNED else [name])]
        for name in asked:
            opponent(name)
        landscapes = [load(f) for f in files]
    except KernelBandError as error:
        sys.exit(error.message)
    unmeasured = [f.name for f, x in zip(files, landscapes, strict=True) if not x.facts["measured"]]
    if unmeasured:
        sys.exit(f"Nothing was executed for {', '.join(unmeasured)}: record without --dry.")
    asked = list(dict.fromkeys(asked))
    jobs = [(str(f), name, given.seeds) for name in asked for f in files]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(one, jobs, chunksize=1))
    by_name = {name: found[i * len(files) : (i + 1) * len(files)] for i, name in enumerate(asked)}
    by_policy = {name: tuned(by_name) if name == TUNED else by_name[name] for name in names}
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
    return curves(load(Path(file)), opponent(name), range(seeds), max(AT))


def believers() -> list[str]:
    return [f"greedy-{b:g}" for b in BELIEFS]


def tuned(by_name: dict[str, list[Curves]]) -> list[Curves]:
    """For each landscape the believer that does best on the others at the last column's trials, the first of equals."""
    ends = {name: [fmean(c[-1] for c in found) for found in by_name[name]] for name in believers()}
    count = len(next(iter(ends.values())))
    best = [max(believers(), key=lambda name: sum(ends[name][:i] + ends[name][i + 1 :])) for i in range(count)]
    return [by_name[name][i] for i, name in enumerate(best)]


def header(landscapes: list[Landscape]) -> None:
    """What the landscapes are."""
    for x in landscapes:
        distinct = [n for n in x.nodes.values() if n.id and n.same_as is None]
        untimed = sum(n.outcome == UNMEASURED for n in distinct)
        f = x.facts
        print(
            f"{x.example}: {len(distinct)} distinct programs, {untimed} of them never timed, best recorded {exp(x.best()):.2f}×; "
            f"{f['gpu'].get('name', x.device)}, torch {f['environment']['torch']}, Triton {f['environment']['triton']}, {f['date']}"
        )


def interval(values: list[float]) -> str:
    """Mean of logs as a ratio, with its 95 % interval."""
    return "{:.3f} ({:.3f} to {:.3f})".format(*(exp(x) for x in bounds(values)))


def percent(values: list[float]) -> str:
    """The same as a gain in percent."""
    return "{:+.1f}% ({:+.1f} to {:+.1f})".format(*(100 * (exp(x) - 1) for x in bounds(values)))


def bounds(values: list[float]) -> tuple[float, float, float]:
    """Mean over landscapes, and its 95 % interval by bootstrap over them (percentiles, always the same draws)."""
    drawn = np.random.default_rng(0).integers(0, len(values), (DRAWS, len(values)))
    means = np.array(values)[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975]).tolist()
    return fmean(values), low, high


def table(by_policy: dict[str, list[Curves]], landscapes: list[Landscape]) -> None:
    """Geometric means over landscapes."""
    best = fmean(x.best() for x in landscapes)
    print(f"\n| policy | {' | '.join(f'{n} trials' for n in AT)} | of the best |\n|{' --- |' * (len(AT) + 2)}")
    for name, found in by_policy.items():
        cells = [interval([fmean(c[n - 1] for c in curves_) for curves_ in found]) for n in AT]
        share = fmean(c[seed][-1] for c in found for seed in range(len(c))) / best if best > 0 else 0.0
        print(f"| {name} | {' | '.join(cells)} | {share:.0%} |")


def against(by_policy: dict[str, list[Curves]], reference: str = "kernelband") -> None:
    """What the reference gains over each other policy on the same landscapes: where the interval holds 0, no difference is shown."""
    print(f"\n| {reference} gains over | {' | '.join(f'{n} trials' for n in AT)} |\n|{' --- |' * (len(AT) + 1)}")
    for name, found in by_policy.items():
        if name == reference:
            continue
        pairs = list(zip(by_policy[reference], found, strict=True))
        gains = [[fmean(c[n - 1] for c in ours) - fmean(c[n - 1] for c in theirs) for ours, theirs in pairs] for n in AT]
        print(f"| {name} | {' | '.join(percent(values) for values in gains)} |")


def each(by_policy: dict[str, list[Curves]], landscapes: list[Landscape]) -> None:
    """Every landscape, at the last column's trials."""
    print(f"\n| at {AT[-1]} trials | {' | '.join(x.example for x in landscapes)} |\n|{' --- |' * (len(landscapes) + 1)}")
    print(f"| best recorded | {' | '.join(f'{exp(x.best()):.2f}' for x in landscapes)} |")
    for name, found in by_policy.items():
        print(f"| {name} | {' | '.join(f'{exp(fmean(c[-1] for c in curves_)):.2f}' for curves_ in found)} |")


if __name__ == "__main__":
    sys.exit(main())
