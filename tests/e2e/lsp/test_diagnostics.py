"""Hints in an editor: of a run's facts, moved and silenced as the text is edited; of inspections where the user allows them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from attrs import evolve
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp import editor as editors
from tests.e2e.lsp.editor import LONG_S, PROFILES, Editor, editor
from tests.e2e.searched import Searched

Found = list[tuple[str, str]]  # code, and the text under it


TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    # each program scales one block
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


def scale(x):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 4096),)](x, y, n, BLOCK=4096)
    return y


def bench():
    scale(torch.randn(1 << 16, device="cuda"))
"""


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Searched:
    """A run of a kernel whose mask is always true and whose programs are few."""
    return Searched(tmp_path_factory.mktemp("optimized"), worker_python, TEXT, "--trials", "2", "--gpu", "h100")


@pytest.fixture
def optimized(one_run: Searched) -> Home:
    return one_run.again()


def shown(ed: Editor) -> Found:
    """What the client was sent last, in the editor's text."""
    return [(str(d.code), under(ed, d.range)) for d in ed.client.diagnostics.get(ed.uri, [])]


def codes(found: Found) -> list[str]:
    return [code for code, _ in found]


def under(ed: Editor, where: types.Range) -> str:
    lines = editors.Lines(ed.text)
    span = lines.span(where, ed.encoding)
    return ed.text[span.start : span.end]


async def until(ed: Editor, wanted: Callable[[Found], bool], seconds: float = LONG_S) -> Found:
    async def look() -> Found:
        return shown(ed)

    return await ed.eventually(look, wanted, seconds)


STORE = "tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)"
LAUNCH = "scale_kernel[(triton.cdiv(n, 4096),)](x, y, n, BLOCK=4096)"
ALL = [("mask-always-true", STORE), ("mask-always-true", STORE), ("too-few-programs", LAUNCH)]


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_what_a_run_found_stands_on_its_lines(optimized: Home, profile: str) -> None:
    async with editor(optimized, profile) as ed:
        ed.open()
        await until(ed, bool)
        for told in ed.client.diagnostics[ed.uri]:
            assert (told.code_description is None) == (profile == "neovim@v0.11")  # which takes no links
            if told.code_description is None:
                continue
            page, _, line = told.code_description.href.removeprefix("file://").partition("#L")
            assert Path(page).read_text().split("\n")[int(line) - 1] == f"## {told.code}"
        await until(ed, lambda found: found == ALL)
        first, _, few = ed.client.diagnostics[ed.uri]
        assert first.severity == types.DiagnosticSeverity.Hint
        assert first.source == "kernelband"
        assert "hid no element" in first.message
        assert "16 programs for 132" in few.message
        assert "NVIDIA H100 SXM" in few.message
        ed.type("import torch", "# a line above moves it\nimport torch")
        ed.type("# each program", "# one more within\n    # each program")
        await until(ed, lambda found: found == ALL)
        ed.type("2.0 * tl.load", "3.0 * tl.load")
        await until(ed, lambda found: not found)  # its facts are of another text
        ed.type("3.0 * tl.load", "2.0 * tl.load")
        await until(ed, lambda found: found == ALL)
        ed.client.text_document_did_close(types.DidCloseTextDocumentParams(ed.document))
        await until(ed, lambda found: not found)


@pytest.mark.asyncio
async def test_comments_and_the_setting_silence(optimized: Home) -> None:
    async with editor(optimized, PROFILES[0], diagnostics=["too-few-programs"]) as ed:
        ed.open()
        await until(ed, lambda found: found == ALL[:2])

        def say(value: object) -> None:
            params = types.DidChangeConfigurationParams({"kernelband": {"diagnostics": value}})
            ed.client.workspace_did_change_configuration(params)

        say(True)
        await until(ed, lambda found: found == ALL)
        ed.type("mask=i < n)\n\n", "mask=i < n)  # kernelband: ignore[mask-always-true]\n\n")
        await until(ed, lambda found: found == ALL[2:])
        ed.type("BLOCK: tl.constexpr):", "BLOCK: tl.constexpr):  # kernelband: ignore[too-few-programs]")
        await until(ed, lambda found: not found)
        ed.type("  # kernelband: ignore[mask-always-true]", "")
        await until(ed, lambda found: found == ALL[:2])
        say(False)
        await until(ed, lambda found: not found)


@pytest.mark.asyncio
async def test_a_client_that_asks_is_not_also_sent(optimized: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = editors.client_capabilities

    def capabilities(profile: str) -> Any:
        found = plain(profile)
        text = evolve(found.text_document, diagnostic=types.DiagnosticClientCapabilities())
        return evolve(
            found, text_document=text, workspace=evolve(found.workspace, diagnostics=types.DiagnosticWorkspaceClientCapabilities(True))
        )

    monkeypatch.setattr(editors, "client_capabilities", capabilities)
    async with editor(optimized, PROFILES[0]) as ed:
        ed.open()

        async def ask() -> list[str]:
            report = await ed.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(ed.document))
            return [str(d.code) for d in report.items] if isinstance(report, types.RelatedFullDocumentDiagnosticReport) else []

        await ed.eventually(ask, lambda found: found == [code for code, _ in ALL])
        assert shown(ed) == []


# ---------------------------------------------------------------- quick fixes


async def quick_fixes(ed: Editor, word: str) -> list[types.CodeAction]:
    """At a word; each carries the diagnostics that it is for."""
    at = ed.at(word)
    context = types.CodeActionContext(ed.client.diagnostics[ed.uri], only=[types.CodeActionKind.QuickFix])
    params = types.CodeActionParams(ed.document, types.Range(at, at), context)
    found = [a for a in await ed.client.text_document_code_action_async(params) or () if isinstance(a, types.CodeAction)]
    assert all(a.kind == types.CodeActionKind.QuickFix for a in found)
    assert all(a.diagnostics for a in found)
    return found


def take(ed: Editor, action: types.CodeAction) -> None:
    """What an editor does with an action that is an edit."""
    assert action.edit is not None
    assert action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == ed.version
    ed.put(change)


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_a_fix_silences_a_hint(optimized: Home, profile: str) -> None:
    async with editor(optimized, profile) as ed:
        ed.open()
        await until(ed, lambda found: found == ALL)
        before = ed.text
        here, whole = await quick_fixes(ed, "tl.store")
        assert [here.title, whole.title] == ["Silence mask-always-true here", "Silence mask-always-true in scale_kernel"]
        assert [str(d.code) for d in here.diagnostics or ()] == ["mask-always-true"] * 2
        take(ed, here)
        assert ed.text == before.replace("mask=i < n)\n\n", "mask=i < n)  # kernelband: ignore[mask-always-true]\n\n", 1)
        await until(ed, lambda found: found == ALL[2:])
        (*_, whole) = await quick_fixes(ed, "scale_kernel[(")
        assert whole.title == "Silence too-few-programs in scale_kernel"
        take(ed, whole)
        assert "BLOCK: tl.constexpr):  # kernelband: ignore[too-few-programs]\n" in ed.text
        await until(ed, lambda found: not found)


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_a_fix_is_a_variant_that_addresses_the_hint(optimized: Home, profile: str) -> None:
    async with editor(optimized, profile) as ed:
        ed.open()
        await until(ed, lambda found: "too-few-programs" in codes(found))
        found = await ed.eventually(lambda: quick_fixes(ed, "scale_kernel[("), lambda found: len(found) > 2)  # once it stands
        for silence in (a for a in found if a.title.startswith("Silence too-few-programs in")):
            take(ed, silence)
        await until(ed, lambda found: "too-few-programs" not in codes(found))
        await ed.eventually(ed.lenses, lambda found: len(found) == 2 and "changed" not in found[0])  # its variants still fit
        ed.type("  # kernelband: ignore[too-few-programs]", "")
        await until(ed, lambda found: "too-few-programs" in codes(found))
        found = await ed.eventually(lambda: quick_fixes(ed, "scale_kernel[("), lambda found: len(found) > 2)
        first = found[0]
        assert " on NVIDIA H100 SXM (predicted): BLOCK 4096 -> " in first.title
        assert [str(d.code) for d in first.diagnostics or ()] == ["too-few-programs"]
        assert all("predicted" in a.title or a.title.startswith("Silence") for a in found)
        assert first.command is not None
        before = ed.text
        params = types.ExecuteCommandParams(first.command.command, first.command.arguments)
        assert await ed.client.workspace_execute_command_async(params) == {"applied": True}
        assert ed.text != before
        await until(ed, lambda found: not found)  # what is known of the original is not said of a variant


# ---------------------------------------------------------------- inspections


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
        assert all(re.fullmatch(r"BLOCK 4096 -> \d+.*, with the grid \(unverified\)", a.title) for a in moves)
        assert all([str(d.code) for d in a.diagnostics or ()] == ["too-few-programs"] for a in moves)
        before, block = ed.text, re.findall(r"-> (\d+)", moves[0].title)[0]

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


OVER = """import torch
import triton
import triton.language as tl


@triton.jit
def over_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + i)
    tl.store(y + i, a, mask=i < n)


def bench():
    x, y = torch.randn(100, device="cuda"), torch.empty(100, device="cuda")
    over_kernel[(2,)](x, y, 100, BLOCK=64)
"""


@pytest.mark.asyncio
async def test_a_run_keeps_what_was_out_of_bounds(tmp_path: Path, worker_python: str) -> None:
    home = Home(tmp_path, worker_python)
    home.file.write_text(OVER)
    done = home.optimize("scale.py", "--trials", "1", "--gpu", "h100")
    assert done.code == 0, done.err
    async with editor(home, PROFILES[0]) as ed:
        ed.open()
        found = await until(ed, lambda found: "out-of-bounds" in codes(found))
        assert ("out-of-bounds", "a = tl.load(x + i)") in found
        (message,) = (d.message for d in ed.client.diagnostics[ed.uri] if d.code == "out-of-bounds")
        assert "112 bytes past the end of x" in message
        assert all(a.title.startswith("Silence") for a in await quick_fixes(ed, "a = tl.load"))  # no move mends it
