"""Hints in an editor, of inspections: where the user allows them, of the text on the screen, ended with its document."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import psutil
import pytest
from attrs import evolve
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp import editor as editors
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.lsp.hints import ALL, TEXT, codes, quick_fixes, take, under, until


@pytest.fixture
def home(tmp_path: Path, worker_python: str) -> Home:
    """A home whose history holds nothing; what its file does when it runs is seen."""
    home = Home(tmp_path, worker_python)
    home.file.write_text(TEXT + f"\n\nopen({str(home.work / 'ran')!r}, 'a').close()\n")
    return home


def ran(home: Home) -> bool:
    return (home.work / "ran").exists()


def server_of(ed: Editor) -> psutil.Process:
    assert ed.client._server is not None
    return psutil.Process(ed.client._server.pid)


async def save(ed: Editor) -> None:
    ed.home.file.write_text(ed.text)
    ed.client.text_document_did_save(types.DidSaveTextDocumentParams(ed.document))


@pytest.mark.asyncio
async def test_a_kernel_without_a_run_is_inspected_when_asked(home: Home) -> None:
    async with editor(home, PROFILES[1]) as ed:
        ed.open(home.file.read_text().replace("2.0 *", "3.0 *"))  # the text on the screen counts, not the file's
        ed.type("1 << 16", "1 << 20")
        answer = await ed.command("inspect", ed.uri, "scale_kernel")
        assert [h["code"] for h in answer["hints"]] == ["mask-always-true"] * 2  # 256 programs are enough
        await until(ed, lambda found: codes(found) == ["mask-always-true"] * 2)
        assert under(ed, ed.client.diagnostics[ed.uri][0].range).startswith("tl.store(y + i, 3.0")
        assert ran(home)
        assert not home.db.exists()  # nothing is kept
        name, load = await ed.hover("scale_kernel("), await ed.hover("load(x")
        assert re.search(r"- registers: \d+ per thread · compiled for NVIDIA \w+", name), name
        assert "- occupancy: " in name
        line = next(n for n, code in enumerate(ed.text.splitlines(), 1) if "tl.load(x" in code)
        assert f"line {line}: " in name
        assert re.fullmatch(
            r"\*\*`scale_kernel`\*\*, this line: \d+ % of the bytes, \d+ % of the instructions \(predicted for .*\)\.", load
        ), load
        whole = types.InlayHintParams(ed.document, types.Range(types.Position(0, 0), types.Position(line + 1, 0)))
        assert not await ed.client.text_document_inlay_hint_async(whole)  # until the user switches them on
        ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"kernelband": {"lineCosts": True}}))
        ends = {h.position.line: h.label for h in await ed.client.text_document_inlay_hint_async(whole) or ()}
        assert re.fullmatch(r"\d+ % of the bytes, \d+ % of the instructions", str(ends[line - 1])), ends
        ed.type("3.0 *", "4.0 *")
        await until(ed, lambda found: not found)  # another program: nothing is known of it
        assert await ed.hover("load(x") == ""
        ed.type("4.0 *", "3.0 *")
        await until(ed, lambda found: codes(found) == ["mask-always-true"] * 2)
        with pytest.raises(Exception, match="no_kernel"):
            await ed.command("inspect", ed.uri, "no_kernel")


@pytest.mark.asyncio
@pytest.mark.parametrize("edits", [True, False])
async def test_without_a_run_a_fix_is_a_move_that_nobody_has_verified(home: Home, monkeypatch: pytest.MonkeyPatch, edits: bool) -> None:
    if not edits:
        plain = editors.client_capabilities

        def capabilities(name: str) -> Any:
            found = plain(name)
            return evolve(found, workspace=evolve(found.workspace, apply_edit=False))

        monkeypatch.setattr(editors, "client_capabilities", capabilities)
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        answer = await ed.command("inspect", ed.uri, "scale_kernel")
        assert "too-few-programs" in [h["code"] for h in answer["hints"]]
        await until(ed, lambda found: "too-few-programs" in codes(found))
        found = await quick_fixes(ed, "scale_kernel[(")
        moves = [a for a in found if not a.title.startswith("Silence")]
        assert len(moves) == 2
        assert all(re.fullmatch(r"BLOCK 4096→\d+.*, with the grid \(unverified\)", a.title) for a in moves)
        assert all([str(d.code) for d in a.diagnostics or ()] == ["too-few-programs"] for a in moves)
        before, block = ed.text, re.findall(r"→(\d+)", moves[0].title)[0]

        async def put_in(action: types.CodeAction) -> None:
            if action.command is None:
                take(ed, await ed.client.code_action_resolve_async(action))
                return
            params = types.ExecuteCommandParams(action.command.command, action.command.arguments)
            assert await ed.client.workspace_execute_command_async(params) == {"applied": True}

        await put_in(moves[0])
        assert ed.text != before
        assert f"BLOCK={block}" in ed.text
        await until(ed, lambda found: not found)  # what was inspected is another text
        with pytest.raises(Exception, match="has changed since it was inspected"):
            await put_in(moves[1])
        if edits:  # and then it is judged like any other edit
            end = await ed.ended((await ed.command("verify", ed.uri, "scale_kernel"))["run"])
            assert end.state == "finished", end.error
        assert not home.db.exists() or edits


WIDE = """import torch
import triton
import triton.language as tl


@triton.jit
def wide_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i * 3, mask=i < n)
    a = a - tl.max(a, 0)
    e = tl.exp(a)
    tl.store(y + i, e / tl.sum(e, 0) + a, mask=i < n)


def bench():
    x, y = torch.randn(60000, device="cuda"), torch.empty(20000, device="cuda")
    wide_kernel[(2,)](x, y, 20000, BLOCK=16384, num_warps=1)
"""


@pytest.mark.asyncio
async def test_what_the_compiler_finds_is_said_with_its_numbers(home: Home) -> None:
    async with editor(home, PROFILES[0], gpu="h200", diagnostics=["too-few-programs"]) as ed:
        ed.open(WIDE)
        await ed.command("inspect", ed.uri, "wide_kernel")
        await until(ed, lambda found: found == [("spills", "wide_kernel"), ("uncoalesced", "a = tl.load(x + i * 3, mask=i < n)")])
        spills, uncoalesced = (d.message for d in ed.client.diagnostics[ed.uri])
        stored_loaded = [int(n) for n in re.findall(r"(\d+) bytes", spills)]
        assert len(stored_loaded) == 2
        assert min(stored_loaded) > 1000  # 512 values of a thread don't fit into 255 registers
        assert all(word in spills for word in ("H200", "BLOCK=16384", "num_warps=1"))
        assert "3 times" in uncoalesced


def look_at(ed: Editor, file: Path) -> None:
    ed.home.file, ed.uri = file, file.as_uri()
    ed.open()


@pytest.mark.asyncio
async def test_a_save_inspects_where_the_user_allows_it(home: Home, tmp_path: Path) -> None:
    """And nowhere else: what is saved first would be inspected first."""
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    files = [foreign / "a.py", home.work / "b.py", home.file]
    for file in files:
        file.write_text(home.file.read_text().replace("open(", f"open({str(file)!r} + '.ran', 'a').close(), open("))

    def two_folders(params: types.InitializeParams) -> None:
        assert params.workspace_folders is not None
        params.workspace_folders = [*params.workspace_folders, types.WorkspaceFolder(foreign.as_uri(), "foreign")]

    async with editor(home, PROFILES[0], trusted=False, adapt=two_folders, inspect="save") as ed:
        ed.client.protocol.notify("kernelband/didChangeTrust", {"folders": [{"uri": home.work.as_uri(), "trusted": True}]})
        for file, setting in zip(files, ("save", "off", "save"), strict=True):
            look_at(ed, file)
            await ed.lenses()
            assert not ran(home)  # opening runs nothing
            ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"kernelband": {"inspect": setting}}))
            if file.parent == foreign:
                with pytest.raises(Exception, match="isn't trusted"):
                    await ed.command("inspect", ed.uri, "scale_kernel")
            assert server_of(ed).children(recursive=True) == []
            await save(ed)
        await until(ed, lambda found: found == ALL)
        assert [file for file in files if Path(f"{file}.ran").exists()] == [home.file]


@pytest.mark.asyncio
async def test_closing_ends_an_inspection(home: Home) -> None:
    async with editor(home, PROFILES[0]) as ed:
        server = server_of(ed)
        home.file.write_text(home.file.read_text() + "\nimport time\ntime.sleep(600)\n")
        ed.open()
        asked = asyncio.ensure_future(ed.command("inspect", ed.uri, "scale_kernel"))

        async def children() -> list[psutil.Process]:
            return server.children(recursive=True)

        await ed.eventually(children, lambda found: len(found) > 1)
        ed.client.text_document_did_close(types.DidCloseTextDocumentParams(ed.document))
        with pytest.raises(Exception, match="its document was closed"):
            await asked
        assert await ed.eventually(children, lambda found: not found) == []
