"""Notebooks open, change and close; the index follows with their programs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from lsprotocol import types

from kernelband.lsp.features import diagnostics, inspect

if TYPE_CHECKING:
    from kernelband.lsp.notebooks import Book
    from kernelband.lsp.server import KernelBandServer


def register(server: KernelBandServer) -> None:
    """``notebookDocument/did…``. What the client sends was put into the documents before."""

    def book(uri: str) -> Book | None:
        return server.documents.books.get(unquote(uri))

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    async def opened(params: types.DidOpenNotebookDocumentParams) -> None:
        found = book(params.notebook_document.uri)
        if found is not None:
            server.index.opened(found.uri, found.version or 0, found.source)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeNotebookDocumentParams) -> None:
        found = book(params.notebook_document.uri)
        cells = params.change.cells
        if found is None or cells is None:
            return
        server.index.changed(found.uri, found.version or 0, found.source)
        for cell in (cells.structure.did_close or ()) if cells.structure is not None else ():
            diagnostics.closed(server, cell.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    async def closed(params: types.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        server.index.closed(uri)
        server.standings.closed(uri)
        server.diagnoses.closed(uri)
        inspect.closed(server, uri)
        for cell in params.cell_text_documents:
            diagnostics.closed(server, cell.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveNotebookDocumentParams) -> None:
        found = book(params.notebook_document.uri)
        snapshot = server.index.latest(found.uri) if found is not None else None
        if found is not None and snapshot is not None:
            server.standings.look(snapshot)
            inspect.saved(server, found.uri)
