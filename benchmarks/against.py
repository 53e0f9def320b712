#!/usr/bin/env python3
"""Where we win and where we lose: against ``triton.autotune``, torch eager and torch.compile, on what examples.py has found.

    python benchmarks/against.py --runs FOLDER/runs.json [--python PYTHON] [--gpus 0,1,2,3] [--compile default] [--out FOLDER] [EXAMPLE ...]

For each example that examples.py ran: the original against its best verified variant, against autotune over 20 configurations (as many as
trials), against autotune over the whole list within the seconds of our run, and against torch. Every opponent is timed against the
original, interleaved, by the product's own timing code. What computes something else is marked and beats nobody.

FOLDER gets, as they come: ``EXAMPLE.json`` (every figure), the modules that were raced, ``against.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

from autotuned import MOST, PLANS, UntunableError, autotuned
from gpus import FailedError, Lane, lanes, run, spread

from kernelband.errors import KernelBandError
from kernelband.history import Store, runs, trials
from kernelband.source import patch_from_json

HERE = Path(__file__).resolve().parent
OURS, TUNED, TUNED_LONG = "ours", "autotune", "autotune, equal seconds"
MARGIN = 1.02  # a smaller difference is none


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", nargs="*", help="names; default: every one in --runs")
    parser.add_argument("--runs", type=Path, required=True, help="runs.json of examples.py")
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch and triton")
    parser.add_argument("--gpus", help="GPUs of this machine to spread the examples over, such as 0,1,2,3")
    parser.add_argument("--compile", default="default", help="modes of torch.compile, such as default,max-autotune-no-cudagraphs; or none")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--cases", type=int, default=3, help="at most so many calls of each bench")
    parser.add_argument("--no-equal-seconds", action="store_true", help="leave the longer autotune out")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which an example is given up")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = {r["example"]: r for r in json.loads(options.runs.read_text())}
    names = [n for n in (options.examples or found) if n in found]
    folder = options.out or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, dict[str, Any]] = {}
    for name, outcome in spread(names, lanes(options.gpus), lambda name, lane: race(found[name], options, folder, lane)):
        if isinstance(outcome, Exception):
            results[name] = {"example": name, "error": str(outcome), "cases": [], "opponents": {}}
        else:
            results[name] = outcome
        said = results[name].get("error") or ", ".join(f"{k} {_said(v)}" for k, v in results[name]["opponents"].items())
        print(f"{name}: {said}", file=sys.stderr, flush=True)
        ordered = [results[n] for n in names if n in results]
        (folder / "against.md").write_text(report(ordered))
    print(report([results[n] for n in names]))
    return 0


def race(place: Mapping[str, Any], options: argparse.Namespace, folder: Path, lane: Lane) -> dict[str, Any]:
    """One example in a process of its own. What was measured before a failure is kept, with the failure.

    Raises:
        FailedError: nothing was measured.
    """
    name = place["example"]
    own = folder / name
    own.mkdir(exist_ok=True)
    out = own / f"{name}.json"
    out.unlink(missing_ok=True)
    try:
        modules, seconds, trials_done = versions(place, own, longer=not options.no_equal_seconds)
    except KernelBandError as error:
        raise FailedError(error.message) from error
    modes = [] if options.compile == "none" else options.compile.split(",")
    job = {
        "example": stem_of(place),
        "modules": modules,
        "compile": modes,
        "pairs": options.pairs,
        "cases": options.cases,
        "seconds": seconds,
    }
    (own / "job.json").write_text(json.dumps(job))
    # Compile caches of its own: what tuning takes is part of the comparison.
    caches = {"TRITON_CACHE_DIR": str(own / "triton"), "TORCHINDUCTOR_CACHE_DIR": str(own / "inductor")}
    path = os.pathsep.join(p for p in (str(HERE.parent / "server"), os.environ.get("PYTHONPATH", "")) if p)
    threads = {} if any("max" in m for m in modes) else {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    environment = {**lane.environment, **caches, **threads, "PYTHONPATH": path}
    began = time.monotonic()
    failure = ""
    try:
        run([options.python, str(HERE / "race.py"), str(own / "job.json"), str(out)], options.limit, environment)
    except FailedError as error:
        failure = str(error)
        if not out.exists():
            raise
    result = json.loads(out.read_text())
    result |= {"ours_seconds": seconds, "ours_trials": trials_done, "took": time.monotonic() - began, "verified": OURS in modules}
    if failure:
        result["cut"] = failure
    return result


def versions(place: Mapping[str, Any], folder: Path, *, longer: bool) -> tuple[dict[str, str], float, int]:
    """Writes the modules that are raced; their paths by name, and the seconds and trials of our run."""
    name = place["example"]
    with Store.read(Path(place["db"])) as store:
        row = runs.find(store, place["run"])
        texts = runs.base_texts(store, row.id)
        best = max((f for f in trials.finals(store, row.id) if f.verified), key=lambda f: f.score or 0.0, default=None)
        patch = patch_from_json(trials.variant(store, row.id, best.variant).patch) if best is not None else None
        executed = len(trials.trials(store, row.id))
    text = texts[row.path]
    made = {"original": text}
    if patch is not None:
        made[OURS] = patch.apply(texts)[row.path]
    try:
        every = PLANS[stem_of(place)]
        plans = [p for p in every if p.kernel == name] or every  # of a file with several kernels the one that was optimized
        made[TUNED] = autotuned(text, plans, MOST)
        if longer and any(len(p.configurations()) > MOST for p in plans):
            made[TUNED_LONG] = autotuned(text, plans, None)
    except (UntunableError, KeyError) as error:
        print(f"{name}: no autotune: {error}", file=sys.stderr)
    paths: dict[str, str] = {}
    for version, content in made.items():
        file = folder / f"{name}_{''.join(c if c.isalnum() else '_' for c in version)}.py"
        file.write_text(content)
        paths[version] = str(file)
    return paths, row.seconds_used, executed


def stem_of(place: Mapping[str, Any]) -> str:
    """The file of an example without its ending; a target may name one kernel of it."""
    return Path(str(place["path"]).partition("::")[0]).stem


# ---------------------------------------------------------------- what is said


def report(results: Sequence[Mapping[str, Any]]) -> str:
    """The table, the means and where we lose."""
    names = list(dict.fromkeys(k for r in results for k in r["opponents"]))
    names.sort(key=lambda n: [OURS, TUNED, TUNED_LONG, "eager"].index(n) if n in (OURS, TUNED, TUNED_LONG, "eager") else 9)
    device = next((r["device"] for r in results if r.get("device")), "")
    head = ["example", "case", "original µs", *names]
    lines = [f"Device times, {device}, {datetime.now(timezone.utc):%Y-%m-%d}. In brackets: times as fast as the original.", ""]
    lines += [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    for result in results:
        for i, case in enumerate(result["cases"]):
            first = next((o["cases"][i]["original_us"] for o in result["opponents"].values() if "cases" in o), None)
            cells = [_cell(result["opponents"].get(n), i) for n in names]
            lines.append(f"| {result['example']} | {case} | {'' if first is None else f'{first:.1f}'} | {' | '.join(cells)} |")
    lines += [
        "",
        *_means(results, names),
        "",
        "Where we lose:",
        *(lost(results) or ["nowhere by 2 % or more." if any(r["cases"] for r in results) else "nothing was measured."]),
    ]
    for result in results:
        failures = [f"{n}: {o['error']}" for n, o in result["opponents"].items() if "error" in o]
        failures += [f"{n}: {why}" for n, o in result["opponents"].items() for why in dict.fromkeys(_wrong(o))]
        failures += [s for s in (result.get("error"), result.get("cut")) if s]
        lines += [f"{result['example']}: {text}" for text in failures]
    return "\n".join(lines) + "\n"


def mean_ratio(opponent: Mapping[str, Any] | None, quantity: str = "ratio") -> float | None:
    """Geometric mean over the cases, original over opponent; None when it failed or computes something else."""
    if opponent is None or not opponent.get("cases") or any(c["wrong"] for c in opponent["cases"]):
        return None
    return exp(fmean(log(c[quantity]) for c in opponent["cases"]))


def ours_of(result: Mapping[str, Any]) -> float:
    """Ours against the original; 1 where nothing was verified, since then the original stands."""
    return mean_ratio(result["opponents"].get(OURS)) or 1.0


def lost(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each opponent that is faster than ours by 2 % or more, the worst first."""
    out: list[tuple[float, str]] = []
    for result in results:
        ours = ours_of(result)
        for name, opponent in result["opponents"].items():
            theirs = mean_ratio(opponent)
            if name == OURS or theirs is None or theirs < MARGIN * ours:
                continue
            per_case = [
                f"{case}: {c['us']:.1f} µs against {o:.1f}"
                for case, c, o in zip(result["cases"], opponent["cases"], _our_times(result, opponent), strict=True)
                if o > MARGIN * c["us"]
            ]
            what = "the original, as nothing was verified," if not result.get("verified") else "ours"
            said = f"- {result['example']}: {name} is {theirs / ours:.2f}× as fast as {what}"
            out.append((theirs / ours, f"{said} ({'; '.join(per_case)})." if per_case else f"{said}."))
    return [sentence for _, sentence in sorted(out, key=lambda item: -item[0])]


def _our_times(result: Mapping[str, Any], opponent: Mapping[str, Any]) -> list[float]:
    ours = result["opponents"].get(OURS)
    return [c["us"] for c in ours["cases"]] if mean_ratio(ours) is not None else [c["original_us"] for c in opponent["cases"]]


def _means(results: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Over the examples that an opponent has, beside ours over the same ones."""
    out: list[str] = []
    for name in names:
        raced = [r for r in results if r["cases"]]
        pairs = [(ours_of(r) if name == OURS else mean_ratio(r["opponents"].get(name)), ours_of(r), r) for r in raced]
        have = [(theirs, ours, r) for theirs, ours, r in pairs if theirs is not None]
        if not have:
            continue
        theirs, ours = (exp(fmean(log(p[i]) for p in have)) for i in (0, 1))
        said = f"{name}: {theirs:.2f}× over {len(have)} examples"
        if name == OURS:
            said += " (1.00× where nothing was verified)"
        else:
            said += f", ours over the same {ours:.2f}×; ours is faster by 2 % or more in {sum(o >= MARGIN * t for t, o, _ in have)}, "
            said += f"slower in {sum(t >= MARGIN * o for t, o, _ in have)}"
        tried = [r["opponents"][name]["configurations"] for *_, r in have if r["opponents"].get(name, {}).get("configurations") is not None]
        if tried:
            spent = fmean(r["opponents"][name]["first_call_s"] for *_, r in have)
            said += f"; {fmean(tried):.0f} configurations a case in {spent:.0f} s on average, ours {_ours_cost(results)}"
        out.append(said + ".")
    return out


def _ours_cost(results: Sequence[Mapping[str, Any]]) -> str:
    known = [r for r in results if "ours_trials" in r]
    trials_done, seconds = fmean(r["ours_trials"] for r in known), fmean(r["ours_seconds"] for r in known)
    return f"{trials_done:.0f} trials in {seconds:.0f} s, checks and final included"


def _cell(opponent: Mapping[str, Any] | None, index: int) -> str:
    if opponent is None:
        return ""
    if "cases" not in opponent:
        return "failed"
    case = opponent["cases"][index]
    return f"{case['us']:.1f} (wrong)" if case["wrong"] else f"{case['us']:.1f} ({case['ratio']:.2f}×)"


def _wrong(opponent: Mapping[str, Any]) -> list[str]:
    return [f"computes something else: {c['wrong']}" for c in opponent.get("cases", ()) if c["wrong"]]


def _said(opponent: Mapping[str, Any]) -> str:
    ratio = mean_ratio(opponent)
    return f"{ratio:.2f}×" if ratio is not None else opponent.get("error") or "; ".join(_wrong(opponent))


if __name__ == "__main__":
    sys.exit(main())
