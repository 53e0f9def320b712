"""What is known of the kernel, launch or constexpr under the pointer."""

from __future__ import annotations

import asyncio
import re

from attrs import evolve
from lsprotocol import types

from kernelband.errors import HistoryError
from kernelband.lsp.document_view import View
from kernelband.lsp.features.costs import line_costs
from kernelband.lsp.features.pages import opens_itself
from kernelband.lsp.features.plan import needs
from kernelband.lsp.findings import Finding
from kernelband.lsp.hover_text import Compiled, constexpr_hover, kernel_hover, launch_hover, line_hover
from kernelband.lsp.index import place
from kernelband.lsp.markdown import as_text
from kernelband.lsp.original import Original
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.standings import Standing
from kernelband.source.model import Kernel, Span

_WORD = re.compile(r"\w+")
_LAUNCH = re.compile(r"\s*(\[|\.\s*(run|warmup)\s*\()")


def register(server: KernelBandServer) -> None:
    """``textDocument/hover``."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        view = await server.view(params.text_document.uri)
        if view is None:
            return None
        at = view.now.offset(params.position, server.encoding)
        word = next((m for m in _WORD.finditer(view.now.text, view.now.starts[view.now.line(at)]) if m.end() >= at), None)
        if word is None or word.start() > at:
            return None
        found = under(view, word, view.offset(params.position, server.encoding))
        if found is None:
            text = _cost(server, params.text_document.uri, params.position.line)
        else:
            kernel, what = found
            standing = server.standings.of(view.snapshot.uri, kernel.place.qualname)
            known = _compiled(server, params.text_document.uri, kernel)
            finding = finding_of(server, view.snapshot.uri, kernel)
            if what == "name" and finding.telling is None:
                known = evolve(known, needs=await needs(server, view.snapshot.uri, kernel.place.qualname))
            text = await _text(server, finding, (what, word.group()), standing, known)
        span = view.now.range(Span(*word.span()), server.encoding)
        return types.Hover(_content(server, text), span) if text else None


def _content(server: KernelBandServer, markdown: str) -> types.MarkupContent:
    """As the client can show it: Emacs without a Markdown mode takes only plain text."""
    text = server.client_capabilities.text_document
    kinds = text.hover.content_format if text is not None and text.hover is not None else None
    if kinds and types.MarkupKind.Markdown not in kinds:
        return types.MarkupContent(types.MarkupKind.PlainText, as_text(markdown))
    return types.MarkupContent(types.MarkupKind.Markdown, markdown)


def under(view: View, word: re.Match[str], at: int) -> tuple[Kernel, str] | None:
    """The kernel that a word (at that offset of the snapshot) is about, and whether as its ``name``, a ``launch`` or a ``constexpr``."""
    kernels = view.snapshot.kernels
    for kernel in kernels:
        if kernel.name_span.start <= at <= kernel.name_span.end and kernel.place.name == word.group():
            return kernel, "name"
        if kernel.span.start <= at <= kernel.span.end and any(p.constexpr and p.name == word.group() for p in kernel.parameters):
            return kernel, "constexpr"
    if _LAUNCH.match(view.now.text, word.end()):
        return next(((k, "launch") for k in kernels if k.place.name == word.group()), None)
    return None


def finding_of(server: KernelBandServer, uri: str, kernel: Kernel) -> Finding:
    """What the history knows: of this very text, or, before it was looked at, of the place."""
    standing = server.standings.of(uri, kernel.place.qualname)
    return standing.finding if standing is not None else server.findings.find(place(uri), kernel.place.qualname)


def _cost(server: KernelBandServer, uri: str, line: int) -> str:
    return next((line_hover(kernel, words) for kernel, at, words in line_costs(server, uri) if at.start.line == line), "")


def _compiled(server: KernelBandServer, uri: str, kernel: Kernel) -> Compiled:
    """As long as the text is what was compiled: a diagnosis says nothing of another one."""
    name = kernel.place.qualname
    diagnosis = server.diagnoses.of(server.documents.program(uri))
    inspected = diagnosis.inspected.get(name) if diagnosis is not None else None
    lines = tuple((at.start.line, words) for of, at, words in line_costs(server, uri) if of == name)
    return Compiled(inspected.material if inspected is not None else None, lines)


async def _text(server: KernelBandServer, finding: Finding, of: tuple[str, str], standing: Standing | None, known: Compiled) -> str:
    what, word = of
    original: Original | None = None
    problem = server.findings.problem
    if finding.telling is not None:
        try:
            run = finding.telling.id  # a thread waits for its turn while texts are read
            original = server.findings.remembered(run) or await asyncio.to_thread(server.findings.original, run)
        except HistoryError as error:
            problem = error.message
    if what == "name":
        stale, taken = (standing.stale, standing.taken) if standing is not None else ("", None)
        return kernel_hover(finding, original, problem, stale, taken, compiled=known, pictures=opens_itself(server))
    return launch_hover(finding, original) if what == "launch" else constexpr_hover(finding, original, word)
