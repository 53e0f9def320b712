"""The user's own entry, run with the variant in the place of the original: its asserts have the last word."""

from __future__ import annotations

from typing import cast

from kernelband.judge.protocol import Executor, Settings, Task
from kernelband_worker.wire import EntryRunParams, EntryRunResult


def run_entry(executor: Executor, variant: str | None, task: Task, settings: Settings, lock: str | None, *, shared: bool = False) -> str:
    """Runs the task's in a fresh executor, where the variant bears the original's names (None: the original); ``shared``: beside those of
    others.

    Returns:
        Nothing when the entry passes, else one sentence.

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
    if result["ok"]:
        return ""
    return f"It doesn't pass {entry['name']}: {result['reason'] or 'no reason was given'}"
