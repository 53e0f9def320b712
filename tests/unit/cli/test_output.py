"""A terminal that can't print a character gets a plain one, and no command ends because of it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.cli.output import PLAIN, exactly, never_fail
from tests.unit.cli.test_figures import RUN, TIMES, database, measured, verdict


def run(db: Path, *arguments: str, encoding: str) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, "PYTHONIOENCODING": encoding, "XDG_STATE_HOME": str(db.parent)}
    return subprocess.run(
        [sys.executable, "-m", "kernelband", *arguments, "--db", str(db)], env=env, capture_output=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("encoding", "arguments"),
    [
        ("ascii", ("show", RUN)),
        ("ascii", ("history",)),
        ("ascii:surrogateescape", ("show", f"{RUN}/1")),  # what Python takes in the C locale
        ("cp1252", ("show", f"{RUN}/1")),
    ],
)
def test_every_encoding_gets_text(tmp_path: Path, arguments: tuple[str, ...], encoding: str) -> None:
    done = run(database(tmp_path, verdict(measured(TIMES))), *arguments, encoding=encoding)
    assert done.returncode == 0, done.stderr
    said = done.stdout.decode(encoding.partition(":")[0])
    assert RUN in said
    assert "Traceback" not in said
    assert done.stderr == b""


def test_figures_stay_readable_in_ascii(tmp_path: Path) -> None:
    db = database(tmp_path, verdict(measured(TIMES)))
    plain, whole = (run(db, "show", f"{RUN}/1", encoding=e).stdout.decode(e) for e in ("ascii", "utf-8"))
    assert "20.1 µs" in whole
    assert "2.01×" in whole
    assert "20.1 us" in plain
    assert "2.01x" in plain


def test_what_the_user_asked_for_stays(tmp_path: Path) -> None:
    done = run(database(tmp_path, verdict(measured(TIMES))), "show", f"{RUN}/1", encoding="ascii:xmlcharrefreplace")
    assert b"2.01&#215;" in done.stdout


def test_json_is_the_same_in_every_encoding(tmp_path: Path) -> None:
    db = database(tmp_path, verdict(measured(TIMES)))
    first, second = (json.loads(run(db, "show", RUN, "--json", encoding=e).stdout) for e in ("ascii", "utf-8"))
    assert first == second


@given(st.text(), st.sampled_from(["ascii", "latin-1", "cp1252", "utf-8"]))
def test_any_text_can_be_written(text: str, encoding: str) -> None:
    written = through(text, encoding)
    assert written.decode(encoding) == "".join(c if fits(c, encoding) else PLAIN.get(c, "?") for c in text)


@given(st.binary())
def test_the_name_of_a_file_is_written_as_it_is_on_disk(name: bytes) -> None:
    assert through(name.decode("utf-8", "surrogateescape"), "utf-8") == name


def test_a_patch_is_utf8_in_every_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", newline="")
    monkeypatch.setattr(sys, "stdout", stream)
    exactly("+# BLOCK 16→64\n")
    assert buffered(stream) == "+# BLOCK 16→64\n".encode()


def through(text: str, encoding: str) -> bytes:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        never_fail()
        print(text, end="")
        return buffered(stream)


def buffered(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue()


def fits(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
