"""What there is to work with, as ``kernelband doctor`` finds it: a process of its own for each Python, asked once in a session."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen

from kernelband.errors import UsageError, WorkerError
from kernelband.lsp.child import Child, Event
from kernelband.lsp.remedies import words

LIMIT_S = 60.0  # the command itself ends after 45 s


@frozen
class Asked:
    """What is looked at. ``command`` starts the command line; ``worker`` and ``python``: as a run has them (``liverun.Request``); ``db``:
    the history's file.
    """

    command: tuple[str, ...]
    worker: str | None = None
    python: str | None = None
    db: str | None = None

    @property
    def arguments(self) -> list[str]:
        """Of the command line."""
        given = {"--worker": self.worker, "--python": self.python, "--db": self.db}
        return ["doctor", "--json-lines", *(f"{name}={value}" for name, value in given.items() if value is not None)]


@frozen
class Environment:
    """``checks`` and ``works`` as ``kernelband doctor --json`` has them; ``asked_s``: when it was, in seconds since the epoch."""

    worker: str | None
    python: str | None
    asked_s: float
    checks: list[dict[str, str]] = field(repr=False)
    works: dict[str, bool]


class Environments:
    """All methods are called on the loop. An answer is remembered for the session; who asks while it is looked for gets the same.

    Args:
        refusal: why nothing of a file or folder may run, "" where it may (``Trust.refusal``); asked each time.
        limit: seconds that the command may take.
    """

    def __init__(self, refusal: Callable[[str], str], *, limit: float = LIMIT_S) -> None:
        self._refusal, self._limit = refusal, limit
        self._known: dict[Asked, Environment] = {}
        self._looking: dict[Asked, asyncio.Task[Environment]] = {}
        self._children: set[Child] = set()
        self._folders: set[Path] = set()

    async def of(self, path: str, asked: Asked, *, again: bool = False) -> Environment:
        """For files at that path. ``again``: what is remembered doesn't count.

        Raises:
            UsageError: nothing may run there; the interpreter is the user's, and may be one of that folder.
            WorkerError: the command says nothing, or not in time.
        """
        if refusal := self._refusal(path):
            raise UsageError(refusal)
        if asked in self._known and not again:
            return self._known[asked]
        task = self._looking.get(asked)
        if task is None:
            task = self._looking[asked] = asyncio.get_running_loop().create_task(self._look(asked))
            task.add_done_callback(lambda _: self._looking.pop(asked, None))
        return await asyncio.shield(task)  # one of several who ask may be cancelled

    def kill_all(self) -> None:
        """End them now, without a grace; for the exit of the server, where no loop runs any more."""
        for child in self._children:
            child.kill()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    async def _look(self, asked: Asked) -> Environment:
        found: list[Event] = []

        def hear(event: Event) -> None:
            if event["event"] in ("checked", "error"):
                found.append(event)

        # Where it starts nothing can be imported from; paths and messages are in UTF-8, whatever the locale of the editor is.
        folder = await asyncio.to_thread(self._prepare)
        env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        command: Sequence[str] = [*asked.command, *asked.arguments]
        try:
            child, end = await Child.to_its_end(command, env, hear, cwd=str(folder), limit_s=self._limit, living=self._children)
        finally:
            self._folders.discard(folder)
            shutil.rmtree(folder, ignore_errors=True)
        last: dict[str, Any] = found[-1] if found else {}
        if last.get("event") == "checked":
            told = Environment(asked.worker or None, asked.python, time.time(), [_worded(c) for c in last["checks"]], dict(last["works"]))
            self._known[asked] = told
            return told
        if end is None:
            raise WorkerError(f"`kernelband doctor` didn't answer within {self._limit:.0f} s: try it in a terminal.")
        said = [str(last.get("message", "")), end.problem, *list(child.errors)[-1:]]
        silent = f"`kernelband doctor` ended with exit code {end.code} and said nothing: try it in a terminal."
        raise WorkerError(next(filter(None, said), silent))

    def known(self, asked: Asked) -> Environment | None:
        """What is remembered; nothing is started."""
        return self._known.get(asked)

    def _prepare(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="kernelband-doctor-"))  # 0700
        self._folders.add(folder)
        return folder


def _worded(check: dict[str, str]) -> dict[str, str]:
    """In an editor's words."""
    return {**check, "found": words(check["found"]), "means": words(check["means"])}
