"""Documents that are no files, several folders, and every way of counting characters: a real server, from the client's side."""

from __future__ import annotations

import pytest
from lsprotocol import types

from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture
from tests.e2e.lsp.editor import PROFILES, editor
from tests.e2e.lsp.test_session import home, optimized  # noqa: F401  # the fixture
from tests.e2e.lsp.test_showing import searched  # noqa: F401  # the fixture

NO_FILES = ("untitled:Untitled-1", "vscode-vfs://github/someone/repo/scale.py", "git:/work/scale.py?%7B%22ref%22%3A%22HEAD%22%7D")


@pytest.mark.asyncio
@pytest.mark.parametrize("uri", NO_FILES)
async def test_a_document_that_is_no_file_can_be_read_and_says_what_it_cannot(home: Home, uri: str) -> None:  # noqa: F811  # the fixture
    async with editor(home, PROFILES[0], trials=1) as ed:
        ed.uri = uri
        ed.open(KERNEL)
        assert await ed.lenses() == ["Optimize"]
        assert "Nothing is measured or predicted" in await ed.hover("scale_kernel")
        assert "Optimize scale_kernel" in [a.title for a in await ed.actions("tl.store")]
        ed.type("2.0 * tl", "3.0 * tl")
        assert await ed.lenses() == ["Optimize"]
        with pytest.raises(Exception, match="is no file, so nothing of it can be run: save it first"):
            await ed.command("optimize", ed.uri, "scale_kernel")
        for name in ("apply", "revert", "patch"):
            with pytest.raises(Exception, match=r"There is no (history|run)"):
                await ed.command(name, ed.uri, "scale_kernel", "ffffffff", 1)
        report = await ed.command("report", ed.uri, "scale_kernel")
        assert report["runs"] == []


@pytest.mark.asyncio
@pytest.mark.parametrize("uri", NO_FILES)
async def test_what_the_history_knows_of_a_text_is_known_of_its_copy(searched: Home, uri: str) -> None:  # noqa: F811  # the fixture
    """A new document into which a known kernel was pasted."""
    async with editor(searched, PROFILES[0]) as ed:
        ed.uri = uri
        ed.open(searched.file.read_text())
        (lens, _) = await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        assert lens.startswith("likely faster on")
        best = (await ed.actions("tl.store"))[0]
        assert best.command is not None
        assert best.command.arguments is not None
        patch = await ed.command("patch", *best.command.arguments)
        assert patch.startswith("diff --git a/")
        await ed.client.workspace_execute_command_async(types.ExecuteCommandParams(best.command.command, best.command.arguments))
        assert ed.text != searched.file.read_text()
        await ed.eventually(ed.lenses, lambda found: any("than the original" in t for t in found))
