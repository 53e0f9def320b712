"""The hints of every open document: from the newest run or inspection whose text still is the one at hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping

from attrs import define, evolve, field, frozen

from kernelband.errors import HistoryError
from kernelband.explain.hints import COST, Hint, Material, costs, hints
from kernelband.lsp.findings import Applicable, Findings
from kernelband.lsp.hint_places import Placed, placed
from kernelband.lsp.index import Snapshot, place
from kernelband.lsp.standings import MOST_KEPT, Memory, finding_of, is_original
from kernelband.source.model import Kernel, Place

REST_S = 0.3  # without an edit; a little more than standings, which people wait for


@frozen
class Remedy:
    """A move against a hint, which nobody has checked. ``number``: of its patch in ``Inspected.of``."""

    number: int
    code: str
    what: str


@frozen
class Inspected:
    """What an inspection found of a kernel, with the texts that it is of. ``at``: seconds since the epoch."""

    of: Applicable
    at: float
    hints: tuple[Hint, ...]
    remedies: tuple[Remedy, ...] = ()
    material: Material | None = field(default=None, repr=False)


@frozen
class Known:
    """Where facts are: the history, and the newest inspections by path and kernel."""

    findings: Findings
    inspected: Mapping[tuple[str, str], Inspected] = field(factory=dict[tuple[str, str], Inspected])


@frozen
class Diagnosis:
    """Hints with spans of that snapshot's text, and what lines cost (``explain.hints.costs``). ``inspected``: by kernel, where they are an
    inspection's.
    """

    snapshot: Snapshot
    hints: tuple[Placed, ...] = ()
    costs: tuple[Placed, ...] = ()
    inspected: Mapping[str, Inspected] = field(factory=dict[str, Inspected])


@define(eq=False)
class Seen(Memory):
    """What was found before, with the hints of runs."""

    hints: dict[tuple[str, str, int], tuple[Hint, ...] | None] = field(factory=dict[tuple[str, str, int], "tuple[Hint, ...] | None"])
    began: dict[str, Applicable] = field(factory=dict[str, Applicable])  # what runs started from
    codes: dict[tuple[str, int], frozenset[str]] = field(factory=dict[tuple[str, int], frozenset[str]])  # of variants

    def trim(self) -> None:
        """Drop what is too much."""
        super().trim()
        for kept in (self.hints, self.began, self.codes):
            if len(kept) > MOST_KEPT:
                kept.clear()


class Diagnoses:
    """By document; computed in a thread once the text rests, answered from memory. All methods are for the loop's thread.

    Args:
        findings: the history of now.
        texts: of all open documents, by path.
        on_change: told of each document that was looked at.
    """

    def __init__(self, findings: Callable[[], Findings], texts: Callable[[], Mapping[str, str]], on_change: Callable[[str], None]) -> None:
        self._findings, self._texts, self._on_change = findings, texts, on_change
        self._known: dict[str, Diagnosis] = {}
        self._running: dict[str, asyncio.Task[None]] = {}
        self._inspected: dict[tuple[str, str], Inspected] = {}  # by path and kernel, the newest
        self._memory = Seen()

    def of(self, uri: str) -> Diagnosis | None:
        """What is known; None before the first look."""
        return self._known.get(uri)

    def remedies(self, uri: str, kernel: str, code: str) -> tuple[Applicable, tuple[Remedy, ...]] | None:
        """The moves against a hint that an inspection found; None where a run did."""
        known = self._known.get(uri)
        found = known.inspected.get(kernel) if known is not None else None
        return (found.of, tuple(r for r in found.remedies if r.code == code)) if found is not None else None

    def inspection(self, name: str) -> Applicable | None:
        """The newest one of a kernel, by its name (``Applicable.run``)."""
        return next((i.of for i in self._inspected.values() if i.of.run == name), None)

    async def codes(self, run: str, variant: int) -> frozenset[str]:
        """Of the hints of a run's variant; none where nothing is known of it."""
        return await asyncio.to_thread(codes_of, self._findings(), run, variant, self._memory)

    def take(self, inspected: Inspected) -> None:
        """A kernel was inspected: ``look`` at its document again."""
        self._inspected[inspected.of.path, inspected.of.kernel] = inspected

    def look(self, snapshot: Snapshot) -> None:
        """The document's text, the history or an inspection is another: look again soon."""
        old = self._running.pop(snapshot.uri, None)
        if old is not None:
            old.cancel()
        self._running[snapshot.uri] = asyncio.get_running_loop().create_task(self._look(snapshot))

    def closed(self, uri: str) -> None:
        """Forget a document. What was inspected is kept: it may be opened again."""
        self._known.pop(uri, None)
        task = self._running.pop(uri, None)
        if task is not None:
            task.cancel()

    async def _look(self, snapshot: Snapshot) -> None:
        await asyncio.sleep(REST_S)
        texts = {**self._texts(), place(snapshot.uri): snapshot.text}
        known = Known(self._findings(), dict(self._inspected))
        found: list[Placed] = []
        inspected: dict[str, Inspected] = {}
        for kernel in snapshot.kernels:
            hints_, of = await asyncio.to_thread(diagnose, known, snapshot, kernel, texts, self._memory)
            found += hints_
            if of is not None:
                inspected[kernel.place.qualname] = of
        against, own = tuple(p for p in found if p.code != COST), tuple(p for p in found if p.code == COST)
        self._known[snapshot.uri] = Diagnosis(snapshot, against, own, inspected)
        self._on_change(snapshot.uri)


def diagnose(
    known: Known, snapshot: Snapshot, kernel: Kernel, texts: Mapping[str, str], memory: Seen
) -> tuple[tuple[Placed, ...], Inspected | None]:
    """Of one kernel, with the inspection that they are of; nothing where the text is no longer the program that facts are of. Reads the
    history and other files: for a thread.
    """
    memory.trim()
    path, name = place(snapshot.uri), kernel.place.qualname
    for of, found in _sources(known, path, kernel, texts, memory):
        if is_original(of, Place(path, name), texts, memory):
            newest = known.inspected.get((path, name))
            hints_ = placed(found, (of.path, of.base_texts.get(of.path, "")), kernel, snapshot.kernels, snapshot.lines)
            return hints_, newest if newest is not None and newest.of.run == of.run else None
    return (), None


def codes_of(findings: Findings, run: str, variant: int, memory: Seen) -> frozenset[str]:
    """Of the hints of a run's variant; none where nothing is known of it. Reads the history: for a thread."""
    if (run, variant) not in memory.codes:
        try:
            material = findings.material(run, variant)
        except HistoryError:
            return frozenset()
        memory.codes[run, variant] = frozenset(h.code for h in hints(material)) if material is not None else frozenset()
    return memory.codes[run, variant]


def _sources(
    known: Known, path: str, kernel: Kernel, texts: Mapping[str, str], memory: Seen
) -> Iterator[tuple[Applicable, tuple[Hint, ...]]]:
    """What there are facts of, the newest first."""
    findings, waiting = known.findings, known.inspected.get((path, kernel.place.qualname))
    for run in finding_of(findings, Place(path, kernel.place.qualname), texts, memory)[0].runs:
        if waiting is not None and waiting.at >= run.created:
            yield evolve(waiting.of, patches={}), _of(waiting)
            waiting = None
        try:
            of = memory.began.get(run.id) or findings.load(run.id, ())
            asked = (run.id, run.state, run.trials)
            if asked not in memory.hints:
                material = findings.material(run.id)
                memory.hints[asked] = (*hints(material), *costs(material)) if material is not None else None
        except HistoryError:  # forgotten this moment
            continue
        memory.began[run.id] = of
        found = memory.hints[asked]
        if found is not None:  # the original was compiled
            yield of, found
    if waiting is not None:
        yield evolve(waiting.of, patches={}), _of(waiting)


def _of(inspected: Inspected) -> tuple[Hint, ...]:
    return (*inspected.hints, *(costs(inspected.material) if inspected.material is not None else ()))
