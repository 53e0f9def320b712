"""Documents about a variant that stand in no file of the user's: what a file becomes, the diff, the report, the commands. They are read by
their addresses, or as files by clients that can't ask for the content of an address.

``kernelband:/RUN/NUMBER/files/PATH`` the file as that variant makes it; number 0 is the original, PATH relative to the program's folder
``kernelband:/RUN/NUMBER/patch.diff`` the variant as ``git apply`` takes it
``kernelband:/RUN/NUMBER/report.md``  what is known of it
``kernelband:/RUN/NUMBER/again.sh``   the commands that search again, show it and print its patch

All of it is read from the history, and files are written: call it in a thread. What explains a variant brings moves and judge along, which
take long to import: that is done at the first page, not at the start of the server.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from attrs import frozen

from kernelband.errors import SourceError, UsageError
from kernelband.history import Store, find_place, runs, trials
from kernelband.history.records import RunRow
from kernelband.source import Workspace, is_notebook, patch_from_json

if TYPE_CHECKING:
    from kernelband.explain.again import Again

SCHEME = "kernelband"
FILES, PATCH, REPORT, AGAIN = "files", "patch.diff", "report.md", "again.sh"

_RUN = re.compile(r"[0-9a-z]{1,40}")
_NUMBER = re.compile(r"0|[1-9]\d{0,8}")


@frozen
class Page:
    """One document. ``file``: of ``FILES``, with forward slashes."""

    run: str
    number: int
    kind: str
    file: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """Its place below a folder."""
        return (self.run, str(self.number), self.kind, *(self.file.split("/") if self.file else ()))

    @property
    def uri(self) -> str:
        """Its address."""
        return f"{SCHEME}:/" + "/".join(quote(part, safe="") for part in self.parts)


def page_of(uri: str) -> Page:
    """The page of an address. Clients may encode more or fewer characters than we do.

    Raises:
        UsageError: it is none of ours.
    """
    scheme, colon, path = uri.partition(":")
    parts = [unquote(part) for part in path.removeprefix("//").removeprefix("/").split("/")]
    if scheme.lower() == SCHEME and colon and len(parts) >= 3 and _RUN.fullmatch(parts[0]) and _NUMBER.fullmatch(parts[1]):
        run, number, kind, *rest = parts
        page = Page(run, int(number), kind, "/".join(rest))
        if kind == FILES and rest and all(rest) and not {".", ".."} & set(rest) and not any(os.sep in r or "\0" in r for r in rest):
            return page
        if kind in (PATCH, REPORT, AGAIN) and not rest and page.number:
            return page
    raise UsageError(
        f"{uri[:200]} isn't a KernelBand document: it should be kernelband:/RUN/NUMBER/ with {FILES}/PATH, {PATCH} or {REPORT}."
    )


def pairs(store: Store, run: str, number: int) -> tuple[tuple[Page, Page], ...]:
    """Original and variant of each file that the variant edits, the kernel's own file first.

    Raises:
        HistoryError: there is no such run or variant.
    """
    row = runs.find(store, run)
    edited = {f.path for f in patch_from_json(trials.variant(store, row.id, number).patch).files}
    names = [name for name, path in _names(row, runs.base_texts(store, row.id)).items() if path in edited]
    return tuple((Page(row.id, 0, FILES, name), Page(row.id, number, FILES, name)) for name in names)


def text_of(store: Store, page: Page) -> str:
    """What the page says.

    Raises:
        HistoryError: there is no such run or variant.
        SourceError: the run has no such file.
        UsageError: it is the original's.
    """
    row = runs.find(store, page.run)
    if page.kind == FILES:
        return _file(store, row, page)
    if not page.number:
        raise UsageError(f"Variant 0 of run {row.id} is the original, so there is nothing to show: give a number from 1.")
    from kernelband.explain.again import of_variant
    from kernelband.explain.why import patch_text
    from kernelband.lsp.report import report

    variant = trials.variant(store, row.id, page.number)
    if page.kind == PATCH:
        return patch_text(store, row, variant)
    told = _again(store, row)
    commands = (told.command, *of_variant(row.id, page.number, _db(store)))
    return report(store, row, variant, commands, told.notes) if page.kind == REPORT else _script(row, told, commands)


def reproduction(store: Store, run: str) -> Again:
    """The command line that makes the run again.

    Raises:
        HistoryError: there is no such run.
    """
    return _again(store, runs.find(store, run))


def _again(store: Store, row: RunRow) -> Again:
    from kernelband.explain.again import again

    base = runs.base_texts(store, row.id)
    return again(row, base, {path: _now(path) for path in base}, _db(store))


def _now(path: str) -> str | None:
    try:
        return Workspace.for_file(path).read(path)
    except SourceError:
        return None


def _db(store: Store) -> str | None:
    """As an option; None for the default place."""
    return None if store.path == find_place(None).path else str(store.path)


def _file(store: Store, row: RunRow, page: Page) -> str:
    base = runs.base_texts(store, row.id)
    path = _names(row, base).get(page.file)
    if path is None:
        raise SourceError(f"Run {row.id} has no file {page.file}: it is about {row.path}.")
    if not page.number:
        return base[path]
    patch = patch_from_json(trials.variant(store, row.id, page.number).patch)
    return {**base, **patch.apply(dict(base))}[path]


def _names(row: RunRow, base: Mapping[str, str]) -> dict[str, str]:
    """The run's files by their path below the folder that holds them all, the kernel's first; notebooks as the Python that they are."""
    root = os.path.commonpath([os.path.dirname(path) for path in (row.path, *base)])
    paths = sorted(base, key=lambda path: (path != row.path, path))
    return {PurePath(path).relative_to(root).as_posix() + (".py" if is_notebook(path) else ""): path for path in paths}


def _script(row: RunRow, told: Again, commands: tuple[str, ...]) -> str:
    head = (f"Run {row.id} searched for faster variants of {row.kernel} with", "It found this variant, and its patch is printed by")
    notes = [f"# {_line(note)}\n" for note in told.notes]
    search, show, diff = (f"{command}\n" for command in commands)
    return f"# {_line(head[0])}\n{''.join(notes)}{search}\n# {head[1]}\n{show}{diff}"


def _line(text: str) -> str:
    """On one line, so that a comment stays one."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def read(db: Path, page: Page) -> str:
    """As ``text_of``, by the name of the database."""
    with Store.read(db) as store:
        return text_of(store, page)


class PageFiles:
    """The files of one server, in a temporary folder (0700) that goes with it."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None  # made with the first file
        self._lock = Lock()
        self._removed = False

    def put(self, parts: tuple[str, ...], text: str) -> Path:
        """A file (0444) of that text below the folder; one that is there already becomes it.

        Raises:
            SourceError: it can't be written.
        """
        path = Path(*parts)
        with self._lock:
            if self._removed:
                raise SourceError(f"{path.name} isn't shown: the server is shutting down.")
            try:
                if self._folder is None:
                    self._folder = TemporaryDirectory(prefix="kernelband-documents-", ignore_cleanup_errors=True)
                path = Path(self._folder.name, path)
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.exists():
                    path.chmod(0o600)
                path.write_bytes(text.encode("utf-8", "surrogatepass"))
                path.chmod(0o444)
            except OSError as error:
                raise SourceError(
                    f"{path} can't be written: {error.strerror or error}. Free the place, or change its permissions."
                ) from error
        return path

    def remove(self) -> None:
        """All of them, for good."""
        with self._lock:
            self._removed = True
            if self._folder is not None:
                self._folder.cleanup()
