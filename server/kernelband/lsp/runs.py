"""The live runs: one at a time for each kernel, each a process of its own (``child.py``)."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kernelband.errors import UsageError
from kernelband.lsp.child import Child, Event, Exit
from kernelband.lsp.liverun import LiveRun, Request

__all__ = ["LiveRun", "Request", "Runs"]

COMMAND = (sys.executable, "-m", "kernelband")
_ID = re.compile(r"[0-9a-f]{8}")


class Runs:
    """All methods are called on the loop. ``on_change``: told of a run soon after what is shown of it has changed, and at its end.
    ``command`` and ``environment`` (added to this process's own) hold from the next run on; ``trusted`` is asked for more of it at each.

    Args:
        refusal: why nothing of a file or folder may run, "" where it may (``Trust.refusal``); asked before each run.
        command: what starts the command line of this version.
        now: the clock, in seconds.
    """

    def __init__(
        self, refusal: Callable[[str], str], command: Sequence[str] = COMMAND, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.on_change: list[Callable[[LiveRun], None]] = []
        self._refusal = refusal
        self.command, self._now = tuple(command), now
        self.environment: Mapping[str, str] = {}
        self.trusted: Callable[[], Mapping[str, str]] = dict
        self._newest: dict[tuple[str, str], LiveRun] = {}  # by path and kernel; also those that have ended
        self._children: dict[str, Child] = {}
        self._folders: dict[str, Path] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, request: Request) -> LiveRun:
        """Begin a run, or answer with the one of that kernel that goes on (also one that is stopping). Returns at once.

        Raises:
            UsageError: the kernel's file, or that of the entry, may not run; or ``resume`` is not the id of a run.
        """
        for path in request.runs:
            if refusal := self._refusal(path):
                raise UsageError(refusal)
        live = self.of(request.path, request.kernel)
        if live is not None and not live.ended:
            return live
        if request.resume is not None and _ID.fullmatch(request.resume) is None:
            raise UsageError(f"{request.resume!r} is not the id of a run: give all 8 hexadecimal digits.")
        live = LiveRun(request.resume or secrets.token_hex(4), request, self._now)
        self._newest[request.path, request.kernel] = live
        self._tasks[live.id] = asyncio.get_running_loop().create_task(self._go(live))
        return live

    def of(self, path: str, kernel: str) -> LiveRun | None:
        """The newest run of that kernel in this session."""
        return self._newest.get((path, kernel))

    def get(self, run: str) -> LiveRun | None:
        """The run of that id, if it is the newest of its kernel in this session."""
        return next((live for live in self._newest.values() if live.id == run), None)

    def forget(self, run: str) -> None:
        """It was deleted: nothing is said of it any more, unless it goes on."""
        self._newest = {at: live for at, live in self._newest.items() if live.id != run or not live.ended}

    @property
    def live(self) -> tuple[LiveRun, ...]:
        """Those that go on."""
        return tuple(live for live in self._newest.values() if not live.ended)

    async def cancel(self, run: str) -> LiveRun:
        """Stop it, and return when nothing of it is left (two seconds); what it found is kept. One that has ended stays as it is.

        Raises:
            UsageError: there is no such run here.
        """
        live = self.get(run)
        if live is None:
            raise UsageError(f"Run {run} was not started here, so it can't be stopped here: stop it where it was started.")
        task = self._tasks.get(run)
        if task is not None:
            if not live.ended and not live.stopping:
                live.stopping = True
                self._tell(live)
            if (child := self._children.get(run)) is not None:
                await child.cancel()
            await asyncio.wait({task})
        return live

    async def cancel_all(self) -> None:
        """Stop them all, side by side."""
        await asyncio.gather(*(self.cancel(live.id) for live in self.live))

    def kill_all(self) -> None:
        """End them now, without a grace; for the exit of the server, where no loop runs any more."""
        for live in self.live:
            live.stopping = True
        for child in self._children.values():
            child.kill()
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)

    # ------------------------------------------------------------ one run

    async def _go(self, live: LiveRun) -> None:
        """From its folder to its end. It has ended only when nothing of it is left: then one that resumes it has its id for itself."""
        end = Exit(None), ""
        try:
            # Its own folder holds the texts of buffers. It is also where the process starts: `python -m` looks for modules there first.
            folder = await asyncio.to_thread(self._prepare, live)
            if not live.stopping:
                end = await self._run(live, folder)
        except OSError as error:
            end = Exit(None, f"The unsaved texts can't be written to a temporary file: {error.strerror or error}."), ""
        finally:
            folder = self._folders.pop(live.id, None)
            if folder is not None:
                await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            del self._tasks[live.id]
        live.end(*end)
        self._tell(live)

    async def _run(self, live: LiveRun, folder: Path) -> tuple[Exit, str]:
        """Its process, to its end: how it ended, and its last words."""
        over: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

        def hear(event: Event) -> None:
            if live.hear(event):
                self._tell(live)

        # Paths and messages are in UTF-8, whatever the locale of the editor is.
        env = {**os.environ, **self.environment, **self.trusted(), "PYTHONIOENCODING": "utf-8"}
        child = Child.start([*self.command, *arguments(live, folder)], env, hear, over.set_result, cwd=str(folder))
        self._children[live.id] = child
        exit_ = await over
        del self._children[live.id]
        return exit_, child.errors[-1] if child.errors else ""

    def _prepare(self, live: LiveRun) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="kernelband-run-"))  # 0700
        self._folders[live.id] = folder
        for name, (_, _, text) in _files(live.request).items():
            with os.fdopen(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
        return folder

    def _tell(self, live: LiveRun) -> None:
        loop = asyncio.get_running_loop()
        for listener in self.on_change:
            loop.call_soon(listener, live)  # one that fails is the loop's to report, and stops no run


def _files(request: Request) -> dict[str, tuple[str, str, str]]:
    """The files that its process is given: by name, the option, the path that they stand for, the text."""
    if request.resume is not None:
        return {}  # the texts are those of the run
    own = {} if request.text is None else {request.path: request.text}
    texts = {f"{n}.txt": ("--overlay", path, text) for n, (path, text) in enumerate({**request.overlays, **own}.items())}
    return texts | {f"base-{n}.txt": ("--against-overlay", path, text) for n, (path, text) in enumerate(request.base.items())}


def arguments(live: LiveRun, folder: Path) -> list[str]:
    """Those of the command line; its overlays stand in ``folder``."""
    r = live.request
    budget = {} if r.judges else {"--trials": r.trials, "--seconds": r.seconds}
    common = {**budget, "--worker": r.worker, "--python": r.python, "--db": r.db}
    own = {"--entry": r.entry, "--gpu": r.gpu, "--run-id": live.id} if r.resume is None else {"--resume": r.resume}
    # Named also where it resumes: a run of another file is refused.
    out = ["verify" if r.judges else "optimize", "--json", f"{r.path}::{r.kernel}"]
    for option, value in {**common, **own}.items():
        if value is not None:
            out.append(f"{option}={value}")
    for name, (option, path, _) in _files(r).items():
        out += [option, f"{path}={folder / name}"]
    return out
