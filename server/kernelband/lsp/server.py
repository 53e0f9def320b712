"""The server object: what all features share, and who is told when something changes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import attrs
from lsprotocol import types
from pygls.lsp.server import LanguageServer

from kernelband import __version__
from kernelband.errors import SourceError
from kernelband.history import find_place
from kernelband.history.view import RunView
from kernelband.lsp.catalog import Catalog
from kernelband.lsp.diagnoses import Diagnoses
from kernelband.lsp.document_view import View
from kernelband.lsp.documents import Document
from kernelband.lsp.edits import between
from kernelband.lsp.environments import Environments
from kernelband.lsp.findings import Findings
from kernelband.lsp.index import KernelIndex, Snapshot, place
from kernelband.lsp.inspections import Inspections
from kernelband.lsp.notebooks import SYNC, Notebooks
from kernelband.lsp.pages import PageFiles
from kernelband.lsp.runs import COMMAND, LiveRun, Runs
from kernelband.lsp.settings import Settings, model_environment, read_settings
from kernelband.lsp.standings import Standings
from kernelband.lsp.text import Encoding
from kernelband.lsp.transport import Protocol
from kernelband.lsp.trust import Trust
from kernelband.source import Workspace
from kernelband.source.model import Span

POLL_S = 1.0  # between two looks at the history's file: others write it too
LOOK_S = 6.0  # between two looks into it where the file is as it was: a run whose process has died changes nothing there
REDRAW_S = 0.5  # at most so often: with each, VS Code begins to wait for calm anew, a quarter of a second or longer
FILES_S = 0.5  # after files were written: a checkout writes many

log = logging.getLogger(__name__)


class KernelBandServer(LanguageServer):
    """State of one connection. ``shown``: runs whose progress the client shows. ``asks_for_content``: it opens addresses of ours.

    ``on_run`` and ``on_diagnoses`` are told that a run has changed, and that the hints of a document may be others; ``on_end``, that one
    that wasn't started here has ended.
    """

    def __init__(self, db: str | None) -> None:
        super().__init__("kernelband", __version__, protocol_cls=Protocol, notebook_document_sync=SYNC)  # pyright: ignore[reportUnknownMemberType]
        self.settings = Settings(db=db)
        self.model_key: str | None = None  # in memory only
        self.findings = Findings(find_place(db).path)
        self.index = KernelIndex(self._parsed)
        self.standings = Standings(lambda: self.findings, self.open_texts, self.redraw)
        self.trust = Trust()
        self.on_run: list[Callable[[LiveRun], None]] = []
        self.on_end: list[Callable[[RunView], None]] = []
        self._going = frozenset[str]()
        self.on_diagnoses: list[Callable[[str], None]] = []
        self.diagnoses = Diagnoses(lambda: self.findings, self.open_texts, self._diagnosed)
        self.told: dict[str, list[types.Diagnostic]] = {}  # by document: the diagnostics that the client knows of
        self.inspections = Inspections(self.trust.refusal)
        self.environments = Environments(self.trust.refusal)
        self.planning: asyncio.Task[dict[str, Any]] | None = None  # for a hover (``features.plan.needs``)
        self.catalog, self.scanning = Catalog(), asyncio.Lock()
        self.runs = Runs(self.trust.refusal)
        self.runs.trusted = self.inspections.trusted = self.trust.environment
        self.runs.on_change.append(self._run_changed)
        self.shown: set[str] = set()
        self.page_files = PageFiles()
        self.asks_for_content = False
        self.client: types.ClientInfo | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self.batches: set[asyncio.Task[Any]] = set()  # of several runs, one after the other
        self._redraw_due: asyncio.TimerHandle | None = None
        self._redrawn = -REDRAW_S  # when last
        self._files_due: asyncio.TimerHandle | None = None
        self.has_looked = False  # into the history
        self.has_drawn = False  # whether a client has lenses of ours, which may want to be drawn anew

    # ------------------------------------------------------------ documents

    @property
    def documents(self) -> Notebooks:
        """Root, folders, encoding and open documents."""
        workspace = self.workspace
        assert isinstance(workspace, Notebooks)
        return workspace

    @property
    def encoding(self) -> Encoding:
        """How the client counts characters."""
        return self.documents.position_encoding or types.PositionEncodingKind.Utf16

    def open_documents(self) -> list[Document]:
        """Files and notebooks that the client has open."""
        return self.documents.programs

    def open_texts(self) -> dict[str, str]:
        """Their texts, by path."""
        return {place(d.uri): d.source for d in self.open_documents()}

    async def view(self, uri: str) -> View | None:
        """The newest kernels of a document, or of a cell's notebook, in the text of now; None where it isn't open.

        Waits only for the first snapshot, or the outline of a long text.
        """
        program = self.documents.program(uri)
        snapshot = await self.index.soonest(program)
        return self.seen(snapshot, uri) if snapshot is not None else None

    def seen(self, snapshot: Snapshot, uri: str) -> View | None:
        """A snapshot of a document, or of a cell's notebook, in the document's or cell's text of now; None where it isn't open."""
        cell = self.documents.cell(uri)
        if cell is not None:
            return attrs.evolve(_view(snapshot, cell.book), now=cell.lines, start=cell.span.start)
        document = self.documents.find(uri)
        return _view(snapshot, document) if document is not None else None

    def is_changed(self, path: str, text: str) -> bool:
        """Whether an open document's text isn't the file's."""
        try:
            return Workspace.for_file(path).read(path) != text
        except SourceError:
            return True

    # ------------------------------------------------------------ beside the requests

    def report_server_error(self, error: Exception, source: Any) -> None:  # noqa: ARG002 - pygls' signature
        """A notification's handler failed: a line in the log, where pygls would show the user a message."""
        log.error("A message of the client can't be handled: %s", error)

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Let it run beside the requests; what it raises is a line in the log."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("A task beside the requests failed.", exc_info=error)

    async def watch(self) -> None:
        """Look at the history when its file changes, and from time to time, for as long as the connection lives."""
        loop, seen, due = asyncio.get_running_loop(), (), 0.0
        while True:
            try:
                state = await asyncio.to_thread(self.findings.state)
                if state != seen or loop.time() >= due:
                    seen, due = state, loop.time() + LOOK_S  # also where it can't be read
                    found = await self.look()
                    due = loop.time() + (0.0 if found or self.findings.problem else LOOK_S)  # of a long history a part is read at a time
            except Exception:  # such as a row that makes no sense: the next look may be a better one
                log.exception("The history can't be looked at.")
            await asyncio.sleep(POLL_S)

    async def look(self) -> bool:
        """Read what is new in the history, and tell of it. Whether there was something."""
        found = await asyncio.to_thread(self.findings.refresh)
        if found:
            self._history_changed()
            self._tell_ends()
        self.has_looked = True
        return found

    def _tell_ends(self) -> None:
        """Of runs that went on at the last look."""
        before, self._going = self._going, self.findings.going
        for run in sorted(before - self._going):
            ended = self.findings.get(run)
            if ended is not None and self.runs.get(run) is None:
                for told in self.on_end:
                    told(ended)

    def configure(self, value: object) -> None:
        """Take settings; a wrong one is a line in the log."""
        before = self.settings
        self.settings, problems = read_settings(value, before)
        for problem in problems:
            log.warning(problem)
        if self.settings.lens != before.lens:
            self.redraw()
        if (self.settings.diagnostics, self.settings.problems) != (before.diagnostics, before.problems):
            for document in self.open_documents():
                self._diagnosed(document.uri)
        self.runs.command = self.inspections.command = tuple(self.settings.search) or COMMAND
        self.runs.environment = model_environment(self.settings, self.model_key)
        if self.settings.db != before.db:
            self.findings.close()
            self.findings = Findings(find_place(self.settings.db).path)
            self._history_changed()  # what the other one knew isn't known here

    def leave(self) -> None:
        """The client is going: nothing of a run stays."""
        for task in list(self._tasks):
            task.cancel()
        self.runs.kill_all()
        self.inspections.kill_all()
        self.environments.kill_all()
        self.index.stop()
        self.findings.close()
        self.page_files.remove()

    # ------------------------------------------------------------ what has changed

    def _parsed(self, snapshot: Snapshot, before: Snapshot | None) -> None:
        if snapshot.problem and not (before is not None and before.problem):  # once, not with every key
            self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, snapshot.problem))
        self.standings.look(snapshot)
        self.diagnoses.look(snapshot)
        self.look_again(snapshot.uri)
        document = self.documents.find(snapshot.uri)
        if before is None or document is None or _places(_view(before, document)) != _places(_view(snapshot, document)):
            self._redraw()  # at once: a kernel has come, gone or been renamed, or isn't where it was said to be

    def _history_changed(self) -> None:
        self.look_again()
        self.redraw()

    def look_again(self, changed: str | None = None) -> None:
        """How do all open texts stand to the history now? Where one document has ``changed`` ("": files that aren't open): the others with
        a kernel that has a run; its program may be in several files.
        """
        for document in self.open_documents():
            snapshot = self.index.latest(document.uri)
            if snapshot is not None and (changed is None or (snapshot.uri != changed and self.standings.knows(snapshot.uri))):
                self.standings.look(snapshot)
                self.diagnoses.look(snapshot)

    def files_changed(self) -> None:
        """Files were written, such as by git: look again soon, once for many."""
        if self._files_due is None:
            self._files_due = asyncio.get_running_loop().call_later(FILES_S, self._look_at_files)

    def _look_at_files(self) -> None:
        self._files_due = None
        self.look_again("")

    def _run_changed(self, live: LiveRun) -> None:
        for told in self.on_run:
            told(live)
        self.redraw()
        if live.ended:
            self.begin(self.look())

    def _diagnosed(self, uri: str) -> None:
        for told in self.on_diagnoses:
            told(uri)

    def redraw(self) -> None:
        """What lenses say has changed: let the client draw them anew: now, or soon after the last time, once for many reasons."""
        if self._redraw_due is None:
            loop = asyncio.get_running_loop()
            self._redraw_due = loop.call_later(max(0.0, self._redrawn + REDRAW_S - loop.time()), self._redraw)

    def _redraw(self) -> None:
        if self._redraw_due is not None:
            self._redraw_due.cancel()
            self._redraw_due = None
        self._redrawn = asyncio.get_running_loop().time()
        if self.has_drawn and self.redraws:
            self.workspace_code_lens_refresh(None)

    @property
    def redraws(self) -> bool:
        """Whether the client can be told that lenses are others."""
        workspace = self.client_capabilities.workspace
        return workspace is not None and workspace.code_lens is not None and bool(workspace.code_lens.refresh_support)


def _view(snapshot: Snapshot, document: Document) -> View:
    now = document.text_lines
    return View(snapshot, now, between(snapshot.text, now.text, document.edits.since(snapshot.version)))


def _places(view: View) -> list[tuple[str, Span]]:
    """What a client draws lenses on."""
    return [(kernel.place.qualname, view.span(kernel.name_span)) for kernel in view.snapshot.kernels]
