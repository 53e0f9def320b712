"""What the editor is told of a kernel over histories and changes of its text, as one JSON file to compare with after a change of the house.

python -m tests.golden.surfaces --write     records what this version says
python -m tests.golden.surfaces             says what differs from the record, and ends with 1 where something does
"""

from __future__ import annotations

import asyncio
import difflib
import json
import logging
import re
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs
from attrs import frozen
from lsprotocol import types

from kernelband.source import Cells
from tests.e2e.cli_world import Home
from tests.e2e.lsp.editor import PROFILES, Editor, editor
from tests.e2e.lsp.notebook import Notebook, announce
from tests.golden.histories import CHANGES, CUT, HISTORIES, HOST_FILE, HOST_HEAD, KERNEL, KERNEL_FILE, TEXT, Changed, write

RECORD = Path(__file__).with_name("surfaces.json")
WHOLE, FEW = ("verified", "predicted", "then_predicted", "judged"), ("same", "commented", "in")  # changes looked at of each history
PATIENCE_S = 15.0


@frozen
class Opened:
    """One kernel on the screen."""

    name: str
    editor: Editor
    of: Path  # what its history is of
    uri: str  # of the document, or of the notebook


def _notebook(path: Path, cells: Sequence[str]) -> None:
    saved = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": c.splitlines(True)} for c in cells]
    path.write_text(json.dumps({"cells": saved, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}))


def _cells(text: str) -> list[str]:
    return ["%time 0\n" + text[: text.index(CUT)], text[text.index(CUT) + 2 :]]


def _begin(home: Home, base: Editor, run: str) -> tuple[Path, Editor]:
    """A folder, and a client's view of one document."""
    folder = home.work / run
    folder.mkdir()
    ed = Editor.__new__(Editor)
    ed.__dict__ |= base.__dict__
    return folder, ed


def _own(text: str, run: str) -> str:
    """With another program than all others: a copy is one of this only."""
    return text.replace("return a + a", f"return a + a + {zlib.crc32(run.encode())}.0")


def _open(home: Home, base: Editor, run: str, change: Changed) -> Opened:
    """Write the history of a file, put what has become of it beside it, and show that."""
    folder, ed = _begin(home, base, run)
    history, text = HISTORIES[run.partition("-")[0]], _own(TEXT, run)
    if change.notebook:
        path = folder / "k.ipynb"
        write(home.db, run, history, {str(path): Cells(_cells(text)).text})
        _notebook(path, _cells(change.text(text)))
        book = Notebook(ed, path)
        book.open()
        ed.uri, ed.text = book.uris[0], book.texts[0]
        return Opened(run, ed, path, book.uri)
    path = folder / "k.py"
    write(home.db, run, history, {str(path): text})
    path.write_bytes(text.encode())
    shown = folder / change.name if change.name else path
    shown.write_bytes(change.text(text).encode())
    if change.gone:
        path.unlink()
    ed.uri = shown.as_uri()
    ed.open(change.text(text))
    return Opened(run, ed, path, ed.uri)


def _open_two(home: Home, base: Editor, run: str, change: Changed) -> Opened:
    """Kernel and host in two files, of which the kernel's is shown."""
    folder, ed = _begin(home, base, run)
    kernels = _own(KERNEL_FILE, run)
    module = f"k_{run.replace('-', '_')}"
    path, host = folder / f"{module}.py", folder / "host.py"
    texts = {path: kernels, host: HOST_HEAD.format(module=module) + HOST_FILE}
    write(home.db, run, HISTORIES["verified"], {str(p): t for p, t in texts.items()})
    for file, own in texts.items():
        file.write_bytes(change.text(own).encode())
    ed.uri = path.as_uri()
    ed.open(change.text(kernels))
    return Opened(run, ed, path, ed.uri)


async def _asked(request: Any) -> Any:
    try:
        return await request
    except Exception as error:  # noqa: BLE001 - a refusal is what is recorded
        return {"error": str(error)}


def _plain(answer: Any) -> Any:
    def as_json(value: Any) -> Any:
        if hasattr(value, "_asdict"):
            return value._asdict()
        return attrs.asdict(value) if attrs.has(type(value)) else vars(value)

    return json.loads(json.dumps(answer, default=as_json))


async def _is_as(seen: Opened, known: Mapping[str, Any]) -> bool:
    """Whether the server has read what it had read when that was recorded."""
    if await seen.editor.lenses() != known.get("lenses"):
        return False
    report = _plain(await _asked(seen.editor.command("report", seen.uri, KERNEL)))
    return all(report.get(name) == known["report"][name] for name in ("accepted", "told"))


async def _told(seen: Opened, histories: Sequence[str]) -> dict[str, Any]:
    """All that is said of one kernel."""
    ed = seen.editor
    found: dict[str, Any] = {"lenses": await ed.lenses()}
    found["hover"] = (await ed.hover(KERNEL)).splitlines()
    actions = await ed.actions("tl.store")
    found["actions"] = [a.title for a in actions]
    for run in histories:
        for number in (1, 2):
            data = {"uri": seen.uri, "kernel": KERNEL, "run": run, "number": number}
            resolved = await _asked(ed.client.code_action_resolve_async(types.CodeAction("", data=data)))
            found[f"resolve {run}/{number}"] = _edit(resolved.edit) if isinstance(resolved, types.CodeAction) else resolved
            found[f"review {run}/{number}"] = _review(_plain(await _asked(ed.command("review", seen.uri, KERNEL, run, number))))
    report = _plain(await _asked(ed.command("report", seen.uri, KERNEL)))
    found["report"] = {k: report.get(k) for k in ("accepted", "stale", "told", "error")}
    return found


def _edit(edit: types.WorkspaceEdit | None) -> list[str]:
    """One line for each."""
    out: list[str] = []
    for change in edit.document_changes or () if edit is not None else ():
        assert isinstance(change, types.TextDocumentEdit)
        for e in change.edits:
            assert isinstance(e, types.TextEdit)
            a, b = e.range.start, e.range.end
            out.append(
                f"{change.text_document.uri} v{change.text_document.version} {a.line}:{a.character}-{b.line}:{b.character} {e.new_text!r}"
            )
    return out


def _review(answer: dict[str, Any]) -> dict[str, Any]:
    """Its hunks in a line each."""
    for file in answer.get("files", ()):
        file["hunks"] = [f"{h['start']}-{h['end']} of {h['step']}: {h['lines']}" for h in file["hunks"]]
    return answer


def _short(value: Any, replaced: Sequence[tuple[str, str]]) -> Any:
    if isinstance(value, dict):
        return {_short(k, replaced): _short(v, replaced) for k, v in value.items()}
    if isinstance(value, list):
        return [_short(v, replaced) for v in value]
    if not isinstance(value, str):
        return value
    for old, new in replaced:
        value = value.replace(old, new)
    return re.sub(r"data:image/[^)\s]+", "(picture)", value)


async def record(wanted: Sequence[str] = (), known: Mapping[str, Any] | None = None, patience_s: float = PATIENCE_S) -> dict[str, Any]:
    """By history and change.

    Args:
        wanted: parts of the names of those to look at, all where there is none.
        known: an earlier record. What is on the screen is waited for until it is as there, or for as long as is said next.
        patience_s: after which it is looked at as it is.
    """
    pairs = [(h, c, _open) for h in HISTORIES for c in (CHANGES if h in WHOLE else FEW)]
    pairs += [("two", c, _open_two) for c in ("same", "shifted", "helper", "global", "in", "step_in")]
    out: dict[str, Any] = {}
    for history, several in groupby(pairs, key=lambda pair: pair[0]):
        looked = [(f"{history}-{change}", change, make) for _, change, make in several]
        chosen = [x for x in looked if not wanted or any(word in x[0] for word in wanted)]
        if chosen:
            out |= await _of_one(chosen, len(HISTORIES.get(history, (None,))), known or {}, patience_s)
    return out


async def _of_one(chosen: Sequence[tuple[str, str, Any]], runs: int, known: Mapping[str, Any], patience_s: float) -> dict[str, Any]:
    """Of one history and what may have become of its text, with a database and a server of their own."""
    folder = Path(tempfile.mkdtemp())
    home = Home(folder, sys.executable)
    out: dict[str, Any] = {}
    try:
        async with editor(home, PROFILES[1], adapt=announce, trusted=False) as base:
            opened = [make(home, base, name, CHANGES[change]) for name, change, make in chosen]
            end = time.monotonic() + patience_s
            while time.monotonic() < end:
                if all([await _is_as(seen, known.get(seen.name, {})) for seen in opened]):
                    break
                await asyncio.sleep(0.2)
            for seen in opened:
                told = await _told(seen, [f"{seen.name}{n}" for n in range(runs)])
                out[seen.name] = _short(told, [(f"{home.work.as_uri()}/{seen.name}", "~"), (str(seen.of.parent), "~")])
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return out


def as_text(found: dict[str, Any]) -> str:
    """The file."""
    return json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _differences(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for part in sorted({*old, *new}):
        was, now = (json.dumps(x.get(part), indent=1, ensure_ascii=False, sort_keys=True).splitlines() for x in (old, new))
        yield from difflib.unified_diff(was, now, f"{name}: {part}, as recorded", "now", lineterm="", n=1)


def main(arguments: Sequence[str]) -> int:
    """The command."""
    logging.disable()  # pygls writes down each refusal
    wanted = [a for a in arguments if not a.startswith("--")]
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    found = asyncio.run(record(wanted, known))
    if "--write" in arguments:
        RECORD.write_text(as_text({**known, **found}))
        return 0
    lines = [line for name in found for line in _differences(name, known.get(name, {}), found[name])]
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
