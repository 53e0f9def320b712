"""Documents open, change and close; the index follows."""

from __future__ import annotations

from lsprotocol import types

from kernelband.lsp.features import configuration, diagnostics, inspect
from kernelband.lsp.server import KernelBandServer


def register(server: KernelBandServer) -> None:
    """``textDocument/did…``. What the client sends was put into the documents before."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.index.opened(document.uri, document.version, document.text)
        configuration.changed(server, document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        uri = params.text_document.uri
        document = server.documents.get_text_document(uri)
        version = document.version if document.version is not None else params.text_document.version
        server.index.changed(uri, version, document.source)  # both of now: the next change may be in them already
        configuration.changed(server, uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.index.closed(params.text_document.uri)
        server.standings.closed(params.text_document.uri)
        server.diagnoses.closed(params.text_document.uri)
        diagnostics.closed(server, params.text_document.uri)
        inspect.closed(server, params.text_document.uri)
        configuration.closed(server, params.text_document.uri)
        server.look_again(params.text_document.uri)  # what the file holds counts now for the programs that it is part of

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        snapshot = server.index.latest(params.text_document.uri)
        if snapshot is not None:
            server.standings.look(snapshot)
        server.look_again(params.text_document.uri)
        inspect.saved(server, params.text_document.uri)
