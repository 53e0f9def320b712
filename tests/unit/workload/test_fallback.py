"""Where cases start when the host function's own calls can't be replayed."""

from __future__ import annotations

from typing import Any

import pytest

from kernelband.errors import ExecutorFault, WorkloadError
from kernelband.workload.fallback import capture_somewhere

ENTRY = {"kind": "callable", "module": "k", "path": "/k.py", "name": "test_it"}


def place(name: str) -> dict[str, str]:
    return {"module": "k", "path": "/k.py", "qualname": name}


def result(name: str, reason: str | None = None, outer: str | None = None) -> dict[str, Any]:
    case = {"function": place(name), "replayable": reason is None, "reason": reason, "outer": place(outer) if outer else None}
    return {"cases": [case]}


class Scripted:
    """An executor whose answers are written down."""

    def __init__(self, *answers: Any, role: str = "cpu") -> None:
        self.answers, self.role = list(answers), role
        self.hosts: list[list[str]] = []
        self.restarts = 0
        self.neighbours: list[bool] = []

    def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, *, shared: bool = False) -> dict[str, Any]:
        assert operation == "capture"
        self.hosts.append([h["qualname"] for h in params["hosts"]])
        self.neighbours.append(params.get("neighbours", True))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def restart(self) -> None:
        self.restarts += 1


def capture(executor: Scripted) -> Any:
    params: Any = {"entry": ENTRY, "kernel": place("kernel"), "hosts": [place("launch")]}
    return capture_somewhere(executor, params, 10.0, None)


def test_the_host_function_itself() -> None:
    executor = Scripted(result("launch"))
    found, notes = capture(executor)
    assert found["cases"][0]["replayable"]
    assert (executor.hosts, executor.restarts, notes) == ([["launch"]], 0, [])


def test_one_frame_out_then_the_launch() -> None:
    executor = Scripted(result("launch", "it takes a lock", "halve"), result("halve", "it keeps state", "test_it"), result("kernel"))
    found, notes = capture(executor)
    assert found["cases"][0]["function"]["qualname"] == "kernel"
    assert executor.hosts == [["launch"], ["halve"], []]
    assert executor.restarts == 2  # recorders are put in as modules load
    assert notes[0] == "launch can't be replayed: it takes a lock. Its cases start elsewhere."


def test_the_entry_is_no_frame() -> None:
    executor = Scripted(result("launch", "it takes a lock", "test_it"), result("kernel"))
    capture(executor)
    assert executor.hosts == [["launch"], []]


def test_two_functions_that_call_each_other_end() -> None:
    executor = Scripted(result("launch", "no", "other"), result("other", "no", "launch"), result("kernel", "no", "launch"))
    with pytest.raises(WorkloadError, match="launch can't be replayed: no"):
        capture(executor)
    assert executor.hosts == [["launch"], ["other"], []]


def test_the_first_reason_is_told() -> None:
    executor = Scripted(
        result("launch", "it takes a lock", None), WorkloadError("kernel can't be captured: it is inside a graph.", kind="not_replayable")
    )
    with pytest.raises(WorkloadError, match="it takes a lock"):
        capture(executor)


@pytest.mark.parametrize("kind", ["entry_failed", "never_launches", "import_failed"])
def test_what_another_start_cannot_mend_is_told_at_once(kind: str) -> None:
    executor = Scripted(WorkloadError("The entry fails.", kind=kind))
    with pytest.raises(WorkloadError, match="The entry fails"):
        capture(executor)
    assert len(executor.hosts) == 1


def test_on_a_gpu_a_crash_is_tried_again_without_neighbours() -> None:
    executor = Scripted(ExecutorFault("It crashed.", fault="crashed"), result("launch"), role="gpu")
    capture(executor)
    assert executor.neighbours == [True, False]
    assert executor.restarts == 1  # what is timed next carries no recorder


@pytest.mark.parametrize("fault", ["timeout", "oom"])
def test_other_faults_are_passed_on(fault: str) -> None:
    with pytest.raises(ExecutorFault):
        capture(Scripted(ExecutorFault("No.", fault=fault), role="gpu"))


@pytest.mark.parametrize(
    ("fault", "ended", "said"),
    [
        ("crashed", "exit code 3", "The entry test_it ends its own process (exit code 3"),
        ("crashed", "SIGSEGV", "The entry test_it crashes its process (SIGSEGV)"),
        ("crashed", "SIGKILL", "The process of the entry test_it was killed (SIGKILL)"),
        ("oom", "SIGKILL", "The entry test_it needs more memory than this machine has"),
        ("crashed", "", "Executor main is gone."),
    ],
)
@pytest.mark.parametrize("role", ["cpu", "gpu"])
def test_a_process_that_ends_is_the_programs(fault: str, ended: str, said: str, role: str) -> None:
    answer = ExecutorFault("Executor main is gone.", fault=fault, detail="its last words", ended=ended)
    with pytest.raises(ExecutorFault) as raised:
        capture(Scripted(answer, answer, role=role))
    assert raised.value.message.startswith(said)
    assert (raised.value.fault, raised.value.detail) == (fault, "its last words")
