"""What is told unasked. Lenses are drawn anew at once, and then not so often that a client that waits for calm never draws them."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import pytest
from lsprotocol import types

from kernelband.history import Store, runs
from kernelband.lsp.app import make_server
from kernelband.lsp.server import REDRAW_S, KernelBandServer
from tests.unit.history.rows import run_row

REFRESHES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True))
)
INLAY_HINTS = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True))
)
VS_CODE_WAITS_S = 0.25  # the least that it waits after each


@pytest.mark.asyncio
async def test_at_once_and_then_with_calm_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, asked = asyncio.get_running_loop(), list[float]()
    monkeypatch.setattr(KernelBandServer, "client_capabilities", REFRESHES)
    monkeypatch.setattr(KernelBandServer, "workspace_code_lens_refresh", lambda *_: asked.append(loop.time()))
    server = make_server(None)
    server.has_drawn = True
    try:
        server.redraw()
        server.redraw()
        await asyncio.sleep(0.01)
        assert len(asked) == 1
        end = loop.time() + 2 * REDRAW_S
        while loop.time() < end or len(asked) < 3:
            server.redraw()
            await asyncio.sleep(0.01)
    finally:
        server.leave()
    assert all(later - earlier > VS_CODE_WAITS_S for earlier, later in itertools.pairwise(asked))


@pytest.mark.asyncio
async def test_costs_of_lines_are_drawn_anew_when_they_are_switched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[bool]()
    monkeypatch.setattr(KernelBandServer, "client_capabilities", INLAY_HINTS)
    server = make_server(None)
    monkeypatch.setattr(KernelBandServer, "workspace_inlay_hint_refresh", lambda *_: asked.append(server.settings.line_costs))
    configured = server.protocol.fm.features[types.WORKSPACE_DID_CHANGE_CONFIGURATION]
    try:
        for settings in ({"lineCosts": True}, {"lineCosts": True, "trials": 3}, {"lineCosts": False}):
            configured(types.DidChangeConfigurationParams({"kernelband": settings}))
    finally:
        server.leave()
    assert asked == [True, False]


@pytest.mark.asyncio
async def test_the_end_of_a_run_elsewhere_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KernelBandServer, "open_documents", lambda _: [])
    monkeypatch.setattr(KernelBandServer, "redraw", lambda _: None)
    server, told = make_server(str(tmp_path / "history.db")), list[str]()
    server.on_end[:] = [lambda run: told.append(f"{run.id} {run.state}")]
    with Store.write(tmp_path / "history.db") as store:
        runs.begin(store, run_row("0123abcd"), {})
        runs.begin(store, run_row("4567abcd", state="finished"), {})
        runs.begin(store, run_row("89ababcd"), {})
    monkeypatch.setattr(server.runs, "get", lambda run: run if run == "89ababcd" else None)  # one that was started here
    try:
        await server.look()
        assert told == []
        with Store.write(tmp_path / "history.db") as store:
            for run in ("0123abcd", "89ababcd"):
                runs.end(store, run, "finished", "", seconds_used=1.0, clock={}, summary={})
        await asyncio.gather(server.look(), server.look())
        await server.look()
    finally:
        server.leave()
    assert told == ["0123abcd finished"]
