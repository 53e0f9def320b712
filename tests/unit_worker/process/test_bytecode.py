"""What importing the libraries changes in the process, and what it leaves as the user's program expects it."""

from __future__ import annotations

import gc
import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from kernelband_worker.environment import require

SERVER = Path(__file__).resolve().parents[3] / "server"
PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
sys.dont_write_bytecode = True
from kernelband_worker.environment import require
require()
import theirs
"""


KEPT = """
import sys
folder, *sys.path[:0] = sys.argv[1:]
from kernelband_worker.bytecode import keep_in
keep_in(folder)
import theirs
print(theirs.value)
"""


@pytest.mark.parametrize("before", [True, False])
def test_no_collection_while_the_libraries_come_and_then_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    for name in ("torch", "triton"):
        (tmp_path / f"{name}.py").write_text("import gc\n__version__ = '9.0.0'\ncollects = gc.isenabled()\n")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    was = gc.isenabled()
    try:
        gc.enable() if before else gc.disable()
        torch, triton = require()
        assert gc.isenabled() is before
    finally:
        gc.unfreeze()
        gc.enable() if was else gc.disable()
        for name in ("torch", "triton"):
            sys.modules.pop(name, None)
    assert (torch.collects, triton.collects) == (False, False)  # a third of the time that torch takes


@pytest.mark.parametrize("wanted", [True, False])
def test_only_libraries_leave_bytecode(tmp_path: Path, wanted: bool) -> None:
    """As in any run of that Python; what is imported after them, the user's program, leaves none."""
    for name in ("torch", "triton", "theirs"):
        (tmp_path / f"{name}.py").write_text("__version__ = '9.0.0'\n")
    options = [] if wanted else ["-B"]
    env = {"PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, *options, "-c", PROGRAM, str(tmp_path), str(SERVER)], check=True, timeout=250, env=env)
    cached = {p.name.split(".")[0] for p in tmp_path.glob("__pycache__/*.pyc")}
    assert cached == ({"torch", "triton"} if wanted else set())


class TestInAnExecutor:
    @pytest.fixture
    def theirs(self, tmp_path: Path) -> Path:
        (tmp_path / "project").mkdir()
        module = tmp_path / "project" / "theirs.py"
        module.write_text("value = 'text'\n")
        os.utime(module, (1e9, 1e9))
        return module

    def value(self, theirs: Path, setup: str = "", **env: str) -> str:
        """What an executor that begins now finds in the module."""
        arguments = [str(theirs.parents[1] / "scratch"), str(theirs.parent), str(SERVER)]
        done = subprocess.run(
            [sys.executable, "-c", setup + KEPT, *arguments], check=True, timeout=250, env=env, capture_output=True, text=True
        )
        return done.stdout.strip()

    def bytecode(self, theirs: Path, module: str, mode: py_compile.PycInvalidationMode = py_compile.PycInvalidationMode.TIMESTAMP) -> Path:
        """Bytecode of another text of the same size and time, beside the module: whoever reads it says so."""
        was, times = theirs.read_text(), theirs.stat().st_mtime_ns
        theirs.write_text(module)
        os.utime(theirs, ns=(times, times))
        written = Path(py_compile.compile(str(theirs), invalidation_mode=mode) or "")
        theirs.write_text(was)
        os.utime(theirs, ns=(times, times))
        return written

    def test_none_is_left_beside_the_source_and_the_next_one_finds_it(self, theirs: Path) -> None:
        assert self.value(theirs) == "text"
        assert [p.name for p in theirs.parent.iterdir()] == ["theirs.py"]
        (kept,) = (theirs.parents[1] / "scratch").rglob("theirs.*.pyc")
        self.bytecode(theirs, "value = 'code'\n").replace(kept)
        assert self.value(theirs) == "code"

    def test_what_was_written_since_has_none(self, theirs: Path) -> None:
        """Within a second, and as long as before: bytecode of the one would pass for that of the other."""
        writes = "from pathlib import Path\nimport importlib, sys\nfound = []\nfor number in (4, 8):\n"
        writes += "    Path(__file__).with_name('made.py').write_text(f'number = {number}')\n    sys.modules.pop('made', None)\n"
        writes += "    importlib.invalidate_caches()\n    import made\n    found.append(made.number)\nvalue = found\n"
        theirs.write_text(writes)
        os.utime(theirs, (1e9, 1e9))
        assert self.value(theirs) == self.value(theirs) == "[4, 8]"
        assert not list((theirs.parents[1] / "scratch").rglob("made.*.pyc"))

    def test_none_is_written_where_the_disk_is_nearly_full(self, theirs: Path) -> None:
        assert (
            self.value(theirs, setup="import shutil; shutil.disk_usage = lambda _: shutil._ntuple_diskusage(1 << 40, 1 << 40, 1 << 20)")
            == "text"
        )
        assert not (theirs.parents[1] / "scratch").exists()
        assert [p.name for p in theirs.parent.iterdir()] == ["theirs.py"]

    def test_what_stands_there_already_is_read(self, theirs: Path) -> None:
        self.bytecode(theirs, "value = 'code'\n")
        assert self.value(theirs) == "code"
        assert not list((theirs.parents[1] / "scratch").rglob("theirs.*.pyc"))

    @pytest.mark.parametrize("mode", [py_compile.PycInvalidationMode.TIMESTAMP, py_compile.PycInvalidationMode.CHECKED_HASH])
    def test_what_is_of_another_text_stays_as_it_was(self, theirs: Path, mode: py_compile.PycInvalidationMode) -> None:
        stale = self.bytecode(theirs, "value = 'longer'\n", mode)
        before = stale.read_bytes()
        assert self.value(theirs) == "text"
        assert stale.read_bytes() == before

    @pytest.mark.parametrize("damage", [b"", b"not bytecode at all"])
    def test_what_is_no_bytecode_is_left_alone(self, theirs: Path, damage: bytes) -> None:
        damaged = self.bytecode(theirs, "value = 'code'\n")
        damaged.write_bytes(damage)
        assert self.value(theirs) == "text"
        assert damaged.read_bytes() == damage

    def test_a_folder_of_the_users_own_stays(self, theirs: Path, tmp_path: Path) -> None:
        assert self.value(theirs, PYTHONPYCACHEPREFIX=str(tmp_path / "own")) == "text"
        assert [p.name for p in theirs.parent.iterdir()] == ["theirs.py"]
        assert list((tmp_path / "own").rglob("theirs.*.pyc"))
        assert not (tmp_path / "scratch").exists()
