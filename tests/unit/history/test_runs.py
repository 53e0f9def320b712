"""Runs and trials: transactions, ownership, stale runs, forgetting, the cap."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import evolve

from kernelband.errors import HistoryError
from kernelband.history import Owner, Store, runs, this_process, trials
from kernelband.history.process import is_alive, start_mark

from .rows import pull_row, run_row, trial_row, variant_row


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.write(tmp_path / "h.db") as store:
        yield store


def ended() -> Owner:
    """The owner that a process which is gone was."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = evolve(this_process(), pid=child.pid, process=start_mark(child.pid))
    assert is_alive(owner) is True
    child.kill()
    child.communicate()
    return owner


def test_rows_come_back_as_written(store: Store) -> None:
    runs.begin(store, run_row(), {"/w/k.py": "text"})
    trials.write(store, trials.Rows(variants=(variant_row(),), trials=(trial_row(),), pulls=(pull_row(),)))
    assert trials.variants(store, "a1b2c3") == (variant_row(),)
    assert trials.trials(store, "a1b2c3") == (trial_row(),)
    assert trials.pulls(store, "a1b2c3") == (pull_row(),)
    assert trials.variant(store, "a1b2c3", 1).what == "BLOCK 64→128"
    with pytest.raises(HistoryError, match="no variant 7"):
        trials.variant(store, "a1b2c3", 7)


def test_a_trial_is_written_whole_or_not_at_all(store: Store) -> None:
    runs.begin(store, run_row(), {})
    trials.write(store, trials.Rows(pulls=(pull_row(),)))
    with pytest.raises(sqlite3.IntegrityError):
        trials.write(store, trials.Rows(variants=(variant_row(),), trials=(trial_row(),), pulls=(pull_row(),)))  # the pull is there already
    assert trials.variants(store, "a1b2c3") == ()
    assert trials.trials(store, "a1b2c3") == ()


def test_a_run_of_a_dead_process_reads_interrupted(store: Store) -> None:
    gone = ended()
    runs.begin(store, run_row(host=gone.host, pid=gone.pid, process=gone.process, phase="measure"), {})
    row = runs.find(store, "a1b2c3")
    assert row.state == "interrupted"
    assert "measure" in row.reason


@pytest.mark.parametrize("state", ["finished", "failed", "interrupted"])
def test_a_run_that_has_ended_stays_as_it_ended(store: Store, state: str) -> None:
    gone = ended()
    runs.begin(store, run_row(host=gone.host, pid=gone.pid, process=gone.process, state=state, reason="so it was"), {})
    row = runs.find(store, "a1b2c3")
    assert (row.state, row.reason) == (state, "so it was")


def test_a_recycled_pid_is_not_the_owner(store: Store) -> None:
    runs.begin(store, run_row(pid=os.getpid(), process="1234abcd-1"), {})
    assert runs.find(store, "a1b2c3").state == "interrupted"


def test_on_another_host_the_heartbeat_decides(store: Store) -> None:
    runs.begin(store, run_row(host="elsewhere", heartbeat=1000.0), {})
    assert runs.find(store, "a1b2c3", now=1010.0).state == "running"
    assert runs.find(store, "a1b2c3", now=1000.0 + runs.STALE_S + 1).state == "interrupted"


def test_nobody_resumes_a_live_run(store: Store) -> None:
    runs.begin(store, run_row(), {})
    with pytest.raises(HistoryError, match="still running"):
        runs.claim(store, "a1b2c3", this_process())


def test_nobody_resumes_a_finished_run(store: Store) -> None:
    runs.begin(store, run_row(state="finished"), {})
    with pytest.raises(HistoryError, match="nothing to resume"):
        runs.claim(store, "a1", this_process())


def test_of_two_claims_one_wins(store: Store, tmp_path: Path) -> None:
    gone = ended()
    runs.begin(store, run_row(host=gone.host, pid=gone.pid, process=gone.process), {})
    got: list[object] = []

    def claim() -> None:
        with Store.write(tmp_path / "h.db") as mine:
            try:
                got.append(runs.claim(mine, "a1", this_process()).state)
            except HistoryError as error:
                got.append(error.message)

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got.count("running") == 1, got


def test_find(store: Store) -> None:
    runs.begin(store, run_row("aa11", created=1.0), {})
    runs.begin(store, run_row("aa22", created=2.0), {})
    assert runs.find(store, "last").id == "aa22"
    assert runs.find(store, "aa1").id == "aa11"
    runs.begin(store, run_row("bb33", created=0.5, path="/v/one/k.py"), {})
    runs.begin(store, run_row("bb44", created=0.7, path="/v/one_more/k.py"), {})
    assert runs.find(store, "last", inside="/v/one").id == "bb33"
    with pytest.raises(HistoryError, match="No run of a file in /v/none is kept"):
        runs.find(store, "last", inside="/v/none")
    for asked, why in (("aa", "Several runs"), ("zz", "no run 'zz'"), ("", "no run ''"), ("%", "no run '%'")):
        with pytest.raises(HistoryError, match=why):
            runs.find(store, asked)
    assert [r.id for r in runs.listing(store)] == ["aa22", "aa11", "bb44", "bb33"]
    assert runs.listing(store, "/elsewhere.py") == ()


def test_heartbeat(store: Store) -> None:
    runs.begin(store, run_row(heartbeat=5.0), {})
    runs.beat(store, "a1b2c3", phase="check", seconds_used=3.5, clock={"check": 1.25})
    row = runs.find(store, "a1b2c3")
    assert (row.phase, row.seconds_used, row.clock) == ("check", 3.5, {"check": 1.25})
    assert row.heartbeat > 5


def test_forget_takes_all_rows_and_lonely_texts(store: Store) -> None:
    runs.begin(store, run_row("one", state="finished"), {"a": "shared", "b": "only one"})
    runs.begin(store, run_row("two", state="finished"), {"a": "shared"})
    trials.write(store, trials.Rows(variants=(variant_row("one"),), trials=(trial_row("one"),), pulls=(pull_row("one"),)))
    runs.forget(store, "one")
    for table in ("variants", "trials", "pulls", "texts"):
        assert store.rows(f"SELECT * FROM {table} WHERE run = 'one'") == []
    assert [r["text"] for r in store.rows("SELECT text FROM blobs")] == ["shared"]


def test_a_running_run_is_not_forgotten(store: Store) -> None:
    runs.begin(store, run_row(), {})
    with pytest.raises(HistoryError, match="stop it first"):
        runs.forget(store, "a1b2c3")


def test_the_cap_forgets_the_oldest(store: Store) -> None:
    for i in range(6):
        runs.begin(store, run_row(f"r{i}", created=float(i), state="finished"), {"a": chr(65 + i) * 200_000})
    gone = runs.keep_below(store, 800_000)
    assert gone == ("r0", "r1", "r2")
    assert [r.id for r in runs.listing(store)] == ["r5", "r4", "r3"]
    assert store.path.stat().st_size < 2_000_000
