"""A tiny process that outlives a killed supervisor by a moment: it ends the groups and removes the scratch folder.

PR_SET_PDEATHSIG ends an executor with its supervisor, but not the compiler that the executor had started. The guardian is forked
before the supervisor has threads, holds the read end of a pipe, and acts at end of input, however the supervisor ended.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from pathlib import Path
from typing import List, Set

from kernelband_worker import system


class Guardian:
    """The supervisor's side. On Windows there is none, and telling it does nothing."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe  # -1: none

    @classmethod
    def start(cls, scratch: Path, marker: str) -> Guardian:
        """Fork the guardian. Call before starting threads, opening locks or children.

        Args:
            scratch: the folder that it removes.
            marker: ``NAME=value`` in the environment of everything that executors start.
        """
        if system.WINDOWS:
            return cls(-1)
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                _guard(read, scratch, marker)
            finally:
                os._exit(0)
        os.close(read)
        return cls(write)

    def watch(self, group: int) -> None:
        """A process group has started."""
        self._tell(b"+%d\n" % group)

    def forget(self, group: int) -> None:
        """A process group has ended, and its number may be given to others."""
        self._tell(b"-%d\n" % group)

    def _tell(self, line: bytes) -> None:
        if self._pipe >= 0:
            with contextlib.suppress(BrokenPipeError):  # somebody ended the guardian: the supervisor still cleans up itself
                os.write(self._pipe, line)


def _guard(read: int, scratch: Path, marker: str) -> None:
    os.setsid()  # what is sent to the supervisor's group isn't meant for this process
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Holding the supervisor's pipes open would hide its end from the engine.
    null = os.open(os.devnull, os.O_RDWR)
    keep = os.dup(read)
    for target in (0, 1, 2):
        os.dup2(null, target)
    highest = max(keep, null, read) + 256
    os.closerange(3, keep)
    os.closerange(keep + 1, highest)
    groups: Set[int] = set()
    rest = b""
    while True:
        part = os.read(keep, 4096)
        if not part:
            break
        *lines, rest = (rest + part).split(b"\n")
        _count(groups, lines)
    for group in groups:
        system.signal_group(group, signal.SIGKILL)
    system.kill_marked(marker)
    remove(scratch)


def _count(groups: Set[int], lines: List[bytes]) -> None:
    for line in lines:
        (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))


def remove(folder: Path) -> None:
    """Remove a folder in which processes that were just killed may still be writing."""
    for _ in range(20):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
