"""Real processes: the worker's Python, a worker with operations of the tests, and who is left when it has gone."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import WorkloadError
from kernelband.worker import Worker, WorkerCommand
from kernelband_worker.wire import ModuleFile
from tests.e2e.cli_world import Home
from tests.e2e.searched import Searched

ROOT = Path(__file__).parents[2]
OPERATIONS = {"worker_operations.py": (Path(__file__).parent / "worker_operations.py").read_bytes()}


@pytest.fixture(scope="session")
def worker_python() -> str:
    """The Python with torch and Triton: $KERNELBAND_TEST_PYTHON, else the checkout's .worker."""
    named = os.environ.get("KERNELBAND_TEST_PYTHON")
    path = named or str(ROOT / ".worker" / "bin" / "python")
    if not Path(path).exists():
        pytest.fail(f"{path} isn't there: run `make .worker/ready` or set KERNELBAND_TEST_PYTHON")
    return path


@pytest.fixture(scope="session")
def one_search(tmp_path_factory: pytest.TempPathFactory, worker_python: str) -> Searched:
    """A search of the kernel of ``cli_world``, made once for a test process."""
    return Searched(tmp_path_factory.mktemp("searched"), worker_python)


@pytest.fixture
def searched(one_search: Searched) -> Home:
    """A home whose history holds that search, as nobody has touched it."""
    return one_search.again()


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A new TMPDIR, so short that a worker's programs have theirs inside its folder."""
    with tempfile.TemporaryDirectory(prefix="kb-", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)  # asked anew
        yield Path(folder)


def endless_ptxas(folder: Path) -> Path:
    """Triton's ptxas, that never ends."""
    ptxas = folder / "ptxas"
    version = "case \"$*\" in *--version*) echo 'Cuda compilation tools, release 12.8, V12.8.93'; exit 0;; esac"
    ptxas.write_text(f"#!/bin/sh\n{version}\nexec sleep 600\n")
    ptxas.chmod(0o755)
    return ptxas


class Files:
    """A workspace in memory: modules by name, content by hash."""

    def __init__(self, modules: dict[str, bytes] | None = None) -> None:
        self.modules = modules or {}
        self.asked: list[str] = []

    def find_module(self, name: str) -> ModuleFile | None:
        self.asked.append(name)
        if name not in self.modules:
            return None
        return {"name": name, "path": f"/{name}.py", "package": False, "sha256": hashlib.sha256(self.modules[name]).hexdigest()}

    def top_level(self) -> list[str]:
        return sorted({name.partition(".")[0] for name in self.modules})

    def blob(self, sha256: str) -> bytes:
        self.asked.append(sha256)
        for content in self.modules.values():
            if hashlib.sha256(content).hexdigest() == sha256:
                return content
        raise WorkloadError(f"There is no file with the hash {sha256}.", kind="import_failed")


class Log:
    """What a worker printed, by executor."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.lines: list[tuple[str, str]] = []

    def __call__(self, executor: str, text: str) -> None:
        with self._lock:
            self.lines.append((executor, text))

    def of(self, executor: str) -> str:
        with self._lock:
            return "".join(text for name, text in self.lines if name == executor)


def command(python: str = sys.executable, prefix: tuple[str, ...] = ()) -> WorkerCommand:
    """A worker whose executors run tests/e2e/worker_operations.py."""
    return WorkerCommand(prefix, python, executor="worker_operations", extra=OPERATIONS)


StartWorker = Callable[..., Worker]


@pytest.fixture
def start() -> Iterator[StartWorker]:
    """Start workers that are closed, and proven to be gone without a trace, at the end of the test."""
    workers: list[Worker] = []

    def begin(made: WorkerCommand | None = None, **options: Any) -> Worker:
        options.setdefault("files", Files())
        options.setdefault("deadline_s", 120.0)
        worker = Worker.start(made or command(), **options)
        workers.append(worker)
        return worker

    yield begin
    for worker in workers:
        worker.close()
    for worker in workers:
        assert gone(worker.hello["scratch"]) == []


def gone(scratch: str, seconds: float = 60.0) -> list[str]:
    """What is left of a worker here after some time: processes with its mark, its supervisor, its guardian, its scratch folder."""
    end = time.monotonic() + seconds
    while (left := _left(scratch)) and time.monotonic() < end:
        time.sleep(0.1)
    return left


def _left(scratch: str) -> list[str]:
    found = [scratch] if Path(scratch).exists() else []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended between two looks
            marked = f"KERNELBAND_SCRATCH={scratch}".encode() in Path("/proc", pid, "environ").read_bytes().split(b"\0")
            if marked or os.readlink(f"/proc/{pid}/cwd").startswith(scratch):
                found.append(f"pid {pid}: {Path('/proc', pid, 'cmdline').read_bytes()[:200]!r}")
    return found


def is_alive(pid: int) -> bool:
    """Whether the process runs: a zombie doesn't."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):  # the latter when it ends between opening and reading
        return False


def all_end(pids: list[int], seconds: float = 60.0) -> bool:
    """Whether all have ended within that time."""
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


def family(pid: int) -> list[int]:
    """A supervisor, its guardian and its executors: all that descends from ``pid``."""
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            parents[int(name)] = int(Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, of in parents.items() if of == parent]
    return found
