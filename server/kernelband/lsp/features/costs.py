"""What the lines of a kernel cost, at the end of each: where the user has switched that on (``lineCosts``)."""

from __future__ import annotations

from lsprotocol import types

from kernelband.lsp.server import KernelBandServer


def register(server: KernelBandServer) -> None:
    """``textDocument/inlayHint``. Answered from memory, of the text that was compiled."""
    server.on_diagnoses.append(lambda _: redraw(server) if server.settings.line_costs else None)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        if not server.settings.line_costs:
            return []
        uri, first, last = params.text_document.uri, params.range.start.line, params.range.end.line
        found = [(span.end, words.partition(" (")) for _, span, words in line_costs(server, uri) if first <= span.end.line <= last]
        return [types.InlayHint(at, short, tooltip=f"{short} ({known}", padding_left=True) for at, (short, _, known) in found]


def redraw(server: KernelBandServer) -> None:
    """They may be others than before, or are switched on or off."""
    workspace = server.client_capabilities.workspace
    if workspace is not None and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
        server.workspace_inlay_hint_refresh(None)


def line_costs(server: KernelBandServer, uri: str) -> list[tuple[str, types.Range, str]]:
    """Kernel, what stands on the line in the document or cell, and what it costs in words; the most first."""
    diagnosis = server.diagnoses.of(server.documents.program(uri))
    if diagnosis is None or not diagnosis.costs:
        return []
    view = server.seen(diagnosis.snapshot, uri)
    if view is None:
        return []
    return [(p.kernel, view.range(p.span, server.encoding), p.message) for p in diagnosis.costs if view.holds(p.span)]
