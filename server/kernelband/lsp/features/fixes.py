"""Quick fixes of hints: the variants that address them, or moves that an inspection compiled."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from kernelband.explain.hints import MOVES
from kernelband.history.view import RunView, VariantView
from kernelband.lsp.diagnoses import Remedy
from kernelband.lsp.features.diagnostics import shown
from kernelband.lsp.server import KernelBandServer

MOST_OFFERED = 3  # variants for a hint
KIND = types.CodeActionKind.QuickFix

Make = Callable[["KernelBandServer", str, str, RunView, VariantView], types.CodeAction]
MakeMove = Callable[["KernelBandServer", str, str, str, Remedy], types.CodeAction]


async def fixes(server: KernelBandServer, uri: str, range_: types.Range, make: Make, make_move: MakeMove) -> list[types.CodeAction]:
    """Those of the hints that a range touches, each with its diagnostics.

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
    return out


def unverified(what: str) -> str:
    """The title of what nobody has checked."""
    return f"{what.rstrip('.')} (unverified)"


def _touch(one: types.Range, other: types.Range) -> bool:
    return one.start.line <= other.end.line and other.start.line <= one.end.line


async def _variants(server: KernelBandServer, uri: str, kernel: str, code: str) -> list[tuple[RunView, VariantView]]:
    """The best whose last edit is a move against it, that fit the text, and don't have it themselves as far as is known."""
    standing = server.standings.of(uri, kernel)
    run = standing.finding.telling if standing is not None else None
    if standing is None or run is None or standing.stale or standing.accepted:
        return []
    found: list[tuple[RunView, VariantView]] = []
    for v in run.variants:
        if v.decision == "reject" or v.tier == "likely slower" or not MOVES[code].intersection(v.moves[-1:]):
            continue
        if code not in await server.diagnoses.codes(run.id, v.number):
            found.append((run, v))
        if len(found) == MOST_OFFERED:
            break
    return found
