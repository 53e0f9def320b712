"""The command line: what ssh's remote shell gets after splitting is what Python needs."""

from __future__ import annotations

import base64
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.errors import UsageError
from kernelband.worker import WorkerCommand
from kernelband.worker.bootstrap import LAUNCH, program
from kernelband.worker.command import SSH_OPTIONS, quote, ssh_words

PROGRAM = program("marker", "kernelband_worker.executor")


def remote_argv(command: WorkerCommand) -> list[str]:
    """What an ssh server's shell would make of the last five words: joined by spaces, split again."""
    words = command.argv(PROGRAM)
    return shlex.split(" ".join(words[words.index("box") + 1 :]))


def test_here_nothing_is_quoted() -> None:
    assert WorkerCommand((), "/usr/bin/python3").argv(PROGRAM) == ["/usr/bin/python3", "-u", "-c", LAUNCH, PROGRAM]


def test_ssh_gets_its_options_and_one_layer_of_quotes() -> None:
    command = WorkerCommand.of("ssh -p 2222 box", "my python")
    argv = command.argv(PROGRAM)
    assert argv[: 1 + len(SSH_OPTIONS) + 3] == ["ssh", *SSH_OPTIONS, "-p", "2222", "box"]
    assert remote_argv(command) == ["my python", "-u", "-c", LAUNCH, PROGRAM]


def test_two_hops_get_two_layers() -> None:
    command = WorkerCommand.of("ssh gate ssh box")
    argv = command.argv(PROGRAM)
    first = shlex.split(" ".join(argv[argv.index("gate") + 1 :]))
    assert first[: 1 + len(SSH_OPTIONS)] == ["ssh", *SSH_OPTIONS]
    assert shlex.split(" ".join(first[first.index("box") + 1 :])) == ["python3", "-u", "-c", LAUNCH, PROGRAM]


def test_a_container_gets_its_words_as_they_are() -> None:
    assert WorkerCommand.of("docker exec -i c").argv(PROGRAM) == ["docker", "exec", "-i", "c", "python3", "-u", "-c", LAUNCH, PROGRAM]


def test_a_container_behind_ssh_is_quoted_once() -> None:
    assert remote_argv(WorkerCommand.of("ssh box docker exec -i c"))[:5] == ["docker", "exec", "-i", "c", "python3"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("ssh box", [0]),
        ("/usr/bin/ssh -vp22 -i key box", [0]),
        ("ssh -p 22 ssh", [0]),  # a machine named ssh
        ("ssh -J gate -oPort=3 box", [0]),
        ("docker exec -i ssh", []),  # a container named ssh
        ("ssh", []),
        ("ssh -p 22", []),
        ("ssh a ssh b", [0, 2]),
        ("gcloud compute ssh box", [2]),
        ("nice ssh -- box", [1]),
        ("", []),
    ],
)
def test_where_ssh_is_called(words: str, found: list[int]) -> None:
    assert ssh_words(tuple(shlex.split(words))) == found


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_quoted_words_come_back(word: str) -> None:
    if word.startswith("~/"):
        word = word[2:] or "x"
    if not word.startswith("~"):
        assert shlex.split(quote(word)) == [word]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1))
def test_two_layers_of_quotes_come_back(word: str) -> None:
    if not word.startswith("~"):
        assert shlex.split(shlex.split(quote(quote(word)))[0]) == [word]


def test_a_home_over_there_stays_open() -> None:
    assert quote("~/my env/bin/python") == '~/"my env/bin/python"'


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "csh", "tcsh", "zsh", "fish"])
def test_real_shells_pass_the_program_on(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} isn't installed")
    script = base64.b64encode(b"import sys; print('through', sys.argv[0])").decode()
    line = " ".join(quote(word) for word in ["python3", "-u", "-c", LAUNCH, script])
    done = subprocess.run([shell, "-c", line], capture_output=True, text=True, timeout=250, check=False, cwd=tmp_path)
    assert done.stdout.split() == ["through", "-c"], done.stderr


def test_the_program_holds_nothing_that_a_shell_reads() -> None:
    assert not set(LAUNCH + PROGRAM) & set("\"'`!$\\\n~#&|<>*?{}")


def test_the_active_environment_is_the_default(tmp_path: Path) -> None:
    for name in ("venv", "conda"):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "python").touch()
    venv, conda = str(tmp_path / "venv"), str(tmp_path / "conda")
    assert WorkerCommand.of(environment={"VIRTUAL_ENV": venv, "CONDA_PREFIX": conda}).python == f"{venv}/bin/python"
    assert WorkerCommand.of(environment={"CONDA_PREFIX": conda}).python == f"{conda}/bin/python"
    assert Path(WorkerCommand.of(environment={"VIRTUAL_ENV": "/gone", "PATH": "/usr/bin:/bin"}).python).name.startswith("python")


def test_a_relative_python_is_found_from_elsewhere_without_leaving_its_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "python").symlink_to("/usr/bin/env")
    monkeypatch.chdir(tmp_path)
    assert WorkerCommand.of(python="env/python").python == str(tmp_path / "env" / "python")
    assert WorkerCommand.of("ssh box", "env/python").python == "env/python"


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(UsageError, match="close the quote"):
        WorkerCommand.of("ssh 'box")
