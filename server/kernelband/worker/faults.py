"""What a worker's error answer becomes in the engine's exception tree."""

from __future__ import annotations

import signal
from typing import Any, cast

from kernelband.errors import ExecutorFault, HardwareError, KernelBandError, WorkerError, WorkloadError
from kernelband_worker.wire import EXECUTOR_DIED, EXECUTOR_MISSING, EXECUTOR_TIMEOUT, ErrorData

_OF_THE_PROGRAM = ("import_failed", "entry_failed", "never_launches", "generated", "not_replayable", "compile_error", "unsupported")


def error_of(error: dict[str, Any]) -> KernelBandError:
    """The exception for the ``error`` member of a response.

    EXECUTOR_TIMEOUT, EXECUTOR_DIED and EXECUTOR_MISSING are faults of one executor; OPERATION_FAILED goes by its kind.
    """
    code = error.get("code")
    sentence = str(error.get("message", "The worker failed without a reason."))
    data = cast("ErrorData", error.get("data") or {})
    kind = data.get("kind", "")
    detail = data.get("detail") or data.get("tail") or ""
    if code == EXECUTOR_TIMEOUT:
        return ExecutorFault(sentence, fault="timeout", detail=detail, kind="timeout")
    if kind == "out_of_memory":
        return ExecutorFault(sentence, fault="oom", detail=detail, kind=kind, ended=_ended(data))
    if code in (EXECUTOR_DIED, EXECUTOR_MISSING):
        return ExecutorFault(sentence, fault="crashed", detail=detail, kind="crashed", ended=_ended(data))
    if kind == "no_gpu":
        return HardwareError(sentence, detail=detail, kind=kind)
    if kind in _OF_THE_PROGRAM:
        return WorkloadError(sentence, detail=detail, kind=kind)
    return WorkerError(sentence, detail=detail, kind=kind or "internal")


def _ended(data: ErrorData) -> str:
    """How the process did, by itself."""
    number = data.get("signal")
    if number is not None:
        return signal.Signals(number).name if number in {s.value for s in signal.Signals} else f"signal {number}"
    return f"exit code {data['exit_code']}" if "exit_code" in data else ""
