"""Inspections of kernels: ``kernelband inspect`` as a process of its own, one at a time, ended with its document."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kernelband.errors import UsageError, WorkloadError
from kernelband.explain.hints import hints, inspected
from kernelband.lsp.child import Child, Event
from kernelband.lsp.diagnoses import Inspected, Remedy
from kernelband.lsp.findings import Applicable
from kernelband.lsp.liverun import Request
from kernelband.lsp.runs import COMMAND
from kernelband.source import Workspace, find_program, patch_from_json
from kernelband.source.model import text_hash

INSPECTION = "inspection "  # and its number, in place of a run's id, which has no space
LIMIT_S = 180.0  # for a program's run under capture and all that is compiled of it


class Inspections:
    """All methods are called on the loop. ``waiting``: by document, what follows a save; ``looked_at``: by document and kernel, a hash
    of the text that was inspected last after a save; ``shown``: how often progress was shown;
    ``trusted`` is asked for more of the environment of each.

    Args:
        refusal: why nothing of a file may run, "" where it may (``Trust.refusal``); asked before each inspection.
        command: what starts the command line of this version.
        limit: seconds that one may take.
    """

    def __init__(self, refusal: Callable[[str], str], command: Sequence[str] = COMMAND, *, limit: float = LIMIT_S) -> None:
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.looked_at: dict[tuple[str, str], int] = {}
        self.shown = 0
        self.trusted: Callable[[], Mapping[str, str]] = dict
        self._refusal, self.command, self._limit = refusal, tuple(command), limit
        self._turn = asyncio.Lock()
        self._tasks: dict[asyncio.Task[Inspected], str] = {}  # with the document that each is of
        self._children: set[Child] = set()
        self._folders: set[Path] = set()
        self._count = 0

    async def inspect(self, ask: Request) -> Inspected:
        """Run and compile, once it is its turn. Its overlays are the texts of open documents, the kernel's own among them.

        Raises:
            KernelBandError: it may not run, can't be compiled, or takes too long; or its document was closed.
        """
        for path in ask.runs:
            if refusal := self._refusal(path):
                raise UsageError(refusal)
        task = asyncio.get_running_loop().create_task(self._inspect(ask))
        self._tasks[task] = ask.uri
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()  # whoever asked has been cancelled; nothing where it is done
        if task.cancelled():
            raise WorkloadError(f"The inspection of {ask.kernel} was stopped, because its document was closed: ask again.")
        return task.result()

    def closed(self, uri: str) -> None:
        """A document is open no more: what is asked of it isn't wanted."""
        for task in [t for t, of in self._tasks.items() if of == uri]:
            task.cancel()

    def kill_all(self) -> None:
        """End them now, without a grace; for the exit of the server, where no loop runs any more."""
        for task in self._tasks:
            task.cancel()
        for child in self._children:
            child.kill()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    # ------------------------------------------------------------ one of them

    async def _inspect(self, ask: Request) -> Inspected:
        async with self._turn:
            texts = await asyncio.to_thread(_program, ask)
            folder = await asyncio.to_thread(self._prepare, ask)
            try:
                rows, proposed = await self._run(ask, folder)
            finally:
                self._folders.discard(folder)
                shutil.rmtree(folder, ignore_errors=True)
        self._count += 1
        material = inspected(rows, ask.kernel)
        found = hints(material) if material is not None else ()
        proposed = [p for p in proposed if all(f["path"] in texts and text_hash(texts[f["path"]]) == f["base"] for f in p["patch"])]
        remedies = tuple(Remedy(n, str(p["code"]), str(p["what"])) for n, p in enumerate(proposed, 1))
        patches = {n: patch_from_json(p["patch"]) for n, p in enumerate(proposed, 1)}
        return Inspected(
            Applicable(f"{INSPECTION}{self._count}", ask.path, ask.kernel, texts, patches), time.time(), found, remedies, material
        )

    async def _run(self, ask: Request, folder: Path) -> tuple[list[Event], list[Event]]:
        """What it says of launches, and of moves."""
        rows: list[Event] = []
        proposed: list[Event] = []
        whole: list[Event] = []  # anything where all that was compiled has been said
        problems: list[str] = []

        def hear(event: Event) -> None:
            if event["event"] == "inspected":
                rows.append(event)
            elif event["event"] == "proposing":
                whole.append(event)
            elif event["event"] == "proposed":
                proposed.append(event)
            elif event["event"] == "error":
                problems.append(str(event["message"]))

        # Paths and messages are in UTF-8, whatever the locale of the editor is.
        env = {**os.environ, **self.trusted(), "PYTHONIOENCODING": "utf-8"}
        command = [*self.command, *arguments(ask, folder)]
        child, end = await Child.to_its_end(command, env, hear, cwd=str(folder), limit_s=self._limit, living=self._children)
        if whole and any(r.get("facts") for r in rows):  # however the moves went
            return rows, proposed
        if end is None:
            raise WorkloadError(
                f"The inspection of {ask.kernel} took longer than {self._limit:.0f} s and was stopped: name a quicker entry."
            )
        if end.code != 0:
            said = [*problems, *(str(r["error"]) for r in rows if r.get("error")), end.problem, *list(child.errors)[-1:]]
            silent = f"The inspection of {ask.kernel} ended with exit code {end.code}: `kernelband inspect` may show why."
            raise WorkloadError(next(filter(None, said), silent))
        return rows, proposed

    def _prepare(self, ask: Request) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="kernelband-inspect-"))  # 0700; it is also where the process starts
        self._folders.add(folder)
        for number, text in enumerate(ask.overlays.values()):
            (folder / f"{number}.txt").write_bytes(text.encode("utf-8", "surrogatepass"))
        return folder


def _program(ask: Request) -> dict[str, str]:
    """The texts that the program stands in, by path. Reads files: for a thread."""
    return dict(find_program(Workspace.for_file(ask.path, ask.overlays), ask.path, ask.kernel).texts)


def arguments(ask: Request, folder: Path) -> list[str]:
    """Those of the command line; its overlays stand in ``folder``."""
    out = ["inspect", "--json-lines", "--moves", f"{ask.path}::{ask.kernel}"]
    for option, value in {"--entry": ask.entry, "--gpu": ask.gpu, "--worker": ask.worker, "--python": ask.python}.items():
        if value is not None:
            out.append(f"{option}={value}")
    for number, path in enumerate(ask.overlays):
        out += ["--overlay", f"{path}={folder / f'{number}.txt'}"]
    return out
