"""A/A: each example against copies of itself. What the final calls faster there, the product calls faster by mistake."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from finals_context import Context, copy, ratio, spans, where
from gpus import Lane
from targets import label

TITLES = ("example", "case", "method", "device µs", "pairs, 5-95 %", "device A/A ±", "call µs", "call A/A ±")


def run(context: Context, targets: Sequence[Path]) -> int:
    """Finals of one copy each, ``--finals`` of every example. Exits with 1 when anything but "inconclusive" was said of the same code, or
    an example failed.
    """
    done = {r["key"] for r in context.ledger.of("aa")}

    def missing(target: Path) -> list[int]:
        return [n for n in range(1, context.options.finals + 1) if f"{label(target)} {n}" not in done]

    def work(target: Path, lane: Lane) -> Iterator[str]:
        numbers = missing(target)
        copies = [copy(target, n, ours=False) for n in numbers]
        finals = [{"key": f"{label(target)} {n}", "candidates": [i]} for i, n in enumerate(numbers)]
        played = context.play(target, lane, copies, finals)
        for found in played.finals:
            (verdict,) = found["verdicts"]
            figures = {k: found[k] for k in ("seconds", "setup_s", "spent", "cases")}
            record = context.ledger.add(
                "aa", found["final"], example=label(target), device=played.device, versions=played.versions, **figures, **verdict
            )
            yield line(record)
        if played.error:
            context.ledger.add("aa", label(target), error=played.error)
            yield f"{label(target)}: {played.error}"

    left = context.each([t for t in targets if missing(t)], work)
    records = context.ledger.of("aa")
    print("\n".join(summary(records, [label(t) for t in targets])))
    if left:
        print(f"{left} examples are left for the next call.")
    return 1 if any(r["called"] != "inconclusive" for r in records) or context.ledger.failed("aa") else 0


def line(found: Mapping[str, Any]) -> str:
    reason = f" {found['reason']}" if found["reason"] else ""
    return f"{found['key']}: called {found['called']}, {ratio(found)}; {found['seconds']:.1f} s: {spans(found['spent'])}.{reason}"


def summary(records: Sequence[Mapping[str, Any]], order: Sequence[str]) -> list[str]:
    """A table of the cases, all finals of an example together, and how many finals were wrong."""
    if not records:
        return ["No final was held."]
    rows = [row for name in order for row in rows_of(name, [r for r in records if r["example"] == name])]
    out = [f"\nA/A, {where(records)}\n", f"| {' | '.join(TITLES)} |", "|" + " --- |" * len(TITLES)]
    out += [f"| {' | '.join(row)} |" for row in rows]
    calls = [r["called"] for r in records]
    others = sorted({c for c in calls if c not in ("faster", "inconclusive")})
    said = "".join(f", {calls.count(c)} {c}" for c in others)
    seconds = sorted(r["seconds"] for r in records)
    return [
        *out,
        f"\nA final took {median(seconds):.1f} s in the median, {seconds[-1]:.1f} s at most.",
        f"{len(calls)} finals, {calls.count('faster')} called faster{said}.",
    ]


def rows_of(name: str, records: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    by_case: dict[str, list[Mapping[str, Any]]] = {}
    for case in (c for r in records for c in r["cases"] if c["logs"]):
        by_case.setdefault(case["arguments"], []).append(case)
    return [
        [
            name,
            arguments[:60],
            ", ".join(sorted({c["method"] for c in cases})),
            f"{median(c['device_us'] for c in cases):.1f}",
            scatter([x for c in cases for x in c["logs"]]),
            widest(cases, "device_reach"),
            f"{median(c['call_us'] for c in cases):.1f}",
            widest(cases, "call_reach"),
        ]
        for arguments, cases in by_case.items()
    ]


def scatter(logs: Sequence[float]) -> str:
    """Of pairs of the same code, from the lowest 5 % to the highest."""
    ordered = sorted(logs)
    low, high = ordered[int(0.05 * len(ordered))], ordered[math.ceil(0.95 * len(ordered)) - 1]
    return f"{math.expm1(low):+.1%} to {math.expm1(high):+.1%}"


def widest(cases: Sequence[Mapping[str, Any]], name: str) -> str:
    found = [c[name] for c in cases if c[name] is not None]
    return f"{max(found):.1%}" if found else "?"
