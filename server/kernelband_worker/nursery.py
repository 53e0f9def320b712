"""The nursery: a process that has imported torch and Triton and forks executors, so that only the first of a kind imports them.

That first executor is started as any other. It imports the libraries ahead of its first call, and before anything of the user's it leaves
a copy of itself behind: the nursery, which so costs no second import. It only waits and forks, and never runs the user's code or touches
CUDA. Until it is there, and wherever something is wrong with it, executors get a Python of their own. Linux only.

    supervisor -- starts --> first executor -- leaves behind --> nursery -- forks --> further executors

All of them are the supervisor's own children, to signal and to wait for: who is forked is so by a process that ends at once, and the
supervisor adopts orphans.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import IO, Any, Container, Dict, FrozenSet, Iterable, List, Mapping, Optional, Tuple, Union, cast

from kernelband_worker import system
from kernelband_worker.wire import NICE, THREADS

#: In the environment of an executor and of all that it starts: which one it is.
MARK = "KERNELBAND_EXECUTOR"
_DIGITS = 7
_OF_NURSERIES = "nursery"  # in place of the digits
assert len(_OF_NURSERIES) == _DIGITS

# What executors of one kind need not have in common. CUDA reads the second when it is initialised, which it never is in a nursery; an
# executor heeds the others after it was forked.
_OWN = (MARK, "CUDA_VISIBLE_DEVICES", NICE, THREADS)
_COMING, _READY = b"coming", b"ready"
_READY_S = 5.0  # importing our own modules takes it a third of a second
_BIRTH_S = 5.0  # a fork takes milliseconds, but on a busy machine it waits for its turn
_ORDER_BYTES = 1 << 16
_MOST_KINDS = 4  # each holds the memory of an executor that has just begun
_MOST_LOSSES = 3  # of a kind, one after the other: then something here is against it

Kind = FrozenSet[Tuple[str, str]]


def mark(scratch: Path, number: int) -> str:
    """The value of MARK for an executor. All are of one length, as a forked one writes its own over its nursery's."""
    return f"{scratch}#{number:0{_DIGITS}d}"


def _of_nursery(of_executor: str) -> str:
    return of_executor[:-_DIGITS] + _OF_NURSERIES


# ---------------------------------------------------------------- in the supervisor


class Forked:
    """An executor from a nursery, with what is used of a Popen."""

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin: Optional[IO[bytes]] = os.fdopen(stdin, "wb")
        self.stdout: Optional[IO[bytes]] = os.fdopen(stdout, "rb")
        self.stderr: Optional[IO[bytes]] = os.fdopen(stderr, "rb")
        self.returncode: Optional[int] = None

    def kill(self) -> None:
        """End it, without its group."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit code; negative, the signal that ended it. Only once."""
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


Process = Union["subprocess.Popen[bytes]", Forked]


class Nurseries:
    """Starts executors, from the nursery of their kind once there is one. Those of a kind have their environment in common, and whether
    they are for a GPU.

    Use it in the main thread: PR_SET_PDEATHSIG follows the *thread* that started a process.
    """

    def __init__(self, *, possible: bool) -> None:
        self._possible = possible
        self._nurseries: Dict[Kind, _Nursery] = {}
        self._losses: Dict[Kind, int] = {}

    def start(self, command: List[str], role: str, environment: Dict[str, str], folder: Path) -> Process:
        """An executor in a session of its own, working in ``folder``, with pipes for standard streams.

        Raises:
            OSError: a process can't be started.
        """
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kind = frozenset(
            {("", "gpu" if role == "gpu" else "host"), *((name, value) for name, value in environment.items() if name not in _OWN)}
        )
        nursery = self._nurseries.get(kind)
        if nursery is not None and nursery.is_ready():
            forked = nursery.fork(role, environment, folder)
            if forked is not None:
                self._losses.pop(kind, None)
                return forked
        if nursery is not None and nursery.lost:
            nursery.close()
            del self._nurseries[kind]
            self._losses[kind] = self._losses.get(kind, 0) + 1
        known = kind in self._nurseries or self._losses.get(kind, 0) >= _MOST_LOSSES
        if known or not self._possible or len(self._nurseries) >= _MOST_KINDS:
            return _started(command, environment, folder)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = _started([*command, str(theirs.fileno())], environment, folder, pass_fds=(theirs.fileno(),))
            except BaseException:
                ours.close()
                raise
        self._nurseries[kind] = _Nursery(ours)
        return process

    def reap_orphans(self, known: Container[int]) -> None:
        """Whoever the supervisor has adopted for the nurseries' sake and is gone: what executors have left, lost nurseries."""
        if self._possible:
            system.reap_orphans(known)


def _started(command: List[str], environment: Dict[str, str], folder: Path, **options: Any) -> subprocess.Popen[bytes]:
    pipe: Any = subprocess.PIPE
    process: Any = subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder, env=environment, **system.new_group(), **options
    )
    return cast("subprocess.Popen[bytes]", process)


class _Nursery:
    """``lost`` when it has ended or is of no use."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(_BIRTH_S)
        self._connection = connection
        self._patience_s = _READY_S
        self._coming = self._ready = self.lost = False

    def close(self) -> None:
        """It ends when it sees that."""
        self._connection.close()

    def is_ready(self) -> bool:
        """Whether it can fork now. Waits for it once, when the libraries are imported, and not while they are."""
        if not self._coming and not self.lost:
            self._coming = self._hears(_COMING, 0)
        if self._coming and not self._ready and not self.lost:
            self._ready = self._hears(_READY, self._patience_s)
            self._patience_s = 0.0
        return self._ready

    def _hears(self, word: bytes, seconds: float) -> bool:
        """Whether it says that within the time. It is lost if it ends or says anything else."""
        if not _speaks(self._connection.fileno(), seconds):
            return False
        try:
            heard = self._connection.recv(len(word)) == word
        except OSError:
            heard = False
        self.lost = not heard
        return heard

    def fork(self, role: str, environment: Mapping[str, str], folder: Path) -> Optional[Forked]:
        """An executor; None if that fails, and the nursery is lost.

        Raises:
            OSError: there can't be more pipes.
        """
        order = {"role": role, "environment": {name: environment.get(name) for name in _OWN}, "folder": str(folder)}
        (stdin, to_stdin), (from_stdout, stdout), (from_stderr, stderr), (birth, born) = _pipes(4)
        try:
            socket.send_fds(self._connection, [json.dumps(order).encode()], [stdin, stdout, stderr, born])
        except OSError:
            self.lost = True
        finally:
            _close(stdin, stdout, stderr, born)
        pid = None if self.lost else _read_pid(birth)
        _close(birth)  # who is born later than that finds nobody, and ends
        if pid is None:
            self.lost = True
            _close(to_stdin, from_stdout, from_stderr)
            return None
        return Forked(pid, to_stdin, from_stdout, from_stderr)


def _read_pid(birth: int) -> Optional[int]:
    return int(os.read(birth, 32) or b"0") or None if _speaks(birth, _BIRTH_S) else None


def _speaks(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read within that time; its end is something."""
    look = select.poll()
    look.register(descriptor, select.POLLIN)
    return bool(look.poll(seconds * 1000))


def _pipes(count: int) -> List[Tuple[int, int]]:
    made: List[Tuple[int, int]] = []
    try:
        for _ in range(count):
            made.append(os.pipe())  # noqa: PERF401  # those that were made have to be closed
    except OSError:
        for pair in made:
            _close(*pair)
        raise
    return made


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


# ---------------------------------------------------------------- in the first executor, the nursery and those from it


def leave_behind(connection: int, parent: int, streams: Iterable[IO[bytes]], modules: Iterable[str]) -> Optional[str]:
    """Import the libraries and make a nursery of this kind. Call before anything of the user's is imported and a thread is started.

    What goes wrong with the import is said by the operation that needs it; what goes wrong with the nursery concerns nobody.

    Args:
        connection: the descriptor that is the nursery's end of its connection with the supervisor.
        parent: the supervisor.
        streams: of the protocol: not the nursery's.
        modules: what executors import besides, sooner or later.

    Returns:
        None in the process that called this. Its role in each executor that the nursery forks later: it has standard streams of its own.
    """
    from kernelband_worker.environment import require_ahead

    with socket.socket(fileno=connection) as supervisor:
        own = os.environ[MARK]
        if not require_ahead() or threading.active_count() > 1 or not system.overwrite_variable(MARK, _of_nursery(own)):
            return None
        supervisor.send(_COMING)
        if not _fork_child_of(parent):  # it never has the mark of this executor, whose end would be its own
            system.overwrite_variable(MARK, own)
            return None
        try:
            _settle(streams, modules)
            return _serve(supervisor, parent)
        except BaseException:  # noqa: BLE001  # the caller's loop isn't for a nursery, nor for an executor that is half born
            os._exit(1)


def _settle(streams: Iterable[IO[bytes]], modules: Iterable[str]) -> None:
    """Let go of what is the first executor's, and import the rest."""
    for stream in streams:
        stream.close()
    null = os.open(os.devnull, os.O_RDWR)
    for target in (0, 1, 2):
        os.dup2(null, target)
    os.close(null)
    os.chdir("/")
    for name in modules:
        importlib.import_module(name)
    gc.freeze()
    if sys.modules["torch"].cuda.is_initialized():  # by somebody's sitecustomize: CUDA doesn't survive a fork
        os._exit(1)


def _serve(supervisor: socket.socket, parent: int) -> str:
    """Fork an executor for each order; comes back in those only, with their role."""
    supervisor.send(_READY)
    while True:
        order, descriptors, _, _ = socket.recv_fds(supervisor, _ORDER_BYTES, 4)
        if not order:
            os._exit(0)  # the supervisor has left
        if _fork_child_of(parent):
            told: Dict[str, Any] = json.loads(order)
            _be_born(told, descriptors)
            return str(told["role"])
        _close(*descriptors)  # if there can't be another process, that is how the supervisor sees it


def _be_born(order: Dict[str, Any], descriptors: List[int]) -> None:
    """Become what a fresh start with the order's environment would be, then tell the supervisor."""
    *streams, born = descriptors
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target)
    _close(*streams)
    os.chdir(order["folder"])
    environment: Dict[str, Optional[str]] = order["environment"]
    if not system.overwrite_variable(MARK, environment[MARK] or ""):
        os._exit(1)  # it couldn't be found to be ended
    for name, value in environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    # What a fresh process draws as it begins; Python sees to ``random`` itself, and CUDA's generators aren't there yet.
    sys.modules["torch"].default_generator.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "multiprocessing.process" in sys.modules:
        sys.modules["multiprocessing.process"].current_process().authkey = os.urandom(32)
    os.write(born, b"%d" % os.getpid())
    _close(born)


def _fork_child_of(parent: int) -> bool:
    """Fork a child of ``parent``, an ancestor that adopts orphans, in a session of its own. True in the child; False also if that fails."""
    try:
        middle = _fork()
    except OSError:
        return False
    if middle > 0:
        os.waitpid(middle, 0)
        return False
    try:
        middle = os.getpid()
        if _fork() > 0:
            os._exit(0)
        os.setsid()
        while os.getppid() == middle:
            time.sleep(0.0005)
        system.die_with_parent(parent)
    except BaseException:  # noqa: BLE001  # the caller's way is for one process only
        os._exit(1)
    return True


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of native threads; the one library that has some, OpenBLAS, ends them before
        return os.fork()
