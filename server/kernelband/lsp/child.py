"""One process of a run, such as ``kernelband optimize --json``: its events on the loop, and an end that leaves nobody behind."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from attrs import frozen

from kernelband_worker import system
from kernelband_worker.scrub import RUN_MARK

GRACE_S = 1.1  # after SIGTERM: the run writes down that it was interrupted, and lets its worker go
LEAVE_S = 0.3  # once it has ended: its worker notices, and cleans up after itself
KILL_S = 0.3  # until a process that was sent SIGKILL is gone; one in a driver call may stay longer
DRAIN_S = 0.2  # for what still stands in its pipes
LOOK_S = 0.03
EVENT_BYTES = 1 << 26  # of a line of stdout; more is cut off, and then no event
LOG_BYTES = 1 << 14
LOG_LINES = 200

Event = dict[str, Any]


@frozen
class Exit:
    """How it ended. ``code``: of the process, negative for a signal; None when it could not be started, and ``problem`` says why."""

    code: int | None
    problem: str = ""


class Lines:
    """The lines of a stream that comes in pieces. What a line holds beyond ``limit`` bytes is cut off."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that are complete now, without their ends."""
        *ends, begin = data.split(b"\n")
        out: list[bytes] = []
        for end in ends:
            self._add(end)
            out.append(self.rest())
        self._add(begin)
        return out

    def rest(self) -> bytes:
        """What has come of a line that isn't complete."""
        line = b"".join(self._parts)
        self._parts, self._size = [], 0
        return line

    def _add(self, part: bytes) -> None:
        if kept := part[: self._limit - self._size]:
            self._parts.append(kept)
            self._size += len(kept)


class Child(asyncio.SubprocessProtocol):
    """Use ``Child.start``. ``errors``: the last lines of stderr; ``log``: the last lines of stdout that aren't events."""

    def __init__(self, on_event: Callable[[Event], None]) -> None:
        self.errors: deque[str] = deque(maxlen=LOG_LINES)
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._marker = secrets.token_hex(8)
        self._transport: asyncio.SubprocessTransport | None = None
        self._begun: asyncio.Future[None] = self._loop.create_future()  # started, or never will be
        self._exited: asyncio.Future[None] = self._loop.create_future()
        self._drained: asyncio.Future[None] = self._loop.create_future()
        self._out, self._err = Lines(EVENT_BYTES), Lines(LOG_BYTES)
        self._task: asyncio.Task[None] | None = None
        self._asked = False

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        env: Mapping[str, str],
        on_event: Callable[[Event], None],
        on_end: Callable[[Exit], None],
        *,
        cwd: str | None = None,
    ) -> Child:
        """Start it in a session of its own, without input; returns at once.

        Args:
            command: the program and its arguments.
            env: its whole environment; the mark that all its processes carry is added.
            on_event: takes each line of stdout that is a JSON object with ``event``; on the loop, in order.
            on_end: called once, after the last event, when the process and everything that it started are gone.
            cwd: its working folder.
        """
        child = cls(on_event)
        child._task = child._loop.create_task(child._live(list(command), dict(env), on_end, cwd))
        return child

    @property
    def marker(self) -> str:
        """``NAME=value`` in the environment of each of its processes."""
        return f"{RUN_MARK}={self._marker}"

    async def cancel(self) -> None:
        """Ask it to end, make it end, and return when nobody is left: at most two seconds."""
        await asyncio.wait({self._begun})
        if self._transport is not None and not self._exited.done():
            if not self._asked:  # once: a second signal would interrupt the end that the first one began
                self._asked = True
                self._transport.terminate()
            await asyncio.wait({self._exited}, timeout=GRACE_S)
            self._kill_group()
        assert self._task is not None
        await asyncio.wait({self._task})

    def kill(self) -> None:
        """End everything now; for the exit of the server, where no loop runs any more."""
        self._kill_group()
        end = time.monotonic() + KILL_S
        while system.kill_marked(self.marker) and time.monotonic() < end:
            time.sleep(LOOK_S)
        self._remove_scratch()

    @classmethod
    async def to_its_end(
        cls,
        command: Sequence[str],
        env: Mapping[str, str],
        on_event: Callable[[Event], None],
        *,
        cwd: str,
        limit_s: float,
        living: set[Child],
    ) -> tuple[Child, Exit | None]:
        """Start it and wait until it has ended: the child and how; None for one that took longer than ``limit_s`` and was ended.

        It is in ``living`` meanwhile. One that nobody waits for any more is ended, too.
        """
        over: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()

        def end(exit_: Exit) -> None:
            if not over.done():
                over.set_result(exit_)

        child = cls.start(command, env, on_event, end, cwd=cwd)
        living.add(child)
        try:
            await asyncio.wait({over}, timeout=limit_s)
        finally:
            late = not over.done()
            if late:
                await asyncio.shield(child.cancel())
            living.discard(child)
        return child, None if late else over.result()

    # ------------------------------------------------------------ its life

    async def _live(self, command: list[str], env: dict[str, str], on_end: Callable[[Exit], None], cwd: str | None) -> None:
        end = await self._begin(command, {**env, RUN_MARK: self._marker}, cwd)
        self._begun.set_result(None)
        if end is None:
            assert self._transport is not None
            await asyncio.wait({self._exited})
            await self._clean()
            await asyncio.wait({self._drained}, timeout=DRAIN_S)
            self._transport.close()
            self._hear(self._out.rest())
            self._note(self._err.rest())
            end = Exit(self._transport.get_returncode())
        self._loop.call_soon(on_end, end)

    async def _begin(self, command: list[str], env: dict[str, str], cwd: str | None) -> Exit | None:
        try:
            await self._loop.subprocess_exec(
                lambda: self,
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=env,
                cwd=cwd,
                **system.new_group(),
            )
        except (OSError, ValueError) as error:
            return Exit(None, f"{command[0]} can't be started: {getattr(error, 'strerror', None) or error}")
        return None

    async def _clean(self) -> None:
        """Wait until nobody carries the mark; soon no longer ask but kill."""
        begin = time.monotonic()
        while await asyncio.to_thread(self._anybody) and time.monotonic() < begin + LEAVE_S:
            await asyncio.sleep(LOOK_S)
        begin = time.monotonic()
        while await asyncio.to_thread(system.kill_marked, self.marker) and time.monotonic() < begin + KILL_S:
            await asyncio.sleep(LOOK_S)
        await asyncio.to_thread(self._remove_scratch)

    def _remove_scratch(self) -> None:
        """The folders of its workers: whoever was about to remove them may have been killed at it."""
        for folder in system.temporary_folders(system.SCRATCH_PREFIX + self._marker):
            shutil.rmtree(folder, ignore_errors=True)

    def _anybody(self) -> bool:
        return any(True for _ in system.marked(self.marker))

    def _kill_group(self) -> None:
        if self._transport is not None and not self._exited.done():
            process = self._transport.get_extra_info("subprocess")
            if process is not None:
                system.kill_group(process)

    # ------------------------------------------------------------ what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It runs."""
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Bytes of stdout or stderr."""
        for line in (self._out if fd == 1 else self._err).feed(data):
            (self._hear if fd == 1 else self._note)(line)

    def process_exited(self) -> None:
        """It has ended; what it started may live, and hold its pipes open."""
        self._exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """It has ended and its pipes are empty."""
        self._drained.set_result(None)

    def _hear(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):  # not JSON: printed past our own printer
            found = None
        event = cast("Event", found) if isinstance(found, dict) else {}
        if isinstance(event.get("event"), str):
            self._loop.call_soon(self._on_event, event)  # one that fails is the loop's to report, and stops no other
        else:
            self.log.append(line[:LOG_BYTES].decode("utf-8", "replace"))

    def _note(self, line: bytes) -> None:
        if line.strip():
            self.errors.append(line.decode("utf-8", "replace").rstrip())
