"""`kernelband entry`: shown, asked once, then written; nothing of the program is run."""

from __future__ import annotations

import codecs
import json
import re
import shutil
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from kernelband.cli import app
from kernelband.cli.entry import split_answers
from kernelband.cli.failure import run_and_exit
from kernelband.errors import KernelBandError, UsageError, WorkloadError
from kernelband.source import Workspace, find_program
from kernelband.workload import choose_entry

FIXTURES = Path(__file__).parents[2] / "fixtures" / "drafts"
LINE = "    n_rows, n_cols = 4096, 4096  # guessed: sizes\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a kernel that nothing shows at work, in a file that must not be run."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "pyproject.toml").write_text("")
    text = (FIXTURES / "softmax.py").read_text()
    (work / "softmax.py").write_text(text.replace("import torch\n", "import torch\nopen('was_run', 'w').close()\n", 1))
    monkeypatch.chdir(work)
    return work


def entry(*arguments: str, said: str | None = None) -> Result:
    return CliRunner().invoke(app, ["entry", *arguments], input=said)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody is there to answer."""
    monkeypatch.setattr("kernelband.cli.entry.can_ask", lambda: True)


def error_of(result: Result) -> KernelBandError:
    assert isinstance(result.exception, KernelBandError), result.output
    return result.exception


def test_without_a_terminal_it_is_shown_and_nothing_is_written(folder: Path) -> None:
    shown = entry("softmax.py")
    assert shown.exit_code == 0
    assert shown.stdout.startswith('"""Shows softmax_kernel at work.')
    assert LINE in shown.stdout
    assert "  n_rows = 4096  (a size that keeps a GPU busy)\n" in shown.stderr
    assert shown.stderr.endswith(
        "Nothing was written: there is no terminal to ask on. --yes writes it, --set NAME=VALUE says what is guessed else.\n"
    )
    assert sorted(p.name for p in folder.iterdir()) == ["pyproject.toml", "softmax.py"], "nothing was run, either"


def test_yes_writes_it_and_says_what_is_next(folder: Path) -> None:
    written = entry("softmax.py::softmax_kernel", "--yes")
    assert written.stderr.splitlines()[-1] == "Wrote bench_softmax.py. Next: kernelband optimize softmax.py::softmax_kernel"
    assert (folder / "bench_softmax.py").read_text() == written.stdout
    workspace = Workspace.for_file(str(folder / "softmax.py"))
    found = choose_entry(workspace, find_program(workspace, str(folder / "softmax.py")), None)
    assert (found["kind"], found["name"]) == ("callable", "bench_softmax")
    assert not (folder / "was_run").exists()


def test_a_file_that_is_there_stays_as_it_is(folder: Path) -> None:
    (folder / "bench_softmax.py").write_text("# mine\n")
    refused = error_of(entry("softmax.py", "--yes"))
    assert refused.message == (
        "bench_softmax.py is there already and stays as it is: name another file, as with --out bench_softmax_softmax.py."
    )
    assert (folder / "bench_softmax.py").read_text() == "# mine\n"
    elsewhere = entry("softmax.py", "--yes", "--out", "it's elsewhere.py")
    assert "--entry 'it'\"'\"'s elsewhere.py::bench_softmax'" in elsewhere.stderr, "no name that is looked for by itself"
    assert (folder / "it's elsewhere.py").exists()


def test_an_entry_that_isn_t_the_first_is_named(folder: Path) -> None:
    (folder / "test_softmax.py").write_text("from softmax import softmax\n\n\ndef test_softmax():\n    softmax(1)\n")
    written = entry("softmax.py", "--yes")
    assert written.stderr.splitlines()[-1].endswith("Next: kernelband optimize softmax.py --entry bench_softmax.py::bench_softmax")
    assert "Without it, `kernelband optimize` would try test_softmax (test_softmax.py)." in written.stderr


@pytest.mark.usefixtures("terminal")
def test_enter_takes_everything(folder: Path) -> None:
    asked = entry("softmax.py", said="\n")
    assert asked.stderr.count("Enter writes it so; n_rows=VALUE changes that, several with spaces between; q writes nothing") == 1
    assert LINE in (folder / "bench_softmax.py").read_text()


@pytest.mark.usefixtures("terminal")
def test_q_writes_nothing(folder: Path) -> None:
    assert entry("softmax.py", said="q\n").stderr.endswith("Nothing was written.\n")
    assert not (folder / "bench_softmax.py").exists()


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("confirmed", "there"), [("y", True), ("", True), ("n", False)])
def test_other_values_are_shown_before_they_are_written(folder: Path, confirmed: str, there: bool) -> None:
    asked = entry("softmax.py", said=f"n_rows=96 dtype=float16\n{confirmed}\n")
    assert asked.stdout.count("def bench_softmax") == 2
    assert "    n_rows, n_cols = 96, 4096  # guessed: sizes\n    dtype = torch.float16\n" in asked.stdout
    assert (folder / "bench_softmax.py").exists() == there
    if there:
        assert "96, 4096" in (folder / "bench_softmax.py").read_text()


@pytest.mark.usefixtures("terminal")
def test_what_makes_no_sense_is_asked_again(folder: Path) -> None:
    asked = entry("softmax.py", said="rows=3\nfour\nn_rows=0\n\n")
    for said in ("rows is nothing that was guessed", "'four' is not of the form NAME=VALUE", "n_rows=0 is no size"):
        assert said in asked.stderr
    assert LINE in (folder / "bench_softmax.py").read_text()


def test_values_that_are_given(folder: Path) -> None:
    written = entry("softmax.py", "--yes", "--set", "n_rows=7", "--set", "n_cols = 9")
    assert "    n_rows, n_cols = 7, 9\n" in written.stdout
    assert error_of(entry("softmax.py", "--set", "n_rows")).exit_code == UsageError.exit_code


def test_json(folder: Path) -> None:
    shown = json.loads(entry("softmax.py", "--json").stdout)
    assert (shown["written"], shown["next"], shown["appended"], shown["entry"], shown["called"], shown["others"]) == (
        *(False, "", False, "bench_softmax", "softmax", []),
    )
    assert shown["path"] == str(folder / "bench_softmax.py")
    assert [g["name"] for g in shown["guesses"]] == ["n_rows", "n_cols", "dtype"]
    written = json.loads(entry("softmax.py", "--json", "--yes").stdout)
    assert (written["written"], written["next"]) == (True, "kernelband optimize softmax.py")
    assert (folder / "bench_softmax.py").read_text() == written["text"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_a_file_that_no_import_can_name_gets_it_at_its_end(folder: Path, end: str, mark: bytes) -> None:
    path = folder / "01-softmax.py"
    before = mark + ("# Größe\n" + (FIXTURES / "softmax.py").read_text()).replace("\n", end).encode()
    path.write_bytes(before)
    path.chmod(0o640)
    written = entry("01-softmax.py", "--yes")
    assert written.stderr.startswith("For the end of 01-softmax.py:\n")
    assert written.stderr.endswith("Wrote the end of 01-softmax.py. Next: kernelband optimize 01-softmax.py\n")
    after = path.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].decode().startswith(f"{end}{end}def bench_softmax():{end}")
    assert after.count(b"\r\n") == (after.count(b"\n") if end == "\r\n" else 0)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_read_only_file_stays_as_it_is(folder: Path) -> None:
    path = folder / "01-softmax.py"
    shutil.copy(FIXTURES / "softmax.py", path)
    path.chmod(0o440)
    assert "is read-only, so it stays as it is" in error_of(entry("01-softmax.py", "--yes")).message
    assert path.read_bytes() == (FIXTURES / "softmax.py").read_bytes()


def test_a_notebook_needs_none(folder: Path) -> None:
    source = (FIXTURES / "softmax.py").read_text()
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
    notebook = {"nbformat": 4, "nbformat_minor": 4, "metadata": {"language_info": {"name": "python"}}, "cells": [cell]}
    (folder / "softmax.ipynb").write_text(json.dumps(notebook))
    assert "its cells are run as they are" in error_of(entry("softmax.ipynb")).message


@pytest.mark.parametrize(("text", "code"), [("", 3), ("def f(:\n", 3)])
def test_text_without_a_kernel(folder: Path, text: str, code: int) -> None:
    (folder / "softmax.py").write_text(text)
    assert error_of(entry("softmax.py")).exit_code == code


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ("M=4", {"M": "4"}),
        ("M=4 N=5,K = 6", {"M": "4", "N": "5", "K": "6"}),
        ('x=torch.ones(4, dtype=torch.half) y="a b"', {"x": "torch.ones(4, dtype=torch.half)", "y": '"a b"'}),
        ("x=a == b", {"x": "a == b"}),
    ],
)
def test_answers_of_a_line(said: str, answers: dict[str, str]) -> None:
    assert split_answers(said) == answers


# ------------------------------------------------------------ where a run is refused


def test_the_refusal_of_a_run_names_the_command_in_a_terminal_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = Workspace.for_file(str(folder / "softmax.py"))
    with pytest.raises(WorkloadError) as refused:
        choose_entry(workspace, find_program(workspace, str(folder / "softmax.py")), None)
    assert "`kernelband entry softmax.py::softmax_kernel` drafts one" in refused.value.terminal
    assert re.search(r"--\w|`", refused.value.message) is None, "an editor says this"

    @click.command()
    @click.option("--json", "as_json", is_flag=True)
    def command(as_json: bool) -> None:
        raise refused.value

    with pytest.raises(SystemExit):
        run_and_exit(command, ["--json"])
    out, err = capsys.readouterr()
    assert json.loads(out)["message"] == refused.value.message
    assert err == f"{refused.value.message} {refused.value.terminal}\n"
