"""The documents about a variant: addresses that come back, texts that are the history's, and a report that promises nothing unmeasured."""

from __future__ import annotations

import re
import shlex
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kernelband.errors import HistoryError, SourceError, UsageError
from kernelband.history import Place, Store, runs, trials
from kernelband.lsp import pages
from kernelband.lsp.pages import AGAIN, FILES, PATCH, REPORT, Page, PageFiles, page_of, pairs, read
from kernelband.source import between, patch_to_json
from tests.unit.cli import test_figures as measuring
from tests.unit.history.rows import run_row, trial_row, variant_row

RATIO = re.compile(r"\d\s*[x×](?!\w)|\d (?:us|ms|µs)\b")
HOSTILE = "[click](https://evil.example) <img src=x> **b** `c` | a\n\n# b ```` ![p](http://e.example/p.png)"
READER = MarkdownIt("commonmark", {"html": True}).enable("table")

segments = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=9).filter(
    lambda s: s not in (".", "..")
)


@given(st.from_regex("[0-9a-f]{8}", fullmatch=True), st.integers(0, 999), st.lists(segments, min_size=1, max_size=4))
def test_an_address_comes_back(run: str, number: int, file: list[str]) -> None:
    page = Page(run, number, FILES, "/".join(file))
    assert page_of(page.uri) == page
    assert re.fullmatch(r"kernelband:/[!-~]+", page.uri)
    assert page_of(Page(run, number + 1, PATCH).uri.replace(":/", ":///")).kind == PATCH  # as some clients write it


@given(st.text(max_size=60) | st.from_regex(r"kernelband:/[a-f0-9./%]{0,30}(files|patch\.diff)?[a-z./%]{0,9}", fullmatch=True))
def test_any_other_address_is_refused_with_a_sentence(uri: str) -> None:
    try:
        page = page_of(uri)
    except UsageError:
        return
    assert ".." not in page.parts
    assert all(page.parts)


@pytest.mark.parametrize(
    "uri", ["kernelband:/a/1/files/../../x", "kernelband:/a/1/files/%2e%2e/x", "kernelband:/a/0/patch.diff", "file:///a/1/files/x", ""]
)
def test_no_address_leads_out(uri: str) -> None:
    with pytest.raises(UsageError):
        page_of(uri)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "kernels" / "more").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def predicted(folder: Path, base: dict[str, str], edited: dict[str, str], **more: Any) -> Path:
    """A run of the kernel in the first file, with one variant."""
    db = folder / "history.db"
    forecast = {"tier": "likely faster", "fact": "fewer bytes: 8 MB before, 4 MB after", "gains": ["fewer bytes"], "costs": ["more waits"]}
    row = evolve(variant_row(), patch=patch_to_json(between(base, edited)), forecast=forecast, what="BLOCK 64→128.", **more)
    with Store.write(db) as store:
        runs.begin(store, run_row(mode="predicted", path=next(iter(base)), state="finished"), base)
        trial = evolve(trial_row(), correctness="interpreted", performance="not_measured", score=7.77)
        trials.write(store, trials.Rows(variants=(row,), trials=(trial,)))
    return db


def test_files_and_patch_are_those_of_the_history(repository: Path) -> None:
    kernel, helper, other = (repository / "kernels" / name for name in ("k ü.py", "more/h.py", "o.py"))
    base = {str(kernel): "BLOCK = 64\r\nx\n", str(helper): "WARPS = 4\n", str(other): "same\n"}
    edited = {str(kernel): "BLOCK = 128\r\nx\n", str(helper): "WARPS = 8\n"}
    for path, text in base.items():
        Path(path).write_bytes(text.encode())
    db = predicted(repository.parent, base, edited)
    with Store.read(db) as store:
        found = pairs(store, "a1b2c3", 1)
    assert [[p.file for p in pair] for pair in found] == [["k ü.py"] * 2, ["more/h.py"] * 2]
    for (original, variant), path in zip(found, edited, strict=True):
        assert read(db, original) == base[path]
        assert read(db, variant) == edited[path]
    assert read(db, Page("a1b2c3", 1, FILES, "o.py")) == "same\n"
    patch = read(db, Page("a1b2c3", 1, PATCH))
    subprocess.run(["git", "apply", "-"], input=patch.encode(), cwd=repository, check=True)
    assert {path: Path(path).read_bytes().decode() for path in edited} == edited
    with pytest.raises(SourceError, match=r"has no file x\.py"):
        read(db, Page("a1b2c3", 1, FILES, "x.py"))
    with pytest.raises(HistoryError, match="has no variant 9"):
        read(db, Page("a1b2c3", 9, PATCH))
    with pytest.raises(HistoryError, match="There is no run"):
        read(db, Page("ffff", 1, REPORT))


def test_a_prediction_has_no_figure(repository: Path) -> None:
    kernel = repository / "kernels" / "k.py"
    text = read(predicted(repository.parent, {str(kernel): "BLOCK = 64\n"}, {str(kernel): "BLOCK = 128\n"}), Page("a1b2c3", 1, REPORT))
    assert "predicted, not measured" in text.splitlines()[0]
    assert "7.77" not in text
    assert RATIO.search(text.partition("## The patch")[0]) is None
    assert "Predicted likely faster: fewer bytes" in text
    assert "  - for it: fewer bytes\n  - against it: more waits\n" in text
    assert "| versions | KernelBand 0.1.0, Triton 3.6.0 |" in text


def test_a_figure_stands_with_its_interval_device_and_date(tmp_path: Path) -> None:
    db = measuring.database(
        tmp_path, measuring.verdict(measuring.measured(measuring.TIMES)), environment={"gpus": [{"name": "NVIDIA H200"}]}
    )
    text = read(db, Page(measuring.RUN, 1, REPORT))
    assert str(measuring.SCREENED) not in text
    assert "| `M=1024` | device, events | 20.1 µs | 10 µs | 2.01× | 1.99 to 2.03 |" in text
    assert re.search(r"\| \*\*score: geometric mean\*\* \| device, events \|  \|  \| 1.62× \| [\d.]+ to [\d.]+ \|", text)
    assert "| device | NVIDIA H200 |" in text
    assert re.search(r"\| date \| 20\d\d-\d\d-\d\d \d\d:\d\d \|", text)
    assert "with at least 95 % certainty" in text
    assert "\n- M=4096: 12 % slower per call, though 1.31× faster on the device.\n" in text
    assert [t.type for t in READER.parse(text)].count("table_open") == 2


def test_words_of_others_stay_words(repository: Path) -> None:
    kernel = repository / "kernels" / "k.py"
    kernel.write_text("BLOCK = 64\n")
    db = predicted(
        repository.parent, {str(kernel): "BLOCK = 64\n"}, {str(kernel): f'"""{HOSTILE}"""\n'}, why=HOSTILE, author=f"model {HOSTILE}"
    )
    tokens = READER.parse(read(db, Page("a1b2c3", 1, REPORT)))
    kinds = {t.type for t in tokens} | {c.type for t in tokens for c in t.children or ()}
    assert not kinds & {"link_open", "image", "html_inline", "html_block", "hr"}
    headings = [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]
    assert len(headings) == 4, "those of the report alone"


def test_the_commands_are_lines_of_their_own(tmp_path: Path) -> None:
    path = str(tmp_path / "k\nrm -rf x.py")
    db = predicted(tmp_path, {path: "BLOCK = 64\n"}, {path: "BLOCK = 128\n"})
    text = read(db, Page("a1b2c3", 1, AGAIN))
    notes = [line for line in text.splitlines() if line.startswith("# ")]
    assert any("is gone since run" in note for note in notes)
    commands = shlex.split(text, comments=True)
    begins = [i for i, word in enumerate(commands[:-1]) if word == "kernelband" and commands[i + 1] in ("optimize", "show", "apply")]
    assert len(begins) == 3
    assert commands[:3] == ["kernelband", "optimize", f"{path}::add"]
    assert commands[begins[1] : begins[2]] == ["kernelband", "show", "a1b2c3/1", "--db", str(db)]


def test_the_default_database_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "k.py")
    db = predicted(tmp_path, {path: "BLOCK = 64\n"}, {path: "BLOCK = 128\n"})
    monkeypatch.setattr(pages, "find_place", lambda _: Place(db))
    assert "--db" not in read(db, Page("a1b2c3", 1, AGAIN))


def test_a_file_is_read_only_and_may_become_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files = PageFiles()
    files.remove()
    files = PageFiles()
    path = files.put(("r", "1", "report.md"), "one\r\n\ud800")
    assert path.read_bytes() == b"one\r\n\xed\xa0\x80"
    assert files.put(("r", "1", "report.md"), "two") == path
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert stat.S_IMODE(path.parents[2].stat().st_mode) == 0o700
    with pytest.raises(SourceError, match="can't be written"):
        files.put(("a" * 300,), "text")
    files.remove()
    with pytest.raises(SourceError, match="the server is shutting down"):
        files.put(("r", "1", "report.md"), "three")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(SourceError, match="can't be written"):
        PageFiles().put(("a",), "text")


def test_a_start_of_the_server_does_not_wait_for_what_explains() -> None:
    loaded = "print([m for m in sys.modules if m.split('.')[:2][-1] in ('strategies', 'propose', 'judge')])"
    code = f"import sys, kernelband.lsp.server; {loaded}; import kernelband.lsp.report; {loaded}"  # the latter, so that this can fail
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=True)
    at_once, with_the_report = done.stdout.splitlines()
    assert at_once == "[]"
    assert "kernelband.judge" in with_the_report
