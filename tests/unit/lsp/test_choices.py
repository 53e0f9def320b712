"""What a person chose is kept over restarts, for them alone, and used as long as their settings allow it."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from kernelband.errors import UsageError
from kernelband.lsp.choices import Choices, Device, default_path, read, write
from kernelband.lsp.run_request import device_of, workers
from kernelband.lsp.settings import Settings, read_settings


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return default_path()


def test_choices_are_kept_for_their_user(path: Path) -> None:
    assert read() == Choices()
    chosen = (
        Choices()
        .with_entry("/w/k.py", "C.k", "/w/t.py::test")
        .with_entry("/w/k.py", "other", "x")
        .with_device("/w/k.py", Device("ssh box"))
    )
    write(chosen)
    assert read() == chosen
    assert read().entry("/w/k.py", "C.k") == "/w/t.py::test"
    assert read().entry("/w/k.py", "nobody") is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["choices.json"]
    write(read().with_entry("/w/k.py", "other", None).with_device("/w/k.py", None))
    assert read() == Choices({"/w/k.py::C.k": "/w/t.py::test"})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "3", '{"entries": {}, "devices": {"a": 1}}', '{"entries": 1, "devices": {}}', "[" * 10**5, "\0"]
)
def test_what_can_t_be_understood_is_no_choice(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert read() == Choices()
    write(Choices({"a::b": "c"}))
    assert json.loads(path.read_text())["entries"] == {"a::b": "c"}


def test_a_choice_that_can_t_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"choices\.json|file"):
        write(Choices(), tmp_path / "file" / "choices.json")


def test_a_worker_is_used_as_long_as_the_settings_name_it() -> None:
    settings = Settings(python="/py", worker="ssh box", workers={"docker exec -i c": "/c/py", "ssh other": ""}, gpu="a100")
    assert workers(settings) == {"ssh box": "/py", "docker exec -i c": "/c/py", "ssh other": ""}
    assert device_of(settings, None) == ("ssh box", "/py", "a100")
    assert device_of(settings, Device("docker exec -i c")) == ("docker exec -i c", "/c/py", None)
    assert device_of(settings, Device("ssh other")) == ("ssh other", None, None)
    assert device_of(settings, Device("ssh evil")) == ("ssh box", "/py", "a100")
    assert device_of(settings, Device(gpu="h100")) == ("", None, "h100")  # the Python is the box's
    local = Settings(python="/py", gpu="a100")
    assert device_of(local, Device()) == ("", "/py", None)


def test_the_setting_holds_commands_with_their_python() -> None:
    assert read_settings({"workers": {"ssh box": "/py"}}) == (Settings(workers={"ssh box": "/py"}), [])
    assert read_settings({"workers": None}, Settings(workers={"a": ""})) == (Settings(), [])
    for wrong in ({"ssh box": 3}, {"ssh box": None}, ["ssh box"], "ssh box"):
        settings, (problem,) = read_settings({"workers": wrong})
        assert settings == Settings()
        assert problem.startswith("kernelband.workers should ")
