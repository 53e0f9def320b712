"""What a chain of edits does to numbers: a variant is of the loosest class on the way to it, whoever asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from kernelband.history import Store, runs, trials, view
from kernelband.history.values import loosest
from tests.unit.history.rows import run_row, variant_row

#: By number: its parent, the class of its last edit as histories of before 2026-11-29 have it, and its own.
CHAIN = {1: (0, "exact", "exact"), 2: (1, "reassociates", "reassociates"), 3: (2, "exact", "reassociates"), 4: (0, "exact", "exact")}


@pytest.mark.parametrize(
    ("classes", "found"),
    [
        (["exact"], "exact"),
        (["reassociates", "exact"], "reassociates"),
        (["exact", "lowers_precision", "reassociates"], "lowers_precision"),
        (["lowers_precision", "of tomorrow"], "of tomorrow"),
    ],
)
def test_the_loosest_of_several(classes: list[str], found: str) -> None:
    assert loosest(classes) == found


def test_a_history_of_before_says_what_all_edits_do_together(tmp_path: Path) -> None:
    with Store.write(tmp_path / "h.db") as store:
        runs.begin(store, run_row("a1"), {})
        rows = tuple(evolve(variant_row("a1", n), parent=parent, numerics=said) for n, (parent, said, _) in CHAIN.items())
        trials.write(store, trials.Rows(variants=rows))
        wanted = {n: own for n, (_, _, own) in CHAIN.items()}
        assert {row.id: row.numerics for row in trials.variants(store, "a1")} == wanted
        assert {n: shown.numerics for n in CHAIN if (shown := view.variant(store, "a1", n)) is not None} == wanted
