"""A run's variants as ``kernelband show`` ranks them: figures of finals for what is measured, tiers for what is predicted."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TypedDict

from attrs import evolve, frozen

from kernelband.explain.compare import TIERS, because
from kernelband.explain.compare import Step as Moved
from kernelband.explain.words import Step, titles
from kernelband.history import Store, best_so_far

MOST_VARIANTS = 50  # of a predicted run, the likeliest
_SIDES = "json_extract(v.forecast, '$.parent_gains') AS gains, json_extract(v.forecast, '$.parent_costs') AS costs"


class Said(TypedDict):
    """What a variant says of itself."""

    title: str
    what: str
    why: str
    numerics: str
    author: str


@frozen
class VariantFinding:
    """A variant worth showing. Measured: ``ratio`` (original over variant, geometric mean) with its prediction interval, at least 95 %, of
    final rows of verified variants only. Predicted: ``tier`` with its ``fact``, and never a ratio.
    """

    run: str
    number: int
    title: str  # all that it changes of the original, in a line
    what: str  # its last edit, in a sentence
    why: str
    moves: tuple[str, ...]  # ``strategy.move`` of each edit, the first one first
    numerics: str
    author: str
    verified: bool = False
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int = 0  # that were timed
    tier: str = ""
    fact: str = ""
    gain: str = ""  # predicted: the largest fact that became better
    decision: str = ""  # "accept" | "reject": the last that a person said


def read_variants(store: Store, run: str, mode: str) -> tuple[VariantFinding, ...]:
    """Measured: those that were verified, or that a person decided on, and the best so far of a run that goes on or was cut off. Predicted:
    those with a tier.

    Raises:
        HistoryError: the database can't be read.
    """
    said = {
        int(r["variant"]): str(r["decision"])
        for r in store.rows("SELECT variant, decision FROM decisions WHERE run = ? ORDER BY at", [run])
    }
    return _predicted(store, run, said) if mode == "predicted" else _measured(store, run, said)


def read_variant(store: Store, run: str, number: int) -> VariantFinding | None:
    """One that isn't among those, without a figure; None where there is none.

    Raises:
        HistoryError: the database can't be read.
    """
    texts, moves = _edits(store, run, [number])
    return VariantFinding(run, number, **texts[number], moves=moves[number]) if number in texts else None


def _measured(store: Store, run: str, said: Mapping[int, str]) -> tuple[VariantFinding, ...]:
    finals = store.rows(
        "SELECT variant, score, low, high, json_array_length(result, '$.cases') AS cases FROM finals WHERE run = ? AND verified", [run]
    )
    verified = {int(r["variant"]): r for r in finals}
    best = _best(store, run, "measured")
    wanted = {*verified, *said, *([best] if best else [])}
    if not wanted:
        return ()
    tried = store.rows("SELECT number, variant, score FROM trials WHERE run = ?", [run])
    rows = [t for t in tried if int(t["variant"]) in wanted]
    figures = {n: r["score"] or 0 for n, r in verified.items()}
    # The order of ``show``.
    rows.sort(key=lambda t: (t["variant"] not in verified, t["variant"] != best, -figures.get(t["variant"], t["score"] or 0), t["number"]))
    texts, moves = _edits(store, run, [int(t["variant"]) for t in rows])
    out: list[VariantFinding] = []
    for t in rows:
        number = int(t["variant"])
        final = verified.get(number)
        found = VariantFinding(run, number, **texts[number], moves=moves[number], decision=said.get(number, ""))
        if final is not None:
            interval = {side: final[side] for side in ("low", "high")}
            found = evolve(found, verified=True, ratio=final["score"], cases=final["cases"] or 0, **interval)
        out.append(found)
    return tuple(out)


def _predicted(store: Store, run: str, said: Mapping[int, str]) -> tuple[VariantFinding, ...]:
    rows = store.rows(
        "SELECT t.number, t.variant, coalesce(json_extract(v.forecast, '$.tier'), 'unclear') AS tier "
        "FROM trials t JOIN variants v ON v.run = t.run AND v.id = t.variant WHERE t.run = ? "
        "AND t.correctness = 'interpreted' AND t.fault = 'none'",
        [run],
    )
    rows = [r for r in rows if r["tier"] in TIERS]
    best = _best(store, run, "predicted")
    rows.sort(key=lambda r: (r["variant"] != best, TIERS.index(r["tier"]), r["number"]))
    rows = [r for i, r in enumerate(rows) if i < MOST_VARIANTS or r["variant"] in said]
    numbers = [int(r["variant"]) for r in rows]
    texts, moves = _edits(store, run, numbers)
    facts = _facts(store, run, numbers)
    return tuple(
        VariantFinding(
            run,
            n,
            **texts[n],
            moves=moves[n],
            tier=r["tier"],
            fact=because(r["tier"], facts[n][0], facts[n][2]),
            gain=facts[n][1],
            decision=said.get(n, ""),
        )
        for n, r in zip(numbers, rows, strict=True)
    )


def _best(store: Store, run: str, mode: str) -> int | None:
    """The variant to look at first, as the run ended or as it stands; None where a run has found none."""
    (row,) = store.rows("SELECT state, json_extract(summary, '$.best') AS best FROM runs WHERE id = ?", [run])
    return row["best"] if row["best"] or row["state"] == "finished" else best_so_far(store, run, mode)


def _facts(store: Store, run: str, numbers: Collection[int]) -> dict[int, tuple[str, str, Moved | None]]:
    """The fact behind each tier, the largest that became better, and what moved against the variant that it was made from."""
    rows = store.rows(
        f"SELECT v.id, v.parent, coalesce(json_extract(v.forecast, '$.fact'), '') AS fact, "  # noqa: S608 - ours
        f"coalesce(json_extract(v.forecast, '$.gains[0]'), '') AS gain, {_SIDES} FROM variants v "
        f"WHERE v.run = ? AND v.id IN ({_marks(numbers)})",
        [run, *numbers],
    )
    out: dict[int, tuple[str, str, Moved | None]] = {}
    for r in rows:
        step: Moved | None = None
        if r["parent"]:
            gains, costs = (None if r[side] is None else tuple(map(str, json.loads(r[side]))) for side in ("gains", "costs"))
            step = Moved(int(r["parent"])) if gains is None or costs is None else Moved(int(r["parent"]), gains, costs)
        out[int(r["id"])] = (str(r["fact"]), str(r["gain"]), step)
    return out


def _edits(store: Store, run: str, numbers: Collection[int]) -> tuple[dict[int, Said], dict[int, tuple[str, ...]]]:
    """What each variant says of itself, and the moves that led to it."""
    rows = store.rows("SELECT id, parent, strategy, move FROM variants WHERE run = ? AND id", [run])
    above = {int(r["id"]): int(r["parent"] or 0) for r in rows}
    moves = {int(r["id"]): f"{r['strategy']}.{r['move']}" for r in rows}
    chains = {n: _chain(above, n) for n in numbers if n in above}
    wanted = {at for chain in chains.values() for at in chain}
    columns = "id, move, parameters, what, why, numerics, author"
    rows = store.rows(f"SELECT {columns} FROM variants WHERE run = ? AND id IN ({_marks(wanted)})", [run, *wanted])  # noqa: S608 - ours
    by_id = {int(r["id"]): r for r in rows}
    steps = {n: Step(r["move"], json.loads(r["parameters"]), r["what"]) for n, r in by_id.items()}
    said = titles({n: [steps[at] for at in chain] for n, chain in chains.items()})
    texts = {n: Said(title=title, **{k: by_id[n][k] for k in ("what", "why", "numerics", "author")}) for n, title in said.items()}
    return texts, {n: tuple(moves[at] for at in chain) for n, chain in chains.items()}


def _chain(above: Mapping[int, int], number: int) -> list[int]:
    """The variants from the first edit of the original to that one."""
    out: list[int] = []
    while number in above and len(out) <= len(above):
        out.insert(0, number)
        number = above[number]
    return out


def _marks(numbers: Collection[int]) -> str:
    return ", ".join("?" * len(numbers))
