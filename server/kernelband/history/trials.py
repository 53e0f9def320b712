"""What a run found: variants, trials, measurements, facts, pulls. A trial and all its rows are one transaction."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from attrs import evolve, frozen

from kernelband.errors import HistoryError
from kernelband.history.process import this_process
from kernelband.history.records import (
    ArmRow,
    CaseRow,
    DecisionRow,
    FactsRow,
    FinalRow,
    MeasurementRow,
    PullRow,
    TrialRow,
    VariantRow,
    from_row,
    to_row,
)
from kernelband.history.store import Store
from kernelband.history.values import loosest

T = TypeVar("T")


@frozen
class Rows:
    """Everything that is written at once: all of it, or none."""

    variants: tuple[VariantRow, ...] = ()
    trials: tuple[TrialRow, ...] = ()
    finals: tuple[FinalRow, ...] = ()
    measurements: tuple[MeasurementRow, ...] = ()
    facts: tuple[FactsRow, ...] = ()
    pulls: tuple[PullRow, ...] = ()
    arms: tuple[ArmRow, ...] = ()
    cases: tuple[CaseRow, ...] = ()


def write(store: Store, rows: Rows) -> None:
    """Commit the rows in one transaction. Cases, arms and finals replace what stood there for their run: they are of one piece."""
    with store.transaction() as db:
        for run in {f.run for f in rows.finals}:
            db.execute("DELETE FROM measurements WHERE run = ? AND stage IN ('final', 'unseen')", [run])
        for table, records in (("cases", rows.cases), ("arms", rows.arms), ("finals", rows.finals)):
            for run in {r.run for r in records}:
                db.execute(f"DELETE FROM {table} WHERE run = ?", [run])  # noqa: S608 - our own names
        for table, records in (
            ("cases", rows.cases),
            ("variants", rows.variants),
            ("trials", rows.trials),
            ("finals", rows.finals),
            ("measurements", rows.measurements),
            ("facts", rows.facts),
            ("pulls", rows.pulls),
            ("arms", rows.arms),
        ):
            for record in records:
                db.insert(table, to_row(record))


def cases(store: Store, run: str) -> tuple[CaseRow, ...]:
    """The cases, in the order of their capture."""
    return _all(store, CaseRow, "SELECT * FROM cases WHERE run = ? ORDER BY position", run)


def variants(store: Store, run: str) -> tuple[VariantRow, ...]:
    """The variants by number, the original first. Each is of the loosest class that an edit on the way to it has: until 2026-11-29 the
    last edit's was written down.
    """
    found: dict[int, VariantRow] = {}
    for row in _all(store, VariantRow, "SELECT * FROM variants WHERE run = ? ORDER BY id", run):
        above = [found[row.parent].numerics] if row.parent in found else []
        found[row.id] = evolve(row, numerics=loosest([row.numerics, *above]))
    return tuple(found.values())


def variant(store: Store, run: str, number: int) -> VariantRow:
    """One variant.

    Raises:
        HistoryError: the run has none of that number.
    """
    for row in variants(store, run):
        if row.id == number:
            return row
    raise HistoryError(f"Run {run} has no variant {number}: `kernelband show {run}` lists them.")


def lineage(variants: Mapping[int, VariantRow], number: int) -> list[VariantRow]:
    """From the first edit of the original to that variant, of the variants of a run by number."""
    out: list[VariantRow] = []
    at = variants.get(number)
    while at is not None and at.id and at not in out:
        out.insert(0, at)
        at = variants.get(at.parent or 0)
    return out


def trials(store: Store, run: str) -> tuple[TrialRow, ...]:
    """The trials, in order."""
    return _all(store, TrialRow, "SELECT * FROM trials WHERE run = ? ORDER BY number", run)


def finals(store: Store, run: str) -> tuple[FinalRow, ...]:
    """The final results, the best first."""
    return _all(store, FinalRow, "SELECT * FROM finals WHERE run = ? ORDER BY verified DESC, score DESC, variant", run)


def pulls(store: Store, run: str) -> tuple[PullRow, ...]:
    """The log, in order."""
    return _all(store, PullRow, "SELECT * FROM pulls WHERE run = ? ORDER BY position", run)


def arms(store: Store, run: str) -> tuple[ArmRow, ...]:
    """The arms as last seen."""
    return _all(store, ArmRow, "SELECT * FROM arms WHERE run = ? ORDER BY cluster, rowid", run)


def facts(store: Store, run: str) -> tuple[FactsRow, ...]:
    """Compile facts of all variants."""
    return _all(store, FactsRow, "SELECT * FROM facts WHERE run = ? ORDER BY variant, key", run)


def measurements(store: Store, run: str, variant: int | None = None) -> tuple[MeasurementRow, ...]:
    """Every pair of times, or those of one variant (0: of the original against itself), in the order of measuring."""
    own = "" if variant is None else f" AND variant = {variant:d}"
    return _all(store, MeasurementRow, f"SELECT * FROM measurements WHERE run = ?{own} ORDER BY rowid", run)  # noqa: S608 - a number


def decide(store: Store, run: str, number: int, decision: str) -> None:
    """Note what a person made of a variant."""
    row = DecisionRow(run, number, decision, time.time(), this_process().user)
    with store.transaction() as db:
        db.insert("decisions", to_row(row))


def decisions(store: Store, run: str) -> tuple[DecisionRow, ...]:
    """The decisions, oldest first."""
    return _all(store, DecisionRow, "SELECT * FROM decisions WHERE run = ? ORDER BY at", run)


def _all(store: Store, kind: type[T], sql: str, run: str) -> tuple[T, ...]:
    rows: Sequence[dict[str, object]] = store.rows(sql, [run])
    return tuple(from_row(kind, row) for row in rows)
