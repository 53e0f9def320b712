"""Runs: begin, own, keep alive, end, find, forget."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import evolve

from kernelband.errors import HistoryError
from kernelband.history.process import Owner, is_alive
from kernelband.history.records import RunRow, from_row, to_row
from kernelband.history.store import Store
from kernelband.source.model import text_hash

Run = TypeVar("Run", bound=RunRow)
STALE_S = 20.0  # a heartbeat older than this is that of a dead process, where nothing better is known
CAP_BYTES = 1 << 30  # of the whole file: the oldest finished runs go first


def begin(store: Store, run: RunRow, texts: Mapping[str, str]) -> None:
    """Write a new run with the texts that it starts from."""
    with store.transaction() as db:
        db.insert("runs", to_row(run))
        for path, text in texts.items():
            sha = text_hash(text)
            db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", [sha, text])
            db.execute("INSERT INTO texts VALUES (?, ?, ?)", [run.id, path, sha])


def claim(store: Store, run: str, owner: Owner, now: float | None = None) -> RunRow:
    """Take over a run that nobody runs any more, atomically.

    Raises:
        HistoryError: there is none, it is finished, or someone runs it.
    """
    now = time.time() if now is None else now
    with store.transaction() as db:
        row = find(store, run, now=now)
        if row.state == "running":
            raise HistoryError(f"Run {row.id} is still running ({row.owner}): stop it there first, or wait until it is done.")
        if row.state == "finished":
            raise HistoryError(f"Run {row.id} is finished: there is nothing to resume. `kernelband show {row.id}` shows it.")
        db.execute(
            "UPDATE runs SET state = 'running', owner = ?, host = ?, pid = ?, process = ?, heartbeat = ?, reason = '' WHERE id = ?",
            [owner.text, owner.host, owner.pid, owner.process, now, row.id],
        )
    return find(store, row.id, now=now)


def beat(store: Store, run: str, *, phase: str, seconds_used: float, clock: Mapping[str, float]) -> None:
    """Say that the run lives, and what it does."""
    with store.transaction() as db:
        db.execute(
            "UPDATE runs SET heartbeat = ?, phase = ?, seconds_used = ?, clock = ? WHERE id = ?",
            [time.time(), phase, seconds_used, json.dumps(dict(clock)), run],
        )


def update(store: Store, run: str, **columns: Any) -> None:
    """Set columns of a run; dictionaries and lists become JSON."""
    values = {k: json.dumps(v, sort_keys=True, allow_nan=False) if isinstance(v, (dict, list)) else v for k, v in columns.items()}
    with store.transaction() as db:
        db.update("runs", run, values)


def end(
    store: Store, run: str, state: str, reason: str, *, seconds_used: float, clock: Mapping[str, float], summary: Mapping[str, Any]
) -> None:
    """The run is over: ``finished``, ``interrupted`` (can be resumed) or ``failed`` (can be resumed too, the reason says what to mend)."""
    update(
        store, run, state=state, reason=reason, seconds_used=seconds_used, clock=dict(clock), summary=dict(summary), heartbeat=time.time()
    )


def find(store: Store, run: str, now: float | None = None, *, inside: str = "/") -> RunRow:
    """A run by its id or the unambiguous beginning of one; ``last`` is the newest of a file in the folder ``inside``. A dead owner's run
    reads ``interrupted``.

    Raises:
        HistoryError: none, or several.
    """
    if run == "last":
        below = inside.rstrip(os.sep) + os.sep
        rows = store.rows("SELECT * FROM runs WHERE substr(path, 1, length(?)) = ? ORDER BY created DESC LIMIT 1", [below, below])
        if not rows and below != os.sep and store.rows("SELECT 1 FROM runs LIMIT 1"):
            raise HistoryError(f"No run of a file in {inside} is kept, which `last` would be of: name one that `kernelband history` lists.")
    else:
        rows = store.rows("SELECT * FROM runs WHERE substr(id, 1, length(?)) = ? LIMIT 2", [run, run]) if run else []
    if not rows:
        raise HistoryError(f"There is no run {run!r} in {store.path}: `kernelband history` lists them.")
    if len(rows) > 1:
        raise HistoryError(f"Several runs begin with {run!r}: give more of the id (`kernelband history` lists them).")
    return effective(from_row(RunRow, rows[0]), time.time() if now is None else now)


def listing(store: Store, path: str | None = None, limit: int = 50) -> tuple[RunRow, ...]:
    """The newest runs, of one file when given."""
    where, parameters = ("WHERE path = ?", [path, limit]) if path else ("", [limit])
    rows = store.rows(f"SELECT * FROM runs {where} ORDER BY created DESC LIMIT ?", parameters)  # noqa: S608 - fixed text
    now = time.time()
    return tuple(effective(from_row(RunRow, r), now) for r in rows)


def effective(run: Run, now: float) -> Run:
    """The run as it is, not as its dead owner left it."""
    if run.state != "running":
        return run
    alive = is_alive(Owner("", run.host, run.pid, run.process))
    if alive is None:
        alive = now - run.heartbeat < STALE_S
    if alive:
        return run
    return evolve(run, state="interrupted", reason=f"the process that ran it is gone ({run.owner}, last heard in phase {run.phase})")


def last_devices(store: Store) -> dict[str, str]:
    """The GPU that each worker's command ("" for this machine) had when it last measured."""
    sql = "SELECT coalesce(json_extract(options, '$.worker'), '') AS worker, device FROM runs WHERE mode = 'measured' ORDER BY created"
    return {str(r["worker"]): str(r["device"]) for r in store.rows(sql)}


def base_texts(store: Store, run: str) -> dict[str, str]:
    """The files that the run started from: path -> text."""
    rows = store.rows("SELECT path, text FROM texts JOIN blobs USING (sha256) WHERE run = ? ORDER BY path", [run])
    return {r["path"]: r["text"] for r in rows}


def forget(store: Store, run: str, *, running: bool = False) -> RunRow:
    """Delete a run with all its rows and the texts that no other run needs.

    Raises:
        HistoryError: there is none, or it is running (unless ``running``: its own process takes it back).
    """
    row = find(store, run)
    if row.state == "running" and not running:
        raise HistoryError(f"Run {row.id} is running ({row.owner}): stop it first.")
    with store.transaction() as db:
        db.execute("DELETE FROM runs WHERE id = ?", [row.id])
        db.execute("DELETE FROM blobs WHERE sha256 NOT IN (SELECT sha256 FROM texts)")
    return row


def keep_below(store: Store, cap: int = CAP_BYTES) -> tuple[str, ...]:
    """Forget the oldest finished runs until the file fits the cap. Answers the ids that went."""
    gone: list[str] = []
    while _size(store) > cap:
        rows = store.rows("SELECT id FROM runs WHERE state != 'running' ORDER BY created LIMIT 1")
        if not rows:
            break
        gone.append(forget(store, rows[0]["id"]).id)
    if gone:
        store.shrink()
    return tuple(gone)


def _size(store: Store) -> int:
    pages = store.rows("PRAGMA page_count")[0]["page_count"] - store.rows("PRAGMA freelist_count")[0]["freelist_count"]
    return int(pages) * int(store.rows("PRAGMA page_size")[0]["page_size"])
