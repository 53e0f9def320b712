"""Cancel: answered before the run has ended, and then nothing of it is left, here or over there, whatever its program has started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from lsprotocol import types

from tests.e2e import sshd as server
from tests.e2e.cli_world import Home
from tests.e2e.conftest import endless_ptxas, is_alive
from tests.e2e.lsp.editor import LONG_S, PROFILES, Editor, editor

MARK = "KERNELBAND_TEST_CANCEL"  # in the environment of the server, so in that of all that comes of it
#: A program that starts somebody who leaves its session, before the kernel is compiled.
LEAVES = """
import subprocess

subprocess.Popen(["sleep", "600"], start_new_session=True)
"""


def descendants(word: str) -> list[psutil.Process]:
    """Everybody with the mark, except the server itself. Who has just ended has no environment."""
    found = psutil.process_iter(["environ", "cmdline", "name"])
    return [p for p in found if (p.info["environ"] or {}).get(MARK) == word and "lsp" not in (p.info["cmdline"] or [])]


def leads_a_session(pid: int) -> bool:
    """Not one that has just ended."""
    try:
        return os.getsid(pid) == pid
    except ProcessLookupError:
        return False


def of_user(name: str) -> list[psutil.Process]:
    """The processes of the user over there."""
    found = psutil.process_iter(["username", "name", "status"])
    return [p for p in found if p.info["username"] == name and p.info["status"] != psutil.STATUS_ZOMBIE]


async def until(look: Callable[[], object], seconds: float = LONG_S) -> float:
    """Seconds until it is so."""
    began = time.monotonic()
    while not look():
        assert time.monotonic() - began < seconds
        await asyncio.sleep(0.1)  # all processes are looked at
    return time.monotonic() - began


async def cancelled(ed: Editor, run: str, left: Callable[[], object]) -> float:
    """Seconds until nothing is left, long before anybody would have ended by itself. The answer comes before the end is told."""
    states: list[set[str]] = []

    def answered(_: object) -> None:  # called when the answer is read, before any later message is
        states.append({c.state for c in ed.changes if c.run == run})

    params = types.ExecuteCommandParams("kernelband.server.cancel", [run])
    ed.client.protocol.send_request(types.WORKSPACE_EXECUTE_COMMAND, params, answered)
    gone = await until(lambda: states and not left())
    assert states == [{"running"}]
    return gone


@pytest.mark.asyncio
async def test_what_left_its_session_and_a_ptxas_go_too(home: Home, tmp_path: Path, temporary: Path) -> None:
    ptxas = endless_ptxas(tmp_path)
    home.file.write_text(home.file.read_text() + LEAVES)
    word = str(tmp_path)
    marks = {MARK: word, "TRITON_PTXAS_PATH": str(ptxas), "TRITON_PTXAS_BLACKWELL_PATH": str(ptxas)}
    async with editor(home, PROFILES[0], trials=3, env=marks) as ed:
        ed.open()
        run = (await ed.command("optimize", ed.uri, "scale_kernel"))["run"]

        def sleepers() -> list[psutil.Process]:
            return [p for p in descendants(word) if p.info["name"] in ("sleep", "ptxas")]

        await until(lambda: len(sleepers()) >= 2)  # the program's, and the compiler's
        assert any(leads_a_session(p.pid) for p in sleepers())
        everybody = descendants(word)
        assert len(everybody) >= 4
        # Who is ending has no environment any more, and runs for another moment.
        gone = await cancelled(ed, run, lambda: descendants(word) or [p for p in everybody if is_alive(p.pid)])
        end = await ed.ended(run)
        assert (end.state, end.headline) == ("interrupted", "stopped")
        assert not list(temporary.iterdir()), "a compiler that is killed leaves its files in TMPDIR"
    print(f"cancel: all of {len(everybody)} processes gone after {1e3 * gone:.0f} ms")


@pytest.fixture(scope="module")
def box(worker_python: str) -> Iterator[server.Sshd]:
    made = server.Sshd.seeing(worker_python)
    yield made
    made.close()


@pytest.mark.asyncio
@pytest.mark.skipif(server.why_not() is not None, reason=server.why_not() or "")
@pytest.mark.parametrize("how", ["cancel", "cut"])
async def test_over_ssh(home: Home, box: server.Sshd, how: str) -> None:
    """Cancelled; or the connection is cut, as when a laptop is closed: then those over there see its end by themselves."""
    home.file.write_text(home.file.read_text() + LEAVES)
    async with editor(home, PROFILES[0], trials=50, worker=" ".join(box.prefix()), gpu="h100") as ed:
        ed.open()
        run = (await ed.command("optimize", ed.uri, "scale_kernel"))["run"]
        await until(lambda: any(p.info["name"] == "sleep" for p in of_user(box.user)))
        assert len(of_user(box.user)) >= 4
        if how == "cancel":
            gone = await cancelled(ed, run, lambda: of_user(box.user))
        else:
            for process in psutil.process_iter(["name", "cmdline"]):
                if process.info["name"] == "ssh" and str(box.config) in (process.info["cmdline"] or []):
                    with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
                        process.kill()
            gone = await until(lambda: not of_user(box.user))
        print(f"{how} over ssh: nobody is left over there {1e3 * gone:.0f} ms later")
        end = await ed.ended(run)
        assert end.state in ("interrupted", "failed")
        if how == "cut":
            assert end.error
