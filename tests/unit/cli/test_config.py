"""What is set once holds where nothing is given; it is kept for its user alone, and a broken file is said."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import click
import pytest
from click.testing import CliRunner, Result

from kernelband.cli import app
from kernelband.cli.where import device_options, worker_options
from kernelband.errors import ExecutorFault, HardwareError, HistoryError, KernelBandError, UsageError, WorkerError
from kernelband.history import Store
from kernelband.workload.defaults import Defaults, default_path, read, write

NOTHING = {"python": None, "worker": None, "gpu": None}
ALL = Defaults(sys.executable, None, "a100")


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return default_path()


def config(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["config", *arguments])


def refused(*arguments: str) -> str:
    error = config(*arguments).exception
    assert isinstance(error, KernelBandError)
    return error.message


def told(*arguments: str) -> Any:
    return json.loads(config(*arguments, "--json").stdout)


# ------------------------------------------------------------ setting and showing


def test_without_a_file_everything_is_by_default(path: Path) -> None:
    shown = config()
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["python", "worker", "gpu", "Kept"]
    assert shown.stdout.count("(by default)") == 3
    assert f"{path}, which does not exist yet" in shown.stdout
    assert not path.exists()


def test_what_is_set_is_shown_with_where_it_is_from(path: Path) -> None:
    assert config("gpu", "H100 SXM").stdout == "gpu is now h100.\n"
    config("python", sys.executable)
    shown = config().stdout
    assert f"python  {sys.executable}  (set here)" in shown
    assert "worker  none, this machine  (by default)" in shown
    assert "gpu     h100  (set here)" in shown
    assert shown.endswith(f"Kept in {path}.\n")
    assert config("gpu").stdout.splitlines()[0] == "gpu     h100  (set here)"
    assert "python" not in config("gpu").stdout


def test_as_json(path: Path) -> None:
    said = told("worker", "ssh box")
    assert said == {
        "path": str(path),
        "settings": {
            "python": {"value": "python3", "from": "default"},
            "worker": {"value": "ssh box", "from": "config"},
            "gpu": {"value": None, "from": "default"},
        },
    }
    assert told() == said
    assert told("gpu")["settings"] == {"gpu": {"value": None, "from": "default"}}
    assert told("worker", "--unset")["settings"]["worker"] == {"value": None, "from": "default"}


@pytest.mark.parametrize("arguments", [("--unset", "gpu"), ("gpu", "--unset")])
def test_unset(arguments: tuple[str, str]) -> None:
    write(ALL)
    assert config(*arguments).stdout == "gpu is no longer set.\n"
    assert read() == Defaults(sys.executable)
    assert config(*arguments).exit_code == 0, "what isn't set can be unset"


def test_the_file_is_its_users_alone(path: Path) -> None:
    config("gpu", "h100")
    config("python", sys.executable)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [p.name for p in path.parent.iterdir()] == ["config.json"]
    assert json.loads(path.read_text()) == {"python": sys.executable, "gpu": "h100"}


def test_a_file_that_can_t_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="Nothing was changed"):
        write(Defaults(gpu="h100"), tmp_path / "file" / "config.json")


# ------------------------------------------------------------ what can't be set


def test_names_that_there_are_not() -> None:
    assert refused("pyhton", "/x") == "There is no setting 'pyhton': the settings are python, worker and gpu."
    for wrong in (("--unset",), ("gpu", "h100", "--unset")):
        assert "python, worker and gpu" in refused(*wrong)


@pytest.mark.parametrize("arguments", [("python", ""), ("worker", " "), ("gpu", "")])
def test_nothing_is_no_value(arguments: tuple[str, str]) -> None:
    assert f"--unset {arguments[0]}" in refused(*arguments)


def test_a_gpu_is_a_known_one(path: Path) -> None:
    assert "h100" in refused("gpu", "h1000")
    assert not path.exists()


def test_a_python_is_there_unless_it_is_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "There is no Python /nowhere/python on this machine" in refused("python", "/nowhere/python")
    assert str(tmp_path) in refused("python", str(tmp_path)), "a folder is no Python"
    (tmp_path / "py").write_text("")
    monkeypatch.chdir(tmp_path)
    config("python", "./py")
    assert read().python == str(tmp_path / "py"), "it is the same in every folder"
    config("python", "python3.12")
    assert read().python == "python3.12"
    config("worker", "ssh box")
    config("python", "~/venv/bin/python")
    assert read() == Defaults("~/venv/bin/python", "ssh box")


def test_the_python_of_another_worker_is_said() -> None:
    config("python", sys.executable)
    assert config("worker", "ssh box").stderr == f"python is still {sys.executable}: it is now the one behind ssh box.\n"
    assert config("worker", "ssh box").stderr == ""
    assert "now the one of this machine" in config("worker", "--unset").stderr


def test_nothing_that_each_folder_has_its_own_of() -> None:
    assert "full path" in refused("worker", "./tools/box -q")
    assert "No closing quotation" in refused("worker", "ssh 'box")
    config("worker", "ssh box")
    config("python", "venv/bin/python")
    assert "full path" in refused("--unset", "worker"), "behind the worker it was relative to the home over there"
    assert read() == Defaults("venv/bin/python", "ssh box")


BROKEN = [
    "",
    "{",
    "[]",
    "3",
    '{"gpu": 3}',
    '{"gpu": ""}',
    '{"gpo": "h100"}',
    '{"python": "venv/bin/python"}',
    '{"worker": "ssh \'"}',
    '{"worker": "./box"}',
    '{"gpu": "\\u0000"}',
    "[" * 10**5,
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_file_that_can_t_be_understood_is_said(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    for arguments in ((), ("gpu", "h100"), ("--unset", "gpu")):
        assert refused(*arguments).startswith(f"The settings of `kernelband config`, {path}, can't be used (")
    assert path.read_text() == text
    error = CliRunner().invoke(command(), []).exception
    assert isinstance(error, UsageError)
    assert "fix the file, or delete it" in error.message
    assert taken("--worker", "ssh other") == {**NOTHING, "worker": "ssh other"}, "where it doesn't count it isn't read"


def test_a_file_that_can_t_be_read_is_said(path: Path) -> None:
    path.mkdir(parents=True)
    assert str(path) in refused()


# ------------------------------------------------------------ what commands take


def command(raises: KernelBandError | None = None) -> click.Command:
    @click.command()
    @device_options("The GPU.")
    @click.option("--resume")
    def told_where(**given: str | None) -> None:
        if raises is not None:
            raise raises
        click.echo(json.dumps(given))

    return told_where


def taken(*arguments: str) -> Mapping[str, Any]:
    found: dict[str, Any] = json.loads(CliRunner().invoke(command(), arguments, catch_exceptions=False).stdout)
    assert found.pop("resume") == ("r" if "--resume" in arguments else None)
    return found


def test_a_command_takes_what_is_set_and_an_option_comes_first() -> None:
    assert taken() == NOTHING
    write(Defaults("/box/python", "ssh box", "a100"))
    assert taken() == {"python": "/box/python", "worker": "ssh box", "gpu": "a100"}
    assert taken("--python", "/other") == {"python": "/other", "worker": "ssh box", "gpu": "a100"}
    assert taken("--gpu", "h100") == {"python": "/box/python", "worker": "ssh box", "gpu": "h100"}
    assert taken("--python", "", "--gpu", "") == {"python": None, "worker": "ssh box", "gpu": None}


def test_another_worker_has_another_python_and_perhaps_a_gpu() -> None:
    write(Defaults("/box/python", "ssh box", "a100"))
    assert taken("--worker", "ssh other") == {**NOTHING, "worker": "ssh other"}
    assert taken("--worker", "ssh other", "--python", "/p") == {"python": "/p", "worker": "ssh other", "gpu": None}
    assert taken("--worker", "") == NOTHING
    assert taken("--worker", "", "--gpu", "h100") == {**NOTHING, "gpu": "h100"}


def test_a_resumed_run_keeps_what_it_was_started_with(path: Path) -> None:
    write(Defaults("/box/python", "ssh box", "a100"))
    assert taken("--resume", "r") == NOTHING
    assert taken("--resume", "r", "--worker", "") == {**NOTHING, "worker": ""}
    path.write_text("{")
    assert taken("--resume", "r") == NOTHING


def test_optimize_takes_the_setting_for_a_new_run_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = []

    def options(*given: Any) -> NoReturn:
        asked.append({name: given[3][name] for name in NOTHING})
        raise Stop

    monkeypatch.setattr("kernelband.cli.optimize._options", options)
    monkeypatch.setattr("kernelband.cli.optimize.find_run", lambda *_: SimpleNamespace(id="12345678"))
    db = str(tmp_path / "history.db")
    Store.write(Path(db)).close()
    write(Defaults("/box/python", "ssh box", "a100"))
    for arguments in (["k.py"], ["--resume", "1234"]):
        assert isinstance(CliRunner().invoke(app, ["optimize", "--db", db, *arguments]).exception, Stop)
    assert asked == [{"python": "/box/python", "worker": "ssh box", "gpu": "a100"}, NOTHING]


def test_a_gpu_is_nothing_to_a_command_that_predicts_nothing() -> None:
    @click.command()
    @worker_options
    @click.option("--gpu")
    def checks(**given: str | None) -> None:
        click.echo(json.dumps(given))

    write(ALL)
    assert json.loads(CliRunner().invoke(checks).stdout) == {"python": ALL.python, "worker": None, "gpu": None}


@pytest.mark.parametrize("error", [WorkerError("It can't be reached."), HardwareError("It can't be reached.")])
def test_an_error_says_what_came_from_the_file(error: KernelBandError) -> None:
    write(Defaults("/box/python", "ssh box"))
    CliRunner().invoke(command(error), ["--python", "/mine"])
    assert error.message == "It can't be reached. `kernelband config` says worker ssh box."


@pytest.mark.parametrize("error", [ExecutorFault("It died.", fault="crashed"), HistoryError("It died.")])
def test_other_errors_are_no_matter_of_the_file(error: KernelBandError) -> None:
    write(Defaults("/box/python", "ssh box"))
    CliRunner().invoke(command(error))
    assert error.message == "It died."


class Stop(Exception):
    """Where a command would start its worker."""


@pytest.mark.parametrize("name", ["capture", "inspect", "optimize", "verify", "check", "doctor"])
def test_every_command_that_reaches_a_python_takes_the_setting(name: str) -> None:
    told = " ".join(CliRunner().invoke(app, [name, "--help"]).stdout.split())
    predicts = name not in ("check", "doctor")
    assert [n for n in NOTHING if f"`kernelband config {n}`" in told] == ["python", "worker", *(["gpu"] if predicts else [])]


def test_capture_and_inspect_hand_it_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, Any]] = []

    @contextmanager
    def capture_once(*_: Any, **how: Any) -> Generator[NoReturn]:
        seen.append({name: how[name] for name in NOTHING})
        raise Stop

    monkeypatch.setattr("kernelband.search.captured.capture_once", capture_once)
    file = tmp_path / "k.py"
    file.write_text("")
    write(ALL)
    for arguments in (["capture"], ["inspect"], ["inspect", "--gpu", "h200,a100"], ["inspect", "--worker", ""]):
        assert isinstance(CliRunner().invoke(app, [*arguments, str(file)]).exception, Stop)
    here = {"python": sys.executable, "worker": None, "gpu": "a100"}
    assert seen == [here, here, {**here, "gpu": "h200"}, {**NOTHING, "gpu": "h100"}]
