"""What is missing or broken around the server is said in a sentence when it is needed; nothing pops up on open, and reading goes on."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pygls.exceptions import JsonRpcException

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor

#: In front of the path of what the server starts: the search's packages aren't there.
BLOCKER = """import importlib.abc
import sys


class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "sklearn", "scipy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


sys.meta_path.insert(0, Blocker())
"""


@asynccontextmanager
async def reading(home: Home, **options: object) -> AsyncGenerator[Editor, None]:
    """An editor with the file open, in which everything that only reads works and nothing has popped up."""
    async with editor(home, PROFILES[0], trials=2, **options) as ed:
        ed.open()
        assert await ed.eventually(ed.lenses, lambda found: "Optimize" in found)
        assert "scale" in await ed.hover("scale_kernel")
        assert any(a.title == "Optimize scale_kernel" for a in await ed.actions("tl.store"))
        await asyncio.sleep(0.3)
        assert ed.client.messages == []
        yield ed
        ed.type("2.0 *", "3.0 *")
        assert await ed.eventually(ed.lenses, lambda found: "Optimize" in found)


async def refused(ed: Editor) -> str:
    """The sentence with which a run ends, or is refused."""
    try:
        answer = await ed.command("optimize", ed.uri, "scale_kernel")
    except JsonRpcException as error:
        return error.message
    end = await ed.ended(answer["run"])
    assert end.state == "failed", end
    said = end.error
    assert said
    assert "Traceback" not in said
    assert "\n" not in said
    await ed.eventually(lambda: _messages(ed), lambda found: any(said in m for m in found))
    print(said)
    return said


async def _messages(ed: Editor) -> list[str]:
    return [m.message for m in ed.client.messages]


@pytest.mark.asyncio
async def test_the_interpreter_is_not_there(home: Home) -> None:
    async with reading(home, python="/nowhere/python") as ed:
        assert "/nowhere/python" in await refused(ed)


@pytest.mark.asyncio
async def test_the_worker_is_not_there(home: Home) -> None:
    async with reading(home, worker="no-such-command-anywhere box") as ed:
        assert "no-such-command-anywhere" in await refused(ed)


@pytest.mark.asyncio
async def test_torch_is_not_there(home: Home) -> None:
    async with reading(home, python=sys.executable) as ed:
        assert "torch" in await refused(ed)


@pytest.mark.asyncio
async def test_the_packages_of_the_search_are_not_there(home: Home, tmp_path: Path) -> None:
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "sitecustomize.py").write_text(BLOCKER)
    async with reading(home, env={"PYTHONPATH": str(tmp_path / "blocked")}) as ed:
        said = await refused(ed)
        assert said.startswith("The search needs ")
        assert "kernelband[search]" in said


@pytest.mark.asyncio
async def test_the_history_is_damaged(home: Home) -> None:
    home.db.parent.mkdir(parents=True, exist_ok=True)
    home.db.write_bytes(b"no database, " * 1000)
    async with reading(home) as ed:
        assert str(home.db) in await refused(ed)
    assert home.db.read_bytes() == b"no database, " * 1000  # nothing is lost


@pytest.mark.asyncio
async def test_the_history_is_of_a_newer_version(searched: Home) -> None:
    with sqlite3.connect(searched.db) as database:
        database.execute(
            "insert into _sqlite_migrations (migration_set, name, applied_at) values ('kernelband', '9999_from_the_future', '')"
        )
    database.close()
    async with reading(searched) as ed:
        assert "newer" in await refused(ed)


@pytest.mark.asyncio
async def test_somebody_holds_the_history(searched: Home) -> None:
    holder = sqlite3.connect(searched.db, isolation_level=None)
    holder.execute("begin exclusive")
    try:
        async with reading(searched) as ed:
            assert str(searched.db) in await refused(ed)
    finally:
        holder.execute("rollback")
        holder.close()
    async with editor(searched, PROFILES[0]) as ed:
        ed.open()
        assert await ed.eventually(ed.lenses, lambda found: any("predicted" in t for t in found))
