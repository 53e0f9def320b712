"""Hints as an editor shows them, and what it offers at one."""

from __future__ import annotations

from collections.abc import Callable

from lsprotocol import types

from tests.e2e.lsp import editor as editors
from tests.e2e.lsp.editor import LONG_S, Editor

Found = list[tuple[str, str]]  # code, and the text under it

#: A kernel whose mask is always true and whose programs are few.
TEXT = """import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, BLOCK: tl.constexpr):
    # each program scales one block
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)


def scale(x):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 4096),)](x, y, n, BLOCK=4096)
    return y


def bench():
    scale(torch.randn(1 << 16, device="cuda"))
"""
STORE = "tl.store(y + i, 2.0 * tl.load(x + i, mask=i < n), mask=i < n)"
LAUNCH = "scale_kernel[(triton.cdiv(n, 4096),)](x, y, n, BLOCK=4096)"
ALL = [("mask-always-true", STORE), ("mask-always-true", STORE), ("too-few-programs", LAUNCH)]


def shown(ed: Editor) -> Found:
    """What the client was sent last, in the editor's text."""
    return [(str(d.code), under(ed, d.range)) for d in ed.client.diagnostics.get(ed.uri, [])]


def codes(found: Found) -> list[str]:
    return [code for code, _ in found]


def under(ed: Editor, where: types.Range) -> str:
    lines = editors.Lines(ed.text)
    span = lines.span(where, ed.encoding)
    return ed.text[span.start : span.end]


async def until(ed: Editor, wanted: Callable[[Found], bool], seconds: float = LONG_S) -> Found:
    async def look() -> Found:
        return shown(ed)

    return await ed.eventually(look, wanted, seconds)


async def quick_fixes(ed: Editor, word: str) -> list[types.CodeAction]:
    """At a word; each carries the diagnostics that it is for."""
    at = ed.at(word)
    context = types.CodeActionContext(ed.client.diagnostics[ed.uri], only=[types.CodeActionKind.QuickFix])
    params = types.CodeActionParams(ed.document, types.Range(at, at), context)
    found = [a for a in await ed.client.text_document_code_action_async(params) or () if isinstance(a, types.CodeAction)]
    assert all(a.kind == types.CodeActionKind.QuickFix for a in found)
    assert all(a.diagnostics for a in found)
    return found


def take(ed: Editor, action: types.CodeAction) -> None:
    """What an editor does with an action that is an edit."""
    assert action.edit is not None
    assert action.edit.document_changes is not None
    (change,) = action.edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == ed.version
    ed.put(change)
