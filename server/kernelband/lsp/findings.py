"""What the history knows of a kernel. Read beside the event loop, a part at a time as it changes; answered from memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from attrs import evolve, field, frozen

from kernelband.errors import HistoryError
from kernelband.explain.hints import Material
from kernelband.explain.words import titled
from kernelband.history import Store, runs, view
from kernelband.history.view import RunView, VariantView
from kernelband.lsp.original import Original, read_material, read_original
from kernelband.lsp.remedies import words
from kernelband.source.model import Patch

MOST_RUNS = 1000  # of the history, the newest
MOST_OF_A_KERNEL = 5  # runs whose variants are read
MOST_TEXTS = 50
WAIT_MS = 500  # for a database that another program holds

Signature = tuple[Any, ...]


@frozen
class Finding:
    """The latest runs of a kernel, the newest first. Empty: nothing is known. ``told``: the one that is spoken of, "" for the newest."""

    path: str
    qualname: str
    runs: tuple[RunView, ...] = ()
    told: str = ""

    @property
    def telling(self) -> RunView | None:
        """The run ``told``, else the newest one with something to show; the newest one where none has."""
        told = next((r for r in self.runs if r.id == self.told), None)
        return told or next((r for r in self.runs if r.variants), self.runs[0] if self.runs else None)


@frozen
class Applicable:
    """What it takes to put variants into files: patches by number, relative to the texts that the run started from."""

    run: str
    path: str
    kernel: str
    base_texts: dict[str, str] = field(repr=False)
    patches: dict[int, Patch] = field(repr=False)


@frozen
class _Kept:
    """A run as it was read last. ``signature`` differs when any of its rows may."""

    signature: Signature
    found: RunView
    full: bool  # with its variants


@frozen
class _View:
    """All that is answered from: replaced as a whole."""

    problem: str = ""
    kept: dict[str, _Kept] = field(factory=dict[str, _Kept])  # by run, the newest first
    by_place: dict[tuple[str, str], tuple[str, ...]] = field(factory=dict[tuple[str, str], tuple[str, ...]])

    @cached_property
    def names(self) -> frozenset[str]:
        """Bare names of the kernels that runs are about."""
        return frozenset(kernel.rpartition(".")[2] for _, kernel in self.by_place)


class Findings:
    """The history of one database. ``refresh``, ``load`` and ``original`` read it: call them in a thread. ``find`` and ``remembered`` only
    remember.
    """

    def __init__(self, db: Path) -> None:
        self.db = db
        self._lock = Lock()
        self._view: _View = _View()
        self._store: Store | None = None
        self._file: tuple[int, int] | None = None
        self._version: int | None = None
        self._originals: dict[str, tuple[Signature, Original]] = {}
        self._texts: dict[str, str] = {}  # that runs started from: most runs of a file share one, and it may be large

    @property
    def problem(self) -> str:
        """One sentence about a database that can't be read, "" when it can. What was known before is still answered."""
        return self._view.problem

    def find(self, path: str, qualname: str) -> Finding:
        """Of the kernel in that file (a resolved path)."""
        now = self._view
        return Finding(path, qualname, tuple(now.kept[run].found for run in now.by_place.get((path, qualname), ())[:MOST_OF_A_KERNEL]))

    def get(self, run: str) -> RunView | None:
        """A run by its id."""
        kept = self._view.kept.get(run)
        return kept.found if kept is not None else None

    @property
    def going(self) -> frozenset[str]:
        """The runs that go on, here or elsewhere."""
        return frozenset(run for run, kept in self._view.kept.items() if kept.found.state == "running")

    def has_named(self, name: str) -> bool:
        """Whether any run is about a kernel of that bare name: no other has a variant of the form of one that is called so."""
        return name in self._view.names

    def formed(self, form: str) -> list[RunView]:
        """The newest runs of which a variant, or the original, has that form, whatever its file is called. For a thread.

        Raises:
            HistoryError: it can't be read.
        """
        with self._lock:
            of = view.with_form(self._open_store(), form, MOST_OF_A_KERNEL) if self._view.kept else []
            return self._whole([run for run in of if run in self._view.kept])

    def newest(self, limit: int, inside: Callable[[str], bool] = lambda _: True) -> list[RunView]:
        """The newest runs of files that ``inside`` takes by their path, each with its variants. Reads the database: for a thread.

        Raises:
            HistoryError: it can't be read.
        """
        with self._lock:
            return self._whole([run for run, kept in self._view.kept.items() if inside(kept.found.path)][:limit])

    def state(self) -> tuple[tuple[int, int, int] | None, ...]:
        """Of the files of the database: another one once somebody has written it. Quick, but it reads the file system."""
        return tuple(_state(f"{self.db}{end}") for end in ("", "-wal"))

    def refresh(self) -> bool:
        """Read what has changed. True when there may be something new to show. Never raises for a bad database: see ``problem``."""
        with self._lock:
            before = self._view
            try:
                self._view = self._read(before)
            except HistoryError as error:
                self._close()
                if (said := words(error.message)) != before.problem:
                    self._view = evolve(before, problem=said)
            return self._view is not before

    def load(self, run: str, numbers: Iterable[int]) -> Applicable:
        """The patches of a run's variants with its base texts.

        Raises:
            HistoryError: the run or a variant is gone, or the database can't be read.
        """
        with self._lock:
            store = self._open_store()
            row = runs.find(store, run)
            patches = {number: view.patch(store, row.id, number) for number in numbers}
            if len(self._texts) > MOST_TEXTS:
                self._texts.clear()
            texts = {path: self._texts.setdefault(text, text) for path, text in runs.base_texts(store, row.id).items()}
            return Applicable(row.id, row.path, row.kernel, texts, patches)

    def variant(self, run: str, number: int) -> VariantView | None:
        """One that was executed; None where there is none such.

        Raises:
            HistoryError: the database can't be read.
        """
        with self._lock:
            known = view.variant(self._open_store(), run, number)
            return titled([known])[0] if known is not None else None

    def tried(self, run: str) -> tuple[RunView, tuple[int, ...]]:
        """A run, and the numbers of all its variants, whatever came out of them.

        Raises:
            HistoryError: it is gone, or the database can't be read.
        """
        with self._lock:
            store = self._open_store()
            row = runs.find(store, run)
            return _filled(store, RunView.of(row, 0, time.time()), whatever=True), view.numbers(store, row.id)

    def remembered(self, run: str) -> Original | None:
        """What ``original`` told and still holds; None where it has to read the database."""
        kept, known = self._view.kept.get(run), self._originals.get(run)
        return known[1] if kept is not None and known is not None and known[0] == kept.signature else None

    def original(self, run: str) -> Original | None:
        """What that run knows of the original; None for a run that isn't known. Remembered until the run changes.

        Raises:
            HistoryError: the database can't be read.
        """
        with self._lock:
            kept = self._view.kept.get(run)
            if kept is None:
                return None
            known = self.remembered(run)
            if known is None:
                known = read_original(self._open_store(), run, kept.found.kernel, kept.found.device)
                self._originals[run] = (kept.signature, known)
            return known

    def material(self, run: str, variant: int = 0) -> Material | None:
        """What was compiled of a variant (0: the original), and what the interpreter saw of it; None where there is nothing.

        Raises:
            HistoryError: the database can't be read.
        """
        with self._lock:
            kept = self._view.kept.get(run)
            return read_material(self._open_store(), run, kept.found.kernel, kept.found.device, variant) if kept is not None else None

    def close(self) -> None:
        """Close the database; ``refresh`` opens it again."""
        with self._lock:
            self._close()

    # ------------------------------------------------------------ the file

    def _close(self) -> None:
        store, self._store, self._file, self._version = self._store, None, None, None
        if store is not None:
            store.close()

    def _open_store(self) -> Store:
        if self._store is None:
            store = Store.read(self.db)
            store.rows(f"PRAGMA busy_timeout = {WAIT_MS}")
            self._store = store
        return self._store

    def _read(self, before: _View) -> _View:
        try:
            stat = os.stat(self.db)
        except (FileNotFoundError, NotADirectoryError):
            stat = None
        except OSError as error:
            raise HistoryError(f"The history {self.db} can't be used: {error.strerror}. Name another file with --db.") from error
        if stat is None or stat.st_size == 0:  # none yet, or one that is being made
            self._close()
            return before if before == _View() else _View()
        if (stat.st_dev, stat.st_ino) != self._file:
            self._close()
        store = self._open_store()
        self._file = (stat.st_dev, stat.st_ino)
        version = int(store.rows("PRAGMA data_version")[0]["data_version"])
        changed = version != self._version or before.problem
        now = self._runs(store, before) if changed else self._aged(before)
        self._version = version
        return now

    # ------------------------------------------------------------ runs

    def _whole(self, wanted: Iterable[str]) -> list[RunView]:
        """Those runs, each with its variants."""
        now = self._view
        lacking = {run: now.kept[run] for run in wanted if not now.kept[run].full}
        if lacking:
            store = self._open_store()
            read = {run: evolve(kept, found=_filled(store, kept.found), full=True) for run, kept in lacking.items()}
            self._view = now = evolve(now, kept={**now.kept, **read})
        return [now.kept[run].found for run in wanted]

    def _runs(self, store: Store, before: _View) -> _View:
        """The runs with their variants; those that are as they were aren't read again."""
        places: dict[tuple[str, str], tuple[str, ...]] = {}
        kept: dict[str, _Kept] = {}
        now = time.time()
        for head in view.heads(store, MOST_RUNS):
            at = head.path, head.kernel
            places[at] = (*places.get(at, ()), head.run)
            full = len(places[at]) <= MOST_OF_A_KERNEL
            known = before.kept.get(head.run)
            if known is not None and known.signature == head.signature and (known.full or not full):
                kept[head.run] = known
            elif (row := view.run_row(store, head.run)) is not None:  # else forgotten this moment
                run = _worded(RunView.of(row, head.trials, now))
                kept[head.run] = _Kept(head.signature, _filled(store, run) if full else run, full)
        if not before.problem and [*kept] == [*before.kept] and all(kept[run] is before.kept[run] for run in kept):
            return self._aged(before)  # what was committed is nothing that is shown
        return self._aged(_View("", kept, places))

    def _aged(self, before: _View) -> _View:
        """A run whose process died reads ``interrupted``, which no row says."""
        now = time.time()
        changed: dict[str, _Kept] = {}
        for run, kept in before.kept.items():
            if kept.found.state == "running" and (is_now := runs.effective(kept.found, now)) is not kept.found:
                changed[run] = evolve(kept, found=_worded(is_now))
        return evolve(before, kept={**before.kept, **changed}) if changed else before


def _worded(run: RunView) -> RunView:
    """As an editor says it."""
    return evolve(run, reason=words(run.reason))


def _filled(store: Store, run: RunView, *, whatever: bool = False) -> RunView:
    """With its variants; ``forms`` of those that are right, or with ``whatever`` came out of them."""
    variants = titled(view.variants(store, run.id, run.mode))
    return evolve(run, variants=variants, files=view.files(store, run.id), forms=view.forms(store, run.id, whatever=whatever))


def _state(path: str) -> tuple[int, int, int] | None:
    try:
        stat = os.stat(path)
    except OSError:  # it isn't there, or can't be read: ``refresh`` says so
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns
