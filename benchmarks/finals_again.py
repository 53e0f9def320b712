"""Winners measured again: whether a second final's ratio lies inside the interval that the first one showed."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from finals_context import Context, ratio, text_of, where
from gpus import FailedError, Lane, run
from targets import label

from kernelband.history import Store, runs, trials
from kernelband.source import patch_from_json

SEARCH_S = 75.0  # of a search, start and final included, as long as none was seen
TOGETHER = 3  # finalists of a final
INSIDE = 0.95  # of the second ratios


def search(context: Context, targets: Sequence[Path]) -> int:
    """`kernelband optimize` on every example; what came into its final is kept, with the interval that was shown. Exits with 1 when an
    example failed.
    """
    seed = context.options.seed
    done = {r["key"] for r in context.ledger.of("search")}

    def work(target: Path, lane: Lane) -> Iterator[str]:
        context.need(context.ledger.longest("search", "seconds", max(SEARCH_S, context.options.budget + 15)))
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            database = Path(folder, "history.db")
            found = searched(target, context, lane, database)
        known = {r["key"] for r in context.ledger.of("winner")}
        for one in found:
            key = f"{label(target)} {digest(json.dumps(one['texts'], sort_keys=True))}"
            if key not in known:  # else its first interval stands
                context.ledger.add("winner", key, example=label(target), **one)
        context.ledger.add("search", f"{label(target)} {seed}", seconds=time.monotonic() - start)
        verified = [r for r in found if r["verified"]]
        best = f", the best {ratio(max(verified, key=lambda r: r['ratio']))}" if verified else ""
        yield f"{label(target)}: {len(verified)} verified of {len(found)} finalists{best}; {time.monotonic() - start:.0f} s."

    left = context.each([t for t in targets if f"{label(t)} {seed}" not in done], work)
    winners = [r for r in context.ledger.of("winner") if r["verified"]]
    print(f"{len(winners)} winners of {len({r['example'] for r in winners})} examples are kept in {context.ledger.path}.")
    if left:
        print(f"{left} examples are left for the next call.")
    return 1 if context.ledger.failed("search") else 0


def searched(target: Path, context: Context, lane: Lane, database: Path) -> list[dict[str, Any]]:
    """The finalists of a search, as candidates of another final.

    Raises:
        FailedError: it failed.
    """
    options = context.options
    command = [sys.executable, "-m", "kernelband", "optimize", str(target), "--json", "--db", str(database), "--entry", options.entry]
    command += ["--trials", str(options.trials), "--seconds", str(options.budget), "--seed", str(options.seed)]
    for name in ("python", "worker"):
        if getattr(options, name):
            command += [f"--{name}", getattr(options, name)]
    run(command, context.limit, context.environment(lane))
    with Store.read(database) as store:
        return finalists(store, target)


def finalists(store: Store, target: Path) -> list[dict[str, Any]]:
    """Of the newest run.

    Raises:
        FailedError: nothing was measured in it.
    """
    row = runs.find(store, "last")
    if row.mode != "measured":
        raise FailedError("Nothing was measured: the worker's Python sees no GPU. Name a machine with --worker 'ssh HOST'.")
    base = dict(runs.base_texts(store, row.id))
    variants = {v.id: v for v in trials.variants(store, row.id)}
    path = os.path.realpath(str(target).partition("::")[0])
    environment = row.environment
    versions = f"torch {environment.get('torch')}, Triton {environment.get('triton')}, Python {environment.get('python')}"
    out: list[dict[str, Any]] = []
    for final in trials.finals(store, row.id):
        if final.score is None:
            continue
        variant = variants[final.variant]
        patch = patch_from_json(variant.patch)
        texts = patch.apply(base)
        out.append(
            {
                "texts": {os.path.relpath(f.path, os.path.dirname(path)): texts[f.path] for f in patch.files},
                "original": digest(base[path]),
                "numerics": variant.numerics,
                "what": variant.what,
                "verified": final.verified,
                "ratio": final.score,
                "low": final.low,
                "high": final.high,
                "device": row.device,
                "versions": versions,
            }
        )
    return out


def again(context: Context, targets: Sequence[Path]) -> int:
    """Each winner in another final. Exits with 1 when fewer than 95 % of the verified ones lie inside."""
    done = {r["key"] for r in context.ledger.of("again")}

    def missing(target: Path) -> list[dict[str, Any]]:
        winners = [r for r in context.ledger.of("winner") if r["example"] == label(target) and r["key"] not in done]
        return sorted(winners, key=lambda r: not r["verified"])

    def work(target: Path, lane: Lane) -> Iterator[str]:
        winners = [w for w in missing(target) if w["original"] == digest(text_of(target)[1])]
        if not winners:
            yield f"{label(target)}: the example has changed since its winners were found; search again with `finals.py winners`."
            return
        candidates = [{"texts": w["texts"], "numerics": w["numerics"], "ours": True} for w in winners]
        groups = [list(range(i, min(i + TOGETHER, len(winners)))) for i in range(0, len(winners), TOGETHER)]
        finals = [{"key": str(n), "candidates": group} for n, group in enumerate(groups)]
        played = context.play(target, lane, candidates, finals, device=winners[0]["device"])
        for found in played.finals:
            members = [winners[i] for i in groups[int(found["final"])]]
            for winner, verdict in zip(members, found["verdicts"], strict=True):
                record = judged(winner, verdict)
                figures = {k: found[k] for k in ("seconds", "setup_s", "spent")}
                context.ledger.add("again", winner["key"], device=played.device, versions=played.versions, **record, **figures)
                yield line(winner["key"], record)
        if played.error:
            context.ledger.add("again", label(target), error=played.error)
            yield f"{label(target)}: {played.error}"

    waiting = [t for t in targets if missing(t)]
    if not waiting and not done:
        print("There are no winners yet: find some with `finals.py winners`.")
        return 2
    left = context.each(waiting, work)
    records = context.ledger.of("again")
    print("\n".join(summary(records)))
    if left:
        print(f"{left} examples are left for the next call.")
    verified = [r for r in records if r["first"]["verified"]]
    return 0 if sum(r["inside"] for r in verified) >= INSIDE * len(verified) else 1


def judged(winner: Mapping[str, Any], verdict: Mapping[str, Any]) -> dict[str, Any]:
    """A second verdict against the first interval. Without a ratio (wrong, crashed) it lies outside."""
    first = {name: winner[name] for name in ("ratio", "low", "high", "verified", "when", "device", "versions")}

    def inside(value: float | None) -> bool:
        return value is not None and first["low"] <= value <= first["high"]

    return {
        **verdict,
        "example": winner["example"],
        "first": first,
        "inside": inside(verdict["ratio"]),
        "rounds_inside": sum(inside(r) for r in verdict["rounds"]),
    }


def line(key: str, found: Mapping[str, Any]) -> str:
    first = found["first"]
    said = "inside" if found["inside"] else "OUTSIDE"
    word = "verified" if first["verified"] else "not verified"
    now = "no ratio" if found["ratio"] is None else f"{found['ratio']:.4f}"
    rounds = f"{found['rounds_inside']} of {len(found['rounds'])} rounds inside"
    return f"{key}: {word} at {ratio(first)}, now {now}, {said}; {rounds}; called {found['called']}. {found['reason']}".strip()


def summary(records: Sequence[Mapping[str, Any]]) -> list[str]:
    if not records:
        return ["Nothing was measured again."]
    gaps = [(r["when"] - r["first"]["when"]) / 60 for r in records]
    out = [f"{where(records)}; {min(gaps):.0f} to {max(gaps):.0f} minutes after the first time."]
    for name, some in (("winners", [r for r in records if r["first"]["verified"]]), ("finalists, verified or not", records)):
        inside, rounds = sum(r["inside"] for r in some), sum(len(r["rounds"]) for r in some)
        share = f" ({inside / len(some):.0%})" if some else ""
        single = f"; of their {rounds} single rounds {sum(r['rounds_inside'] for r in some)}" if rounds else ""
        out.append(f"{len(some)} {name} measured again, {inside} inside the interval that was shown first{share}{single}.")
    return out


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
