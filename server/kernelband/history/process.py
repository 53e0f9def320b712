"""Who runs: an identity of this process that a recycled process id can't fake."""

from __future__ import annotations

import getpass
import os
import socket
import sys
from pathlib import Path

from attrs import frozen


@frozen
class Owner:
    """A process on a host. ``process`` is its start mark, "" where the system doesn't tell."""

    user: str
    host: str
    pid: int
    process: str

    @property
    def text(self) -> str:
        """For people: "anna@box pid 123"."""
        return f"{self.user}@{self.host} pid {self.pid}"


def this_process() -> Owner:
    """The owner of what this process writes."""
    return Owner(_user(), socket.gethostname(), os.getpid(), start_mark(os.getpid()))


def start_mark(pid: int) -> str:
    """Boot and start time of a process, "" when there is none or the system doesn't tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    if fields[0] in "ZX":  # dead, not yet collected
        return ""
    return f"{boot[:8]}-{fields[19]}"


def is_alive(owner: Owner) -> bool | None:
    """Whether the owner still runs; None when only its heartbeat can tell (another host, or a system without /proc)."""
    if owner.host != socket.gethostname() or not sys.platform.startswith("linux") or not owner.process:
        return None
    return start_mark(owner.pid) == owner.process


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's uid without a name
        return str(os.getuid()) if hasattr(os, "getuid") else "user"
