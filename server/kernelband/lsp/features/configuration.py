"""What a repository may not say in its ``pyproject.toml``, at the line where it says it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from lsprotocol import types

from kernelband.lsp.index import place
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.text import units
from kernelband.workload import Configuration, configuration_of, read_configuration
from kernelband.workload.configuration import FILE

SOURCE = "kernelband"
CODE = "not-the-repository's"


def is_configuration(uri: str) -> bool:
    """Whether the document is one that can say something about runs."""
    return os.path.basename(place(uri)) == FILE


def changed(server: KernelBandServer, uri: str) -> None:
    """It was opened or edited: tell what isn't taken of the text of now."""
    if is_configuration(uri):
        server.begin(_look(server, uri))


def closed(server: KernelBandServer, uri: str) -> None:
    """A document that isn't open has none."""
    if is_configuration(uri):
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


async def tell_around(server: KernelBandServer, path: str) -> None:
    """A run of that file begins: tell what isn't taken of the file that speaks for it, also where that isn't open."""
    found = await asyncio.to_thread(configuration_of, path)
    uri = Path(found.path).as_uri() if found.path else ""
    if found.problems and not any(place(d.uri) == found.path for d in server.open_documents()):
        text = await asyncio.to_thread(Path(found.path).read_text, "utf-8", "replace")
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, _diagnostics(server, found, text)))


async def _look(server: KernelBandServer, uri: str) -> None:
    document = server.documents.find(uri)
    if document is None:
        return
    text, version = document.source, document.version
    found = await asyncio.to_thread(read_configuration, place(uri), text)
    now = server.documents.find(uri)
    if now is not None and now.version == version:  # else the next look tells
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, _diagnostics(server, found, text), version))


def _diagnostics(server: KernelBandServer, found: Configuration, text: str) -> list[types.Diagnostic]:
    lines = text.split("\n")
    return [
        types.Diagnostic(
            types.Range(types.Position(p.line, 0), types.Position(p.line, units(lines[p.line].rstrip("\r"), server.encoding))),
            p.message,
            severity=types.DiagnosticSeverity.Warning,
            code=CODE,
            source=SOURCE,
        )
        for p in found.problems
        if p.line < len(lines)
    ]
