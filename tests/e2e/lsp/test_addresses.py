"""Documents that are no files, several folders, and every way of counting characters: a real server, from the client's side."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import psutil
import pytest
from lsprotocol import types

from kernelband.history import Store, runs
from kernelband.lsp.text import Lines
from tests.e2e.cli_world import KERNEL, Home
from tests.e2e.lsp.editor import PROFILES, editor
from tests.e2e.lsp.test_showing import path_of
from tests.e2e.searched import SCALE_WITH_BENCH, Searched

#: A server that gives its client long to answer.
PATIENT = "from kernelband.lsp import run_request; run_request.ANSWER_S = 360.0; from kernelband.cli import main; main()"
NO_FILES = ("untitled:Untitled-1", "vscode-vfs://github/someone/repo/scale.py", "git:/work/scale.py?%7B%22ref%22%3A%22HEAD%22%7D")


@pytest.mark.asyncio
@pytest.mark.parametrize("uri", NO_FILES)
async def test_a_document_that_is_no_file_can_be_read_and_says_what_it_cannot(home: Home, uri: str) -> None:
    async with editor(home, PROFILES[0], trials=1) as ed:
        ed.uri = uri
        ed.open(KERNEL)
        assert await ed.lenses() == ["Optimize"]
        assert "Nothing is measured or predicted" in await ed.hover("scale_kernel")
        assert "Optimize scale_kernel" in [a.title for a in await ed.actions("tl.store")]
        ed.type("2.0 * tl", "3.0 * tl")
        assert await ed.lenses() == ["Optimize"]
        with pytest.raises(Exception, match="is no file"):
            await ed.command("optimize", ed.uri, "scale_kernel")
        for name in ("apply", "revert", "patch"):
            with pytest.raises(Exception, match=r"There is no (history|run)"):
                await ed.command(name, ed.uri, "scale_kernel", "ffffffff", 1)
        report = await ed.command("report", ed.uri, "scale_kernel")
        assert report["runs"] == []


@pytest.mark.asyncio
@pytest.mark.parametrize("uri", NO_FILES)
async def test_what_the_history_knows_of_a_text_is_known_of_its_copy(searched: Home, uri: str) -> None:
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
        await ed.execute(best.command)
        assert ed.text != searched.file.read_text()
        await ed.eventually(ed.lenses, lambda found: any("than the original" in t for t in found))


# ---------------------------------------------------------------- counting characters

ASTRAL = "𝕊🚀\u00e9\u2028\U0010ffff"
BEFORE = f'"""{ASTRAL}"""\n# {ASTRAL}\n'


@pytest.fixture(scope="module")
def search_beyond(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Searched:
    """Of a text with characters beyond the first plane above the kernel and before the launch on its own line."""
    text = BEFORE + SCALE_WITH_BENCH.replace("    scale_kernel[", f'    note = "{ASTRAL}"; scale_kernel[')
    return Searched(tmp_path_factory.mktemp("astral"), worker_python, text, "--trials", "2")


@pytest.fixture
def astral(search_beyond: Searched) -> Home:
    return search_beyond.again()


@pytest.mark.asyncio
@pytest.mark.parametrize("encoding", list(types.PositionEncodingKind))
async def test_a_variant_is_put_in_whatever_a_column_counts(astral: Home, encoding: types.PositionEncodingKind) -> None:
    def counts(params: types.InitializeParams) -> None:
        params.capabilities.general = types.GeneralClientCapabilities(position_encodings=[encoding])

    async with editor(astral, PROFILES[0], adapt=counts) as ed:
        assert ed.encoding == encoding
        ed.open()
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        assert "predicted for" in await ed.hover("scale_kernel")
        before, seen = ed.text, 0
        report = await ed.command("report", ed.uri, "scale_kernel")
        for variant in report["runs"][0]["variants"]:
            arguments = (ed.uri, "scale_kernel", variant["run"], variant["number"])
            files = await ed.command("compare", *arguments)
            wanted = path_of(files["variant"]).read_bytes().decode()
            assert await ed.command("apply", *arguments) == {"applied": True}
            assert ed.text == wanted != before
            for edit in [e for change in ed.edits[-1].edit.document_changes or () for e in getattr(change, "edits", ())]:
                line = before.split("\n")[edit.range.start.line]
                seen += ASTRAL in line[: line.find("BLOCK=64") + 1]
            assert await ed.command("revert", *arguments) == {"applied": True}
            assert ed.text == before
        assert seen  # one of the edits stands behind such characters on its own line


@pytest.mark.asyncio
@pytest.mark.parametrize("encoding", list(types.PositionEncodingKind))
async def test_typing_beside_such_characters_keeps_the_text(astral: Home, encoding: types.PositionEncodingKind) -> None:
    def counts(params: types.InitializeParams) -> None:
        params.capabilities.general = types.GeneralClientCapabilities(position_encodings=[encoding])

    async with editor(astral, PROFILES[0], adapt=counts) as ed:
        ed.open()
        for old, new in (
            ("🚀", "🚀🚀"),
            ("import torch", f"{ASTRAL[:2]} = 1; import torch"),
            ("🚀🚀", ""),
            ("mask=i < n)", "mask=(i < n))"),
        ):
            ed.type(old, new)
        diff = await ed.eventually(lambda: ed.hover("scale_kernel"), bool)
        assert "scale" in diff
        found = await ed.client.text_document_code_lens_async(types.CodeLensParams(ed.document))
        assert found
        at = Lines(ed.text).offset(found[-1].range.start, encoding)
        assert ed.text[at:].startswith("scale_kernel(")


# ---------------------------------------------------------------- several folders, and names of files


@pytest.mark.asyncio
async def test_each_folder_is_trusted_by_itself(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "an other ü%20 folder"
    other.mkdir()
    file = other / "scale_2.py"
    file.write_text(home.file.read_text())
    (other / "pyproject.toml").write_text("")

    def two_folders(params: types.InitializeParams) -> None:
        assert params.workspace_folders is not None
        params.workspace_folders = [*params.workspace_folders, types.WorkspaceFolder(other.as_uri(), "other")]

    async with editor(home, PROFILES[0], trusted=False, adapt=two_folders, trials=1) as ed:
        ed.open()
        first = ed.uri
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": other.as_uri(), "trusted": True}]})
        with pytest.raises(Exception, match="isn't trusted"):
            await ed.command("optimize", first, "scale_kernel")
        ed.uri = file.as_uri()
        ed.open(file.read_text())
        assert await ed.lenses() == ["Optimize"]
        run = await ed.optimized()
        await ed.eventually(ed.lenses, lambda found: len(found) == 2)
        best = (await ed.actions("tl.store"))[0]
        assert best.command is not None
        patch = await ed.command("patch", *(best.command.arguments or ()))
        assert patch.startswith("diff --git a/scale_2.py b/scale_2.py")
        with Store.read(home.db) as store:
            row = runs.find(store, run)
            assert (row.path, list(runs.base_texts(store, run))) == (str(file), [str(file)])
        await ed.execute(best.command)
        assert ed.text != file.read_text()


@pytest.mark.asyncio
async def test_a_folder_may_have_settings_of_its_own_but_not_what_runs(home: Home, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\ntouch {canary}\nexit 1\n")
    fake.chmod(0o755)
    async with editor(home, PROFILES[0], trials=9, command=(sys.executable, "-c", PATIENT)) as ed:
        own = {"trials": 1, "seconds": None, "python": str(fake), "worker": str(fake), "db": str(tmp_path / "other.db")}
        ed.client.set_configuration({"kernelband": own}, scope_uri=home.work.as_uri())
        ed.open()
        run = await ed.optimized()
        with Store.read(home.db) as store:
            assert runs.find(store, run).trials_budget == 1
        assert not canary.exists()
        ed.client.set_configuration({"kernelband": {"trials": "one"}}, scope_uri=home.work.as_uri())
        await ed.command("optimize", ed.uri, "scale_kernel")
        assert ed.client._server is not None
        server = psutil.Process(ed.client._server.pid)

        async def budgets() -> list[str]:
            with contextlib.suppress(psutil.NoSuchProcess):  # a search may end between two looks
                return [word for child in server.children() for word in child.cmdline() if word.startswith("--trials")]
            return []

        await ed.eventually(budgets, lambda found: found == ["--trials=9"])  # the session's
        await ed.command("stop_all")
