"""Jupyter notebooks on disk: the program that their code cells are, and the file with other cells, byte for byte the same elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

from attrs import field, frozen

from kernelband.errors import SourceError
from kernelband.source.cells import Cells
from kernelband.source.encoding import Encoding, decode, require_short
from kernelband.source.folders import is_notebook
from kernelband.source.model import Span
from kernelband.source.patch import between
from kernelband.source.tree import BOM

_ESCAPED = re.compile(r"\\u(?!00[01])")  # a character that JSON would take as it is
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def decode_file(data: bytes, path: str, shown: str | None = None) -> tuple[str, Encoding]:
    """The program of a notebook or the text of a Python file, and how it is written. ``shown``: the path in what is raised.

    Raises:
        SourceError: it is neither, or a notebook with too large a program.
    """
    if not is_notebook(path):
        return decode(data, shown or path)
    found = decode_notebook(data, shown or path)
    require_short(shown or path, found[0])
    return found


@frozen
class Notebook(Encoding):
    """How a program is written in a notebook. ``raw``: its JSON; ``places``: of the sources of ``cells`` in it."""

    cells: Cells = field(default=Cells(()), repr=False)
    raw: str = field(default="", repr=False)
    places: tuple[Span, ...] = field(default=(), repr=False)

    def encode(self, text: str, path: str) -> bytes:
        """The notebook with another program: only the sources of cells that change are written anew.

        Raises:
            SourceError: the change can't be told apart by cells, or meets lines of IPython.
        """
        patch = between({path: self.cells.text}, {path: text})
        split = self.cells.split(edit for file in patch.files for edit in file.edits)
        sources, raw = self.cells.changed(split), self.raw
        plain = raw.isascii() and _ESCAPED.search(raw) is not None
        for number in sorted(split, reverse=True):
            at = self.places[number]
            raw = raw[: at.start] + _source(sources[number], raw[at.start : at.end], plain) + raw[at.end :]
        return raw.encode("utf-8")


def decode_notebook(data: bytes, path: str) -> tuple[str, Notebook]:
    """The program of a notebook.

    Raises:
        SourceError: it is no notebook of format 4, or not of Python.
    """
    try:
        raw = data.decode("utf-8")
        places = tuple(_places(raw, path))
        cells = Cells(_joined(json.loads(raw[at.start : at.end])) for at in places)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise SourceError(f"{path} can't be read as a Jupyter notebook ({error}): open it in Jupyter and save it again.") from error
    return cells.text, Notebook(cells=cells, raw=raw, places=places)


def _places(raw: str, path: str) -> Iterator[Span]:
    """Of the sources of its Python cells, in order."""
    top = dict(_members(raw, _after(raw, len(BOM) if raw.startswith(BOM) else 0)))
    versions = {name: json.loads(raw[at.start : at.end]) for name, at in top.items() if name in ("nbformat", "metadata")}
    if versions.get("nbformat") != 4:
        raise SourceError(
            f"{path} isn't a Jupyter notebook of format 4, which is all that can be read: open it in Jupyter and save it again."
        )
    metadata: dict[str, Any] = versions.get("metadata") or {}
    language = _language(metadata)
    if language != "python":
        raise SourceError(f"{path} is a notebook of {language}, not of Python: name one whose kernel is Python.")
    for cell in _items(raw, top["cells"].start):
        known: dict[str, Any] = json.loads(raw[cell.start : cell.end])
        own: dict[str, Any] = known.get("metadata") or {}
        own = own.get("vscode") or {}  # VS Code lets a cell have a language of its own
        if known["cell_type"] == "code" and own.get("languageId", "python") == "python":
            yield dict(_members(raw, cell.start))["source"]


def _language(metadata: dict[str, Any]) -> str:
    """As the notebook's metadata says it, "python" where they don't."""
    info: dict[str, Any] = metadata.get("language_info") or {}
    spec: dict[str, Any] = metadata.get("kernelspec") or {}
    found = str(info.get("name") or spec.get("language") or "python").lower()
    return "python" if found in ("ipython", "python3") else found


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _source(text: str, old: str, plain: bool) -> str:
    """A source in JSON, as a list of lines or a string as the old one is."""
    if not old.startswith("["):
        return _json(text, plain)
    lines = [_json(line, plain) for line in re.findall(r"[^\n]*\n|[^\n]+", text)]
    start, end = _after(old, 1), len(old[:-1].rstrip())
    items = list(_items(old, 0))
    gap = old[items[0].end : items[1].start] if len(items) > 1 else "," + old[1:start]
    return f"{old[:start]}{gap.join(lines)}{old[end:]}" if lines else "[]"


def _json(text: str, plain: bool) -> str:
    """A string in JSON. ``plain``: other characters than ASCII are escaped, as halves of one always are."""
    return json.dumps(text, ensure_ascii=plain or any("\ud800" <= c <= "\udfff" for c in text))


# ---------------------------------------------------------------- where things stand in JSON that json can read


def _members(raw: str, at: int) -> Iterator[tuple[str, Span]]:
    """The names of an object at ``at`` with the places of their values."""
    at = _expect(raw, at, "{")
    while raw[at] != "}":
        name, at = _value(raw, at)
        at = _expect(raw, _after(raw, at), ":")
        _, end = _value(raw, at)
        yield cast("str", name), Span(at, end)
        at = _next(raw, end)


def _items(raw: str, at: int) -> Iterator[Span]:
    """The places of the values in a list at ``at``."""
    at = _expect(raw, at, "[")
    while raw[at] != "]":
        _, end = _value(raw, at)
        yield Span(at, end)
        at = _next(raw, end)


def _value(raw: str, at: int) -> tuple[Any, int]:
    return _DECODER.raw_decode(raw, at)


def _next(raw: str, at: int) -> int:
    """Behind the comma, or at the end of the object or list."""
    at = _after(raw, at)
    if raw[at : at + 1] not in (",", "}", "]"):
        raise ValueError(f"there is no comma at character {at}")
    return _after(raw, at + 1) if raw[at] == "," else at


def _expect(raw: str, at: int, sign: str) -> int:
    if raw[at : at + 1] != sign:
        raise ValueError(f"there is no {sign} at character {at}")
    return _after(raw, at + 1)


def _after(raw: str, at: int) -> int:
    """Behind blanks."""
    found = _BLANK.match(raw, at)
    return found.end() if found is not None else at
