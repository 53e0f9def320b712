"""``kernelsAt``: which kernels a person means who right-clicks somewhere."""

from __future__ import annotations

import re

from lsprotocol import types

from kernelband.lsp.document_view import View
from kernelband.lsp.server import KernelBandServer
from kernelband.lsp.text import Lines

_DEFINITION = re.compile(r"(?:async\s+def|def|class)\b")
_GOES_ON = re.compile(r"[\s)\]}#]|$")  # a line of a definition that isn't its first


async def kernels_at(server: KernelBandServer, uri: str, line: int, character: int) -> dict[str, list[str]]:
    """``{"here", "all"}``: qualnames of the kernels at a position of the document as the client has it, and of all kernels in it.

    A kernel is at a position in its own lines; else at those of a top-level function that launches it.
    """
    view = await server.view(uri)
    if view is None:
        return {"here": [], "all": []}
    at = view.now.offset(types.Position(max(line, 0), max(character, 0)), server.encoding)
    return {"here": here(view, at), "all": [k.place.qualname for k in view.kernels]}


def here(view: View, at: int) -> list[str]:
    """Of an offset in the text of now."""
    spans = {k.place.qualname: view.span(k.span) for k in view.kernels}
    if own := [name for name, span in spans.items() if span.start <= at <= span.end]:
        return own
    text = _definition(view.now, view.now.line(at))
    return [k.place.qualname for k in view.kernels if re.search(rf"\b{re.escape(k.place.name)}\s*\[", text)]


def _definition(lines: Lines, line: int) -> str:
    """The function or class of the top level around that line; "" outside of one."""
    ends = [*lines.starts[1:], len(lines.text)]
    texts = [lines.text[start:end] for start, end in zip(lines.starts, ends, strict=True)]
    first = next((n for n in range(line, -1, -1) if _DEFINITION.match(texts[n]) or not _GOES_ON.match(texts[n])), None)
    if first is None or not _DEFINITION.match(texts[first]):
        return ""
    last = next((n for n in range(first + 1, len(texts)) if not _GOES_ON.match(texts[n])), len(texts))
    return "".join(texts[first:last])
