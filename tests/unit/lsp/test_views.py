"""Runs in a few words, and the newest of them with their variants."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from kernelband.explain.words import headline
from kernelband.history import Store, runs
from kernelband.history.records import RunRow
from kernelband.lsp.findings import MOST_OF_A_KERNEL, Findings
from tests.unit.lsp.test_findings import final, measured, three, trial, trials, variant, write


@pytest.fixture
def findings(tmp_path: Path) -> Iterator[Findings]:
    found = Findings(tmp_path / "history.db")
    yield found
    found.close()


def said(findings: Findings, row: RunRow, rows: trials.Rows | None = None) -> str:
    write(findings.db, row, rows)
    findings.refresh()
    return headline(findings.newest(1)[0])


def predicted(run: str, tier: str) -> trials.Rows:
    tried = trial(run, 1, 9.9, correctness="interpreted")
    return trials.Rows(variants=(variant(run, 1, forecast={"tier": tier, "fact": "f", "score": 9.9}),), trials=(tried,))


PATH = "/w/k.py"


@pytest.mark.parametrize(
    ("more", "rows", "words"),
    [
        ({}, three("a1"), "verified 1.61×"),
        ({}, evolve(three("a1"), finals=(final("a1", 1, 1.01, verified=False),)), "nothing verified"),
        ({"mode": "predicted"}, predicted("a1", "likely faster"), "likely faster"),
        ({"mode": "predicted"}, predicted("a1", "unclear"), "nothing likely faster"),
        ({"state": "interrupted", "reason": "stopped by you"}, three("a1"), "stopped · verified 1.61×"),
        ({"state": "interrupted"}, evolve(three("a1"), finals=()), "stopped · best so far not verified: what 3"),
        ({"state": "interrupted", "mode": "predicted"}, predicted("a1", "likely faster"), "stopped · likely faster"),
        ({"state": "failed"}, None, "failed"),
        ({"policy": "given"}, three("a1"), "verified 1.61×"),
        ({"policy": "given", "mode": "predicted"}, predicted("a1", "likely slower"), "likely slower"),
        ({"policy": "given", "reason": "your edit of add is slower: 0.90× on H200"}, None, "your edit of add is slower"),
    ],
)
def test_a_run_in_a_few_words(findings: Findings, more: dict[str, Any], rows: trials.Rows | None, words: str) -> None:
    assert said(findings, evolve(measured("a1", PATH), **more), rows) == words


def test_a_run_that_goes_on_elsewhere(findings: Findings) -> None:
    row = evolve(measured("a1", PATH), state="running")
    rows = evolve(three("a1"), finals=(), trials=three("a1").trials[:1])
    assert said(findings, row, rows) == "1 trial so far"


def test_the_newest_come_first_and_each_with_its_variants(findings: Findings) -> None:
    count = MOST_OF_A_KERNEL + 3
    for n in range(count):
        write(findings.db, measured(f"a{n}", PATH, created=float(n)), three(f"a{n}"))
    write(findings.db, measured("b0", "/v/other.py", created=100.0), three("b0"))
    findings.refresh()
    found = findings.newest(100)
    assert [r.id for r in found] == ["b0", *(f"a{n}" for n in reversed(range(count)))]
    assert all([v.number for v in r.variants] == [1, 2] for r in found), "also those that no lens is made of"
    assert [r.id for r in findings.newest(2, lambda path: path.startswith("/w/"))] == [f"a{count - 1}", f"a{count - 2}"]
    assert (findings.refresh(), findings.problem) == (False, ""), "what was read more of is still the same"
    assert [r.id for r in findings.find(PATH, "add").runs] == [f"a{n}" for n in reversed(range(3, count))]
    with Store.read(findings.db) as store:
        runs.forget(store, f"a{count - 1}")
        trials.decide(store, "a0", 1, "reject")
    findings.refresh()
    (oldest,) = [r for r in findings.newest(100) if r.id == "a0"]
    assert [(v.number, v.decision) for v in oldest.variants] == [(1, "reject"), (2, "")]


def test_without_a_history_there_are_none(findings: Findings) -> None:
    findings.refresh()
    assert findings.newest(5) == []
