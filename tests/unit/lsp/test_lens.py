"""Lenses are asked for after every key: what they take grows with the kernels, what they ask of the file system doesn't."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from lsprotocol import types

from kernelband.history.view import RunView, VariantView
from kernelband.lsp.app import make_server
from kernelband.lsp.document_view import View
from kernelband.lsp.features.lens import lenses
from kernelband.lsp.findings import Finding
from kernelband.lsp.index import Snapshot
from kernelband.lsp.liverun import LiveRun, Request
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.standings import Standing
from kernelband.lsp.text import Lines
from kernelband.source import find_kernels
from tests.unit.history.rows import run_row

KERNELS = 20
TEXT = "import triton\n\n" + "\n\n".join(f"@triton.jit\ndef k{i}(x):\n    pass\n" for i in range(KERNELS))


@pytest.mark.asyncio
async def test_links_are_followed_once_for_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "k.py"
    followed, resolve = list[Path](), Path.resolve
    monkeypatch.setattr(KernelBandServer, "encoding", types.PositionEncodingKind.Utf16)  # nobody has introduced themselves
    server = make_server(str(tmp_path / "history.db"))
    try:
        view = View(Snapshot(path.as_uri(), 1, TEXT, Lines(TEXT), tuple(find_kernels(str(path), TEXT))), Lines(TEXT))
        monkeypatch.setattr(Path, "resolve", lambda self, **k: followed.append(self) or resolve(self, **k))
        assert [x.command.title for x in lenses(server, view) if x.command is not None] == ["Optimize"] * KERNELS
        assert followed == [path]
    finally:
        server.leave()


VARIANT = VariantView(3, 0, (), why="", numerics="exact", author="rewriter", verified=True, ratio=1.52, low=1.5, high=1.6, cases=2)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("verified", "run", "titles"),
    [
        ((3,), "0123abcd", ["0 trials · verified 1.52×", "1.52× on H200 · 1 variant", "Cancel"]),
        ((), "0123abcd", ["0 trials", "Cancel"]),
        ((3,), "another1", ["0 trials · verified 1.52×", "Cancel"]),  # what an earlier run found isn't this one's
    ],
)
async def test_what_is_verified_early_can_be_chosen_while_the_search_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verified: tuple[int, ...], run: str, titles: list[str]
) -> None:
    path, text = tmp_path / "k.py", "import triton\n\n\n@triton.jit\ndef k(x):\n    pass\n"
    monkeypatch.setattr(KernelBandServer, "encoding", types.PositionEncodingKind.Utf16)
    live = LiveRun("0123abcd", Request(path.as_uri(), str(path), "k"))
    live.hear({"event": "run_started", "mode": "measured", "device": "H200", "entry": "", "trials": None, "seconds": None})
    live.hear({"event": "phase_changed", "phase": "measure"})
    for number in verified:
        live.hear({"event": "final_ended", "variant": number, "verified": True, "score": 1.52, "early": True})
    found: Any = evolve(
        RunView.of(run_row(id=run, device="NVIDIA H200 SXM", state="running"), 4, 0.0), state="running", variants=(VARIANT,)
    )
    server = make_server(str(tmp_path / "history.db"))
    try:
        view = View(Snapshot(path.as_uri(), 1, text, Lines(text), tuple(find_kernels(str(path), text))), Lines(text))
        monkeypatch.setattr(server.runs, "of", lambda *_: live)
        monkeypatch.setattr(server.standings, "of", lambda *_: Standing(Finding(str(path), "k", (found,)), 0))
        shown = [x.command for x in lenses(server, view) if x.command is not None]
        assert [x.title for x in shown] == titles
        assert [x.command for x in shown if x.title.endswith("variant")] == ["kernelband.server.choose"] * (len(titles) - 2)
    finally:
        server.leave()
