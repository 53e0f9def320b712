"""Writes the empty database of the newest schema version; run it once when a migration is added, never for an old one."""

from __future__ import annotations

from pathlib import Path

from kernelband.history.schema import MIGRATIONS, names
from kernelband.history.sqlite import Database

if __name__ == "__main__":
    path = Path(__file__).parent / "golden" / f"{names()[-1]}.db"
    path.unlink(missing_ok=True)
    db = Database(path, execute_plugins=False)
    db.conn.execute("PRAGMA auto_vacuum = INCREMENTAL")
    MIGRATIONS.apply(db)
    db.execute("UPDATE _sqlite_migrations SET applied_at = '2026-11-20'")
    db.close()
