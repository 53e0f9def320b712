"""A variant as an edit of the client's documents, made for the text of this moment or refused."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen
from lsprotocol import types

from kernelband.errors import SourceError, StaleText, UsageError
from kernelband.lsp.documents import Document
from kernelband.lsp.findings import Applicable, Findings
from kernelband.lsp.index import place
from kernelband.lsp.notebooks import Book
from kernelband.lsp.standings import at_hand, finder
from kernelband.lsp.text import Encoding, Lines
from kernelband.source import between, make_patch, transplant, unified_diff
from kernelband.source.model import Edit, Patch, Place


@frozen
class Wanted:
    """A variant of a kernel, to be put where the kernel is now; with ``revert`` the original, where that variant is. ``of``: what it is
    of, where that is no run.
    """

    uri: str
    kernel: str
    run: str
    number: int
    revert: bool = False
    of: Applicable | None = None


@frozen
class Part:
    """Edits of one document or cell, or of a file that isn't open (``version`` None)."""

    uri: str
    version: int | None
    text: str = field(repr=False)
    edits: tuple[Edit, ...]


def edited(part: Part) -> str:
    """Its text with the edits."""
    texts = {part.uri: part.text}
    return make_patch(texts, {part.uri: part.edits}).apply(texts)[part.uri]


async def parts(findings: Findings, documents: Sequence[Document], wanted: Wanted) -> list[Part]:
    """The variant by what has to be edited.

    Raises:
        StaleText: it isn't the program that the variant was made for.
        HistoryError: there is no such variant.
        SourceError: the document isn't open.
    """
    opened = {place(d.uri): d for d in documents}
    texts = {path: d.source for path, d in opened.items()}
    versions = {path: d.version for path, d in opened.items()}
    patch, now = await asyncio.to_thread(moved, findings, wanted, texts)
    out: list[Part] = []
    for file in patch.files:
        book, before = opened.get(file.path), now[file.path]
        if isinstance(book, Book):
            out += cell_edits(book, before, file.edits)
        else:
            where = opened[file.path].uri if file.path in opened else Path(file.path).as_uri()
            out.append(Part(where, versions.get(file.path), before, file.edits))
    return out


async def variant_edit(findings: Findings, documents: Sequence[Document], wanted: Wanted, encoding: Encoding) -> types.WorkspaceEdit:
    """The edit that turns the texts of now into the variant: versioned for open documents, so that a client refuses it once they changed.

    Raises:
        KernelBandError: as ``parts``.
    """
    found = await parts(findings, documents, wanted)
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(p.uri, p.version), text_edits(p.text, p.edits, encoding))
            for p in found
        ]
    )


def cell_edits(book: Book, text: str, edits: Sequence[Edit]) -> tuple[Part, ...]:
    """Edits of a notebook's program, for each cell that they change.

    Raises:
        StaleText: ``text``, which they are of, isn't the program any more.
        SourceError: they can't be told apart by cells, or change a line that is IPython's.
    """
    if book.source != text:
        raise StaleText("The notebook changed while the edit was made: try again.")
    return tuple(Part(cell.uri, cell.version, cell.source, own) for cell, own in book.split(edits))


def moved(findings: Findings, wanted: Wanted, texts: Mapping[str, str]) -> tuple[Patch, dict[str, str]]:
    """The variant as a patch of the texts of now, and those texts. Reads the history and files: for a thread.

    Raises:
        KernelBandError: as ``parts``.
    """
    path = place(wanted.uri)
    if path not in texts:
        raise SourceError(f"{path} isn't open: open it, then apply the variant.")
    applicable = wanted.of or findings.load(wanted.run, [wanted.number])
    if wanted.number not in applicable.patches:
        raise UsageError(f"There is no move {wanted.number} of {wanted.run}: ask for the quick fixes again.")
    kernel = Place(path, wanted.kernel)
    now, program_of = at_hand(applicable.path, applicable.base_texts, kernel, texts), finder(applicable.path, kernel)
    since = f"run {applicable.run}" if wanted.of is None else "it was inspected"
    patch, base = applicable.patches[wanted.number], applicable.base_texts
    if not wanted.revert:
        return transplant(patch, base, now, program_of, run=since), now
    edited = {**base, **patch.apply(base)}
    back = between(edited, {f.path: base[f.path] for f in patch.files})
    return transplant(back, edited, now, program_of, run="the variant was applied"), now


def variant_diff(findings: Findings, wanted: Wanted, texts: Mapping[str, str]) -> str:
    """The variant against the texts of now, as ``git apply`` takes it.

    Raises:
        KernelBandError: as ``parts``.
    """
    patch, now = moved(findings, wanted, texts)
    return unified_diff(now, patch, str(Path(place(wanted.uri)).parent))


def text_edits(
    text: str, edits: Sequence[Edit], encoding: Encoding
) -> list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]:
    """Edits of a text as the client writes positions."""
    lines = Lines(text)
    return [types.TextEdit(lines.range(e.span, encoding), e.new) for e in edits]
