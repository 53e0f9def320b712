"""What there is to work with: asked once for each Python, never where nothing may run, and over soon when nobody answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from kernelband.errors import UsageError, WorkerError
from kernelband.lsp.environments import Asked, Environments

CHECKED = {"event": "checked", "checks": [{"name": "torch", "state": "ok", "found": "2.9", "means": "m."}], "works": {"predict": True}}


def program(folder: Path, *events: Any, code: int = 0, waits: bool = False, last: str = "") -> tuple[str, ...]:
    """A command that says these events and ends, or waits for a file called go; it writes down its process, folder and arguments."""
    text = "\n".join(
        [
            "import json, os, sys, time",
            f"open({str(folder / 'ran')!r}, 'a').write(json.dumps([os.getpid(), os.getcwd(), sys.argv[1:]]) + '\\n')",
            *(f"print({json.dumps(json.dumps(e))}, flush=True)" for e in events),
            f"while {waits} and not os.path.exists({str(folder / 'go')!r}): time.sleep(0.01)",
            f"print({last!r}, file=sys.stderr)",
            f"sys.exit({code})",
        ]
    )
    (folder / "command.py").write_text(text)
    return sys.executable, str(folder / "command.py")


def ran(folder: Path) -> list[Any]:
    path = folder / "ran"
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


def nobody(path: str) -> str:
    return ""


@pytest.mark.asyncio
async def test_it_is_asked_once_in_a_session(tmp_path: Path) -> None:
    environments = Environments(nobody, limit=200.0)
    asked = Asked(program(tmp_path, CHECKED, code=1), "ssh box", "python3", "/h.db")
    begin = time.time()
    first, same = await asyncio.gather(environments.of("/w/k.py", asked), environments.of("/w/other.py", asked))
    assert first is same is await environments.of("/w/k.py", asked)
    assert (first.worker, first.python, first.checks, first.works) == ("ssh box", "python3", CHECKED["checks"], {"predict": True})
    assert begin <= first.asked_s <= time.time()
    ((_, folder, arguments),) = ran(tmp_path)
    assert arguments == ["doctor", "--json-lines", "--worker=ssh box", "--python=python3", "--db=/h.db"]
    assert folder != os.getcwd()
    assert not Path(folder).exists(), "it started in a folder of its own, which is gone"
    again = await environments.of("/w/k.py", asked, again=True)
    assert again.asked_s > first.asked_s
    assert len(ran(tmp_path)) == 2
    await environments.of("/w/k.py", Asked(asked.command, python="other"))
    assert len(ran(tmp_path)) == 3, "another Python is another answer"


@pytest.mark.asyncio
async def test_nothing_runs_where_nothing_may(tmp_path: Path) -> None:
    asked = Asked(program(tmp_path, CHECKED))
    environments = Environments(lambda path: f"Nothing is run in {path}." if path == "/w" else "", limit=200.0)
    with pytest.raises(UsageError, match=r"Nothing is run in /w\."):
        await environments.of("/w", asked)
    assert ran(tmp_path) == []
    await environments.of("/v", asked)
    with pytest.raises(UsageError):
        await environments.of("/w", asked)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"code": 2, "events": [{"event": "error", "message": "No such option."}]}, r"^No such option\.$"),
        ({"code": 70, "events": [], "last": "It met a problem."}, r"^It met a problem\.$"),
        ({"code": 9, "events": [{"event": "noted"}]}, "ended with exit code 9 and said nothing"),
        ({"events": [], "waits": True}, "didn't answer"),
    ],
)
async def test_what_goes_wrong_is_one_sentence_and_not_remembered(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    events = options.pop("events")
    environments, command = Environments(nobody, limit=0.5 if "waits" in options else 200.0), program(tmp_path, *events, **options)
    with pytest.raises(WorkerError, match=sentence):
        await environments.of("/w", Asked(command))
    assert not any(psutil.pid_exists(pid) for pid, *_ in ran(tmp_path))
    program(tmp_path, CHECKED)
    found = None
    while found is None:  # on a busy machine it may be late more than once
        with contextlib.suppress(WorkerError):
            found = await environments.of("/w", Asked(command))
    assert found.works == {"predict": True}


@pytest.mark.asyncio
async def test_a_command_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(WorkerError, match="/no/such/python"):
        await Environments(nobody).of("/w", Asked(("/no/such/python",)))


@pytest.mark.asyncio
async def test_one_of_two_who_ask_may_give_up(tmp_path: Path) -> None:
    environments, asked = Environments(nobody, limit=200.0), Asked(program(tmp_path, CHECKED, waits=True))
    first, second = (asyncio.create_task(environments.of("/w", asked)) for _ in range(2))
    while not ran(tmp_path):
        await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.sleep(0)
    (tmp_path / "go").touch()
    assert (await second).works == {"predict": True}
    with pytest.raises(asyncio.CancelledError):
        await first
    assert len(ran(tmp_path)) == 1


@pytest.mark.asyncio
async def test_the_exit_of_the_server_leaves_nothing(tmp_path: Path) -> None:
    environments = Environments(nobody, limit=200.0)
    task = asyncio.create_task(environments.of("/w", Asked(program(tmp_path, waits=True))))
    while not ran(tmp_path):
        await asyncio.sleep(0.01)
    environments.kill_all()
    ((pid, folder, _),) = ran(tmp_path)
    with pytest.raises(WorkerError):
        await asyncio.wait_for(task, 100)
    assert not psutil.pid_exists(pid)
    assert not Path(folder).exists()
