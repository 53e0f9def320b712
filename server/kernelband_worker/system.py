"""Every call that differs between operating systems: groups, death signals, file locks, who a process belongs to.

Tested on Linux. The Windows branches keep the machinery running without groups and death signals: a process is ended alone, and
end of input is what ends the rest. macOS takes the POSIX branches without PR_SET_PDEATHSIG and /proc.
"""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any, Container, Dict, Iterator, List, Optional, Protocol

WINDOWS = os.name == "nt"
LINUX = sys.platform.startswith("linux")
#: Of a worker's scratch folder, which the bootstrap makes where TMPDIR says; the mark of an editor's run follows.
SCRATCH_PREFIX = "kernelband-worker-"
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class Killable(Protocol):
    """A Popen or its like."""

    pid: int

    def kill(self) -> None:
        """End it, without its group."""


def new_group() -> Dict[str, Any]:
    """Keyword arguments of Popen: a session and group of its own, so no terminal and no Ctrl-C of ours."""
    if WINDOWS:
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return {"start_new_session": True}


def kill_group(process: Killable) -> None:
    """End a process that ``new_group`` started, with everything in its group. Not there any more is fine."""
    if WINDOWS:
        with contextlib.suppress(OSError):
            process.kill()
        return
    signal_group(process.pid, signal.SIGKILL)


def signal_group(group: int, number: int) -> None:
    """Send a signal to a process group, if it still exists (POSIX)."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def marked(marker: str) -> Iterator[int]:
    """Every other process of this user whose environment holds ``marker`` (``NAME=value``), also those that left their group.

    Linux only (reads /proc); elsewhere nothing. A process that has ended and waits for its parent isn't among them.
    """
    if not LINUX:
        return
    wanted = marker.encode()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            variables = Path("/proc", name, "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # another user's, or just gone
        if wanted in variables:
            yield int(name)


def kill_marked(marker: str) -> List[int]:
    """End every process that ``marked`` finds, each as it is found. Returns those that were sent the signal."""
    found: List[int] = []
    for pid in marked(marker):
        with contextlib.suppress(OSError):  # just gone
            os.kill(pid, signal.SIGKILL)
            found.append(pid)
    return found


def die_with_parent(parent: int) -> None:
    """Ask the kernel for SIGKILL when the parent's starting thread ends; end now if the parent is gone already.

    Only Linux has it. Elsewhere the watcher of end of input does the same, a little later.
    """
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not WINDOWS and os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; whether that could be had. They are ``reap_orphans``'s to reap."""
    return LINUX and ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def reap_orphans(known: Container[int]) -> None:
    """Reap the children that have ended, up to one that is ``known``: that is somebody else's to reap, and is so soon (Linux)."""
    with contextlib.suppress(ChildProcessError):  # no children at all
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid in known:
                break
            os.waitpid(ended.si_pid, 0)


def overwrite_variable(name: str, value: str) -> bool:
    """Change a variable where the kernel shows it, in the block that this process began with or was forked with; os.environ stays.

    Whether that could be done: only a value as long as the old one fits (Linux).
    """
    getenv = ctypes.CDLL(None).getenv
    getenv.argtypes, getenv.restype = [ctypes.c_char_p], ctypes.c_void_p
    place, wanted = getenv(os.fsencode(name)), os.fsencode(value)
    if place is None:
        return False
    before: bytes = ctypes.string_at(place)
    if len(before) != len(wanted):
        return False
    ctypes.memmove(place, wanted, len(wanted))
    shown = os.fsencode(f"{name}={value}") in Path("/proc/self/environ").read_bytes().split(b"\0")
    if not shown:  # it was set anew since, and lies elsewhere
        ctypes.memmove(place, before, len(before))
    return shown


def end_own_group() -> None:
    """End this process and its group at once; does not return."""
    if not WINDOWS and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(1)


def be_nice(by: int) -> None:
    """Lower the priority of this process."""
    if not WINDOWS:
        os.nice(by)


def cpus() -> int:
    """CPU cores that this process may use: affinity and container quota counted, at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        if quota != "max":
            count = min(count, -(-int(quota) // int(period)))
    return max(1, count)


def user() -> str:
    """The name of the user, or the number if it has no name (containers)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def host() -> str:
    """The name of this machine, without its domain."""
    return socket.gethostname().partition(".")[0]


def oom_kills() -> Optional[int]:
    """How many processes the kernel has ended for lack of memory since it started; None where that isn't known."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def try_lock(file: int) -> bool:
    """Take the exclusive lock of an open descriptor without waiting. Released when the descriptor or process ends."""
    if WINDOWS:
        import msvcrt

        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue] - Windows has them
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def unlock(file: int) -> None:
    """Let go of a lock that ``try_lock`` took."""
    if WINDOWS:
        import msvcrt

        os.lseek(file, 0, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_UNLCK, 1)  # pyright: ignore[reportAttributeAccessIssue] - Windows has them
        return
    import fcntl

    fcntl.flock(file, fcntl.LOCK_UN)


def temporary_folders(prefix: str) -> Iterator[Path]:
    """This user's folders of that prefix beside which a new temporary folder would be made."""
    for path in Path(tempfile.gettempdir()).glob(prefix + "*"):
        with contextlib.suppress(OSError):
            facts = path.lstat()
            mine = WINDOWS or facts.st_uid == os.getuid()
            if mine and path.is_dir() and not path.is_symlink():
                yield path


def wait(process: subprocess.Popen[bytes], seconds: float) -> Optional[int]:
    """The exit code, or None if it hasn't ended within ``seconds`` (a driver call can't be interrupted)."""
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def close(*streams: Optional[IO[bytes]]) -> None:
    """Close pipes whose other end may be gone."""
    for stream in streams:
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.close()


def age_s(path: Path) -> float:
    """Seconds since the folder was last changed; 0 if it is gone."""
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0
