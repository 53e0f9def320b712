"""What an operation of an executor may take."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kernelband.errors import ExecutorFault
from kernelband.worker import Executor
from kernelband.worker.executor import PROGRAM_S


class FakeWorker:
    def __init__(self) -> None:
        self.limits: list[tuple[str, float]] = []
        self.hangs = False

    def start_executor(self, *_: Any) -> None: ...

    def stop_executor(self, *_: Any) -> None: ...

    def call(self, _name: str, operation: str, params: Any, deadline_s: float, *_: Any, **__: Any) -> dict[str, Any]:
        self.limits.append((operation, deadline_s))
        if self.hangs:
            raise ExecutorFault("It hangs.", fault="timeout")
        return {}


def test_the_first_operation_on_cases_of_each_process_has_time_to_import_the_program() -> None:
    worker = FakeWorker()
    executor = Executor(cast("Any", worker), "main", "gpu", session={"id": "s", "top_level": ["program"]})
    for operation, params in [("prepare", {"cases": []}), ("time", {"cases": ["c"]}), ("time", {"cases": ["c"]})]:
        executor.call(operation, params, 10.0)
    worker.hangs = True
    with pytest.raises(ExecutorFault):
        executor.call("check", {"cases": ["c"]}, 10.0)
    worker.hangs = False
    for operation in ("check", "referee"):
        executor.call(operation, {"case": "c"}, 10.0)
    longer = 10.0 + PROGRAM_S
    executor.close()
    for operation, params in [("prepare", {"open": "c"}), ("time", {"cases": ["c"]})]:
        executor.call(operation, params, 10.0)
    executor.close()
    limits = [seconds for operation, seconds in worker.limits if operation != "session/open"]
    # What is imported ahead is a part: arguments and the call itself may bring more.
    assert limits == [longer, longer, 10.0, 10.0, longer, 10.0, longer, longer]


def test_without_a_program_there_is_nothing_to_import() -> None:
    worker = FakeWorker()
    Executor(cast("Any", worker), "main", "cpu", session={"id": "s", "top_level": []}).call("environment", {}, 10.0)
    assert ("environment", 10.0) in worker.limits
