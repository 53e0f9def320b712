"""The tables, as migrations: each is applied once, in order, in a transaction of its own; what is released is never edited again.

A new one comes with an empty database of the version before (``tests/unit/history/golden/``), which the upgrade test opens.
"""

from __future__ import annotations

from kernelband.history.sqlite import Database, Migrations

APPLICATION_ID = 0x4B42414E  # "KBAN", in the file's header: this is a KernelBand history

MIGRATIONS = Migrations("kernelband")

_RUN = "run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE"

_FIRST = (
    # One search. state: running | finished | interrupted | failed. options, environment, clock and summary are JSON.
    """CREATE TABLE runs (
        id TEXT PRIMARY KEY, created REAL NOT NULL, kernel_key TEXT NOT NULL, path TEXT NOT NULL, kernel TEXT NOT NULL, device TEXT NOT
        NULL, mode TEXT NOT NULL, policy TEXT NOT NULL, objective TEXT NOT NULL, seed INTEGER NOT NULL, trials_budget INTEGER,
        seconds_budget REAL, seconds_used REAL NOT NULL, state TEXT NOT NULL, phase TEXT NOT NULL, reason TEXT NOT NULL, owner TEXT NOT
        NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, process TEXT NOT NULL, heartbeat REAL NOT NULL, version TEXT NOT NULL, options
        TEXT NOT NULL, environment TEXT NOT NULL, clock TEXT NOT NULL, summary TEXT NOT NULL) STRICT""",
    "CREATE INDEX runs_by_kernel ON runs(kernel_key)",
    "CREATE INDEX runs_by_path ON runs(path)",
    # Texts by hash, shared between runs.
    "CREATE TABLE blobs (sha256 TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT",
    # The files that a run started from.
    f"CREATE TABLE texts ({_RUN}, path TEXT NOT NULL, sha256 TEXT NOT NULL REFERENCES blobs(sha256), PRIMARY KEY (run, path)) STRICT",
    f"CREATE TABLE cases ({_RUN}, id TEXT NOT NULL, position INTEGER NOT NULL, role TEXT NOT NULL, facts TEXT NOT NULL, "
    "PRIMARY KEY (run, id)) STRICT",
    # Variant 0 is the original. patch: JSON, relative to the run's texts. seconds and features are NULL unless it is on the frontier.
    f"""CREATE TABLE variants (
        {_RUN}, id INTEGER NOT NULL, parent INTEGER, strategy TEXT NOT NULL, move TEXT NOT NULL, parameters TEXT NOT NULL, key TEXT NOT
        NULL, numerics TEXT NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL, author TEXT NOT NULL, patch TEXT NOT NULL, identity TEXT
        NOT NULL, forecast TEXT NOT NULL, seconds REAL, mean_seconds REAL, features TEXT, headroom TEXT, PRIMARY KEY (run, id)) STRICT""",
    # One variant executed over the run's cases. result: JSON of judge.Result.
    f"""CREATE TABLE trials (
        {_RUN}, number INTEGER NOT NULL, variant INTEGER NOT NULL, correctness TEXT NOT NULL, performance TEXT NOT NULL, fault TEXT NOT
        NULL, integrity TEXT NOT NULL, reason TEXT NOT NULL, score REAL, low REAL, high REAL, result TEXT NOT NULL, started REAL NOT
        NULL, seconds REAL NOT NULL, clock TEXT NOT NULL, PRIMARY KEY (run, number)) STRICT""",
    # What the final processes said of the best variants.
    f"""CREATE TABLE finals (
        {_RUN}, variant INTEGER NOT NULL, verified INTEGER NOT NULL, score REAL, low REAL, high REAL, result TEXT NOT NULL, seconds REAL
        NOT NULL, PRIMARY KEY (run, variant)) STRICT""",
    # One pair of times. kind: device | call. stage: baseline | screening | final | unseen.
    f"""CREATE TABLE measurements (
        {_RUN}, variant INTEGER NOT NULL, stage TEXT NOT NULL, process INTEGER NOT NULL, case_id TEXT NOT NULL, method TEXT NOT NULL,
        kind TEXT NOT NULL, pair INTEGER NOT NULL, input_set INTEGER NOT NULL, original_us REAL NOT NULL, variant_us REAL NOT NULL,
        disturbed TEXT, superseded INTEGER NOT NULL)
        STRICT""",
    "CREATE INDEX measurements_by_variant ON measurements(run, variant)",
    # Compile facts of each launch of a variant. facts: JSON of wire.CompileFacts.
    f"""CREATE TABLE facts (
        {_RUN}, variant INTEGER NOT NULL, key TEXT NOT NULL, facts TEXT NOT NULL, PRIMARY KEY (run, variant, key)) STRICT""",
    # Every finished proposal, in order: the log that any rule can be replayed from.
    f"""CREATE TABLE pulls (
        {_RUN}, position INTEGER NOT NULL, step INTEGER NOT NULL, parent INTEGER NOT NULL, strategy TEXT NOT NULL, move TEXT NOT NULL,
        key TEXT NOT NULL, variant INTEGER, executed INTEGER NOT NULL, reward_paper REAL NOT NULL, reward REAL NOT NULL, outcome TEXT
        NOT NULL, incumbent INTEGER NOT NULL, propensity REAL NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (run, position)) STRICT""",
    f"""CREATE TABLE arms (
        {_RUN}, cluster INTEGER NOT NULL, strategy TEXT NOT NULL, pulls INTEGER NOT NULL, mean_reward REAL NOT NULL, weight REAL NOT
        NULL, why TEXT NOT NULL, PRIMARY KEY (run, cluster, strategy)) STRICT""",
    # What a person made of a variant. decision: accept | reject.
    f"""CREATE TABLE decisions (
        {_RUN}, variant INTEGER NOT NULL, decision TEXT NOT NULL, at REAL NOT NULL, who TEXT NOT NULL) STRICT""",
)


@MIGRATIONS(name="0001_first")
def _first(db: Database) -> None:
    for statement in _FIRST:
        db.conn.execute(statement)
    db.conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")


@MIGRATIONS(name="0002_form")
def _form(db: Database) -> None:
    """The form of the program that a variant is (``source.form``), by which a text is known again; NULL: it wasn't written down."""
    db.conn.execute("ALTER TABLE variants ADD COLUMN form TEXT")
    db.conn.execute("CREATE INDEX variants_by_form ON variants(form)")


def names() -> tuple[str, ...]:
    """The migrations that this version knows, in order, with nothing applied."""
    return tuple(m.name for m in MIGRATIONS.pending(Database(memory=True, execute_plugins=False)))
