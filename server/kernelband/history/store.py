"""Opens the database: as the one writer of a run, or to read. Every sqlite3 error becomes one sentence.

Only SQLite opens the file, never we: closing any descriptor of it drops all locks that this process holds on it (POSIX). Another process
that closes the database then takes itself for the last one and deletes the log that we still write to.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from kernelband.errors import HistoryError
from kernelband.history.place import create_private
from kernelband.history.schema import APPLICATION_ID, MIGRATIONS, names
from kernelband.history.sqlite import Database, Migrations

BUSY_MS = 10_000
HEADER_BYTES = 100


class Writer:
    """What a transaction may do."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """One statement."""
        self._db.conn.execute(sql, parameters)

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """One row; a second of the same key is an error."""
        self._db.table(table).insert(dict(row))

    def update(self, table: str, key: str, columns: Mapping[str, Any]) -> None:
        """Columns of the row with that primary key."""
        self._db.table(table).update(key, dict(columns))  # pyright: ignore[reportUnknownMemberType] - untyped in sqlite-utils


class Store:
    """A connection. Usable from several threads: each statement or transaction holds the lock."""

    def __init__(self, path: Path, db: Database) -> None:
        self.path = path
        self._db = db
        self._lock = RLock()

    @classmethod
    def write(cls, path: Path) -> Store:
        """Open for writing; create it, or bring it up to this version, when needed.

        Raises:
            HistoryError: corrupt, newer, of another program, locked, or not writable. Nothing was written then.
        """
        with _said(path):
            if path.exists() and path.stat().st_size > 0:
                _examine(path)
            create_private(path)
            db = _connect(path, "rw")
            try:
                db.conn.execute("PRAGMA auto_vacuum = INCREMENTAL")  # has effect on a new file only; before its first table
                db.enable_wal()
                if MIGRATIONS.pending(db):
                    db.conn.execute("BEGIN IMMEDIATE")  # of two that make or upgrade it the second finds it done
                    MIGRATIONS.apply(db)
                    db.conn.execute("COMMIT")
            except BaseException:
                db.close()
                raise
            for beside in (path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
                if beside.exists():
                    beside.chmod(0o600)
            return cls(path, db)

    @classmethod
    def read(cls, path: Path) -> Store:
        """Open for reading.

        Raises:
            HistoryError: there is none yet, it is corrupt, newer, of an older version, or of another program.
        """
        if not path.exists():
            raise HistoryError(f"There is no history yet: {path} does not exist. Run `kernelband optimize FILE` first.")
        with _said(path):
            pending = _examine(path)
            if len(pending) == len(names()):  # whoever makes it is not to be disturbed
                raise HistoryError(f"There is no history yet: {path} is empty, or being made. Run `kernelband optimize FILE` first.")
            if pending:  # an older schema is upgraded rather than read with guesses
                return cls.write(path)
            return cls(path, _connect(path, "rw"))

    def close(self) -> None:
        """Close the connection; committed rows are safe."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Generator[Writer, None, None]:
        """All or nothing. IMMEDIATE, so that a second writer waits here and not in the middle; the file must still be the one opened."""
        with self._lock, _said(self.path):
            self._db.conn.execute("BEGIN IMMEDIATE")
            try:
                self._same_file()
                yield Writer(self._db)
            except BaseException:
                self._db.rollback()
                raise
            self._db.conn.execute("COMMIT")

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """The rows of a SELECT."""
        with self._lock, _said(self.path):
            cursor = self._db.conn.execute(sql, parameters)
            columns = [c[0] for c in cursor.description]
            return [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]

    def shrink(self) -> None:
        """Give the pages of deleted rows back to the disk."""
        with self._lock, _said(self.path):
            self._db.conn.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE);")

    def integrity(self, seconds: float | None = None) -> str:
        """What ``PRAGMA integrity_check`` says: "ok", or what is wrong.

        Raises:
            TimeoutError: it took longer than ``seconds``.
        """
        if seconds is None:
            return "\n".join(str(r["integrity_check"]) for r in self.rows("PRAGMA integrity_check"))
        end = time.monotonic() + seconds
        late = False

        def stop() -> int:
            nonlocal late
            late = time.monotonic() > end
            return int(late)

        with self._lock:
            self._db.conn.set_progress_handler(stop, 100_000)
            try:
                return self.integrity()
            except HistoryError as error:
                if late:
                    raise TimeoutError(f"{self.path} wasn't read through within {seconds:g} s.") from error
                raise
            finally:
                self._db.conn.set_progress_handler(None, 0)

    def remove_if_empty(self) -> None:
        """Delete the file again when it holds no run: nobody wants a database that only a failed start left behind.

        Another process that opened it meanwhile notices in its next transaction that the file is gone.
        """
        with self._lock, _said(self.path):
            self._db.conn.execute("BEGIN EXCLUSIVE")
            empty = self._db.conn.execute("SELECT count(*) FROM runs").fetchone()[0] == 0
            if empty:
                self.path.unlink(missing_ok=True)
            self._db.conn.execute("COMMIT")
            self._db.close()
            if empty:
                for suffix in ("-wal", "-shm"):
                    self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    def _same_file(self) -> None:
        if not self.path.exists():
            raise HistoryError(f"The history {self.path} was deleted while it was in use: start again.")


def examine(path: Path) -> tuple[str, ...]:
    """The migrations that the database at ``path`` lacks; looks without writing.

    Raises:
        HistoryError: corrupt, newer, of another program, or not readable.
    """
    with _said(path):
        return tuple(_examine(path))


def _connect(path: Path, mode: str) -> Database:
    conn = sqlite3.connect(f"file:{_quoted(path)}?mode={mode}", uri=True, check_same_thread=False, timeout=BUSY_MS / 1000)
    try:
        conn.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("PRAGMA synchronous = FULL")  # a commit is on the disk, also when the machine dies
        return Database(conn, execute_plugins=False)
    except BaseException:
        conn.close()
        raise


def _examine(path: Path) -> list[str]:
    """Look without writing: is it ours, whole, and not newer? Answers the migrations that it still lacks.

    A database that a killed process left with a WAL can only be read by rolling it forward, so this opens it read-write.
    """
    if 0 < path.stat().st_size < HEADER_BYTES:  # SQLite takes a file of one byte for an empty database
        raise HistoryError(f"{path} is damaged or not a database: move it away, or name another file with --db.")
    db = _connect(path, "rw")
    try:
        tables = db.table_names()
        if Migrations.migrations_table not in tables:
            if tables:
                raise HistoryError(f"{path} is a database of another program: name another file with --db.")
            return list(names())
        applied = {m.name for m in MIGRATIONS.applied(db)}
        known = names()
        newer = sorted(applied - set(known))
        if newer:
            raise HistoryError(f"{path} was written by a newer KernelBand ({newer[-1]}): update this one, or name another file with --db.")
        if applied and db.conn.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise HistoryError(f"{path} is a database of another program: name another file with --db.")
        broken = db.conn.execute("PRAGMA quick_check(1)").fetchone()[0]
        if broken != "ok":
            raise HistoryError(f"{path} is damaged: move it away, or name another file with --db.", detail=str(broken))
        return [name for name in known if name not in applied]
    finally:
        db.close()


@contextmanager
def _said(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "locked" in text or "busy" in text:
            raise HistoryError(f"The history {path} is locked by another program: close it and try again.", detail=text) from error
        if "readonly" in text or "unable to open" in text:
            raise HistoryError(
                f"The history {path} can't be written: check its permissions, or name another with --db.", detail=text
            ) from error
        if "full" in text:
            raise HistoryError(f"There is no room left on the disk for the history {path}.", detail=text) from error
        raise HistoryError(f"The history {path} can't be used: {text}. Move it away, or name another with --db.") from error
    except sqlite3.IntegrityError:
        raise  # not the file's fault but ours: a row that exists already, say
    except sqlite3.DatabaseError as error:
        raise HistoryError(
            f"{path} is damaged or not a database: move it away, or name another file with --db.", detail=str(error)
        ) from error
    except OSError as error:
        raise HistoryError(f"The history {path} can't be used: {error.strerror or error}. Name another file with --db.") from error


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(os.fspath(path))
