"""How the text at hand stands to what the history knows: the original of a run, one of its variants, or something else by now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Mapping
from pathlib import PurePath

from attrs import define, evolve, field, frozen

from kernelband.errors import HistoryError, SourceError
from kernelband.history import Store, runs
from kernelband.history.records import GIVEN
from kernelband.lsp.findings import Applicable, Finding, Findings, VariantFinding
from kernelband.lsp.index import Snapshot, place
from kernelband.lsp.parts import needed, parses
from kernelband.lsp.ranking import read_variants
from kernelband.source import ProgramOf, Workspace, changed, form, program_in
from kernelband.source.model import Kernel, Patch, Place, Program, text_hash

MOST_COMPARED = 3  # runs of a kernel, the newest ones
MOST_KEPT = 500  # of each kind of what is remembered
REST_S = 0.25  # without an edit, before programs are looked for: that reads other files too

log = logging.getLogger(__name__)


@frozen
class Standing:
    """``accepted``: the variant that the text is, 0 for the original. ``stale``: why the run's variants don't fit the text any more."""

    finding: Finding
    accepted: int | None = None
    stale: str = ""

    @property
    def taken(self) -> VariantFinding | None:
        """The variant that the text is."""
        run = self.finding.telling
        return next((v for v in run.variants if v.number == self.accepted), None) if run is not None and self.accepted else None

    @property
    def offers(self) -> tuple[VariantFinding, ...]:
        """What could be taken now, the best first: nothing that was rejected, nothing that the text is already."""
        run = self.finding.telling
        if run is None or self.stale or self.accepted:
            return ()
        return tuple(v for v in run.variants if v.decision != "reject" and (v.verified or v.tier == "likely faster"))


class Standings:
    """By document and kernel; computed in a thread once the text rests, answered from memory. All methods are for the loop's thread.

    Args:
        findings: the history of now.
        texts: of all open documents, by path.
        on_change: told when a document stands otherwise than before.
    """

    def __init__(self, findings: Callable[[], Findings], texts: Callable[[], Mapping[str, str]], on_change: Callable[[], None]) -> None:
        self._findings, self._texts, self._on_change = findings, texts, on_change
        self._known: dict[str, dict[str, Standing]] = {}
        self._judged: dict[str, dict[str, str]] = {}  # the kernels' own texts, as they were looked at
        self._running: dict[str, asyncio.Task[None]] = {}
        self._memory = Memory()

    def of(self, uri: str, qualname: str) -> Standing | None:
        """What is known; None before the first look."""
        return self._known.get(uri, {}).get(qualname)

    def knows(self, uri: str) -> bool:
        """Whether something was found in the history for a kernel of that document."""
        return any(standing.finding.runs for standing in self._known.get(uri, {}).values())

    async def against(self, run: str, path: str, kernel: str) -> tuple[int | None, str]:
        """``accepted`` and ``stale`` of an open document's text of this moment, against one run; (None, "") where either is gone."""
        texts = dict(self._texts())
        if path not in texts:
            return None, ""
        return await asyncio.to_thread(_against, self._findings(), run, path, kernel, texts)

    def look(self, snapshot: Snapshot) -> None:
        """The document's text, or the history, is another: look again soon."""
        self._withdraw(snapshot)
        old = self._running.pop(snapshot.uri, None)
        if old is not None:
            old.cancel()
        self._running[snapshot.uri] = asyncio.get_running_loop().create_task(self._look(snapshot))

    def closed(self, uri: str) -> None:
        """Forget a document."""
        self._known.pop(uri, None)
        self._judged.pop(uri, None)
        task = self._running.pop(uri, None)
        if task is not None:
            task.cancel()

    def _withdraw(self, snapshot: Snapshot) -> None:
        """A kernel that was a variant and is typed in isn't called one until it is looked at: that waits for as long as keys come."""
        known = self._known.get(snapshot.uri, {})
        for kernel in snapshot.kernels:
            name = kernel.place.qualname
            standing = known.get(name)
            run = standing.finding.telling if standing is not None else None
            if standing is None or run is None or not standing.accepted or self._judged[snapshot.uri].get(name) == _own(snapshot, kernel):
                continue
            said = f"{name} in {PurePath(place(snapshot.uri)).name} has changed since run {run.id}: verify it again."
            self._known[snapshot.uri] = {**self._known[snapshot.uri], name: Standing(standing.finding, stale=said)}
            self._on_change()

    async def _look(self, snapshot: Snapshot) -> None:
        await asyncio.sleep(REST_S)
        path, findings = place(snapshot.uri), self._findings()
        texts = {**self._texts(), path: snapshot.text}
        found: dict[str, Standing] = {}
        for kernel in snapshot.kernels:
            at = Place(path, kernel.place.qualname)
            found[at.qualname] = await asyncio.to_thread(_stands, findings, at, texts, self._memory)
        self._judged[snapshot.uri] = {k.place.qualname: _own(snapshot, k) for k in snapshot.kernels}
        if found != self._known.get(snapshot.uri):
            self._known[snapshot.uri] = found
            self._on_change()


def _own(snapshot: Snapshot, kernel: Kernel) -> str:
    return snapshot.text[kernel.span.start : kernel.span.end]


@define(eq=False)
class Memory:
    """What was found out of texts that are the same again. Each is dropped as a whole when it has grown: nothing needs it."""

    keys: dict[Hashable, str | None] = field(factory=dict[Hashable, str | None])  # by path, kernel and hash of the text
    forms: dict[Hashable, dict[str, int]] = field(factory=dict[Hashable, dict[str, int]])  # by run, its variants, path, kernel
    applicable: dict[tuple[str, tuple[int, ...]], Applicable] = field(factory=dict[tuple[str, tuple[int, ...]], Applicable])
    judged: dict[Hashable, tuple[int | None, str]] = field(factory=dict[Hashable, tuple[int | None, str]])
    copies: dict[Hashable, str | None] = field(factory=dict[Hashable, str | None])  # last key that was known, by path and kernel

    def trim(self) -> None:
        """Drop what is too much."""
        for kept in (self.keys, self.forms, self.applicable, self.judged, self.copies):
            if len(kept) > MOST_KEPT:
                kept.clear()


def _stands(findings: Findings, kernel: Place, texts: Mapping[str, str], memory: Memory) -> Standing:
    try:
        return standing(findings, kernel, texts, memory)
    except Exception:  # of one kernel: the others of its file have their own
        log.exception("How %s in %s stands to the history can't be told.", kernel.qualname, kernel.path)
        return Standing(Finding(kernel.path, kernel.qualname))


def standing(findings: Findings, kernel: Place, texts: Mapping[str, str], memory: Memory) -> Standing:
    """Of one kernel. Reads the history and other files: for a thread."""
    memory.trim()
    finding = finding_of(findings, kernel, texts, memory)
    if not finding.runs:
        for other in findings.named(kernel.name):
            copy = _of_variants(findings, evolve(finding, runs=(other,)), texts, memory)
            if copy.accepted:  # a copy of a file with a variant in it; else it only has the name of another kernel
                return copy
    return _of_variants(findings, finding, texts, memory)


def _of_variants(findings: Findings, finding: Finding, texts: Mapping[str, str], memory: Memory) -> Standing:
    """The kernel of now against the newest run with variants or, where it is none of those texts, an older one whose text it is."""
    newest: Standing | None = None
    for run in [r for r in finding.runs if r.variants][:MOST_COMPARED]:
        numbers = tuple(v.number for v in run.variants)
        try:
            applicable = memory.applicable.get((run.id, numbers)) or findings.load(run.id, numbers)
        except HistoryError:  # forgotten this moment
            continue
        memory.applicable[run.id, numbers] = applicable
        accepted, stale = judged(applicable, finding.path, finding.qualname, texts, memory)
        found = Standing(evolve(finding, told=run.id), accepted, stale)
        if accepted or (accepted == 0 and run.policy != GIVEN):  # what a judged edit is compared to may be a variant of an older run
            return found
        newest = newest or found
    return newest or Standing(finding)


def _against(findings: Findings, run: str, path: str, kernel: str, texts: Mapping[str, str]) -> tuple[int | None, str]:
    try:
        with Store.read(findings.db) as store:
            row = runs.find(store, run)
            if row.policy == GIVEN:  # an edit is itself, whatever came out of it
                numbers = [int(r["id"]) for r in store.rows("SELECT id FROM variants WHERE run = ? AND id", [row.id])]
            else:
                numbers = [v.number for v in read_variants(store, row.id, row.mode)]
        applicable = findings.load(row.id, numbers)
    except HistoryError:  # forgotten
        return None, ""
    return judged(applicable, path, kernel, texts, Memory())


def finding_of(findings: Findings, kernel: Place, texts: Mapping[str, str], memory: Memory) -> Finding:
    """What the history knows of a kernel at that place or, where it knows nothing, of one with the same source. For a thread."""
    path, name = kernel.path, kernel.qualname
    finding = findings.find(path, name)
    if not finding.runs and findings.has_named(kernel.name):  # a file that was renamed or copied
        key = _key(path, name, texts[path], memory)
        if key is not None:
            finding = findings.find(path, name, key)
        if finding.runs:
            memory.copies[path, name] = key
        elif (path, name) in memory.copies:  # one that has changed since, perhaps into a variant
            finding = findings.find(path, name, memory.copies[path, name])
    return finding


def _key(path: str, name: str, text: str, memory: Memory) -> str | None:
    """The source key of the kernel; None where the text holds none such."""
    given = needed({path: text}, name)
    asked = (path, name, text_hash(given[path]))
    if asked not in memory.keys:
        try:
            memory.keys[asked] = form(program_in(given if parses(given) else {path: text}, path, name))
        except SourceError:
            memory.keys[asked] = None
    return memory.keys[asked]


def judged(applicable: Applicable, path: str, name: str, texts: Mapping[str, str], memory: Memory) -> tuple[int | None, str]:
    """``accepted`` and ``stale`` of a run with variants. Only what can matter to the kernel is compared, so that its file may be large."""
    now, program_of = at_hand(applicable, path, name, texts)
    base, numbers = applicable.base_texts, tuple(applicable.patches)
    small, small_base = needed(now, name), needed(base, applicable.kernel)
    asked = (applicable.run, numbers, path, name, text_hash("".join(f"{p}\0{t}\0" for p, t in sorted(small.items()))))
    if asked in memory.judged:
        return memory.judged[asked]
    if not parses(small_base) or (not parses(small) and parses(now)):  # odd text: all of it, then
        small, small_base = now, base
    if small == small_base:
        answer: tuple[int | None, str] = (0, "")
    else:
        answer = _compared(
            applicable, small, small_base, program_of, lambda: _forms_of(applicable, small_base, program_of, asked[:-1], memory)
        )
    memory.judged[asked] = answer
    return answer


def _compared(
    applicable: Applicable, now: Mapping[str, str], base: Mapping[str, str], program_of: ProgramOf, forms: Callable[[], Mapping[str, int]]
) -> tuple[int | None, str]:
    said = changed(base, now, program_of, run=f"run {applicable.run}")
    if not said:
        return 0, ""
    number = forms().get(_form(now, program_of) or "")
    return number, "" if number else said


def _form(texts: Mapping[str, str], program_of: ProgramOf) -> str | None:
    try:
        return form(program_of({path: text.removeprefix("\ufeff") for path, text in texts.items()}))
    except SourceError:
        return None


def _forms_of(applicable: Applicable, base: Mapping[str, str], program_of: ProgramOf, asked: Hashable, memory: Memory) -> dict[str, int]:
    """Made at the first edit of the program: who never edits it never waits for them."""
    if asked not in memory.forms:
        memory.forms[asked] = _forms(applicable, whole=base is applicable.base_texts, program_of=program_of)
    return memory.forms[asked]


def _forms(applicable: Applicable, *, whole: bool, program_of: ProgramOf) -> dict[str, int]:
    """Of the original (0) and of each variant, from what can matter to the kernel; of two alike the lower number."""
    out: dict[str, int] = {}
    for number, patch in ((0, Patch()), *sorted(applicable.patches.items())):
        full = {**applicable.base_texts, **patch.apply(dict(applicable.base_texts))}
        small = full if whole else needed(full, applicable.kernel)
        key = _form(small if whole or parses(small) else full, program_of)
        if key is not None:
            out.setdefault(key, number)
    return out


def at_hand(
    applicable: Applicable, path: str, kernel: str, texts: Mapping[str, str]
) -> tuple[dict[str, str], Callable[[Mapping[str, str]], Program]]:
    """The texts of now in place of those that a run started from, and what finds its program in either.

    Args:
        applicable: of the run.
        path: of the kernel now.
        kernel: its qualname.
        texts: of open documents, by path; the others are read from the disk.
    """
    now = {path: texts[path]}
    moved = path not in applicable.base_texts
    workspace = Workspace.for_file(path, texts)
    for other in applicable.base_texts:
        if other not in now and not (moved and other == applicable.path):
            try:
                now[other] = texts[other] if other in texts else workspace.read(other)
            except SourceError:  # it is gone: placing says so, if it matters
                continue

    def program_of(given: Mapping[str, str]) -> Program:
        return program_in(given, path if path in given else applicable.path, kernel)

    return now, program_of
