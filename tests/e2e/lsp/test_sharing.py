"""Two servers and a command line on one database: nobody is locked out, everybody sees what the others found.

Predicted runs time nothing, so nothing is said here of a GPU's lock: tests/e2e/test_worker_lock.py has that.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.searched import BENCH, SCALE_WITH_BENCH

PARTIES = ("one", "two", "cli")
TRIALS = 2


class Watcher:
    """An editor with every party's file open. ``seen``: when it first could take a variant of a run, by the run, in monotonic seconds.

    It asks when its server says that lenses are others, and only then: so what is seen was told.
    """

    def __init__(self, ed: Editor, files: dict[str, Path]) -> None:
        self.editor, self.files = ed, files
        self.seen: dict[str, float] = {}
        self._left = False
        ed.redraw.set()
        for file in files.values():
            item = types.TextDocumentItem(file.as_uri(), "python", 1, file.read_text())
            ed.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def leave(self) -> None:
        """Once what is asked for has been answered: a client that no longer waits for an answer fails when it comes."""
        self._left = True
        self.editor.redraw.set()

    async def watch(self) -> None:
        while True:
            await self.editor.redraw.wait()
            self.editor.redraw.clear()
            if self._left:
                return
            await asyncio.gather(*(self._look(party, file) for party, file in self.files.items()))

    async def _look(self, party: str, file: Path) -> None:
        for run in await self._runs(party, file):
            self.seen.setdefault(run, time.monotonic())

    async def _runs(self, party: str, file: Path) -> list[str]:
        line = file.read_text().split("\n").index(f"def {party}_kernel(x, y, n, BLOCK: tl.constexpr):")
        where = types.Range(types.Position(line, 5), types.Position(line, 5))
        # Lenses, too, as an editor does: one that has drawn none isn't told of others.
        await self.editor.client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(file.as_uri())))
        params = types.CodeActionParams(types.TextDocumentIdentifier(file.as_uri()), where, types.CodeActionContext([]))
        found = await self.editor.client.text_document_code_action_async(params) or ()
        commands = [a.command for a in found if isinstance(a, types.CodeAction) and a.command is not None]
        return [str((c.arguments or [])[2]) for c in commands if c.command == "kernelband.server.apply"]


@asynccontextmanager
async def watching(home: Home, files: dict[str, Path]) -> AsyncGenerator[Watcher, None]:
    async with editor(home, PROFILES[0], trials=TRIALS) as ed:
        watcher = Watcher(ed, files)
        task = asyncio.create_task(watcher.watch())
        try:
            yield watcher
        finally:
            watcher.leave()
            await task


async def share(home: Home, seconds: float, bench: str | None = None) -> dict[str, Any]:
    """Each party runs again and again for so long, each its own kernel. Returns the ends of runs, by run, and what the editors saw.

    ``bench`` calls ``scale`` and is put behind it.

    Raises:
        AssertionError: a run failed, or somebody was locked out.
    """
    text = SCALE_WITH_BENCH if bench is None else SCALE_WITH_BENCH.removesuffix(BENCH) + bench
    files = {party: home.work / f"{party}.py" for party in PARTIES}
    for party, file in files.items():
        file.write_text(text.replace("scale_kernel", f"{party}_kernel"))
    ended: dict[str, tuple[str, float]] = {}  # by run: whose it is, and when it was over
    async with watching(home, files) as one, watching(home, files) as two:
        end = time.monotonic() + seconds

        async def serve(party: str, watcher: Watcher) -> None:
            while time.monotonic() < end:
                run = (await watcher.editor.command("optimize", files[party].as_uri(), f"{party}_kernel"))["run"]
                last = await watcher.editor.ended(run)
                assert last.state == "finished", last
                ended[run] = (party, time.monotonic())

        async def command_line() -> None:
            while time.monotonic() < end:
                done = await asyncio.to_thread(home.optimize, f"{files['cli']}::cli_kernel", "--trials", str(TRIALS))
                assert done.code == 0, done.err
                ended[done.named("run_started")[0]["run"]] = ("cli", time.monotonic())

        await asyncio.gather(serve("one", one), serve("two", two), command_line())
        found = fruitful(home)
        await one.editor.eventually(lambda: unseen(found, one, two), lambda left: not left)
        return {"ended": ended, "seen": {"one": dict(one.seen), "two": dict(two.seen)}}


def fruitful(home: Home) -> set[str]:
    """Runs that ended with something to take: a measured one may verify nothing in so few trials."""
    with sqlite3.connect(home.db) as db:
        return {run for (run,) in db.execute("SELECT id FROM runs WHERE json_extract(summary, '$.best') IS NOT NULL")}


async def unseen(runs: set[str], *watchers: Watcher) -> list[str]:
    """Those that somebody has not seen yet."""
    return [run for run in runs for watcher in watchers if run not in watcher.seen]


def check(home: Home, shared: dict[str, Any], within_s: float = float("inf")) -> str:
    """What is wanted of it, each run seen within that time of its end; a line to print."""
    ended, seen = shared["ended"], shared["seen"]
    assert {party for party, _ in ended.values()} == set(PARTIES)
    found = {run: ended[run] for run in fruitful(home)}
    assert found
    late = [
        (run, party, watcher, seen[watcher].get(run, float("inf")) - at)
        for run, (party, at) in found.items()
        for watcher in ("one", "two")
        if seen[watcher].get(run, float("inf")) - at > within_s
    ]
    assert not late, late
    with sqlite3.connect(home.db) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = dict(db.execute("SELECT runs.id, count(number) FROM runs LEFT JOIN trials ON run = runs.id GROUP BY runs.id"))
        (modes,) = zip(*db.execute("SELECT DISTINCT mode FROM runs"), strict=True)
        states = [state for (state,) in db.execute("SELECT DISTINCT state FROM runs")]
    assert modes == ("measured",) or set(found) == set(ended)  # each predicted run finds something in this kernel
    assert rows == dict.fromkeys(ended, TRIALS)  # nobody's rows were lost
    assert states == ["finished"]
    waits = [max(seen[w][run] - at, 0.0) for run, (_, at) in found.items() for w in ("one", "two")]
    each = f"the {len(found)} with something to take" if len(found) < len(ended) else "each"
    return f"{len(ended)} runs ({', '.join(modes)}), {each} seen by both editors at most {max(waits):.2f} s after its end"


@pytest.mark.asyncio
async def test_two_servers_and_a_command_line_share_a_database(tmp_path: Path, worker_python: str) -> None:
    home = Home(tmp_path, worker_python)
    print(check(home, await share(home, 1)), file=sys.stderr)  # one run of each, side by side, and another of who is quick
