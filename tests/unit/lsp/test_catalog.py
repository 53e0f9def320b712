"""The kernels of folders with what the history knows of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelband.history import Store, runs, trials
from kernelband.lsp.catalog import Catalog, Found
from kernelband.lsp.findings import Findings
from tests.unit.lsp.test_findings import TEXT, measured, three


@pytest.fixture
def findings(tmp_path: Path) -> Iterator[Findings]:
    found = Findings(tmp_path / "state" / "h.db")
    yield found
    found.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a kernel, a file that names triton without one, one without a word of it, and one that is no Python now."""
    work = tmp_path / "work"
    (work / "ops" / "deep").mkdir(parents=True)
    (work / "pyproject.toml").touch()
    (work / "ops" / "k.py").write_text("# a line above\n" + TEXT)
    (work / "ops" / "deep" / "two.py").write_text(TEXT + TEXT.replace("def add", "def sub"))
    (work / "about.py").write_text("# triton\n")
    (work / "plain.py").write_text(TEXT.replace("triton", "other"))
    (work / "broken.py").write_text("import triton\n@triton.jit\ndef (")
    return work


def names(found: list[Found]) -> list[tuple[str, str, int]]:
    return [(os.path.basename(f.path), f.kernel, f.line) for f in found]


def test_kernels_with_the_lines_of_their_names(folder: Path, findings: Findings) -> None:
    found, truncated = Catalog().look([str(folder)], (), findings)
    assert names(found) == [("k.py", "add", 6), ("two.py", "add", 5), ("two.py", "sub", 17)]
    assert (folder / "ops" / "k.py").read_text().splitlines()[6].startswith("def add(")
    assert [f.uri for f in found] == [Path(f.path).as_uri() for f in found]
    assert not truncated
    assert [f.standing for f in found] == [None] * 3, "nothing is known of them"


def test_open_documents_are_left_out(folder: Path, findings: Findings) -> None:
    found, _ = Catalog().look([str(folder)], {str(folder / "ops" / "k.py")}, findings)
    assert names(found) == [("two.py", "add", 5), ("two.py", "sub", 17)]


def test_a_folder_in_another_counts_once(folder: Path, findings: Findings) -> None:
    found, _ = Catalog().look([str(folder), str(folder / "ops")], (), findings)
    assert len(found) == 3


def test_files_come_and_go(folder: Path, findings: Findings) -> None:
    looks = Catalog()
    looks.look([str(folder)], (), findings)
    (folder / "ops" / "k.py").write_text(TEXT + "\n\n")
    (folder / "ops" / "deep" / "two.py").unlink()
    assert names(looks.look([str(folder)], (), findings)[0]) == [("k.py", "add", 5)]
    assert looks.look([], (), findings) == ([], False)


def test_a_look_ends_in_time(folder: Path, findings: Findings) -> None:
    looks = Catalog()
    assert looks.look([str(folder)], (), findings, look_s=-1.0) == ([], True)
    assert looks.look([str(folder)], (), findings)[1] is False


def test_what_the_history_knows_of_the_text_on_the_disk(folder: Path, findings: Findings) -> None:
    path = str(folder / "ops" / "k.py")
    with Store.write(findings.db) as store:
        runs.begin(store, measured("a1b2c3", path), {path: (folder / "ops" / "k.py").read_text()})
        rows = three("a1b2c3")
        trials.write(store, rows)
        store.rows("SELECT 1")
        with store.transaction() as db:
            db.execute("UPDATE variants SET patch = '[]'")
    findings.refresh()
    looks = Catalog()
    (known,) = [f.standing for f in looks.look([str(folder)], (), findings)[0] if f.path == path]
    assert known is not None
    assert [r.id for r in known.finding.runs] == ["a1b2c3"]
    assert (known.accepted, known.stale) == (0, "")
    (folder / "ops" / "k.py").write_text(TEXT.replace("1.0", "2.0"))
    (known,) = [f.standing for f in looks.look([str(folder)], (), findings)[0] if f.path == path]
    assert known is not None
    assert "has changed since run" in known.stale
