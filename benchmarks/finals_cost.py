"""What a final takes, process starts included: of one candidate and of three, by this judge and by an older one side by side."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from finals_context import SERVER, Context, copy, spans, where
from gpus import FailedError, Lane
from targets import label

EXAMPLES = ("matmul", "fused_softmax", "layer_norm", "cross_entropy", "rope", "column_sum")
SIZES = {"one": 1, "three": 3}
GUESS_S = 75.0  # of an example, by each judge
TIMED = {"faster", "slower", "inconclusive"}
#: What a final may take in the median, in seconds.
MOST = {"one": 12.0, "three": 20.0}


def run(context: Context, targets: Sequence[Path]) -> int:
    """By turns the old judge and this one begin. Candidates are what ``winners`` has found, where it has; else copies of the original.
    Exits with 1 when an example failed.
    """
    old = context.options.old
    judges = {"new": SERVER, **({"old": old / "server"} if old else {})}
    done = {r["key"] for r in context.ledger.of("cost") if not old or "old" in r}

    def work(target: Path, lane: Lane) -> Iterator[str]:
        context.need(context.ledger.longest("cost", "whole_s", GUESS_S * len(judges)))
        start = time.monotonic()
        candidates, kind = chosen(context.ledger.of("winner"), target)
        finals = [{"key": name, "candidates": list(range(count))} for name, count in SIZES.items()]
        turn = list(judges)[:: 1 if targets.index(target) % 2 == 0 else -1]
        found: dict[str, Any] = {}
        for name in turn:
            played = context.play(target, lane, candidates, finals, server=judges[name])
            if len(played.finals) < len(finals):
                raise FailedError(played.error or "The call's seconds ended between its finals.")
            found[name] = {f["final"]: {k: f[k] for k in ("seconds", "spent")} | {"called": called(f)} for f in played.finals}
            found |= {"device": played.device, "versions": played.versions}
        whole_s = time.monotonic() - start
        record = context.ledger.add("cost", label(target), candidates=kind, first=turn[0], whole_s=whole_s, **found)
        yield from lines(record)

    left = context.each([t for t in targets if label(t) not in done], work)
    print("\n".join(summary(context.ledger.of("cost"))))
    if left:
        print(f"{left} examples are left for the next call.")
    return 1 if context.ledger.failed("cost") else 0


def chosen(winners: Iterable[Mapping[str, Any]], target: Path) -> tuple[list[dict[str, Any]], str]:
    """Three candidates, verified winners first, as the search hands them over; and what they are."""
    own = sorted((w for w in winners if w["example"] == label(target)), key=lambda w: not w["verified"])[: max(SIZES.values())]
    given = [{"texts": w["texts"], "numerics": w["numerics"], "ours": True} for w in own]
    copies = [copy(target, n, ours=True) for n in range(1, 1 + max(SIZES.values()) - len(own))]
    return [*given, *copies], ", ".join(f"{len(some)} {name}" for some, name in ((own, "found"), (copies, "copies")) if some)


def called(found: Mapping[str, Any]) -> list[str]:
    return [v["called"] for v in found["verdicts"]]


def lines(record: Mapping[str, Any]) -> list[str]:
    out: list[str] = []
    for size in SIZES:
        new, old = record["new"][size], record.get("old", {}).get(size)
        beside = f", old {_took(old)}: {new['seconds'] / old['seconds']:.2f}×" if old else ""
        out.append(f"{record['key']}, {size}: {_took(new)}{beside}; {record['candidates']}.")
    return out


def _took(final: Mapping[str, Any]) -> str:
    return f"{final['seconds']:.1f} s ({spans(final['spent'])}; {', '.join(final['called'])})"


def whole(record: Mapping[str, Any], size: str) -> bool:
    """Whether each judge timed all candidates: what is refused before takes no time."""
    return all(set(record[name][size]["called"]) <= TIMED for name in ("new", "old") if name in record)


def summary(records: Sequence[Mapping[str, Any]]) -> list[str]:
    if not records:
        return ["No final was held."]
    out = [where(records)]
    for size, most in MOST.items():
        some = [r for r in records if whole(r, size)]
        if len(some) < len(records):
            out.append(f"A final of {size}: left out are {', '.join(r['key'] for r in records if r not in some)}: not all was timed there.")
        if not some:
            continue
        new = [r["new"][size]["seconds"] for r in some]
        out.append(f"A final of {size}: {median(new):.1f} s in the median of {len(new)} examples ({most:.0f} are allowed).")
        out.append(f"  its spans: {middle([r['new'][size]['spent'] for r in some])}.")
        both = [r for r in some if "old" in r]
        if both:
            old = [r["old"][size]["seconds"] for r in both]
            times = [r["new"][size]["seconds"] / r["old"][size]["seconds"] for r in both]
            out.append(f"  the old judge's: {median(old):.1f} s; {middle([r['old'][size]['spent'] for r in both])}.")
            out.append(f"  new over old: {median(times):.2f}× in the median, {max(times):.2f}× at most.")
    return out


def middle(spent: Sequence[Mapping[str, float]]) -> str:
    """The median of each span."""
    names = list(dict.fromkeys(name for one in spent for name in one))
    return spans({name: median(one.get(name, 0.0) for one in spent) for name in names})
