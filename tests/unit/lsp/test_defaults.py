"""What `kernelband config` says holds in an editor as in a terminal: below the editor's settings and what was chosen for a file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest
from click.testing import CliRunner

from kernelband.cli.where import device_options
from kernelband.lsp import choices, run_request
from kernelband.lsp.choices import Choices, Device
from kernelband.lsp.features import choose
from kernelband.lsp.liverun import LiveRun, Request
from kernelband.lsp.run_request import Means, device_of, session_of, with_python, without
from kernelband.lsp.runs import arguments
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.settings import Settings
from kernelband.workload.defaults import Defaults, default_path, write

BOX = Defaults("/box/python", "ssh box", "a100")


@pytest.fixture(autouse=True)
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def server(settings: Settings) -> KernelBandServer:
    return cast("KernelBandServer", SimpleNamespace(settings=settings))


def taken(request: Request) -> tuple[str | None, str | None, str | None]:
    """What the command line makes of the options that the server gives it."""
    found: list[dict[str, Any]] = []

    @click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
    @device_options("The GPU.")
    def command(**given: Any) -> None:
        found.append(given)

    CliRunner().invoke(command, arguments(LiveRun("12345678", request, lambda: 0.0), Path("/")), catch_exceptions=False)
    return found[0]["worker"], found[0]["python"], found[0]["gpu"]


SETTINGS = [
    Settings(),
    Settings(python="/py"),
    Settings(worker="ssh other"),
    Settings(worker="ssh box", workers={"docker exec -i c": ""}),
    Settings(gpu="h100"),
    Settings(pythons={"/w": "/interpreter"}),
]
CHOSEN = [None, Device(), Device("ssh box"), Device("docker exec -i c"), Device(gpu="b200")]


@pytest.mark.asyncio
@pytest.mark.parametrize("own", [Defaults(), BOX, Defaults("/here/python", None, "a100"), Defaults(gpu="a100")])
@pytest.mark.parametrize("settings", SETTINGS)
async def test_what_the_server_says_is_what_the_command_line_takes(own: Defaults, settings: Settings) -> None:
    write(own)
    for chosen in CHOSEN:
        worker, python, gpu = device_of(with_python(await session_of(server(settings)), "/w/k.py"), chosen)
        request = Request("file:///w/k.py", "/w/k.py", "k", worker=worker, python=python, gpu=gpu)
        assert taken(request) == (worker or None, python, gpu), (chosen, "nothing is filled in that the server doesn't know of")


@pytest.mark.asyncio
async def test_the_editor_comes_first() -> None:
    write(BOX)
    assert await session_of(server(Settings())) == Settings(python="/box/python", worker="ssh box", gpu="a100")
    assert await session_of(server(Settings(worker="ssh other"))) == Settings(worker="ssh other")
    assert await session_of(server(Settings(gpu="h100"))) == Settings(python="/box/python", worker="ssh box", gpu="h100")
    default_path().write_text("{")
    assert await session_of(server(Settings(gpu="h100"))) == Settings(gpu="h100"), "the run says what is wrong"


@pytest.mark.asyncio
async def test_the_device_that_is_shown_is_the_one_that_is_used() -> None:
    write(BOX)
    there = server(Settings())
    assert await choose.device_of(there, "file:///w/k.py") == {"worker": "ssh box", "gpu": "a100", "changed": False}
    choices.write(Choices(devices={"/w/k.py": Device()}))
    assert await choose.device_of(there, "file:///w/k.py") == {"worker": None, "gpu": None, "changed": False}
    assert run_request.workers(await session_of(there)) == {"ssh box": "/box/python"}, "it may be chosen"


def test_a_resumed_run_isn_t_told_what_is_configured_now() -> None:
    def resumed(worker: str | None, python: str | None) -> list[str]:
        with_ = without(Means(Settings(), None, worker, python, None), BOX)
        request = Request("file:///w/k.py", "/w/k.py", "k", worker=with_.worker, python=with_.python, resume="12345678")
        return [a for a in arguments(LiveRun("12345678", request, lambda: 0.0), Path("/")) if a.startswith(("--worker", "--python"))]

    assert resumed("ssh box", "/box/python") == resumed("", None) == resumed(None, None) == []
    assert resumed("ssh other", "/other") == ["--worker=ssh other", "--python=/other"]
