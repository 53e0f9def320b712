"""Opening: modes, damage, versions, the upgrade, network filesystems."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from kernelband.errors import HistoryError
from kernelband.history import Store, examine, find_place, runs
from kernelband.history.place import filesystem
from kernelband.history.schema import names

from .rows import run_row

GOLDEN = Path(__file__).parent / "golden"
NFS = """sysfs /sys sysfs rw 0 0
/dev/sda1 / ext4 rw 0 0
box:/home /home nfs4 rw 0 0
box:/x /home/a\\040b nfs rw 0 0
/dev/sdb /home/local xfs rw 0 0
"""


def test_new_file_is_private_and_wal(tmp_path: Path) -> None:
    with Store.write(tmp_path / "deep" / "h.db") as store:
        assert store.rows("PRAGMA journal_mode") == [{"journal_mode": "wal"}]
        for file in store.path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
        assert store.integrity() == "ok"


def test_opening_again_keeps_rows(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    with Store.write(path) as store:
        runs.begin(store, run_row(), {"/w/k.py": "é\r\n"})
    with Store.write(path) as store:
        assert runs.find(store, "a1").kernel == "add"
        assert runs.base_texts(store, "a1b2c3") == {"/w/k.py": "é\r\n"}


def test_what_sqlite_refuses_is_said(tmp_path: Path) -> None:
    with Store.write(tmp_path / "h.db") as store, pytest.raises(HistoryError, match="no such table"):
        store.rows("SELECT * FROM nowhere")


def unchanged(path: Path, message: str, opening: object) -> None:
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(HistoryError, match=message) as caught:
        opening(path)  # pyright: ignore
    assert "\n" not in caught.value.message
    assert "--db" in caught.value.message
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name], "something was written beside it"


@pytest.mark.parametrize("opening", [Store.write, Store.read])
class TestBadFiles:
    def test_not_a_database(self, tmp_path: Path, opening: object) -> None:
        (tmp_path / "h.db").write_bytes(b"hello, I am a text" * 300)
        unchanged(tmp_path / "h.db", "damaged or not a database", opening)

    def test_cut_off(self, tmp_path: Path, opening: object) -> None:
        path = tmp_path / "h.db"
        with Store.write(path) as store:
            runs.begin(store, run_row(), {"/w/k.py": "x" * 90_000})
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        unchanged(path, "damaged", opening)

    def test_overwritten_inside(self, tmp_path: Path, opening: object) -> None:
        path = tmp_path / "h.db"
        with Store.write(path) as store:
            runs.begin(store, run_row(), {"/w/k.py": "x" * 90_000})
        data = bytearray(path.read_bytes())
        data[4096 : 4096 * 6] = b"\xa5" * (4096 * 5)
        path.write_bytes(data)
        unchanged(path, "damaged", opening)

    def test_newer(self, tmp_path: Path, opening: object) -> None:
        path = tmp_path / "h.db"
        Store.write(path).close()
        db = sqlite3.connect(path)
        db.execute("INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('kernelband', '9999_future', 'x')")
        db.commit()
        db.close()
        unchanged(path, r"newer KernelBand \(9999_future\)", opening)

    def test_of_another_program(self, tmp_path: Path, opening: object) -> None:
        path = tmp_path / "h.db"
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE bookmarks (url)")
        db.commit()
        db.close()
        unchanged(path, "another program", opening)

    def test_of_another_program_that_keeps_such_migrations(self, tmp_path: Path, opening: object) -> None:
        path = tmp_path / "h.db"
        Store.write(path).close()
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA application_id = 1")
        unchanged(path, "another program", opening)


@pytest.mark.parametrize("text", [b"x", b"hello", b"SQLite format 3", b"hello " * 20, b"\0" * 5000])
def test_a_short_file_that_is_no_database(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "h.db").write_bytes(text)
    unchanged(tmp_path / "h.db", "is damaged or not a database", Store.read)
    unchanged(tmp_path / "h.db", "is damaged or not a database", Store.write)


#: Another process that looks into a database and goes.
LOOKS = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(c.execute('SELECT reason FROM runs').fetchall()); c.close()"


def test_who_comes_and_goes_takes_no_log_from_who_stays(tmp_path: Path) -> None:
    """A server keeps the database open, and opens it once more for a moment; then another process is the last one to close it, or isn't."""
    path = tmp_path / "h.db"

    def others() -> str:
        return subprocess.run([sys.executable, "-c", LOOKS, path], capture_output=True, text=True, check=True, timeout=250).stdout

    with Store.write(path) as stays:
        runs.begin(stays, run_row(), {})
        runs.update(stays, "a1b2c3", reason="one")
        for opens in (Store.read, Store.write, examine):
            gone = opens(path)
            if isinstance(gone, Store):
                gone.close()
            assert others() == "[('one',)]\n"
            assert path.with_name("h.db-wal").exists(), f"{opens} gave up this process's locks: the other one deleted our log"
        runs.update(stays, "a1b2c3", reason="two")
        assert others() == "[('two',)]\n"
        with Store.write(path) as second:
            runs.update(second, "a1b2c3", reason="three")
        assert others() == "[('three',)]\n"
    assert others() == "[('three',)]\n"
    with Store.read(path) as store:
        assert store.integrity() == "ok"


@pytest.mark.parametrize("empty", [True, False])
def test_a_database_that_is_being_made_is_no_history_yet(tmp_path: Path, *, empty: bool) -> None:
    path = tmp_path / "h.db"
    if empty:
        path.touch()
    else:
        with closing(sqlite3.connect(path)) as other:
            other.execute("PRAGMA journal_mode = wal")
    with pytest.raises(HistoryError, match=r"There is no history yet: .* is empty, or being made"):
        Store.read(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,), "a reader makes no tables"


def test_several_that_make_it_at_once(tmp_path: Path) -> None:
    path = tmp_path / "h.db"
    code = "import sys, pathlib; from kernelband.history import Store; sys.stdin.readline(); Store.write(pathlib.Path(sys.argv[1])).close()"
    made = [subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    for process in made:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in made:
        _, errors = process.communicate(timeout=250)
        assert process.returncode == 0, errors.decode()
    with Store.read(path) as store:
        assert store.integrity() == "ok"


def test_reading_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no history yet"):
        Store.read(tmp_path / "h.db")
    assert not (tmp_path / "h.db").exists()


def test_a_folder_that_can_not_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="can't be kept"):
        Store.write(tmp_path / "file" / "h.db")


@pytest.mark.parametrize("version", sorted(p.name for p in GOLDEN.glob("*.db")))
def test_upgrade_from_every_version(tmp_path: Path, version: str) -> None:
    path = tmp_path / "h.db"
    shutil.copy(GOLDEN / version, path)
    with Store.write(path) as store:
        assert store.integrity() == "ok"
        runs.begin(store, run_row(), {})
        assert runs.find(store, "a1b2c3").kernel == "add"
        fresh = Store.write(tmp_path / "fresh.db")
        schema = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
        assert store.rows(schema) == fresh.rows(schema)
        fresh.close()


def test_every_version_has_its_golden_file() -> None:
    assert [p.stem for p in sorted(GOLDEN.glob("*.db"))] == list(names())


def test_remove_if_empty(tmp_path: Path) -> None:
    store = Store.write(tmp_path / "h.db")
    store.remove_if_empty()
    assert list(tmp_path.iterdir()) == []
    store = Store.write(tmp_path / "h.db")
    runs.begin(store, run_row(), {})
    store.remove_if_empty()
    with Store.read(tmp_path / "h.db") as again:
        assert runs.find(again, "last").id == "a1b2c3"


def test_a_database_that_vanished_takes_no_rows(tmp_path: Path) -> None:
    first, second = Store.write(tmp_path / "h.db"), Store.write(tmp_path / "h.db")
    first.remove_if_empty()
    with pytest.raises(HistoryError, match="deleted while it was in use"):
        runs.begin(second, run_row(), {})
    second.close()


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/home/me/h.db", "nfs4"), ("/home/local/h.db", "xfs"), ("/home/a b/h.db", "nfs"), ("/homes/x", "ext4"), ("/sys/x", "sysfs")],
)
def test_filesystem_is_that_of_the_longest_mount(path: str, kind: str) -> None:
    assert filesystem(Path(path), NFS) == kind


def test_on_a_network_the_database_moves_and_says_so(tmp_path: Path) -> None:
    asked = tmp_path / "h.db"
    place = find_place(str(asked), f"/dev/sda1 / ext4 rw 0 0\nbox:/x {tmp_path} nfs rw 0 0\n")
    assert place.path.parent.name.startswith("kernelband-")
    assert str(asked) in place.note
    assert "nfs" in place.note
    assert find_place(str(asked), "/dev/sda1 / ext4 rw 0 0\n").path == asked
