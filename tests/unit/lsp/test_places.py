"""Where a document's kernels are kept: at its path, or at a place of its own where it has none."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from kernelband.lsp.documents import Documents
from kernelband.lsp.index import is_file, place
from kernelband.lsp.trust import Trust, put
from kernelband.source import Workspace


@given(st.text(max_size=40).map(lambda s: f"untitled:{s}") | st.from_regex(r"[a-z]{2,9}:[!-~]{0,300}", fullmatch=True))
@example("file:///a\0b")
@example("untitled:" + "x" * 5000)
def test_every_address_has_a_place_that_stays_what_it_is(uri: str) -> None:
    path = place(uri)
    assert os.path.isabs(path)
    assert place(uri) == path == os.path.realpath(path)
    assert is_file(path) is (uri.startswith("file:") and "\0" not in uri)
    if not is_file(path):
        assert not os.path.exists(path)
        assert path.endswith(".py")
        assert Workspace.for_file(path, {path: "x = 1\n"}).read(path) == "x = 1\n"


def test_two_documents_have_two_places(tmp_path: Path) -> None:
    assert place("untitled:Untitled-1") != place("untitled:Untitled-2")
    assert place("git:/w/k.py?HEAD") != place("git:/w/k.py?HEAD~1") != place("file:///w/k.py")
    assert Path(place("git:/w/k.py?HEAD")).name == "k.py"
    assert place((tmp_path / "a b ü.py").as_uri()) == str(tmp_path / "a b ü.py")


def test_no_file_runs_whatever_is_trusted(tmp_path: Path) -> None:
    trusted = tmp_path / "trust.json"
    put(trusted, "/", True)
    trust = Trust(trusted)
    assert trust.allows("/w/k.py")
    assert "Untitled-1.py is no file" in trust.refusal(place("untitled:Untitled-1"))


def test_an_open_document_is_found_however_its_address_is_written() -> None:
    from lsprotocol import types

    documents = Documents(None)
    documents.put_text_document(types.TextDocumentItem("file:///a%20b/%C3%BC.py", "python", 1, "x"))
    for uri in ("file:///a%20b/%C3%BC.py", "file:///a%20b/%c3%bc.py", "file:///a b/ü.py"):
        found = documents.find(uri)
        assert found is not None
        assert found.source == "x"
    assert documents.find("file:///a/b.py") is None
