"""What the history says of a run's variants, decoded and in order, without reading more of a long one than that needs.

``trials`` has whole rows for those who tell everything of one run; here is what is asked again and again, as it changes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from attrs import asdict, define, evolve, field, frozen

from kernelband.errors import HistoryError
from kernelband.hardware.work import Work
from kernelband.history import runs
from kernelband.history.outcome import TIERS, by_figure, by_tier
from kernelband.history.records import RunRow, from_row
from kernelband.history.store import Store
from kernelband.history.values import loosest, works_in
from kernelband.source import patch_from_json
from kernelband.source.model import Patch

MOST_PREDICTED = 50  # of a run's variants, the likeliest

_SCREENED = (
    "SELECT t.variant FROM trials t LEFT JOIN finals f ON f.run = t.run AND f.variant = t.variant WHERE t.run = ? AND t.fault = 'none' "
    "AND t.correctness = 'passed' AND t.integrity = 'ok' AND t.performance = 'faster' AND coalesce(f.verified, 1) "
    "ORDER BY f.verified IS NULL, f.score DESC, t.score DESC, t.number LIMIT 1"
)
_INTERPRETED = (
    "SELECT t.variant FROM trials t JOIN variants v ON v.run = t.run AND v.id = t.variant WHERE t.run = ? AND t.fault = 'none' "
    "AND t.correctness = 'interpreted' AND json_extract(v.forecast, '$.tier') = 'likely faster' ORDER BY t.score DESC, t.number LIMIT 1"
)


def best_so_far(store: Store, run: str, mode: str) -> int | None:
    """The variant to look at first, of a run that has not come to its end. Measured: what is verified, else what screening liked most of
    those that passed its check and that no final refused. Predicted: the likeliest. None: the original.

    Raises:
        HistoryError: the database can't be read.
    """
    rows = store.rows(_INTERPRETED if mode == "predicted" else _SCREENED, [run])
    return int(rows[0]["variant"]) if rows else None


# ------------------------------------------------------------ runs


@frozen
class RunView(RunRow):
    """A run as it is now, with its variants in the order of ``kernelband show``. ``files``: that it started from; ``forms``: the variant
    (0: the original) by the form of its program.
    """

    trials: int = 0
    variants: tuple[VariantView, ...] = ()
    files: tuple[str, ...] = ()
    forms: Mapping[str, int] = field(factory=dict[str, int], repr=False)

    @classmethod
    def of(cls, row: RunRow, trials: int, now: float) -> RunView:
        """Without its variants. ``now``: seconds since the epoch; one whose process died reads ``interrupted``."""
        return cls(**asdict(runs.effective(row, now), recurse=False), trials=trials)

    @property
    def gpu(self) -> str:
        """The name that the driver gave; "" where it ran on none, or on several."""
        return self.gpus[0] if len(self.gpus) == 1 else ""

    @property
    def versions(self) -> dict[str, str]:
        """Of Triton and torch, as far as they are known."""
        return {name: str(self.environment[name]) for name in ("triton", "torch") if self.environment.get(name)}

    @property
    def better(self) -> tuple[VariantView, ...]:
        """What one would take, the best first: nothing that a person rejected."""
        return tuple(v for v in self.variants if v.decision != "reject" and (v.verified or v.tier == TIERS[0]))

    @property
    def so_far(self) -> VariantView | None:
        """The best one yet, not verified, of a run that hasn't come to its end."""
        return next((v for v in self.variants if not v.decision), None) if self.state != "finished" else None


class Head(NamedTuple):
    """A run, as far as it is looked at again and again. ``signature`` differs when any of its rows may."""

    run: str
    path: str
    kernel: str
    trials: int
    signature: tuple[Any, ...]


def heads(store: Store, limit: int) -> list[Head]:
    """The newest runs first; without a verification that was cut off, which has no word to say and isn't resumed.

    Raises:
        HistoryError: the database can't be read.
    """
    rows = store.rows(
        "SELECT id, path, kernel, state, phase, heartbeat FROM runs WHERE policy != 'given' OR state = 'finished' "
        "ORDER BY created DESC, id LIMIT ?",
        [limit],
    )
    tried = _by_run(store, "SELECT run, count(*), max(number) FROM trials GROUP BY run")
    finals = _by_run(store, "SELECT run, count(*), sum(verified), total(score) FROM finals GROUP BY run")
    decided = _by_run(store, "SELECT run, count(*), max(rowid) FROM decisions GROUP BY run")
    out: list[Head] = []
    for r in rows:
        run = r["id"]
        parts = (tried.get(run, ()), finals.get(run, ()), decided.get(run, ()))
        signature = (r["state"], r["phase"], r["heartbeat"], *parts)
        out.append(Head(run, r["path"], r["kernel"], parts[0][0] if parts[0] else 0, signature))
    return out


def _by_run(store: Store, sql: str) -> dict[str, tuple[Any, ...]]:
    return {str(run): tuple(rest) for run, *rest in (r.values() for r in store.rows(sql))}


def run_row(store: Store, run: str) -> RunRow | None:
    """Of that whole id; None where it is gone."""
    rows = store.rows("SELECT * FROM runs WHERE id = ?", [run])
    return from_row(RunRow, rows[0]) if rows else None


def with_form(store: Store, form: str, limit: int) -> list[str]:
    """The newest runs of which a variant, or the original, has that form."""
    sql = "SELECT DISTINCT r.id FROM variants v JOIN runs r ON r.id = v.run WHERE v.form = ? ORDER BY r.created DESC, r.id LIMIT ?"
    return [str(r["id"]) for r in store.rows(sql, [form, limit])]


def forms(store: Store, run: str, *, whatever: bool = False) -> dict[str, int]:
    """The first variant (0: the original) by its form, of those that are right, or with ``whatever`` came out of them."""
    rows = store.rows(
        "SELECT v.id, v.form, v.id = 0 OR t.fault = 'none' AND t.correctness IN ('passed', 'interpreted') AS is_right "
        "FROM variants v LEFT JOIN trials t ON t.run = v.run AND t.variant = v.id WHERE v.run = ? AND v.form IS NOT NULL ORDER BY v.id",
        [run],
    )
    out: dict[str, int] = {}
    for row in (r for r in rows if whatever or r["is_right"]):
        out.setdefault(str(row["form"]), int(row["id"]))
    return out


def files(store: Store, run: str) -> tuple[str, ...]:
    """The paths that a run started from."""
    return tuple(str(r["path"]) for r in store.rows("SELECT path FROM texts WHERE run = ? ORDER BY path", [run]))


# ------------------------------------------------------------ variants


@frozen
class EditView:
    """One edit of the chain that led to a variant."""

    strategy: str
    move: str
    parameters: dict[str, Any]
    what: str


@frozen
class VariantView:
    """A variant. Measured: ``ratio`` (original over variant, geometric mean) with its prediction interval, at least 95 %, of final rows of
    verified ones only. Predicted: ``tier`` with its ``fact``, and never a ratio. ``gains`` and ``costs`` are what moved against its
    ``parent`` (0: the original), None where that wasn't kept. ``title``: all that it changes of the original, in a line; only a list of
    variants knows it (``explain.words.titled``).
    """

    number: int
    parent: int
    chain: tuple[EditView, ...]  # the first one first
    why: str
    numerics: str
    author: str
    verified: bool = False
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    cases: int = 0  # that were timed
    tier: str = ""
    fact: str = ""
    gain: str = ""  # the largest fact that became better
    gains: tuple[str, ...] | None = None
    costs: tuple[str, ...] | None = None
    decision: str = ""  # "accept" | "reject": the last that a person said
    title: str = ""

    @property
    def what(self) -> str:
        """Its last edit, in a sentence."""
        return self.chain[-1].what

    @property
    def moves(self) -> tuple[str, ...]:
        """``strategy.move`` of each edit, the first one first."""
        return tuple(f"{e.strategy}.{e.move}" for e in self.chain)


@define
class _Trial:
    number: int
    variant: int
    score: float | None = None


def variants(store: Store, run: str, mode: str) -> tuple[VariantView, ...]:
    """Those worth showing, ranked. Measured: those that were verified, or that a person decided on, and the best so far of a run that goes
    on or was cut off. Predicted: those with a tier.

    Raises:
        HistoryError: the database can't be read.
    """
    decided = store.rows("SELECT variant, decision FROM decisions WHERE run = ? ORDER BY at", [run])
    said = {int(r["variant"]): str(r["decision"]) for r in decided}
    found = _predicted(store, run, said) if mode == "predicted" else _measured(store, run, said)
    return tuple(evolve(v, decision=said.get(v.number, "")) for v in found)


def variant(store: Store, run: str, number: int) -> VariantView | None:
    """One that isn't among those, without a figure; None where there is none.

    Raises:
        HistoryError: the database can't be read.
    """
    return _plain(store, run, [number]).get(number)


def numbers(store: Store, run: str) -> tuple[int, ...]:
    """Of all variants, whatever came out of them, without the original."""
    return tuple(int(r["id"]) for r in store.rows("SELECT id FROM variants WHERE run = ? AND id", [run]))


def patch(store: Store, run: str, number: int) -> Patch:
    """Relative to the texts that the run started from.

    Raises:
        HistoryError: there is no such variant.
    """
    rows = store.rows("SELECT patch FROM variants WHERE run = ? AND id = ?", [run, number])
    if not rows:
        raise HistoryError(f"Run {run} has no variant {number}: `kernelband show {run}` lists them.")
    return patch_from_json(json.loads(rows[0]["patch"]))


def forecast(store: Store, run: str, number: int) -> dict[str, Any]:
    """What was kept of a variant's prediction; nothing where there is no such variant."""
    rows = store.rows("SELECT forecast FROM variants WHERE run = ? AND id = ?", [run, number])
    return dict(json.loads(rows[0]["forecast"])) if rows else {}


def works(store: Store, run: str, number: int = 0) -> tuple[Work, ...]:
    """The launches that were kept with a variant; without those whose code wasn't compiled."""
    rows = store.rows("SELECT key, facts FROM facts WHERE run = ? AND variant = ?", [run, number])
    return works_in(forecast(store, run, number), {str(r["key"]): json.loads(r["facts"]) for r in rows})


def _measured(store: Store, run: str, said: Collection[int]) -> Iterable[VariantView]:
    sql = "SELECT variant, score, low, high, json_array_length(result, '$.cases') AS cases FROM finals WHERE run = ? AND verified"
    finals = {int(r["variant"]): r for r in store.rows(sql, [run])}
    best = _best(store, run, "measured")
    wanted = {*finals, *said, *([best] if best else [])}
    sql = f"SELECT number, variant, score FROM trials WHERE run = ? AND variant IN ({_marks(wanted)})"  # noqa: S608 - ours
    tried = [_Trial(r["number"], r["variant"], r["score"]) for r in store.rows(sql, [run, *wanted])] if wanted else []
    ranked = by_figure(tried, {n: r["score"] for n, r in finals.items()}, best)
    plain = _plain(store, run, [t.variant for t in ranked])
    for t in ranked:
        f, v = finals.get(t.variant), plain[t.variant]
        yield evolve(v, verified=True, ratio=f["score"], low=f["low"], high=f["high"], cases=f["cases"] or 0) if f is not None else v


def _predicted(store: Store, run: str, said: Collection[int]) -> Iterable[VariantView]:
    rows = store.rows(
        "SELECT t.number, t.variant, coalesce(json_extract(v.forecast, '$.tier'), 'unclear') AS tier "
        "FROM trials t JOIN variants v ON v.run = t.run AND v.id = t.variant WHERE t.run = ? "
        "AND t.correctness = 'interpreted' AND t.fault = 'none'",
        [run],
    )
    tiers = {r["variant"]: r["tier"] for r in rows if r["tier"] in TIERS}
    ranked = by_tier([_Trial(r["number"], r["variant"]) for r in rows if r["variant"] in tiers], tiers, _best(store, run, "predicted"))
    numbers = [t.variant for i, t in enumerate(ranked) if i < MOST_PREDICTED or t.variant in said]
    plain = _plain(store, run, numbers)
    rows = store.rows(
        "SELECT id, coalesce(json_extract(forecast, '$.fact'), '') AS fact, "  # noqa: S608 - ours
        "coalesce(json_extract(forecast, '$.gains[0]'), '') AS gain, json_extract(forecast, '$.parent_gains') AS gains, "
        f"json_extract(forecast, '$.parent_costs') AS costs FROM variants WHERE run = ? AND id IN ({_marks(numbers)})",
        [run, *numbers],
    )
    facts = {int(r["id"]): r for r in rows}
    for n in numbers:
        r = facts[n]
        gains, costs = (None if r[side] is None else tuple(map(str, json.loads(r[side]))) for side in ("gains", "costs"))
        yield evolve(plain[n], tier=tiers[n], fact=str(r["fact"]), gain=str(r["gain"]), gains=gains, costs=costs)


def _best(store: Store, run: str, mode: str) -> int | None:
    """The variant to look at first, as the run ended or as it stands; None where a run has found none."""
    (row,) = store.rows("SELECT state, json_extract(summary, '$.best') AS best FROM runs WHERE id = ?", [run])
    return row["best"] if row["best"] or row["state"] == "finished" else best_so_far(store, run, mode)


def _plain(store: Store, run: str, numbers: Collection[int]) -> dict[int, VariantView]:
    """What each variant says of itself, with the edits that led to it."""
    above = {r["id"]: r["parent"] or 0 for r in store.rows("SELECT id, parent FROM variants WHERE run = ? AND id", [run])}
    chains = {n: _chain(above, n) for n in numbers if n in above}
    wanted = {at for chain in chains.values() for at in chain}
    columns = "id, parent, strategy, move, parameters, what, why, numerics, author"
    rows = store.rows(f"SELECT {columns} FROM variants WHERE run = ? AND id IN ({_marks(wanted)})", [run, *wanted])  # noqa: S608 - ours
    edits = {int(r["id"]): EditView(r["strategy"], r["move"], json.loads(r["parameters"]), r["what"]) for r in rows}
    own = {int(r["id"]): r for r in rows}
    found: dict[int, VariantView] = {}
    for n, chain in chains.items():
        numerics = loosest(own[at]["numerics"] for at in chain)
        steps = tuple(edits[at] for at in chain)
        found[n] = VariantView(n, above[n], steps, why=own[n]["why"], numerics=numerics, author=own[n]["author"])
    return found


def _chain(above: Mapping[int, int], number: int) -> list[int]:
    """The variants from the first edit of the original to that one."""
    out: list[int] = []
    while number in above and len(out) <= len(above):
        out.insert(0, number)
        number = above[number]
    return out


def _marks(numbers: Collection[int]) -> str:
    return ", ".join("?" * len(numbers))
