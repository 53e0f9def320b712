"""Lenses are asked for after every key: what they take grows with the kernels, what they ask of the file system doesn't."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types

from kernelband.lsp.app import make_server
from kernelband.lsp.document_view import View
from kernelband.lsp.features.lens import lenses
from kernelband.lsp.index import Snapshot
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.text import Lines
from kernelband.source import find_kernels

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
