"""Documents open, change and close; the index follows."""

from __future__ import annotations

from lsprotocol import types

from kernelband.lsp.features import configuring, diagnostics, inspecting
from kernelband.lsp.server import KernelBandServer


def register(server: KernelBandServer) -> None:
    """``textDocument/did…``. What the client sends was put into the documents before."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.index.opened(document.uri, document.version, document.text)
        configuring.changed(server, document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        document = server.documents.get_text_document(uri)
        version = document.version if document.version is not None else params.text_document.version
        server.index.changed(uri, version, document.source)  # both of now: the next change may be in them already
        configuring.changed(server, uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.index.closed(params.text_document.uri)
        server.standings.closed(params.text_document.uri)
        server.diagnoses.closed(params.text_document.uri)
        diagnostics.closed(server, params.text_document.uri)
        inspecting.closed(server, params.text_document.uri)
        configuring.closed(server, params.text_document.uri)
        server.look_again(params.text_document.uri)  # what the file holds counts now for the programs that it is part of

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        snapshot = server.index.latest(params.text_document.uri)
        if snapshot is not None:
            server.standings.look(snapshot)
        server.look_again(params.text_document.uri)
        inspecting.saved(server, params.text_document.uri)
