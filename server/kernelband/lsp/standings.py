"""How the text at hand stands to what the history knows: the original of a run, one of its variants, or something else by now."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from pathlib import PurePath

from attrs import define, evolve, field, frozen

from kernelband.errors import HistoryError, SourceError
from kernelband.history.records import GIVEN
from kernelband.history.view import RunView, VariantView
from kernelband.lsp.findings import Applicable, Finding, Findings
from kernelband.lsp.index import Snapshot, place
from kernelband.lsp.parts import needed, parses
from kernelband.source import Workspace, changed, form, program_in
from kernelband.source.model import Kernel, Patch, Place, Program, text_hash
from kernelband.source.tree import BOM

MOST_KEPT = 500  # of each kind of what is remembered
REST_S = 0.25  # without an edit, before programs are looked for: that reads other files too

log = logging.getLogger(__name__)


@frozen
class Standing:
    """``accepted``: the variant that the text is, 0 for the original, and ``taken`` what is known of it. ``stale``: why the run's variants
    don't fit the text any more.
    """

    finding: Finding
    accepted: int | None = None
    stale: str = ""
    taken: VariantView | None = None

    @property
    def offers(self) -> tuple[VariantView, ...]:
        """What could be taken now, the best first: nothing that was rejected, nothing that the text is already."""
        run = self.finding.telling
        if run is None or self.stale or self.accepted:
            return ()
        return run.better


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

    def settled(self, uri: str) -> bool:
        """Whether the document's last look has come to its end."""
        task = self._running.get(uri)
        return task is not None and task.done()

    def knows(self, uri: str) -> bool:
        """Whether something was found in the history for a kernel of that document."""
        return any(standing.finding.runs for standing in self._known.get(uri, {}).values())

    async def against(self, run: str, path: str, kernel: str) -> tuple[int | None, str]:
        """``accepted`` and ``stale`` of an open document's text of this moment, against one run; (None, "") where either is gone."""
        texts = dict(self._texts())
        if path not in texts:
            return None, ""
        return await asyncio.to_thread(_against, self._findings(), run, Place(path, kernel), texts)

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

    forms: dict[Hashable, str | None] = field(factory=dict[Hashable, str | None])  # by path, kernel and what matters of the texts
    of_runs: dict[Hashable, dict[str, int]] = field(factory=dict[Hashable, dict[str, int]])  # variant by form, where none was written down
    stale: dict[Hashable, str] = field(factory=dict[Hashable, str])
    copies: dict[Hashable, str] = field(factory=dict[Hashable, str])  # the last form that was known, by path and kernel

    def trim(self) -> None:
        """Drop what is too much."""
        for kept in (self.forms, self.of_runs, self.stale, self.copies):
            if len(kept) > MOST_KEPT:
                kept.clear()


def _stands(findings: Findings, kernel: Place, texts: Mapping[str, str], memory: Memory) -> Standing:
    try:
        return standing(findings, kernel, texts, memory)
    except Exception:  # of one kernel: the others of its file have their own
        log.exception("How %s in %s stands to the history can't be told.", kernel.qualname, kernel.path)
        return Standing(Finding(kernel.path, kernel.qualname))


def standing(findings: Findings, kernel: Place, texts: Mapping[str, str], memory: Memory) -> Standing:
    """Of one kernel. Reads the history and other files: for a thread.

    Of the runs that know the text (at that place or, where none there does, of any file with the same program) the one that says most of
    it is told: a verified result is hidden by no later run that was predicted, or found nothing.
    """
    memory.trim()
    finding, known = finding_of(findings, kernel, texts, memory)
    if known:
        run, number = min(known, key=lambda x: _rank(*x))
        taken = next((v for v in run.variants if v.number == number), None) or (findings.variant(run.id, number) if number else None)
        return Standing(evolve(finding, told=run.id), number, taken=taken)
    newest = next((run for run in finding.runs if run.variants), None)
    if newest is None:
        return Standing(finding)
    return Standing(evolve(finding, told=newest.id), None, _stale(findings, newest, kernel, texts, memory))


def finding_of(findings: Findings, kernel: Place, texts: Mapping[str, str], memory: Memory) -> tuple[Finding, list[tuple[RunView, int]]]:
    """The runs of a kernel, and which of them know its text, with the variant that it is; of runs at other places those that do. For a
    thread.
    """
    finding = findings.find(kernel.path, kernel.qualname)
    if not finding.runs and not findings.has_named(kernel.name):
        return finding, []
    known = list(_known(findings, finding.runs, kernel, texts, memory))
    if known:
        return finding, known
    own = _form_of({kernel.path: texts[kernel.path]}, kernel, memory)
    others = [run for run in findings.formed(own) if run not in finding.runs] if own is not None else []
    known = list(_known(findings, others, kernel, texts, memory))
    if known and own is not None:
        memory.copies[kernel] = own
    elif not finding.runs and kernel in memory.copies:  # a copy that has changed since
        others = findings.formed(memory.copies[kernel])
    return evolve(finding, runs=(*finding.runs, *others)), known


def is_original(began: Applicable, kernel: Place, texts: Mapping[str, str], memory: Memory) -> bool:
    """Whether the text is the program of those texts, however either is written. Reads other files: for a thread."""
    base = _form_of(began.base_texts, Place(began.path, began.kernel), memory)
    return base is not None and base == _form_of(at_hand(began.path, began.base_texts, kernel, texts), kernel, memory)


def _known(
    findings: Findings, runs: Iterable[RunView], kernel: Place, texts: Mapping[str, str], memory: Memory
) -> Iterable[tuple[RunView, int]]:
    """Those whose original (0), or variant, the text is; the newest first."""
    for run in runs:
        try:
            forms = run.forms or _forms_of(findings, run.id, [v.number for v in run.variants], memory)
        except HistoryError:  # forgotten this moment
            continue
        own = _form_of(at_hand(run.path, run.files, kernel, texts), kernel, memory) if forms else None
        number = forms.get(own) if own is not None else None
        if number is not None:
            yield run, number


def _rank(run: RunView, number: int) -> int:
    """The lower, the more is said of the text. What a judged edit was compared to may be a variant of another run."""
    verified = any(v.verified for v in run.variants if not number or v.number == number)
    if run.policy == GIVEN and not number:
        return 2 if verified else 5
    return 0 if verified else 1 if number else 3 if run.variants else 4


def _stale(findings: Findings, run: RunView, kernel: Place, texts: Mapping[str, str], memory: Memory) -> str:
    """Why the text is none of that run."""
    try:
        began = findings.load(run.id, ())
    except HistoryError:
        return ""
    now = at_hand(run.path, run.files, kernel, texts)
    small, small_base = needed(now, kernel.qualname), needed(began.base_texts, began.kernel)
    if not parses(small_base) or (not parses(small) and parses(now)):  # odd text: all of it, then
        small, small_base = now, began.base_texts
    asked = (run.id, kernel, _hash(small))
    if asked not in memory.stale:
        memory.stale[asked] = changed(small_base, small, finder(run.path, kernel), run=f"run {run.id}")
    return memory.stale[asked]


def _against(findings: Findings, run: str, kernel: Place, texts: Mapping[str, str]) -> tuple[int | None, str]:
    try:
        found, numbers = findings.tried(run)
        memory = Memory()
        forms = found.forms or _forms_of(findings, found.id, numbers, memory)
    except HistoryError:  # forgotten
        return None, ""
    number = forms.get(_form_of(at_hand(found.path, found.files, kernel, texts), kernel, memory) or "")
    return number, "" if number is not None else _stale(findings, found, kernel, texts, memory)


def _form_of(texts: Mapping[str, str], kernel: Place, memory: Memory) -> str | None:
    """The form of the kernel's program among those texts; None where they hold none such. Only what can matter to it is looked at, so that
    its file may be large.
    """
    small = needed(texts, kernel.qualname)
    asked = (kernel, _hash(small))
    if asked not in memory.forms:
        plain = {path: text.removeprefix(BOM) for path, text in (small if parses(small) else texts).items()}
        try:
            memory.forms[asked] = form(finder(kernel.path, kernel)(plain))
        except SourceError:
            memory.forms[asked] = None
    return memory.forms[asked]


def _forms_of(findings: Findings, run: str, numbers: Iterable[int], memory: Memory) -> dict[str, int]:
    """Of a run that has written none down."""
    numbers = tuple(sorted(numbers))
    if (run, numbers) in memory.of_runs:
        return memory.of_runs[run, numbers]
    began = findings.load(run, numbers)
    out: dict[str, int] = {}
    for number, patch in ((0, Patch()), *sorted(began.patches.items())):
        full = {**began.base_texts, **patch.apply(dict(began.base_texts))}
        key = _form_of(full, Place(began.path, began.kernel), memory)
        if key is not None:
            out.setdefault(key, number)
    memory.of_runs[run, numbers] = out
    return out


def _hash(texts: Mapping[str, str]) -> str:
    return text_hash("".join(f"{path}\0{text}\0" for path, text in sorted(texts.items())))


def at_hand(began: str, files: Iterable[str], kernel: Place, texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of now in place of those that a run started from.

    Args:
        began: the path that the kernel had.
        files: that the run started from.
        kernel: as it is now.
        texts: of open documents, by path; the others are read from the disk.
    """
    now = {kernel.path: texts[kernel.path]}
    moved = kernel.path not in files
    others = [path for path in files if path != kernel.path and not (moved and path == began)]
    if not others:
        return now
    workspace = Workspace.for_file(kernel.path, texts)
    for other in others:
        with suppress(SourceError):  # it is gone: whoever needs it says so
            now[other] = texts[other] if other in texts else workspace.read(other)
    return now


def finder(began: str, kernel: Place) -> Callable[[Mapping[str, str]], Program]:
    """What finds the kernel's program among texts of now, or among those that a run started from at the path ``began``."""

    def found(given: Mapping[str, str]) -> Program:
        return program_in(given, kernel.path if kernel.path in given else began, kernel.qualname)

    return found
