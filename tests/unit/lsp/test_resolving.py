"""A variant as an edit of the text that its run began with: that costs next to nothing, whatever the program."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types

from kernelband.lsp.documents import Document
from kernelband.lsp.findings import Findings
from kernelband.lsp.variant_edit import Wanted, variant_edit
from tests.golden.histories import HISTORIES, KERNEL, TEXT, write

MOST_CALLS = 200  # of our functions


@contextmanager
def counted() -> Iterator[list[str]]:
    """The names of our functions that are called, in all threads."""
    calls: list[str] = []

    def count(frame: Any, event: str, argument: object) -> None:
        if event == "call" and "kernelband" in frame.f_code.co_filename:
            calls.append(f"{frame.f_code.co_filename}:{frame.f_code.co_name}")

    before = sys.getprofile()
    threading.setprofile(count)
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def test_an_edit_of_unchanged_text_takes_few_calls(tmp_path: Path) -> None:
    path, db = tmp_path / "k.py", tmp_path / "history.db"
    path.write_text(TEXT)
    write(db, "verified", HISTORIES["verified"], {str(path): TEXT})
    findings = Findings(db)
    findings.refresh()
    document = Document(path.as_uri(), TEXT, 1, "python")
    wanted = Wanted(path.as_uri(), KERNEL, "verified0", 2)

    async def resolved() -> types.WorkspaceEdit:
        return await variant_edit(findings, [document], wanted, types.PositionEncodingKind.Utf16)

    with counted() as calls:
        edit = asyncio.run(resolved())
    assert edit.document_changes
    assert 20 < len(calls) <= MOST_CALLS, len(calls)
    findings.close()
