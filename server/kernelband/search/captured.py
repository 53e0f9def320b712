"""A worker, a program and its cases, for commands that look and don't search."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

from attrs import frozen

from kernelband.search.worker_lab import WorkerLab
from kernelband.source import Workspace, find_program, require_parsable
from kernelband.source.model import Program
from kernelband.workload import Captured, capture_first, choose
from kernelband_worker.wire import Entry


@frozen
class Once:
    """What one capture found; ``lab`` stays open as long as the block."""

    lab: WorkerLab
    program: Program
    entry: Entry
    captured: Captured
    sizes: Entry | None = None  # a benchmark that was run as well, where nothing is measured


@contextmanager
def capture_once(
    workspace: Workspace,
    path: str,
    kernel: str | None,
    entry: str | None,
    *,
    gpu: str | None,
    worker: str | None,
    python: str | None,
    brief: bool = False,
) -> Generator[Once, None, None]:
    """Start a worker, run the entry under capture as a search would; ``brief`` as in ``capture_cases``.

    Raises:
        KernelBandError: one sentence why not.
    """
    require_parsable(workspace.read(path), path)
    program = find_program(workspace, path, kernel)
    first = choose(workspace, program, entry)  # refused before a worker is started
    lab = WorkerLab.start(workspace, worker=worker, python=python, gpu=gpu, seed=0, on_log=_quiet)
    try:
        chosen = choose(workspace, program, entry, measured=lab.measured, there=first.there)
        captured = capture_first(
            lab.measuring(),
            workspace,
            program,
            chosen,
            lock=lab.uuid,
            brief=brief,
            predicting=not lab.measured,
            sizes=not lab.measured and not chosen.named,
        )
        yield Once(lab, program, captured.entry, captured, captured.sizes)
    finally:
        lab.close()


def _quiet(executor: str, text: str) -> None:
    """The program's prints belong to the program: they go to stderr, where they don't disturb what is read by other programs."""
    if executor != "worker":
        sys.stderr.write(text)
