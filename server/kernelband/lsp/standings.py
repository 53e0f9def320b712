"""How the text at hand stands to what the history knows: the original of a run, one of its variants, or something else by now."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from attrs import frozen

from kernelband.errors import HistoryError, SourceError, StaleText
from kernelband.history import source_key
from kernelband.lsp.findings import Applicable, Finding, Findings, VariantFinding
from kernelband.lsp.index import Snapshot, place
from kernelband.lsp.placing import place as put
from kernelband.lsp.placing import program_in, recognise
from kernelband.source import Workspace
from kernelband.source.model import Kernel, Patch, Program

REST_S = 0.25  # without an edit, before programs are looked for: that reads other files too


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
        self._running: dict[str, asyncio.Task[None]] = {}

    def of(self, uri: str, qualname: str) -> Standing | None:
        """What is known; None before the first look."""
        return self._known.get(uri, {}).get(qualname)

    def look(self, snapshot: Snapshot) -> None:
        """The document's text, or the history, is another: look again soon."""
        old = self._running.pop(snapshot.uri, None)
        if old is not None:
            old.cancel()
        self._running[snapshot.uri] = asyncio.get_running_loop().create_task(self._look(snapshot))

    def closed(self, uri: str) -> None:
        """Forget a document."""
        self._known.pop(uri, None)
        task = self._running.pop(uri, None)
        if task is not None:
            task.cancel()

    async def _look(self, snapshot: Snapshot) -> None:
        await asyncio.sleep(REST_S)
        path, findings = place(snapshot.uri), self._findings()
        texts = {**self._texts(), path: snapshot.text}
        found: dict[str, Standing] = {}
        for kernel in snapshot.kernels:
            found[kernel.place.qualname] = await asyncio.to_thread(standing, findings, path, kernel, texts)
        if found != self._known.get(snapshot.uri):
            self._known[snapshot.uri] = found
            self._on_change()


def standing(findings: Findings, path: str, kernel: Kernel, texts: Mapping[str, str]) -> Standing:
    """Of one kernel. Reads the history and other files: for a thread."""
    name = kernel.place.qualname
    finding = findings.find(path, name)
    if not finding.runs:  # a file that was renamed or copied
        try:
            finding = findings.find(path, name, source_key(program_in({path: texts[path]}, path, name)))
        except SourceError:
            return Standing(finding)
    run = finding.telling
    if run is None or not run.variants:
        return Standing(finding)
    try:
        applicable = findings.load(run.id, [v.number for v in run.variants])
    except HistoryError:  # forgotten this moment
        return Standing(finding)
    now, program_of = at_hand(applicable, path, name, texts)
    number = recognise(applicable.base_texts, applicable.patches, now, program_of)
    if number:
        return Standing(finding, number)
    try:
        put(Patch(), applicable.base_texts, now, program_of, run=f"run {run.id}")
    except StaleText as error:
        return Standing(finding, number, error.message)
    return Standing(finding, 0)


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
