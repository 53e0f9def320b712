"""Open notebooks: their programs follow every change of cells, and edits of them find the cells."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from kernelband.errors import SourceError, StaleText
from kernelband.lsp.document_view import View
from kernelband.lsp.index import Snapshot
from kernelband.lsp.notebooks import Book, Notebooks
from kernelband.lsp.text import Lines
from kernelband.lsp.variant_edit import cell_edits, text_edits
from kernelband.source import Cells, find_kernels
from kernelband.source.model import Edit, Span

URI = "file:///w/my%20demo.ipynb"
UTF16 = types.PositionEncodingKind.Utf16
KERNEL = "import triton\n@triton.jit\ndef one(x):\n    pass"
OTHER = "'😀'; y = 1\n@triton.jit\ndef two(x):\n    pass"


def cell(name: object, kind: types.NotebookCellKind = types.NotebookCellKind.Code) -> types.NotebookCell:
    return types.NotebookCell(kind, uri(name))


def uri(name: object) -> str:
    return f"vscode-notebook-cell:/w/my%20demo.ipynb#{name}%3D"


def item(name: object, text: str, language: str = "python") -> types.TextDocumentItem:
    return types.TextDocumentItem(uri(name), language, 1, text)


def opened(*texts: str) -> tuple[Notebooks, Book]:
    documents = Notebooks(None)
    notebook = types.NotebookDocument(URI, "jupyter-notebook", 1, [cell(n) for n in range(len(texts))])
    documents.put_notebook_document(types.DidOpenNotebookDocumentParams(notebook, [item(n, t) for n, t in enumerate(texts)]))
    return documents, documents.books["file:///w/my demo.ipynb"]


def change(documents: Notebooks, **cells: object) -> None:
    event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(**cells))  # pyright: ignore[reportArgumentType]
    documents.update_notebook_document(types.DidChangeNotebookDocumentParams(types.VersionedNotebookDocumentIdentifier(2, URI), event))


def structure(start: int, gone: int, *cells: types.NotebookCell, opens: tuple[types.TextDocumentItem, ...] = ()) -> object:
    array = types.NotebookCellArrayChange(start, gone, list(cells))
    return types.NotebookDocumentCellChangeStructure(array, did_open=list(opens))


def typed(name: object, text: str, version: int = 2) -> list[types.NotebookDocumentCellContentChanges]:
    document = types.VersionedTextDocumentIdentifier(version, uri(name))
    return [types.NotebookDocumentCellContentChanges(document, [types.TextDocumentContentChangeWholeDocument(text)])]


def test_cells_are_parts_of_one_document() -> None:
    documents, book = opened("a = 1\n%time a", "b = 2")
    assert book.source == "a = 1\n#time a\nb = 2"
    assert documents.programs == [book]
    assert [d.source for d in documents.texts] == ["a = 1\n%time a", "b = 2"]
    found = documents.cell("vscode-notebook-cell:/w/my%20demo.ipynb#1%3D")
    assert found is not None
    assert found.document is documents.find("vscode-notebook-cell:/w/my demo.ipynb#1=")
    assert found.lines.text == book.source[found.span.start : found.span.end] == "b = 2"
    assert documents.program(uri(1)) == URI
    assert documents.program("file:///w/other.py") == "file:///w/other.py"
    assert documents.find("file:///w/my%20demo.ipynb") is book


def test_only_code_in_python_is_the_program() -> None:
    documents, book = opened("a")
    new = (cell("m", types.NotebookCellKind.Markup), cell("s"))
    change(documents, structure=structure(0, 0, *new, opens=(item("m", "text", "markdown"), item("s", "ls", "shellscript"))))
    assert book.source == "a"
    assert documents.cell(uri("s")) is None
    assert book.version == 1  # nothing of the program has changed


def test_closing_leaves_nothing() -> None:
    documents, _ = opened("a", "b")
    documents.remove_notebook_document(types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(URI), []))
    assert documents.programs == documents.texts == []
    assert documents.cell(uri(0)) is None


def test_a_change_that_makes_no_sense_leaves_the_program_as_the_cells_are() -> None:
    documents, book = opened("a", "b")
    with pytest.raises(KeyError):
        change(documents, structure=structure(0, 1), text_content=typed("gone", "x"))
    assert book.source == "b"
    with contextlib.suppress(KeyError):
        unknown = types.VersionedNotebookDocumentIdentifier(2, "file:///w/other.ipynb")
        documents.update_notebook_document(types.DidChangeNotebookDocumentParams(unknown, types.NotebookDocumentChangeEvent()))
    assert book.source == "b"


ACTION = st.tuples(
    st.sampled_from(["insert", "remove", "swap", "type"]), st.integers(0, 9), st.sampled_from(["", "x\n", KERNEL, OTHER, "!ls"])
)


@settings(max_examples=50)
@given(st.lists(ACTION, max_size=8))
def test_the_program_follows_every_change(actions: list[tuple[str, int, str]]) -> None:
    documents, book = opened(KERNEL, "", OTHER)
    names, texts = [0, 1, 2], [KERNEL, "", OTHER]
    for number, (what, anywhere, text) in enumerate(actions):
        at = anywhere % max(len(names), 1)
        if what == "insert" or not names:
            names.insert(at, number + 10)
            texts.insert(at, text)
            change(documents, structure=structure(at, 0, cell(names[at]), opens=(item(names[at], text),)))
        elif what == "remove":
            del names[at], texts[at]
            change(documents, structure=structure(at, 1))
        elif what == "swap":
            names[at : at + 2], texts[at : at + 2] = names[at : at + 2][::-1], texts[at : at + 2][::-1]
            change(documents, structure=structure(at, len(names[at : at + 2]), *map(cell, names[at : at + 2])))
        else:
            texts[at] = text
            change(documents, text_content=typed(names[at], text, number + 2))
        assert book.source == Cells(texts).text
    snapshot = Snapshot(URI, book.version or 0, book.source, book.text_lines, find_kernels("/w/my demo.ipynb", book.source))
    for found in book.cells:
        view = View(snapshot, found.lines, start=found.span.start)
        text = found.document.source
        assert [k.place.name for k in view.kernels] == [n for n in ("one", "two") if f"def {n}" in text]
        for kernel in view.kernels:
            where = view.range(kernel.name_span, UTF16)
            assert where == Lines(text).range(Span(text.index("def ") + 4, text.index("def ") + 7), UTF16)
            assert view.offset(where.start, UTF16) == kernel.name_span.start


def test_edits_of_the_program_are_edits_of_cells() -> None:
    _, book = opened("%time 0\na = 1", "'😀'; b = 2")
    text = book.source
    both = [Edit(Span(i, i + 1), new) for i, new in ((text.index("1"), "11"), (text.index("2"), "22"))]
    one, two = cell_edits(book, text, both)
    assert (one.uri, one.version) == (uri(0), 1)
    first, second = (text_edits(p.text, p.edits, UTF16) for p in (one, two))
    assert first == [types.TextEdit(types.Range(types.Position(1, 4), types.Position(1, 5)), "11")]
    assert second == [types.TextEdit(types.Range(types.Position(0, 10), types.Position(0, 11)), "22")]
    with pytest.raises(SourceError, match="%time 0"):
        cell_edits(book, text, [Edit(Span(1, 3), "x")])
    with pytest.raises(StaleText, match="changed"):
        cell_edits(book, text + " ", both)
