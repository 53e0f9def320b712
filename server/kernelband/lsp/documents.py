"""Open documents: pygls' own, but with lines and columns as LSP has them.

pygls 2.1 splits with ``str.splitlines``, which also ends lines at form feeds, U+2028 and the like; its documents then drift from the
client's from the first edit below such a character. There is no setting for it, and the protocol builds its workspace by name in
``initialize``. What it and every handler use afterwards is the protocol's public ``workspace`` property: ours (``protocol.py``) answers it
with ``Documents``, a pygls workspace that makes our ``Document``. Opening, changing, closing and notebook sync stay pygls' code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from re import Pattern
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import ServerTextPosition, ServerTextRange, TextDocument, Workspace
from pygls.workspace.text_document import RE_END_WORD, RE_START_WORD

from kernelband.lsp.edits import Edit, Log, around
from kernelband.lsp.text import Encoding, Lines
from kernelband.source import decode_file


class Document(TextDocument):
    """A text document whose every position goes through ``Lines``. A cell of a notebook is one too. ``edits``: the last ones.

    pygls' "server positions" are lines from 0 and characters from 0.
    """

    _source: str | None
    _held: Lines | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.edits = Log()

    @property
    def encoding(self) -> Encoding:
        """How the client counts characters."""
        return self.position_codec.encoding or types.PositionEncodingKind.Utf16

    @property
    def text_lines(self) -> Lines:
        """The present text with its lines. Made once per text; the same object until the next change."""
        text = self.source
        if self._held is None or self._held.text is not text:
            self._held = Lines(text)
        return self._held

    @property
    def source(self) -> str:
        """The text: the client's when the document is open, else the file's, else nothing.

        Raises:
            OSError: the document isn't open and its file can't be read.
            SourceError: it isn't open and its file isn't text.
        """
        if self._source is not None:
            return self._source
        path = to_fs_path(self.uri)
        return "" if path is None else decode_file(Path(path).read_bytes(), path)[0]

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their terminators; the last one, which has none, may be empty."""
        held = self.text_lines
        return tuple(held.text[start:end] for start, end in zip(held.starts, (*held.starts[1:], len(held.text)), strict=True))

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        before = self.text_lines
        self._held = before.changed(change, self.encoding)
        self._source = self._held.text
        span = before.span(change.range, self.encoding)
        size = len(self._source) - len(before.text) + span.end - span.start
        self.edits.add(self.version, Edit(span.start, span.end, size))

    def _apply_full_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        before = self.source
        super()._apply_full_change(change)
        self.edits.add(self.version, around(before, self.source))

    # ------------------------------------------------------------ positions
    def offset_at_server_position(self, server_position: ServerTextPosition) -> int:
        return self.text_lines.offset(_position(server_position), types.PositionEncodingKind.Utf32)

    def offset_at_position(self, client_position: types.Position) -> int:
        return self.text_lines.offset(client_position, self.encoding)

    def server_position_at_offset(self, offset: int) -> ServerTextPosition:
        at = self.text_lines.position(offset, types.PositionEncodingKind.Utf32)
        return ServerTextPosition(at.line, at.character)

    def client_position_at_offset(self, offset: int) -> types.Position:
        return self.text_lines.position(offset, self.encoding)

    def position_from_client_units(self, position: types.Position) -> ServerTextPosition:
        return self.server_position_at_offset(self.offset_at_position(position))

    def position_to_client_units(self, position: ServerTextPosition) -> types.Position:
        return self.client_position_at_offset(self.offset_at_server_position(position))

    def range_from_client_units(self, range: types.Range) -> ServerTextRange:  # noqa: A002 - the overridden method's name for it
        return ServerTextRange(self.position_from_client_units(range.start), self.position_from_client_units(range.end))

    def range_to_client_units(self, range: ServerTextRange) -> types.Range:  # noqa: A002 - the overridden method's name for it
        return types.Range(self.position_to_client_units(range.start), self.position_to_client_units(range.end))

    def word_at_position(
        self, client_position: types.Position, re_start_word: Pattern[str] = RE_START_WORD, re_end_word: Pattern[str] = RE_END_WORD
    ) -> str:
        held, at = self.text_lines, self.offset_at_position(client_position)
        line = held.line(at)
        before, after = held.text[held.starts[line] : at], held.text[at : held.end(line)]
        return re_start_word.findall(before)[0] + re_end_word.findall(after)[-1]


def _position(at: ServerTextPosition) -> types.Position:
    return types.Position(at.line, at.character)


class Documents(Workspace):
    """pygls' workspace over our documents."""

    def find(self, uri: str) -> Document | None:
        """The open document of that address. pygls keeps them by what an address says without its percent signs."""
        found = self._text_documents.get(unquote(uri))
        return found if isinstance(found, Document) else None

    def update_text_document(self, text_doc: types.VersionedTextDocumentIdentifier, change: types.TextDocumentContentChangeEvent) -> None:
        """As pygls does, but the document has its new version already when it is changed: its edits are kept by that."""
        self._text_documents[unquote(text_doc.uri)].version = text_doc.version
        super().update_text_document(text_doc, change)

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return Document(
            doc_uri, source=source, version=version, language_id=language_id, sync_kind=self._sync_kind, position_codec=self.position_codec
        )
