"""Hints as diagnostics: sent to the client, or given when it asks."""

from __future__ import annotations

from lsprotocol import types

from kernelband.explain.hints import address
from kernelband.lsp.document_view import View
from kernelband.lsp.hint_places import Placed, wanted
from kernelband.lsp.notebooks import Book
from kernelband.lsp.server import KernelBandServer

SOURCE = "kernelband"


def register(server: KernelBandServer) -> None:
    """``textDocument/diagnostic``, and what is sent where the client doesn't ask."""
    server.on_diagnoses.append(lambda uri: tell(server, uri))
    options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def pull(params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        return types.RelatedFullDocumentDiagnosticReport(diagnostics(server, params.text_document.uri) if pulls(server) else [])


def pulls(server: KernelBandServer) -> bool:
    """Whether the client asks by itself, also when a run has something new; to others diagnostics are sent, never both."""
    text, workspace = server.client_capabilities.text_document, server.client_capabilities.workspace
    asks = text is not None and text.diagnostic is not None
    return asks and workspace is not None and workspace.diagnostics is not None and bool(workspace.diagnostics.refresh_support)


def tell(server: KernelBandServer, uri: str) -> None:
    """The hints of an open document may be others than before."""
    document = server.documents.find(uri)
    if isinstance(document, Book):
        for cell in document.documents:
            tell(server, cell.uri)
        return
    if document is None:
        return
    found = diagnostics(server, uri)
    if server.told.get(uri, []) == found:
        return
    server.told[uri] = found
    if pulls(server):
        server.workspace_diagnostic_refresh(None)
    else:
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, document.version))


def closed(server: KernelBandServer, uri: str) -> None:
    """A document that isn't open has none."""
    if server.told.pop(uri, []) and not pulls(server):
        server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def diagnostics(server: KernelBandServer, uri: str) -> list[types.Diagnostic]:
    """Those of a document or a cell, in the text of now."""
    return [diagnostic for _, diagnostic in shown(server, uri)]


def shown(server: KernelBandServer, uri: str) -> list[tuple[Placed, types.Diagnostic]]:
    """The hints that the setting lets through, with what the client gets."""
    diagnosis = server.diagnoses.of(server.documents.program(uri))
    view = server.seen(diagnosis.snapshot, uri) if diagnosis is not None else None
    if diagnosis is None or view is None:
        return []
    return [(p, _diagnostic(server, view, p)) for p in wanted(diagnosis.hints, server.settings.diagnostics) if view.holds(p.span)]


def _diagnostic(server: KernelBandServer, view: View, hint: Placed) -> types.Diagnostic:
    href = address(hint.code) if _links(server) else None
    return types.Diagnostic(
        view.range(hint.span, server.encoding),
        hint.message,
        # the least that VS Code lists among problems
        severity=types.DiagnosticSeverity.Information if server.settings.problems else types.DiagnosticSeverity.Hint,
        code=hint.code,
        code_description=types.CodeDescription(href) if href is not None else None,
        source=SOURCE,
    )


def _links(server: KernelBandServer) -> bool:
    """Whether the client takes links from codes to what they mean."""
    text = server.client_capabilities.text_document
    asks = [text.publish_diagnostics, text.diagnostic] if text is not None else []
    return any(c is not None and bool(c.code_description_support) for c in asks)
