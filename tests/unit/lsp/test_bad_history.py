"""A history that can't be read: calm, one sentence, and what was known before is still answered."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kernelband.history import store
from kernelband.lsp.findings import Findings
from tests.unit.lsp.test_findings import measured, write


def test_a_corrupt_database_is_one_sentence_and_mends(findings: Findings, db: Path, path: str) -> None:
    db.write_bytes(b"not a database at all, but some text")
    assert findings.refresh() is True
    assert "damaged" in findings.problem
    assert findings.problem.count("\n") == 0
    assert findings.refresh() is False
    assert findings.find(path, "add").runs == ()
    db.unlink()
    write(db, measured("a1", path))
    assert findings.refresh() is True
    assert findings.problem == ""
    assert len(findings.find(path, "add").runs) == 1


def test_a_newer_database_is_one_sentence(findings: Findings, db: Path, path: str) -> None:
    write(db, measured("a1", path))
    with sqlite3.connect(db) as connection:
        connection.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('kernelband', '9999_later', 'now')")
    connection.close()
    findings.refresh()
    assert "9999_later" in findings.problem


def test_a_locked_database_keeps_what_was_known(findings: Findings, db: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "BUSY_MS", 50)
    write(db, measured("a1", path))
    findings.refresh()
    findings.close()
    holder = sqlite3.connect(db, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        findings.refresh()
        assert "locked" in findings.problem
        assert [r.id for r in findings.find(path, "add").runs] == ["a1"]
    finally:
        holder.close()
    findings.refresh()
    assert findings.problem == ""


def test_a_database_that_is_deleted_is_an_empty_history(findings: Findings, db: Path, path: str) -> None:
    write(db, measured("a1", path))
    findings.refresh()
    for file in db.parent.glob("history.db*"):
        file.unlink()
    assert findings.refresh() is True
    assert findings.find(path, "add").runs == ()
    db.touch()
    assert findings.refresh() is False
    assert findings.problem == ""
    db.unlink()
    write(db, measured("b1", path))
    findings.refresh()
    assert [r.id for r in findings.find(path, "add").runs] == ["b1"]
