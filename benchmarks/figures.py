"""A run, as ``show --json`` tells it, as a row of the examples' table and as a share of the summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log
from statistics import fmean, median
from typing import Any

from attrs import field, frozen
from idle import idle
from light import percent

from kernelband.hardware import Device, find_device

TITLES = (
    "example",
    "device µs",
    "call µs",
    "ratio",
    "roofline %",
    "winning moves",
    "trials to best",
    "proposed / compiled / executed",
    "compiled per executed",
    "wrong",
    "s per trial",
    "GPU idle",
    "run s",
)


@frozen
class Row:
    """One example. ``score`` is 1 when nothing was verified; ``error`` is the sentence of a run that failed."""

    name: str
    cells: tuple[str, ...]
    score: float = 1.0
    verified: bool = False
    finalists: int = 0
    wrong: int = 0
    per_trial: tuple[float, ...] = field(default=(), repr=False)
    compiled: int = 0
    executed: int = 0
    span_s: float = 0.0
    busy_s: float = 0.0
    error: str | None = None

    @property
    def line(self) -> str:
        """Of a Markdown table."""
        return f"| {' | '.join(self.cells)} |"


def failed(name: str, error: str) -> Row:
    """An example whose run came to nothing: it counts as unchanged, and is said."""
    said = error.replace("|", "/")
    return Row(name, (name, "failed", "", "", "", said, *[""] * (len(TITLES) - 6)), error=error)


def row(name: str, run: Mapping[str, Any]) -> Row:
    """Of a finished run. Figures of its final; where nothing was verified, the original's times from capture."""
    finals, trials, summary = run["finals"], run["trials"], run["run"]["summary"]
    counts = summary.get("counts", {})
    compiled, executed = counts.get("compiled", 0), counts.get("executed", 0)
    wrong = sum(f["result"]["correctness"] in ("wrong", "nondeterministic") for f in finals)
    dropped = sum(t["correctness"] in ("wrong", "nondeterministic") for t in trials)
    seconds = tuple(float(t["seconds"]) for t in trials)
    waited = idle(trials)
    best = max((f for f in finals if f["verified"]), key=lambda f: f["score"], default=None)
    common = (
        f"{counts.get('proposed', 0)} / {compiled} / {executed}",
        f"{compiled / executed:.1f}" if executed else "",
        f"{dropped} dropped, {wrong} in the final",
        f"{median(seconds):.1f}" if seconds else "",
        f"{waited.share:.0%}" if waited else "",
        f"{run['run']['seconds_used']:.0f}",
    )
    device = find_device(run["run"]["device"])
    timed = [c["facts"] for c in run["cases"] if c["role"] == "time"]
    figures = {
        "score": 1.0 if best is None else float(best["score"]),
        "verified": best is not None,
        "finalists": len(finals),
        "wrong": wrong,
        "per_trial": seconds,
        "compiled": compiled,
        "executed": executed,
        "span_s": waited.span_s if waited else 0.0,
        "busy_s": waited.busy_s if waited else 0.0,
    }
    if best is None:
        before = ", ".join(f"{c['device_us']:.1f}" for c in timed if c["device_us"])
        reached = ", ".join(_percent(c, device, c["device_us"]) for c in timed if c["device_us"])
        return Row(name, (name, before, "", "", reached, "nothing verified", "", *common), **figures)
    results = {c["case"]: c for c in best["result"]["cases"]}
    ratio = f"**{best['score']:.2f}×** ({best['low']:.2f} to {best['high']:.2f})"
    number = next(t["number"] for t in trials if t["variant"] == best["variant"])
    cells = (
        name,
        _times(results.values(), "device"),
        _times(results.values(), "call"),
        ratio,
        ", ".join(_percents(c, device, results[c["id"]]) for c in timed if c["id"] in results),
        ", ".join(moves(run["variants"], best["variant"])),
        str(number),
        *common,
    )
    return Row(name, cells, **figures)


def moves(variants: Sequence[Mapping[str, Any]], number: int) -> list[str]:
    """Strategy and move of a variant's edits, the first edit first, each once."""
    by_id = {v["id"]: v for v in variants}
    out: list[str] = []
    at = by_id.get(number)
    while at is not None and at["strategy"]:
        together = [*at["parameters"].get("after", ()), f"{at['strategy']}.{at['move']}"]
        out[:0] = [key.partition("(")[0] for key in together]
        at = by_id.get(at["parent"])
    return list(dict.fromkeys(out))


def summary(rows: Sequence[Row]) -> list[str]:
    """The sentences under the table."""
    if not rows:
        return ["No example was run."]
    finalists, wrong = sum(r.finalists for r in rows), sum(r.wrong for r in rows)
    faster, lost = sum(r.verified for r in rows), [r.name for r in rows if r.error is not None]
    mean = exp(fmean(log(r.score) for r in rows))
    seconds = [s for r in rows for s in r.per_trial]
    compiled, executed = sum(r.compiled for r in rows), sum(r.executed for r in rows)
    span, busy = sum(r.span_s for r in rows), sum(r.busy_s for r in rows)
    out = [
        f"{finalists - wrong} of {finalists} finalists correct in fresh processes"
        + (f" ({(finalists - wrong) / finalists:.0%})" if finalists else "")
        + f"; {faster} of {len(rows)} examples verified faster ({faster / len(rows):.0%}); "
        f"geometric mean {mean:.2f}× (unchanged counts as 1.00×)."
    ]
    if executed:
        out.append(
            f"{compiled / executed:.1f} variants compiled for each one executed; {median(seconds):.2f} s per trial in the median; "
            f"between baseline and final the GPU had nothing to do for {1 - busy / span:.0%} of {span:.0f} s."
        )
    if lost:
        out.append(f"{len(lost)} failed and count as unchanged: {', '.join(lost)}.")
    return out


def header(run: Mapping[str, Any], date: str) -> str:
    """Device, versions, date and budget: what a figure is worth nothing without."""
    row, versions = run["run"], run["run"]["environment"]
    budget = f"{row['trials_budget']} trials" if row["trials_budget"] else f"{row['seconds_budget']:.0f} s"
    return (
        f"{row['device']}, torch {versions['torch']}, Triton {versions['triton']}, Python {versions['python']}, "
        f"driver {versions['driver']}, KernelBand {row['version']}, {date}; "
        f"{row['policy']} policy, seed {row['seed']}, {budget}, no model"
    )


def _times(cases: Any, kind: str) -> str:
    return ", ".join(f"{c[f'{kind}_before_us']:.1f} → {c[f'{kind}_after_us']:.1f}" for c in cases)


def _percent(case: Mapping[str, Any], device: Device, took_us: float) -> str:
    reached = percent(case, device, took_us)
    return "?" if reached is None else f"{reached:.0f}"


def _percents(case: Mapping[str, Any], device: Device, result: Mapping[str, Any]) -> str:
    return f"{_percent(case, device, result['device_before_us'])} → {_percent(case, device, result['device_after_us'])}"
