"""A notebook as an editor has it: cells with texts and versions, changed as the server asks and as a person does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lsprotocol import types

from kernelband.lsp.text import Lines
from tests.e2e.lsp.editor import Editor


def announce(params: types.InitializeParams) -> None:
    """What VS Code says of itself; the recorded profiles are older than that."""
    synchronization = types.NotebookDocumentSyncClientCapabilities(dynamic_registration=True, execution_summary_support=True)
    params.capabilities.notebook_document = types.NotebookDocumentClientCapabilities(synchronization)


class Notebook:
    """The Python cells of a notebook, by number: the others aren't sent. Takes the place of the editor's file for edits of the server."""

    def __init__(self, editor: Editor, path: Path) -> None:
        self.editor, self.path, self.uri, self.version = editor, path, path.as_uri(), 1
        self.texts: list[str] = []
        self.uris: list[str] = []
        self.versions: list[int] = []
        self.made = 0
        self.before: list[str] = []  # the texts before the last edit of the server
        editor._apply = self._apply

    def open(self) -> None:
        """As it is on disk."""
        cells = [c for c in json.loads(self.path.read_text())["cells"] if c["cell_type"] == "code"]
        for cell in cells:
            self._new(len(self.texts), "".join(cell["source"]))
        document = types.NotebookDocument(self.uri, "jupyter-notebook", self.version, [_cell(uri) for uri in self.uris])
        self.editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, self._items(range(len(self.texts)))))

    def close(self) -> None:
        """With all its cells."""
        cells = [types.TextDocumentIdentifier(uri) for uri in self.uris]
        params = types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(self.uri), cells)
        self.editor.client.notebook_document_did_close(params)

    def save(self) -> None:
        """Write the sources of the code cells, as Jupyter does."""
        saved = json.loads(self.path.read_text())
        for cell, text in zip([c for c in saved["cells"] if c["cell_type"] == "code"], self.texts, strict=True):
            cell["source"] = text.splitlines(keepends=True)
        self.path.write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n")
        self.editor.client.notebook_document_did_save(types.DidSaveNotebookDocumentParams(types.NotebookDocumentIdentifier(self.uri)))

    def type(self, number: int, old: str, new: str) -> None:
        """Replace the first ``old`` in a cell."""
        start, lines = self.texts[number].index(old), Lines(self.texts[number])
        encoding = self.editor.encoding
        where = types.Range(lines.position(start, encoding), lines.position(start + len(old), encoding))
        self._set({number: self.texts[number].replace(old, new, 1)}, {number: types.TextDocumentContentChangePartial(where, new)})

    def insert(self, number: int, text: str) -> None:
        """A new cell before that one."""
        self._new(number, text)
        array = types.NotebookCellArrayChange(number, 0, [_cell(self.uris[number])])
        self._change(structure=types.NotebookDocumentCellChangeStructure(array, did_open=self._items([number])))

    def remove(self, number: int) -> None:
        """A cell."""
        gone = [types.TextDocumentIdentifier(self.uris[number])]
        del self.texts[number], self.uris[number], self.versions[number]
        array = types.NotebookCellArrayChange(number, 1, [])
        self._change(structure=types.NotebookDocumentCellChangeStructure(array, did_close=gone))

    def swap(self, number: int) -> None:
        """A cell with the next one."""
        for kept in (self.texts, self.uris, self.versions):
            kept[number : number + 2] = reversed(kept[number : number + 2])
        array = types.NotebookCellArrayChange(number, 2, [_cell(uri) for uri in self.uris[number : number + 2]])
        self._change(structure=types.NotebookDocumentCellChangeStructure(array))

    def undo(self) -> None:
        """Take the server's last edit back."""
        self._set(dict(enumerate(self.before)))

    def _new(self, number: int, text: str) -> None:
        self.made += 1
        self.texts.insert(number, text)
        self.uris.insert(number, f"vscode-notebook-cell:{self.path}#W{self.made}sZmlsZQ%3D%3D")
        self.versions.insert(number, 1)

    def _items(self, numbers: Any) -> list[types.TextDocumentItem]:
        return [types.TextDocumentItem(self.uris[n], "python", self.versions[n], self.texts[n]) for n in numbers]

    def _set(self, texts: dict[int, str], changes: dict[int, Any] | None = None) -> None:
        content: list[types.NotebookDocumentCellContentChanges] = []
        for number, text in texts.items():
            if self.texts[number] != text or changes:
                self.texts[number] = text
                self.versions[number] += 1
                document = types.VersionedTextDocumentIdentifier(self.versions[number], self.uris[number])
                change = changes[number] if changes else types.TextDocumentContentChangeWholeDocument(text)
                content.append(types.NotebookDocumentCellContentChanges(document, [change]))
        self._change(text_content=content)

    def _change(self, **cells: Any) -> None:
        self.version += 1
        document = types.VersionedNotebookDocumentIdentifier(self.version, self.uri)
        change = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**cells))
        self.editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(document, change))

    def _apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        """All of it or nothing, as one."""
        self.editor.edits.append(params)
        new: dict[int, str] = {}
        for change in params.edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit)
            number = self.uris.index(change.text_document.uri)
            if change.text_document.version != self.versions[number]:
                return types.ApplyWorkspaceEditResult(applied=False, failure_reason="a cell has changed")
            new[number] = self._edited(number, change)
        self.before = list(self.texts)
        self._set(new)
        return types.ApplyWorkspaceEditResult(applied=True)

    def _edited(self, number: int, change: types.TextDocumentEdit) -> str:
        text, lines = self.texts[number], Lines(self.texts[number])
        spans = [(lines.span(e.range, self.editor.encoding), e) for e in change.edits]
        for span, edit in sorted(spans, key=lambda x: x[0].start, reverse=True):
            assert isinstance(edit, types.TextEdit)
            text = text[: span.start] + edit.new_text + text[span.end :]
        return text

    # ------------------------------------------------------------ asking

    def document(self, number: int) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uris[number])

    async def lenses(self, number: int) -> list[str]:
        return [lens.command.title for lens in await self.lens(number) if lens.command is not None]

    async def lens(self, number: int) -> list[types.CodeLens]:
        found = await self.editor.client.text_document_code_lens_async(types.CodeLensParams(self.document(number)))
        return list(found or ())

    async def hints(self, number: int) -> list[str]:
        """The codes that the server has sent for a cell, with the words that they are about."""
        lines = Lines(self.texts[number])
        spans = [(d.code, lines.span(d.range, self.editor.encoding)) for d in self.editor.client.diagnostics.get(self.uris[number], ())]
        return [f"{code}: {self.texts[number][span.start : span.end]}" for code, span in spans]

    async def hover(self, number: int, word: str) -> str:
        at = Lines(self.texts[number]).position(self.texts[number].index(word), self.editor.encoding)
        found = await self.editor.client.text_document_hover_async(types.HoverParams(self.document(number), at))
        return found.contents.value if found is not None and isinstance(found.contents, types.MarkupContent) else ""

    async def actions(self, number: int, word: str) -> list[types.CodeAction]:
        at = Lines(self.texts[number]).position(self.texts[number].index(word), self.editor.encoding)
        params = types.CodeActionParams(self.document(number), types.Range(at, at), types.CodeActionContext([]))
        found = await self.editor.client.text_document_code_action_async(params)
        return [a for a in found or () if isinstance(a, types.CodeAction)]


def _cell(uri: str) -> types.NotebookCell:
    return types.NotebookCell(types.NotebookCellKind.Code, uri)
