"""Open notebooks: each is a document whose text is the program of its code cells, made anew as the client changes cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from attrs import frozen
from lsprotocol import types

from kernelband.lsp.documents import Document, Documents
from kernelband.lsp.edits import around
from kernelband.lsp.text import Lines
from kernelband.source import Cells
from kernelband.source.model import Edit, Span

LANGUAGE = "python"
#: Cells of other languages aren't sent.
SYNC = types.NotebookDocumentSyncOptions(
    [
        types.NotebookDocumentFilterWithCells(
            [types.NotebookCellLanguage(LANGUAGE)], types.NotebookDocumentFilterNotebookType("jupyter-notebook")
        )
    ],
    save=True,
)


@frozen
class Cell:
    """A code cell of an open notebook. ``span``: of it in the notebook's program."""

    book: Book
    document: Document
    span: Span

    @property
    def lines(self) -> Lines:
        """Its text of now."""
        return self.document.text_lines


class Book(Document):
    """An open notebook. Its version counts the changes of its program: cells have the client's."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri, source="", version=0, language_id=LANGUAGE)
        self.documents: tuple[Document, ...] = ()
        self.program = Cells(())

    def take(self, documents: Sequence[Document]) -> None:
        """These are its code cells now."""
        before, version = self.source, self.version or 0
        self.documents = tuple(documents)
        self.program = Cells(d.source for d in documents)
        if self.program.text != before:
            self.version = version + 1
            self._source = self.program.text
            self.edits.add(self.version, around(before, self.program.text))

    @property
    def cells(self) -> tuple[Cell, ...]:
        """In order."""
        return tuple(Cell(self, d, span) for d, span in zip(self.documents, self.program.spans, strict=True))

    def split(self, edits: Sequence[Edit]) -> list[tuple[Document, tuple[Edit, ...]]]:
        """Edits of the program by the cells that they change.

        Raises:
            SourceError: an edit can't be told apart by cells, or changes a line that is IPython's.
        """
        return [(self.documents[number], own) for number, own in self.program.split(edits).items()]


class Notebooks(Documents):
    """Open documents, and the notebooks whose cells are some of them. Both are kept by what an address says without its percent signs."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.books: dict[str, Book] = {}

    def find(self, uri: str) -> Document | None:
        """The open document or notebook of that address."""
        return super().find(uri) or self.books.get(unquote(uri))

    def cell(self, uri: str) -> Cell | None:
        """The code cell of that address, as it is now."""
        book = self.books.get(self._cell_in_notebook.get(unquote(uri), ""))
        return next((c for c in book.cells if unquote(c.document.uri) == unquote(uri)), None) if book is not None else None

    def program(self, uri: str) -> str:
        """The address of what a document is part of: of a cell its notebook's, else its own."""
        cell = self.cell(uri)
        return cell.book.uri if cell is not None else uri

    @property
    def texts(self) -> list[Document]:
        """What clients edit: files and cells."""
        return [d for d in self._text_documents.values() if isinstance(d, Document)]

    @property
    def programs(self) -> list[Document]:
        """What kernels are in: files and notebooks."""
        files = [d for uri, d in self._text_documents.items() if uri not in self._cell_in_notebook]
        return [*(d for d in files if isinstance(d, Document)), *self.books.values()]

    def put_notebook_document(self, params: types.DidOpenNotebookDocumentParams) -> None:
        """As pygls does, and its program."""
        super().put_notebook_document(params)
        uri = params.notebook_document.uri
        self.books[unquote(uri)] = Book(uri)
        self._read(uri)

    def update_notebook_document(self, params: types.DidChangeNotebookDocumentParams) -> None:
        """As pygls does, and its program; also of what could be done of a change that makes no sense."""
        try:
            super().update_notebook_document(params)
        finally:
            self._read(params.notebook_document.uri)

    def remove_notebook_document(self, params: types.DidCloseNotebookDocumentParams) -> None:
        """As pygls does, but with all cells, whatever the client says."""
        uri = params.notebook_document.uri
        self.books.pop(unquote(uri), None)
        for cell in [cell for cell, of in self._cell_in_notebook.items() if of == unquote(uri)]:
            self.remove_text_document(cell)
        super().remove_notebook_document(params)

    def _read(self, uri: str) -> None:
        notebook, book = self.get_notebook_document(notebook_uri=uri), self.books.get(unquote(uri))
        if notebook is None or book is None:
            return
        found = [self._text_documents.get(unquote(c.document)) for c in notebook.cells if c.kind == types.NotebookCellKind.Code]
        book.take([d for d in found if isinstance(d, Document) and d.language_id == LANGUAGE])
