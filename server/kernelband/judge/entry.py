"""The user's own entry, run with the variant in the place of the original: its asserts have the last word."""

from __future__ import annotations

from typing import cast

from attrs import frozen

from kernelband.judge.protocol import Executor, Settings, Task
from kernelband_worker.wire import EntryRunParams, EntryRunResult


@frozen
class Said:
    """What came of it: whether it passes, and in a sentence why not, or which part of it was run; "" where it passes as a whole."""

    passes: bool
    sentence: str


def run_entry(executor: Executor, variant: str | None, task: Task, settings: Settings, lock: str | None, *, shared: bool = False) -> Said:
    """Runs the task's in a fresh executor, where the variant bears the original's names (None: the original); ``shared``: beside those of
    others.

    Raises:
        ExecutorFault: the executor timed out, died or ran out of memory.
        KernelBandError: the operation failed.
    """
    entry = task.entry
    assert entry is not None
    kernels = {f"{launch['kernel']['module']}:{launch['kernel']['qualname']}" for case in task.cases for launch in case["launches"]}
    params: EntryRunParams = {"variant": variant, "entry": entry, "seconds": settings.entry_s, "kernels": sorted(kernels)}
    deadline = settings.least_deadline_s + settings.start_s + settings.entry_s
    result = cast("EntryRunResult", executor.call("entry/run", params, deadline, lock, shared=shared))
    said = result["reason"] or ""
    return Said(True, said) if result["ok"] else Said(False, f"It doesn't pass {entry['name']}: {said or 'no reason was given'}")
