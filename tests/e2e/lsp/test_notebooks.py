"""The whole way of a kernel in a notebook: its cell, its host's cell, a variant over both, taken back, stale, and after a restart."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, editor
from tests.e2e.lsp.notebook import Notebook, announce

FIXTURE = Path(__file__).parents[2] / "fixtures" / "notebooks" / "scale.ipynb"
IMPORTS, KERNEL, MAGIC, HOST, BENCH = range(5)


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    home = Home(tmp_path, worker_python)
    shutil.copy(FIXTURE, home.work / "scale.ipynb")  # beside scale.py
    return home


def titled(actions: list[types.CodeAction], words: str) -> list[types.CodeAction]:
    return [a for a in actions if words in a.title]


def offered(lenses: list[str]) -> bool:
    return len(lenses) == 2 and lenses[0].startswith("likely faster on")


@pytest.mark.asyncio
async def test_the_journey_of_a_kernel_in_a_notebook(home: Home) -> None:
    profile = PROFILES[0]
    path = home.work / "scale.ipynb"
    raw = path.read_text()
    async with editor(home, profile, trials=6, adapt=announce) as ed:
        nb = Notebook(ed, path)
        nb.open()
        assert await nb.lenses(KERNEL) == ["Optimize"]
        assert (await nb.lens(KERNEL))[0].range.start == types.Position(1, 4)
        assert [await nb.lenses(n) for n in (IMPORTS, MAGIC, HOST, BENCH)] == [[], [], [], []]
        assert "Nothing is measured or predicted" in await nb.hover(KERNEL, "scale_kernel")
        assert await nb.hover(IMPORTS, "torch") == ""
        assert await nb.actions(HOST, "scale_kernel") == []
        answer = await ed.command("optimize", nb.uris[KERNEL], "scale_kernel")  # the active editor's address will do
        end = await ed.ended(answer["run"])
        assert (end.state, end.mode, end.uri) == ("finished", "predicted", nb.uri), end
        await ed.eventually(lambda: nb.lenses(KERNEL), offered)
        assert "grid" in await nb.hover(HOST, "scale_kernel[")
        hints = await ed.eventually(lambda: nb.hints(KERNEL), bool)
        assert "mask-always-true: tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)" in hints
        assert [await nb.hints(n) for n in (IMPORTS, MAGIC, BENCH)] == [[], [], []]
        assert [hint.partition("[")[0] for hint in await nb.hints(HOST)] == ["too-many-programs: scale_kernel"]
        assert titled(await nb.actions(KERNEL, "tl.store"), ": likely faster on")
        items = (await ed.command("more", nb.uri, "scale_kernel"))["items"]
        offers = [types.Command(**item) for item in items if ": likely faster on" in item["title"]]
        patches = {a.title: await ed.command("patch", nb.uri, *a.arguments[1:]) for a in offers}
        both = next(a for a in offers if all(f"-    {line}" in patches[a.title] for line in ("tl.store", "scale_kernel")))  # both cells
        shown = patches[both.title]
        assert shown.startswith("diff --git a/scale.ipynb b/scale.ipynb")
        compared = await ed.command("compare", nb.uri, *both.arguments[1:])
        assert compared["variant"].endswith("/scale.ipynb.py")
        before = list(nb.texts)
        done = await ed.execute(both)
        assert done == {"applied": True}
        assert len(ed.edits) == 1
        changes = ed.edits[0].edit.document_changes
        assert [c.text_document.uri for c in changes] == [nb.uris[KERNEL], nb.uris[HOST]]
        assert [n for n in range(5) if nb.texts[n] != before[n]] == [KERNEL, HOST]
        after = list(nb.texts)
        taken = await ed.eventually(lambda: nb.lenses(KERNEL), lambda found: "than the original" in found[0])
        nb.undo()
        assert nb.texts == before
        await ed.eventually(lambda: nb.lenses(KERNEL), offered)
        nb.type(HOST, "n = x.numel()", "n = x.numel() + 0")
        await ed.eventually(lambda: nb.lenses(KERNEL), lambda found: "verify again" in found[0])
        with pytest.raises(Exception, match=r"scale in scale\.ipynb has changed since run"):
            await ed.command("apply", nb.uri, *both.arguments[1:])
        nb.type(HOST, "n = x.numel() + 0", "n = x.numel()")
        nb.insert(KERNEL, "%time 1\nabove = 1")
        await ed.eventually(lambda: nb.lenses(KERNEL + 1), offered)
        assert (await nb.lens(KERNEL + 1))[0].range.start == types.Position(1, 4)
        nb.swap(KERNEL)
        await ed.eventually(lambda: nb.lenses(KERNEL), offered)
        nb.remove(KERNEL + 1)
        await ed.command("apply", nb.uri, *both.arguments[1:])
        assert nb.texts == after
        nb.save()
        assert len(raw.splitlines()) == len(path.read_text().splitlines())
        nb.close()
        assert await nb.lenses(KERNEL) == []
        assert await ed.eventually(lambda: nb.hints(KERNEL), lambda found: not found) == []
    async with editor(home, profile, adapt=announce) as ed:  # after a restart
        nb = Notebook(ed, path)
        nb.open()
        assert await ed.eventually(lambda: nb.lenses(KERNEL), lambda found: found == taken)
        (revert,) = titled(await nb.actions(KERNEL, "tl.store"), "Revert")
        assert revert.command is not None
        await ed.execute(revert.command)
        assert nb.texts == before


@pytest.mark.asyncio
async def test_what_is_in_the_cells_runs_and_not_what_is_saved(home: Home) -> None:
    path = home.work / "scale.ipynb"
    raw = path.read_bytes()
    async with editor(home, PROFILES[0], trials=1, adapt=announce) as ed:
        nb = Notebook(ed, path)
        nb.open()
        nb.insert(BENCH + 1, "display(1)")
        end = await ed.ended((await ed.command("optimize", nb.uri, "scale_kernel"))["run"])
        assert end.state == "failed"
        assert "name 'display' is not defined" in end.error
        nb.remove(BENCH + 1)
        nb.type(HOST, "BLOCK=64", "BLOCK=32")
        run = (await ed.command("optimize", nb.uri, "scale_kernel"))["run"]
        assert (await ed.ended(run)).state == "finished"
        await ed.eventually(lambda: nb.lenses(KERNEL), lambda found: len(found) == 2)
        assert "-    scale_kernel[(triton.cdiv(n, 64),)](x, y, n, BLOCK=32)" in await ed.command("patch", nb.uri, "scale_kernel", run, 1)
        assert path.read_bytes() == raw
        chosen = await ed.command("chooseEntry", nb.uris[KERNEL], "scale_kernel", f"{path}::bench")
        assert chosen == {"entry": f"{path}::bench", "changed": True}
        judged = await ed.ended((await ed.command("verify", nb.uri, "scale_kernel"))["run"])
        assert judged.state == "finished"
        assert "than the saved file" in judged.reason
        assert (await ed.command("inspect", nb.uri, "scale_kernel"))["hints"]
        nb.close()
        new = Notebook(ed, path)
        new.uri = "untitled:Untitled-1.ipynb?jupyter-notebook"
        new.open()
        assert "Optimize" in await new.lenses(KERNEL)
        with pytest.raises(Exception, match="save"):
            await ed.command("optimize", new.uri, "scale_kernel")
