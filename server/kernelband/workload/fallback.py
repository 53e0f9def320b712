"""Where a case starts when the host function's own calls can't be replayed: one frame out inside the workspace, then the bare launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from kernelband.errors import ExecutorFault, WorkloadError
from kernelband_worker.wire import CaptureParams, CaptureResult, Entry, Function


class Executor(Protocol):
    """What capture needs of an executor."""

    @property
    def role(self) -> str:
        """``gpu`` or ``cpu``."""
        ...

    def call(
        self, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False
    ) -> dict[str, Any]:
        """Run an operation."""
        ...

    def restart(self) -> None:
        """Make the next call start a fresh process."""
        ...


def capture_somewhere(executor: Executor, params: CaptureParams, deadline_s: float, lock: str | None) -> tuple[CaptureResult, list[str]]:
    """The first capture that gives a replayable case, and sentences about the starts that gave none.

    Each further attempt takes a fresh process: recorders are put in as modules load. After the last one, on a GPU, the next call gets a
    fresh process too, so that nothing that is timed carries a recorder.

    Raises:
        WorkloadError: the entry fails, never launches the kernel, or no start can be replayed (the first reason is told).
        ExecutorFault: it hung or died.
    """
    notes: list[str] = []
    refused: WorkloadError | None = None
    tried: list[list[Function]] = []
    queue: list[list[Function]] = [params["hosts"]] if "hosts" in params else [[]]
    while queue:
        hosts = queue.pop(0)
        if tried:
            executor.restart()
        tried.append(hosts)
        try:
            result = _call(executor, {**params, "hosts": hosts}, deadline_s, lock)
        except WorkloadError as error:
            if refused is None and error.kind != "not_replayable":
                raise
            refused = refused or error
        else:
            if any(c["replayable"] for c in result["cases"]):
                if executor.role == "gpu":
                    executor.restart()
                return result, notes
            case = result["cases"][0]
            name = case["function"]["qualname"]
            refused = refused or WorkloadError(f"{name} can't be replayed: {case['reason']}.", kind="not_replayable")
            notes.append(f"{name} can't be replayed: {case['reason']}. Its cases start elsewhere.")
            outer = case.get("outer")
            if outer is not None and not is_entry(outer, params) and all(outer not in known for known in tried):
                queue.append([outer])
        if not queue and [] not in tried:
            queue.append([])
    assert refused is not None
    raise refused


def _call(executor: Executor, params: CaptureParams, deadline_s: float, lock: str | None) -> CaptureResult:
    """One attempt; modules may be imported beside it. On a GPU a neighbouring size that the original doesn't guard against can end the
    process: then again without them.
    """
    try:
        return cast("CaptureResult", executor.call("capture", cast("dict[str, Any]", params), deadline_s, lock, shared=True))
    except ExecutorFault as fault:
        if fault.fault == "crashed" and executor.role == "gpu" and params.get("neighbours", True):
            return _call(executor, {**params, "neighbours": False}, deadline_s, lock)
        raise _of_the_program(fault, params) from fault


def _of_the_program(fault: ExecutorFault, params: CaptureParams) -> ExecutorFault:
    """In the words of whoever wrote the program: nothing else runs in that process than what the entry calls."""
    if not fault.ended or "entry" not in params or "kernel" not in params:
        return fault
    entry, kernel = params["entry"]["name"], params["kernel"]["qualname"]
    if fault.fault == "oom":
        said = f"The entry {entry} needs more memory than this machine has, so Linux ended its process: name an entry with smaller inputs."
    elif fault.ended == "SIGKILL":
        by = "by another process, or because memory ran out"
        said = f"The process of the entry {entry} was killed (SIGKILL) before {kernel} was recorded: {by}."
    elif fault.ended.startswith("exit"):
        said = f"The entry {entry} ends its own process ({fault.ended}, as os._exit does), so {kernel} isn't recorded: name another."
    else:
        said = f"The entry {entry} crashes its process ({fault.ended}), so {kernel} isn't recorded: name another."
    return ExecutorFault(said, fault=fault.fault, detail=fault.detail, kind=fault.kind, ended=fault.ended)


def is_entry(function: Function, params: CaptureParams) -> bool:
    """Whether a function is what is run as the entry: then there is no frame between it and the outside."""
    entry: Entry | None = params.get("entry")
    if entry is None:
        return False
    name = entry["name"].partition("[")[0].replace("::", ".")
    return function["path"] == entry["path"] and function["qualname"] in (name, "<module>")
