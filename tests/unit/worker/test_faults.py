"""Error answers become the engine's exceptions."""

from __future__ import annotations

import pytest

from kernelband.errors import ExecutorFault, HardwareError, KernelBandError, WorkerError, WorkloadError
from kernelband.worker.faults import error_of
from kernelband_worker.wire import ERROR_KINDS, EXECUTOR_DIED, EXECUTOR_MISSING, EXECUTOR_TIMEOUT, OPERATION_FAILED

KINDS: dict[str, type[KernelBandError]] = {
    "torch_missing": WorkerError,
    "triton_missing": WorkerError,
    "too_old": WorkerError,
    "no_gpu": HardwareError,
    "import_failed": WorkloadError,
    "entry_failed": WorkloadError,
    "never_launches": WorkloadError,
    "generated": WorkloadError,
    "not_replayable": WorkloadError,
    "compile_error": WorkloadError,
    "out_of_memory": ExecutorFault,
    "unsupported": WorkloadError,
    "bad_request": WorkerError,
    "internal": WorkerError,
}


@pytest.mark.parametrize("kind", ERROR_KINDS)
def test_every_kind_has_its_exception(kind: str) -> None:
    error = error_of({"code": OPERATION_FAILED, "message": "sentence", "data": {"kind": kind, "detail": "detail"}})
    assert (type(error), error.message, error.detail, error.kind) == (KINDS[kind], "sentence", "detail", kind)


@pytest.mark.parametrize(
    ("code", "data", "fault", "ended"),
    [
        (EXECUTOR_TIMEOUT, {"tail": "last"}, "timeout", ""),
        (EXECUTOR_DIED, {"signal": 11}, "crashed", "SIGSEGV"),
        (EXECUTOR_DIED, {"signal": 999}, "crashed", "signal 999"),
        (EXECUTOR_DIED, {"exit_code": 3}, "crashed", "exit code 3"),
        (EXECUTOR_DIED, {"kind": "out_of_memory", "signal": 9}, "oom", "SIGKILL"),
        (EXECUTOR_MISSING, {}, "crashed", ""),
        (OPERATION_FAILED, {"kind": "out_of_memory"}, "oom", ""),
    ],
)
def test_faults_of_an_executor(code: int, data: dict[str, object], fault: str, ended: str) -> None:
    error = error_of({"code": code, "message": "m", "data": data})
    assert isinstance(error, ExecutorFault)
    assert (error.fault, error.detail, error.ended) == (fault, data.get("tail", ""), ended)


def test_json_rpc_errors_are_ours() -> None:
    assert error_of({"code": -32601, "message": "m"}).kind == "internal"
