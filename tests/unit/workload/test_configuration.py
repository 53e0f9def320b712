"""What a repository may say about its runs, what it may not, and that each of the latter is told on its line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelband.cli.optimize import with_repository
from kernelband.workload import Configuration, configuration_of, read_configuration
from kernelband.workload.configuration import OWN

NOTHING: dict[str, Any] = {"entry": None, "trials": None, "seconds": None, "objective": None, "allow_lower_precision": False}


def write(folder: Path, text: str) -> Path:
    (folder / "pyproject.toml").write_text(text)
    return folder / "pyproject.toml"


def test_what_it_may_say_is_taken(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    path = write(
        tmp_path,
        '[project]\nname = "x"\n[tool.kernelband]\nentry = "tests/test_k.py::test_k"\ntrials = 7\nseconds = 30.5\n'
        'objective = "call"\nallow-lower-precision = true\n',
    )
    found = configuration_of(str(tmp_path / "pkg" / "k.py"))
    assert found == Configuration(str(path), f"{tmp_path}/tests/test_k.py::test_k", 7, 30.5, "call", True)


@pytest.mark.parametrize("key", sorted(OWN))
def test_what_only_the_user_may_say_is_left_out_and_told_on_its_line(key: str) -> None:
    text = f'[build-system]\n{key} = "elsewhere"\n\n[tool.kernelband]\ntrials = 3\n"{key}" = "bad"\n'
    found = read_configuration("/w/pyproject.toml", text)
    (problem,) = found.problems
    assert (found.trials, problem.line, problem.key) == (3, 5, key)
    assert (
        problem.message
        == f"[tool.kernelband] of /w/pyproject.toml can't set {key}, because only the user may say {OWN[key]}: it is ignored."
    )
    plain = read_configuration("/w/pyproject.toml", f'[tool.kernelband]\n{key.replace("-", "_")} = "bad"\n')
    assert [p.line for p in plain.problems] == [1]
    nested = read_configuration("/w/pyproject.toml", f'[tool.kernelband.{key}]\ncommand = "bad"\n')
    assert len(nested.problems) == 1
    assert nested == Configuration("/w/pyproject.toml", problems=nested.problems)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("entry = 3", "it should be FILE.py::NAME"),
        ('entry = ""', "it should be FILE.py::NAME"),
        ('entry = "../other/t.py::test"', "its file lies outside of the folder"),
        ('entry = "/etc/t.py::test"', "its file lies outside of the folder"),
        ("trials = 0", "a whole number above 0"),
        ("trials = 1.5", "a whole number above 0"),
        ("trials = true", "a whole number above 0"),
        ('seconds = "60"', "a number above 0"),
        ("seconds = -1", "a number above 0"),
        ('objective = "fast"', "device or call"),
        ('allow-lower-precision = "yes"', "true or false"),
        ("tolerance = 1", "isn't known to this version"),
    ],
)
def test_wrong_values_are_told(line: str, why: str) -> None:
    found = read_configuration("/w/pyproject.toml", f"[tool.kernelband]\n{line}\n")
    (problem,) = found.problems
    assert why in problem.message
    assert problem.line == 1
    assert found == Configuration("/w/pyproject.toml", problems=found.problems)


def test_an_entry_behind_a_link_to_elsewhere_is_outside(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "t.py").write_text("")
    (tmp_path / "work" / "t.py").symlink_to(tmp_path / "t.py")
    path = write(tmp_path / "work", '[tool.kernelband]\nentry = "t.py::test"\n')
    assert [p.key for p in configuration_of(str(path)).problems] == ["entry"]


@pytest.mark.parametrize("text", ["[tool.kernelband\n", "kernelband = [[[", "[tool]\nkernelband = 3\n", "tool = 'kernelband'\n"])
def test_odd_files_are_no_error(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    found = configuration_of(str(tmp_path / "k.py"))
    assert (found.entry, found.trials) == (None, None)
    assert len(found.problems) == (0 if text.startswith("tool =") else 1)


def test_files_that_can_t_be_read_say_so(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe kernelband")
    assert "can't be read" in configuration_of(str(tmp_path)).problems[0].message
    (tmp_path / "pyproject.toml").write_bytes(b"#" * 2_000_000)
    assert "too large" in configuration_of(str(tmp_path)).problems[0].message


def test_a_repository_ends_where_git_says_so(tmp_path: Path) -> None:
    write(tmp_path, "[tool.kernelband]\ntrials = 1\n")
    (tmp_path / "inner" / ".git").mkdir(parents=True)
    assert configuration_of(str(tmp_path / "inner" / "k.py")) == Configuration()
    assert configuration_of(str(tmp_path / "k.py")).trials == 1


def test_an_old_python_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError):
        importlib.import_module("tomllib")
    (problem,) = read_configuration("/w/pyproject.toml", "[tool.kernelband]\ntrials = 1\n").problems
    assert "without the package tomli" in problem.message


def test_the_command_line_comes_first_and_a_budget_that_is_given_stands_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, '[tool.kernelband]\nentry = "t.py::bench"\ntrials = 7\nobjective = "call"\npython = "/evil"\n')
    path = str(tmp_path / "k.py")
    entry = f"{tmp_path}/t.py::bench"
    assert with_repository({**NOTHING, "python": None}, path) == {
        **NOTHING,
        "python": None,
        "entry": entry,
        "trials": 7,
        "objective": "call",
    }
    assert capsys.readouterr().err.count("only the user may say which Python runs") == 1
    given = {**NOTHING, "entry": "mine", "seconds": 5.0, "objective": "device"}
    assert with_repository(given, path) == given
    verify = {k: v for k, v in NOTHING.items() if k not in ("trials", "seconds")}
    assert with_repository(verify, str(tmp_path.parent / "k.py"))["objective"] == "device"
