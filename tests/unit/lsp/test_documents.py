"""Open documents stay the client's, whatever is typed; pygls' workspace and notebook sync work over them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types
from lsprotocol.types import Position, PositionEncodingKind, Range
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec, ServerTextPosition, ServerTextRange

from kernelband.errors import SourceError
from kernelband.lsp.documents import Document, Documents
from kernelband.lsp.edits import Edit
from kernelband.lsp.text import Lines
from kernelband.lsp.transport import Protocol

UTF8, UTF16, UTF32 = PositionEncodingKind.Utf8, PositionEncodingKind.Utf16, PositionEncodingKind.Utf32
#: Bytes of a code unit and Python's name of the encoding, for the model below.
UNITS = {UTF8: (1, "utf-8"), UTF16: (2, "utf-16-le"), UTF32: (4, "utf-32-le")}
ODD = st.sampled_from("ab \t\n\r\f\v\x1c\x1d\x1e\x85\u2028\u2029\ufeff\0é中😀𝔘") | st.just("\r\n")
TEXT = st.lists(ODD, max_size=12).map("".join)


class Client:
    """An editor's side of the protocol: a list of lines, each with its own terminator, and columns in code units."""

    def __init__(self, text: str, encoding: PositionEncodingKind) -> None:
        self.size, self.codec = UNITS[encoding]
        self.lines = self.split(text)

    @staticmethod
    def split(text: str) -> list[str]:
        lines, line = [], ""
        for i, c in enumerate(text):
            line += c
            if c == "\n" or (c == "\r" and text[i + 1 : i + 2] != "\n"):
                lines.append(line)
                line = ""
        return [*lines, line]

    def width(self, characters: str) -> int:
        return len(characters.encode(self.codec)) // self.size

    def place(self, at: float, within: float) -> tuple[int, int]:
        """A line and a character on it, by fractions of all."""
        line = math.floor(at * len(self.lines))
        return line, math.floor(within * (len(self.lines[line].rstrip("\r\n")) + 1))

    def position(self, place: tuple[int, int]) -> Position:
        line, character = place
        return Position(line, self.width(self.lines[line][:character]))

    def replace(self, start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
        change = types.TextDocumentContentChangePartial(range=Range(self.position(start), self.position(end)), text=text)
        before = "".join(self.lines[: start[0]]) + self.lines[start[0]][: start[1]]
        after = self.lines[end[0]][end[1] :] + "".join(self.lines[end[0] + 1 :])
        self.lines = self.split(before + text + after)
        return change


def document(text: str | None, encoding: PositionEncodingKind = UTF16, uri: str = "untitled:Untitled-1") -> Document:
    return Document(uri, source=text, version=1, position_codec=PositionCodec(encoding))


FRACTION = st.floats(0, 1, exclude_max=True)
EDITS = st.lists(st.tuples(FRACTION, FRACTION, FRACTION, FRACTION, TEXT), min_size=8, max_size=12)


@pytest.mark.parametrize("encoding", UNITS)
@settings(max_examples=30)  # of 8 edits or more, in three encodings
@given(text=TEXT, edits=EDITS)
def test_a_document_is_what_the_client_has(
    encoding: PositionEncodingKind, text: str, edits: list[tuple[float, float, float, float, str]]
) -> None:
    client, held = Client(text, encoding), document(text, encoding)
    for a, b, c, d, new in edits:
        start, end = sorted([client.place(a, b), client.place(c, d)])
        held.apply_change(client.replace(start, end, new))
        assert held.source == "".join(client.lines)
        assert list(held.lines) == client.lines
        assert held.text_lines.starts == Lines(held.source).starts
        offset = 0
        for number, line in enumerate(client.lines):
            for character in range(len(line.rstrip("\r\n")) + 1):
                position = client.position((number, character))
                assert held.offset_at_position(position) == offset + character
                assert held.client_position_at_offset(offset + character) == position
            offset += len(line)


def test_a_whole_change() -> None:
    held = document("a\nb")
    before = held.text_lines
    held.apply_change(types.TextDocumentContentChangeWholeDocument(text="c\fd\ne"))
    assert held.source == "c\fd\ne"
    assert held.text_lines is not before
    assert held.text_lines.starts == (0, 4)


def change(old: str, at: int, end: int, new: str) -> types.TextDocumentContentChangePartial:
    lines = Lines(old)
    return types.TextDocumentContentChangePartial(range=Range(lines.position(at, UTF16), lines.position(end, UTF16)), text=new)


def test_its_last_edits_are_kept_by_the_version_that_they_made() -> None:
    made = server()
    held = opened(made, "file:///w/a.py", "a😀b\nc")
    edited = types.VersionedTextDocumentIdentifier(uri="file:///w/a.py", version=2)
    changes = [change("a😀b\nc", 2, 3, "xy"), change("a😀xy\nc", 5, 5, "z")]
    send(made, types.TEXT_DOCUMENT_DID_CHANGE, types.DidChangeTextDocumentParams(edited, changes))
    assert held.source == "a😀xy\nzc"
    assert held.edits.since(1) == (Edit(2, 3, 2), Edit(5, 5, 1))
    assert held.edits.since(2) == ()
    whole = types.VersionedTextDocumentIdentifier(uri="file:///w/a.py", version=3)
    new = types.TextDocumentContentChangeWholeDocument(text="a😀\nzc")
    send(made, types.TEXT_DOCUMENT_DID_CHANGE, types.DidChangeTextDocumentParams(whole, [new]))
    assert held.edits.since(2) == (Edit(2, 4, 0),)
    half = document("😀")
    half.apply_change(types.TextDocumentContentChangePartial(range=Range(Position(0, 1), Position(0, 2)), text="\ude01"))
    (edit,) = half.edits.since(0)
    assert edit.moved == len(half.source) - len("😀")


def test_lines_are_made_once_a_version() -> None:
    held = document("a\nb")
    assert held.text_lines is held.text_lines
    held.apply_change(types.TextDocumentContentChangePartial(range=Range(Position(0, 1), Position(0, 1)), text="x"))
    assert held.text_lines is held.text_lines
    assert held.text_lines.text == "ax\nb"


def test_every_way_to_ask_for_a_place_agrees() -> None:
    held = document("a\f😀b\r\nname_1 = 2\n")
    client, server = Range(Position(0, 4), Position(1, 6)), ServerTextRange(ServerTextPosition(0, 3), ServerTextPosition(1, 6))
    assert held.range_from_client_units(client) == server
    assert held.range_to_client_units(server) == client
    assert held.position_from_client_units(client.start) == server.start
    assert held.position_to_client_units(server.end) == client.end
    assert (held.offset_at_position(client.start), held.offset_at_server_position(server.start)) == (3, 3)
    assert held.server_position_at_offset(12) == server.end
    assert held.text_in_client_range(client) == held.text_in_server_range(server) == "b\r\nname_1"
    assert held.word_at_position(Position(1, 3)) == "name_1"
    assert held.word_at_position(Position(9, 9)) == ""
    past = Position(0, 99)
    assert held.offset_at_position(past) == 4
    assert past == Position(0, 99)  # the client's position isn't changed


# ---------------------------------------------------------------- the workspace under a server
def server(encodings: list[PositionEncodingKind] | None = None) -> LanguageServer:
    """An initialized server, by the protocol's own handler."""
    made = LanguageServer("test", "1", protocol_cls=Protocol)
    with pytest.raises(RuntimeError):
        _ = made.workspace
    folders = [types.WorkspaceFolder(uri="file:///w", name="w")]
    general = types.GeneralClientCapabilities(position_encodings=encodings)
    send(
        made,
        types.INITIALIZE,
        types.InitializeParams(types.ClientCapabilities(general=general), workspace_folders=folders, root_uri="file:///w"),
    )
    return made


def send(to: LanguageServer, method: str, params: Any) -> None:
    for _ in to.protocol.fm.builtin_features[method](params):
        pytest.fail("no handler of a user is registered")


def opened(to: LanguageServer, uri: str, text: str) -> Document:
    send(to, types.TEXT_DOCUMENT_DID_OPEN, types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))
    held = to.workspace.get_text_document(uri)
    assert isinstance(held, Document)
    return held


def test_the_workspace_is_what_the_client_said() -> None:
    made = server([UTF8, UTF32])
    assert isinstance(made.workspace, Documents)
    assert made.workspace is made.workspace
    assert made.workspace.root_path == "/w"
    assert [*made.workspace.folders] == ["file:///w"]
    assert made.workspace.position_encoding == opened(made, "file:///w/a.py", "").encoding
    assert server().workspace.position_encoding == UTF16
    assert opened(server([UTF8]), "file:///w/a.py", "é b").offset_at_position(Position(0, 2)) == 1


@pytest.mark.parametrize("uri", ["file:///w/a%20b.py", "untitled:Untitled-1", "vscode-remote://ssh-remote/w/a.py", "git:/w/a.py?x"])
def test_changes_reach_documents_of_any_scheme(uri: str) -> None:
    made = server()
    held = opened(made, uri, "a\fb\nc")
    identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    change = types.TextDocumentContentChangePartial(range=Range(Position(1, 0), Position(1, 1)), text="d")
    send(made, types.TEXT_DOCUMENT_DID_CHANGE, types.DidChangeTextDocumentParams(identifier, [change]))
    assert (held.source, held.version) == ("a\fb\nd", 2)
    send(made, types.TEXT_DOCUMENT_DID_CLOSE, types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    assert made.workspace.text_documents == {}


def test_a_document_that_is_not_open_is_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = server()
    file = tmp_path / "a.py"
    file.write_bytes("# coding: latin-1\né = '\f'\r\n".encode("latin-1"))
    held = made.workspace.get_text_document(file.as_uri())
    assert held.source == "# coding: latin-1\né = '\f'\r\n"
    assert held.client_position_at_offset(len(held.source)) == Position(2, 0)
    file.write_bytes(b"\0")
    with pytest.raises(SourceError):
        _ = held.source
    monkeypatch.chdir(tmp_path)
    assert made.workspace.get_text_document("untitled:a.py").source == ""  # not the file of that name in the working folder


def test_notebook_cells_are_documents() -> None:
    made = server()
    cells = [types.NotebookCell(types.NotebookCellKind.Code, f"vscode-notebook-cell:/w/n.ipynb#{c}") for c in "xyz"]
    texts = [types.TextDocumentItem(c.document, "python", 1, "a\u2028b\nc") for c in cells]
    notebook = types.NotebookDocument("file:///w/n.ipynb", "jupyter-notebook", 1, cells[:2])
    send(made, types.NOTEBOOK_DOCUMENT_DID_OPEN, types.DidOpenNotebookDocumentParams(notebook, texts[:2]))
    edit = types.NotebookDocumentCellContentChanges(
        types.VersionedTextDocumentIdentifier(version=2, uri=cells[0].document),
        [types.TextDocumentContentChangePartial(range=Range(Position(1, 0), Position(1, 1)), text="d")],
    )
    structure = types.NotebookDocumentCellChangeStructure(
        types.NotebookCellArrayChange(start=1, delete_count=1, cells=[cells[2]]),
        did_open=[texts[2]],
        did_close=[types.TextDocumentIdentifier(cells[1].document)],
    )
    change = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(structure=structure, text_content=[edit]))
    identifier = types.VersionedNotebookDocumentIdentifier(version=2, uri=notebook.uri)
    send(made, types.NOTEBOOK_DOCUMENT_DID_CHANGE, types.DidChangeNotebookDocumentParams(identifier, change))
    held = {c.document: made.workspace.text_documents.get(c.document) for c in cells}
    assert [d.source if d else None for d in held.values()] == ["a\u2028b\nd", None, "a\u2028b\nc"]
    assert all(isinstance(d, Document) for d in held.values() if d)
    found = made.workspace.get_notebook_document(cell_uri=cells[2].document)
    assert found is not None
    assert [c.document for c in found.cells] == [cells[0].document, cells[2].document]
    closing = [types.TextDocumentIdentifier(cells[0].document), types.TextDocumentIdentifier(cells[2].document)]
    ended = types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(notebook.uri), closing)
    send(made, types.NOTEBOOK_DOCUMENT_DID_CLOSE, ended)
    assert made.workspace.text_documents == {}
