"""The kernels of every open document, read in a thread beside the loop.

A change waits a moment for the next one, then the latest version is read; versions in between may be left out. The loop only hands
texts over and takes snapshots back. All methods are for the loop's thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import define, field, frozen
from pygls.uris import to_fs_path

from kernelband.errors import SourceError
from kernelband.lsp.text import Lines
from kernelband.source import IncrementalKernels
from kernelband.source.encoding import require_short
from kernelband.source.kernels import may_have_kernels
from kernelband.source.model import Kernel
from kernelband.source.outline import LONG, outlined_kernels

log = logging.getLogger(__name__)

#: Below this path nothing can be: it is no folder. Documents that are no files have their place there.
NOWHERE = str(Path(os.path.devnull).resolve())
LONG_NAME = 80

#: Seconds that a change waits for another one: keys that come together are read once.
DEBOUNCE = 0.005


@frozen
class Snapshot:
    """What one version of a document holds. Spans of the kernels are offsets into ``text``. ``problem``: why it isn't read. ``outlined``:
    what could be told at once of a long text.
    """

    uri: str
    version: int
    text: str = field(repr=False)
    lines: Lines = field(repr=False)
    kernels: tuple[Kernel, ...]
    problem: str = ""
    outlined: bool = False


_Waiting = tuple[int | None, "asyncio.Future[Snapshot | None]"]  # for this version or a later one; None: for whatever comes first


@define(eq=False)
class _Open:
    """An open document. ``latest`` is replaced by the loop and read by the thread, as one."""

    uri: str
    latest: tuple[int, str] = field(repr=False)
    kernels: IncrementalKernels = field(factory=IncrementalKernels)
    snapshot: Snapshot | None = None
    outline: Snapshot | None = None  # before there is a snapshot
    timer: asyncio.TimerHandle | None = None
    reading: bool = False
    again: bool = False  # the timer ran out while reading
    closed: bool = False
    waiting: list[_Waiting] = field(factory=list[_Waiting])


class KernelIndex:
    """Kernels by document. ``on_snapshot`` is called on the loop with each new snapshot of an open document, and the one before it."""

    def __init__(self, on_snapshot: Callable[[Snapshot, Snapshot | None], None] | None = None, debounce: float = DEBOUNCE) -> None:
        self._on_snapshot = on_snapshot
        self._debounce = debounce
        self._open: dict[str, _Open] = {}
        # One thread: trees are changed in place, and a second one would only take the interpreter from the loop.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="kernels")

    def opened(self, uri: str, version: int, text: str) -> None:
        """A document is open now; it is read at once."""
        self.closed(uri)
        document = self._open[uri] = _Open(uri, (version, text))
        self._read(document)

    def changed(self, uri: str, version: int, text: str) -> None:
        """It has a new version, to be read soon. Of a document that isn't open this opens it."""
        document = self._open.get(uri)
        if document is None:
            self.opened(uri, version, text)
            return
        document.latest = (version, text)
        if document.timer is None:  # a change doesn't put off the one before: who types on sees kernels too
            document.timer = asyncio.get_running_loop().call_later(self._debounce, self._due, document)

    def closed(self, uri: str) -> None:
        """It is open no more. Those who wait for it get None."""
        document = self._open.pop(uri, None)
        if document is None:
            return
        document.closed = True
        if document.timer is not None:
            document.timer.cancel()
        if not document.reading:
            document.kernels.close()
        _answer(document, None)

    def latest(self, uri: str) -> Snapshot | None:
        """The newest snapshot there is, of an older version perhaps; None before the first one."""
        document = self._open.get(uri)
        return document.snapshot if document is not None else None

    async def fresh(self, uri: str, version: int) -> Snapshot | None:
        """The snapshot of that version or a later one, when it is there; None when the document isn't open, or closes first."""
        document = self._open.get(uri)
        if document is None:
            return None
        if document.snapshot is not None and document.snapshot.version >= version:
            return document.snapshot
        return await self._wait(document, version)

    async def soonest(self, uri: str) -> Snapshot | None:
        """The newest snapshot, or before the first one of a long text its outline; waits for either. None as ``fresh``."""
        document = self._open.get(uri)
        if document is None:
            return None
        return document.snapshot or document.outline or await self._wait(document, None)

    async def _wait(self, document: _Open, version: int | None) -> Snapshot | None:
        there: asyncio.Future[Snapshot | None] = asyncio.get_running_loop().create_future()
        document.waiting.append((version, there))
        try:
            return await there
        finally:
            document.waiting[:] = [w for w in document.waiting if w[1] is not there]

    def stop(self) -> None:
        """Closes every document and lets the thread end; what it is reading is read to the end."""
        for uri in list(self._open):
            self.closed(uri)
        self._thread.shutdown(wait=False, cancel_futures=True)

    # ------------------------------------------------------------ reading
    def _due(self, document: _Open) -> None:
        document.timer = None
        if document.reading:
            document.again = True
        else:
            self._read(document)

    def _read(self, document: _Open) -> None:
        document.reading = True
        work = asyncio.get_running_loop().run_in_executor(self._thread, _snapshot, document)
        work.add_done_callback(lambda done: self._done(document, done))

    def _done(self, document: _Open, done: asyncio.Future[Snapshot]) -> None:
        document.reading = False
        if document.closed:
            document.kernels.close()
            return
        if done.cancelled():
            return  # the loop is ending
        before, snapshot = document.snapshot, done.result()
        if snapshot.outlined:
            document.outline = snapshot
            _answer(document, snapshot)
            self._read(document)
            return
        document.snapshot, document.outline = snapshot, None
        _answer(document, snapshot)
        if document.again:
            document.again = False
            self._read(document)
        if self._on_snapshot is not None:
            self._on_snapshot(snapshot, before)


def _snapshot(document: _Open) -> Snapshot:
    """In the thread: reads what is the latest version by now."""
    version, text = document.latest
    kernels: tuple[Kernel, ...] = ()
    problem, outlined = "", False
    if not document.closed:
        try:
            path = place(document.uri)
            require_short(path if is_file(path) else Path(path).name, text)
            outlined = len(text) > LONG and document.snapshot is None and document.outline is None
            kernels = outlined_kernels(path, text) if outlined else document.kernels.read(path, text)
        except SourceError as error:
            document.kernels.close()
            problem = error.message if may_have_kernels(text) else ""  # else nobody has asked for anything
        except Exception:  # a fault of ours in one text must not leave those who wait for it waiting
            log.exception("The kernels of %s can't be read.", document.uri)
    return Snapshot(document.uri, version, text, Lines(text), kernels, problem, outlined)


def place(uri: str) -> str:
    """What a kernel of that document has as its path: resolved for a file, else (and for what no path can be, as with a NUL) a path below
    ``NOWHERE``, the same each time.
    """
    return _path(uri) or _nowhere(uri)


def _path(uri: str) -> str:
    try:
        path = to_fs_path(uri)
        return str(Path(path).resolve()) if path else ""
    except (ValueError, OSError, RuntimeError):  # RuntimeError: a loop of links, before Python 3.13
        return ""


def _nowhere(uri: str) -> str:
    """Named as the document is, as far as a file can be."""
    name = re.sub(r"[^\w.-]", "_", re.split(r"[:/\\]", uri.partition("?")[0])[-1])[-LONG_NAME:] or "document"
    key = hashlib.sha256(uri.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return str(Path(NOWHERE, key, name if name.endswith(".py") else f"{name}.py"))


def is_file(path: str) -> bool:
    """Whether what ``place`` answered is a file's path, there or not."""
    return not path.startswith(NOWHERE + os.sep)


def _answer(document: _Open, snapshot: Snapshot | None) -> None:
    """Wakes those who wait for this version or an older one; all of them with None."""
    for version, there in document.waiting:
        if not there.done() and (snapshot is None or version is None or (snapshot.version >= version and not snapshot.outlined)):
            there.set_result(snapshot)
