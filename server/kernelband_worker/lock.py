"""One GPU, many askers: a fair advisory lock per GPU, between processes and users of one machine, released by death.

Two file locks make it fair. Who wants the GPU first takes the *turnstile*, then the *lock*, then lets the turnstile go. Who has just
released the lock and wants it again finds the turnstile taken by the one who waits. The lock's file says who holds it.

Containers see each other's locks only if they share the folder ($KERNELBAND_LOCK_DIR).
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import stat
import tempfile
import threading
import time
from pathlib import Path
from typing import Callable, Dict, Iterator, Set

from kernelband_worker import system
from kernelband_worker.errors import OperationFailed

_POLL_S = 0.01  # flock can't be waited for and cancelled at once
_TELL_S = 1.0


class CancelledError(Exception):
    """Nobody wants the lock any more."""


def folder() -> Path:
    """Where the locks are: the same place for every user of the machine, so not under TMPDIR."""
    named = os.environ.get("KERNELBAND_LOCK_DIR")
    if named:
        return Path(named)
    return Path(tempfile.gettempdir() if system.WINDOWS else "/tmp", "kernelband-locks")  # noqa: S108


@contextlib.contextmanager
def held(gpu: str, holder: str, cancelled: Callable[[], bool], waiting: Callable[[str, float], None]) -> Iterator[None]:
    """Hold the GPU's lock.

    Args:
        gpu: its UUID.
        holder: what others are told while this process holds it.
        cancelled: asked while waiting.
        waiting: called about once a second while waiting, with the holder's text and the seconds waited so far.

    Raises:
        CancelledError: ``cancelled()`` became true.
        OperationFailed: the lock's files can't be made or opened (``unsupported``).
    """
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", gpu)
    clock = _Clock(cancelled, waiting)
    with _opened(name + ".turn") as turnstile, _opened(name + ".lock") as lock:
        clock.wait_for(turnstile, lock)
        clock.wait_for(lock, lock)
        system.unlock(turnstile)
        _write(lock, holder)
        try:
            yield
        finally:
            _write(lock, "")  # closing the descriptor releases it


class Shared:
    """GPU locks that several calls of this process may hold at once: the first of them takes a lock, the last lets it go."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holds: Dict[str, contextlib.ExitStack] = {}
        self._members: Dict[str, int] = {}
        self._asking: Set[str] = set()

    @contextlib.contextmanager
    def held(self, gpu: str, holder: str, cancelled: Callable[[], bool], waiting: Callable[[str, float], None]) -> Iterator[None]:
        """As the function ``held``, beside others that came this way."""
        with self._changed:
            while gpu in self._asking:
                if cancelled():
                    raise CancelledError
                self._changed.wait(_POLL_S)
            joined = gpu in self._holds
            if joined:
                self._members[gpu] += 1
            else:
                self._asking.add(gpu)
        if not joined:
            self._take(gpu, held(gpu, holder, cancelled, waiting))
        try:
            yield
        finally:
            self._leave(gpu)

    def _take(self, gpu: str, hold: contextlib.AbstractContextManager[None]) -> None:
        stack = contextlib.ExitStack()
        try:
            stack.enter_context(hold)
            with self._changed:
                self._holds[gpu], self._members[gpu] = stack, 1
        finally:
            with self._changed:
                self._asking.discard(gpu)
                self._changed.notify_all()

    def _leave(self, gpu: str) -> None:
        with self._changed:
            self._members[gpu] -= 1
            if self._members[gpu] == 0:
                self._holds.pop(gpu).close()


class _Clock:
    def __init__(self, cancelled: Callable[[], bool], waiting: Callable[[str, float], None]) -> None:
        self._cancelled, self._waiting = cancelled, waiting
        self._start = self._told = time.monotonic()

    def wait_for(self, file: int, lock: int) -> None:
        while not system.try_lock(file):
            if self._cancelled():
                raise CancelledError
            now = time.monotonic()
            if now - self._told >= _TELL_S:
                self._told = now
                self._waiting(_read(lock), now - self._start)
            time.sleep(_POLL_S * random.uniform(0.2, 1.0))  # noqa: S311 - of two that ask in step one would never get it


@contextlib.contextmanager
def _opened(name: str) -> Iterator[int]:
    try:
        file = _open(name)
    except OSError as error:
        raise OperationFailed(
            f"The lock that keeps two measurements off one GPU can't be made in {folder()}: {error.strerror}. "
            "Set KERNELBAND_LOCK_DIR to a folder that every user of this GPU may write to.",
            "unsupported",
        ) from error
    try:
        yield file
    finally:
        os.close(file)


def _open(name: str) -> int:
    base = folder()
    try:
        base.mkdir(mode=0o777)
        base.chmod(0o1777)  # mkdir's mode goes through the umask
    except FileExistsError:
        pass  # made by an earlier process, perhaps another user's
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    while True:
        # Without O_CREAT first: in a sticky folder Linux refuses O_CREAT on files of other users (fs.protected_regular).
        try:
            file = os.open(base / name, flags)
        except FileNotFoundError:
            try:
                file = os.open(base / name, flags | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                continue  # another process was faster
            if hasattr(os, "fchmod"):
                os.fchmod(file, 0o666)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OSError(0, f"{name} there isn't a regular file")
        return file


def _write(file: int, text: str) -> None:
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    os.write(file, text.encode("utf-8", "replace")[:500])


def _read(file: int) -> str:
    try:
        os.lseek(file, 0, os.SEEK_SET)
        text = os.read(file, 500).decode("utf-8", "replace")
    except OSError:  # Windows: a locked file can't be read
        text = ""
    return text or "another process"
