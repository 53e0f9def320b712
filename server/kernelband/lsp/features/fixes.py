"""Quick fixes of hints: the variants that address them, or moves that an inspection compiled; and a comment that silences them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lsprotocol import types

from kernelband.explain.hints import MOVES
from kernelband.lsp.applying import text_edits
from kernelband.lsp.diagnoses import Remedy
from kernelband.lsp.features.diagnostics import shown
from kernelband.lsp.findings import RunFinding
from kernelband.lsp.ranking import VariantFinding
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.silences import silencing

MOST_OFFERED = 3  # variants for a hint
KIND = types.CodeActionKind.QuickFix

Make = Callable[["KernelBandServer", str, str, RunFinding, VariantFinding], types.CodeAction]
MakeMove = Callable[["KernelBandServer", str, str, str, Remedy], types.CodeAction]


async def fixes(server: KernelBandServer, uri: str, range_: types.Range, make: Make, make_move: MakeMove) -> list[types.CodeAction]:
    """Those of the hints that a range touches, each with its diagnostics: variants first, then silence.

    Args:
        server: of the client.
        uri: a document.
        range_: in its text of now.
        make: an action that puts a variant in.
        make_move: one that puts in a move of an inspection.
    """
    groups: dict[tuple[str, str, int], list[types.Diagnostic]] = {}  # by kernel, code and line
    for hint, diagnostic in shown(server, uri):
        if _touch(diagnostic.range, range_):
            groups.setdefault((hint.kernel, hint.code, diagnostic.range.start.line), []).append(diagnostic)
    out: list[types.CodeAction] = []
    program = server.documents.program(uri)
    for (kernel, code, _), diagnostics in groups.items():
        own: list[types.CodeAction] = []
        for run, variant in await _variants(server, program, kernel, code):
            action = make(server, program, kernel, run, variant)
            if not variant.verified and not variant.tier:
                action.title = unverified(variant.what)
            own.append(action)
        of = server.diagnoses.remedies(program, kernel, code)
        if of is not None and not own:
            own = [make_move(server, program, kernel, of[0].run, remedy) for remedy in of[1]]
        for action in own:
            action.kind, action.diagnostics = KIND, diagnostics
        out += own
    for (kernel, code, _), diagnostics in groups.items():
        for title, edit in await _silence(server, uri, kernel, code, diagnostics[0].range):
            out.append(types.CodeAction(title, kind=KIND, diagnostics=diagnostics, edit=edit))
    return out


def unverified(what: str) -> str:
    """The title of what nobody has checked."""
    return f"{what.rstrip('.')} (unverified)"


def _touch(one: types.Range, other: types.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


async def _variants(server: KernelBandServer, uri: str, kernel: str, code: str) -> list[tuple[RunFinding, VariantFinding]]:
    """The best whose last edit is a move against it, that fit the text, and don't have it themselves as far as is known."""
    standing = server.standings.of(uri, kernel)
    run = standing.finding.telling if standing is not None else None
    if standing is None or run is None or standing.stale or standing.accepted:
        return []
    found: list[tuple[RunFinding, VariantFinding]] = []
    for v in run.variants:
        if v.decision == "reject" or v.tier == "likely slower" or not MOVES[code].intersection(v.moves[-1:]):
            continue
        if code not in await server.diagnoses.codes(run.id, v.number):
            found.append((run, v))
        if len(found) == MOST_OFFERED:
            break
    return found


async def _silence(server: KernelBandServer, uri: str, kernel: str, code: str, where: types.Range) -> list[tuple[str, types.WorkspaceEdit]]:
    """On the line, and for the whole kernel where that is another one."""
    document, snapshot = server.documents.find(uri), server.index.latest(server.documents.program(uri))
    if document is None or snapshot is None:
        return []
    lines, version = document.text_lines, document.version
    places = {f"Silence {code} here": lines.offset(where.start, server.encoding)}
    own = next((k for k in snapshot.kernels if k.place.qualname == kernel), None)
    if own is not None and snapshot.text == lines.text and lines.line(own.name_span.start) != where.start.line:
        places[f"Silence {code} in {kernel}"] = own.name_span.start
    out: list[tuple[str, types.WorkspaceEdit]] = []
    for title, offset in places.items():
        edit = await asyncio.to_thread(silencing, lines, offset, code)
        if edit is not None:
            of = types.OptionalVersionedTextDocumentIdentifier(uri, version)
            change = types.TextDocumentEdit(of, text_edits(lines.text, [edit], server.encoding))
            out.append((title, types.WorkspaceEdit(document_changes=[change])))
    return out
