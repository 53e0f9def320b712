"""The archive is the package, the same bytes each time; the program parses on old Pythons."""

from __future__ import annotations

import ast
import base64
import io
import zipfile
from pathlib import Path

from kernelband.worker.bootstrap import archive, program

PACKAGE = Path(__file__).parents[3] / "server" / "kernelband_worker"


def test_the_archive_is_the_package() -> None:
    with zipfile.ZipFile(io.BytesIO(archive({}))) as file:
        names = set(file.namelist())
        assert file.read("kernelband_worker/wire.py") == (PACKAGE / "wire.py").read_bytes()
    assert names == {f"kernelband_worker/{p.relative_to(PACKAGE).as_posix()}" for p in PACKAGE.rglob("*.py")}


def test_the_archive_is_deterministic() -> None:
    assert archive({}) == archive({})


def test_every_file_of_the_worker_parses_as_python_3_9() -> None:
    for path in PACKAGE.rglob("*.py"):
        ast.parse(path.read_text(), filename=str(path), feature_version=(3, 9))


def test_the_program_names_what_it_was_given() -> None:
    text = base64.b64decode(program("the-marker", 123, "module.of.executor")).decode()
    ast.parse(text)
    assert all(part in text for part in ("the-marker", "123", "module.of.executor", "(3, 9)"))
