"""An idle editor holds no worker, so no GPU memory: whoever works for a run goes with it, and the server works itself for none."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import psutil
import pytest

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, editor
from tests.e2e.lsp.test_cancel import MARK, descendants, until

HEAVY = re.compile(r"torch|triton|libcuda|libamdhip|nvidia")  # of what a process has mapped or open


def server(word: str) -> psutil.Process:
    found = psutil.process_iter(["environ", "cmdline"])
    (process,) = [p for p in found if (p.info["environ"] or {}).get(MARK) == word and "lsp" in (p.info["cmdline"] or [])]
    return process


def heavy(process: psutil.Process) -> list[str]:
    """What it has of a GPU's: libraries that are mapped, devices that are open."""
    held = [m.path for m in process.memory_maps()]
    for path in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has just been closed
            held.append(str(path.readlink()))
    return [path for path in held if HEAVY.search(path)]


def works(process: psutil.Process) -> bool:
    """Whether it has any; not if it has just ended."""
    try:
        return bool(heavy(process))
    except (psutil.Error, OSError):
        return False


@pytest.mark.asyncio
async def test_nobody_stays_after_a_run(home: Home, tmp_path: Path) -> None:
    word = str(tmp_path)
    async with editor(home, PROFILES[0], trials=2, env={MARK: word}) as ed:
        ed.open()
        assert await ed.lenses() == ["Optimize"]
        assert descendants(word) == []  # who only looks needs nobody
        run = (await ed.command("optimize", ed.uri, "scale_kernel"))["run"]
        await until(lambda: any(map(works, descendants(word))))  # a worker: the check below could fail
        end = await ed.ended(run)
        assert end.state == "finished", end
        gone = await until(lambda: not descendants(word))
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        assert descendants(word) == []
        assert server(word).children() == []
        assert heavy(server(word)) == []
    print(f"nobody is left {1e3 * gone:.0f} ms after the run's end")
