"""Work spread over the GPUs of one host: one thread and one process at a time for each GPU, every GPU with cores of its own."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from attrs import frozen

Job = TypeVar("Job")
Done = TypeVar("Done")


class FailedError(Exception):
    """A process that ended with an error or took too long. The text is one sentence with what it said last; ``out`` what it wrote."""

    out: str = ""


@frozen
class Lane:
    """A GPU (None: whatever is visible) and the cores that go with it (None: all)."""

    gpu: str | None
    cores: frozenset[int] | None

    @property
    def environment(self) -> dict[str, str]:
        """This process's, with only that GPU visible."""
        return dict(os.environ) if self.gpu is None else {**os.environ, "CUDA_VISIBLE_DEVICES": self.gpu}

    @property
    def suffix(self) -> str:
        """For names of files that each GPU has of its own."""
        return "" if self.gpu is None else f"-gpu{self.gpu}"


def lanes(gpus: str | None) -> list[Lane]:
    """One for each GPU of a comma-separated list; the cores are dealt out evenly, so that one GPU's compilers don't slow another's host."""
    names = [g.strip() for g in gpus.split(",") if g.strip()] if gpus else []
    if len(names) < 2:
        return [Lane(names[0] if names else None, None)]
    if not hasattr(os, "sched_getaffinity"):
        return [Lane(name, None) for name in names]
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // len(names))
    return [Lane(name, frozenset(cores[i * share : (i + 1) * share] or cores)) for i, name in enumerate(names)]


def spread(jobs: Sequence[Job], on: Sequence[Lane], work: Callable[[Job, Lane], Done]) -> Iterator[tuple[Job, Done | Exception]]:
    """Each job with what came of it, as they end. A job that raises is an outcome and stops nothing."""
    waiting: queue.SimpleQueue[Job] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    ended: queue.SimpleQueue[tuple[Job, Done | Exception]] = queue.SimpleQueue()

    def serve(lane: Lane) -> None:
        if lane.cores is not None:
            os.sched_setaffinity(0, lane.cores)  # of this thread; what it starts inherits it
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                ended.put((job, work(job, lane)))
            except Exception as error:  # noqa: BLE001 - belongs to the job
                ended.put((job, error))

    for lane in on:
        threading.Thread(target=serve, args=(lane,), daemon=True, name=f"gpu {lane.gpu}").start()
    for _ in jobs:
        yield ended.get()


@frozen
class Ended:
    """A process that has ended by itself: its exit code and what it wrote."""

    code: int
    out: str
    errors: str

    @property
    def last(self) -> str:
        """Its last line, rather of its errors."""
        return _last(self.errors) or _last(self.out)


def ended(command: Sequence[str], seconds: float, environment: Mapping[str, str], folder: str | None = None) -> Ended:
    """What a command came to, whatever its code; it is killed with its group when it takes longer.

    Raises:
        FailedError: it did.
    """
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(environment), cwd=folder, start_new_session=True
    )
    try:
        out, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _kill(process)
        out, errors = process.communicate()
        late = FailedError(f"It took longer than {seconds:.0f} s and was ended. {_last(errors)}".strip())
        late.out = out
        raise late from None
    except BaseException:
        _kill(process)
        raise
    return Ended(process.returncode, out, errors)


def run(command: Sequence[str], seconds: float, environment: Mapping[str, str]) -> str:
    """The standard output of a command, which is killed with its group when it takes longer.

    Raises:
        FailedError: it did, or it ended with an error.
    """
    done = ended(command, seconds, environment)
    if done.code:
        raise FailedError(f"It ended with code {done.code}: {done.last}")
    return done.out


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
