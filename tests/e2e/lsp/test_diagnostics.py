"""Hints in an editor, of a run's facts: moved as the text is edited, with fixes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from lsprotocol import types

from tests.e2e.cli_world import Home
from tests.e2e.lsp import editor as editors
from tests.e2e.lsp.editor import PROFILES, editor
from tests.e2e.lsp.hints import ALL, TEXT, codes, quick_fixes, shown, until
from tests.e2e.searched import Searched


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Searched:
    """A run of a kernel whose mask is always true and whose programs are few."""
    return Searched(tmp_path_factory.mktemp("optimized"), worker_python, TEXT, "--trials", "2", "--gpu", "h100")


@pytest.fixture
def optimized(one_run: Searched) -> Home:
    return one_run.again()


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
async def test_the_setting_silences(optimized: Home) -> None:
    async with editor(optimized, PROFILES[0], diagnostics=["too-few-programs"]) as ed:
        ed.open()
        await until(ed, lambda found: found == ALL[:2])

        def say(**settings: object) -> None:
            ed.client.workspace_did_change_configuration(types.DidChangeConfigurationParams({"kernelband": settings}))

        say(diagnostics=True)
        await until(ed, lambda found: found == ALL)
        say(problems=True)  # then an editor lists them, too
        information = [types.DiagnosticSeverity.Information] * len(ALL)
        await until(ed, lambda _: [told.severity for told in ed.client.diagnostics[ed.uri]] == information)
        say(diagnostics=False)
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


@pytest.mark.asyncio
@pytest.mark.parametrize("profile", PROFILES)
async def test_a_fix_is_a_variant_that_addresses_the_hint(optimized: Home, profile: str) -> None:
    async with editor(optimized, profile) as ed:
        ed.open()
        await until(ed, lambda found: "too-few-programs" in codes(found))
        found = await ed.eventually(lambda: quick_fixes(ed, "scale_kernel[("), bool)  # once it stands
        first = found[0]
        assert re.match(r"BLOCK 4096→\d+.*: .+ on NVIDIA H100 SXM \(predicted\)$", first.title), first.title
        assert [str(d.code) for d in first.diagnostics or ()] == ["too-few-programs"]
        assert all("predicted" in a.title for a in found)
        assert first.command is not None
        before = ed.text
        params = types.ExecuteCommandParams(first.command.command, first.command.arguments)
        assert await ed.client.workspace_execute_command_async(params) == {"applied": True}
        assert ed.text != before
        await until(ed, lambda found: not found)  # what is known of the original is not said of a variant


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
        assert "bytes past the end of x" in message  # 112, or fewer where another tensor of the program's begins before that
        assert await quick_fixes(ed, "a = tl.load") == []  # no move mends it
