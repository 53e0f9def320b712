"""The archive is the package, the same bytes each time; the program parses on old Pythons."""

from __future__ import annotations

import ast
import base64
import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from kernelband.worker.bootstrap import archive, program

PACKAGE = Path(__file__).parents[3] / "server" / "kernelband_worker"


def test_the_archive_is_the_package() -> None:
    with zipfile.ZipFile(io.BytesIO(archive({}))) as file:
        names = set(file.namelist())
        assert file.read("kernelband_worker/wire.py") == (PACKAGE / "wire.py").read_bytes()
    assert names == {f"kernelband_worker/{p.relative_to(PACKAGE).as_posix()}" for p in PACKAGE.rglob("*.py")}


def test_the_archive_is_deterministic() -> None:
    assert archive({}) == archive({})


LOOK = "import sys; sys.path[:0] = [sys.argv[1]]; import kernelband_worker.wire as w; print(w.__file__, w.__doc__)"


@pytest.mark.parametrize("ours", [True, False])
def test_bytecode_is_taken_by_this_python_and_passed_over_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)  # whatever the shell says
    path = tmp_path / "worker.zip"
    with zipfile.ZipFile(io.BytesIO(archive({}, compiled=True))) as found, zipfile.ZipFile(path, "w") as kept:
        sources = [name for name in found.namelist() if name.endswith(".py")]
        assert {f"{name}c" for name in sources} == set(found.namelist()) - set(sources)
        for name in found.namelist():
            content = found.read(name)
            kept.writestr(name, b"0000" + content[4:] if name.endswith(".pyc") and not ours else content)
    done = subprocess.run([sys.executable, "-I", "-c", LOOK, str(path)], capture_output=True, text=True, timeout=250, check=True)
    assert done.stdout.split()[0].endswith("wire.pyc" if ours else "wire.py")
    assert len(done.stdout.split()) > 10  # the module's own words


def test_what_a_test_brings_is_not_hidden_by_bytecode() -> None:
    with zipfile.ZipFile(io.BytesIO(archive({"kernelband_worker/wire.py": b"mine = 1"}, compiled=True))) as file:
        assert file.read("kernelband_worker/wire.py") == b"mine = 1"
        assert "kernelband_worker/wire.pyc" not in file.namelist()


def test_every_file_of_the_worker_parses_as_python_3_9() -> None:
    for path in PACKAGE.rglob("*.py"):
        ast.parse(path.read_text(), filename=str(path), feature_version=(3, 9))


def test_the_program_names_what_it_was_given() -> None:
    text = base64.b64decode(program("the-marker", "module.of.executor")).decode()
    ast.parse(text)
    assert all(part in text for part in ("the-marker", "module.of.executor", "(3, 9)"))
