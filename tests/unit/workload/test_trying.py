"""Entries are tried in their order, as long as there is time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.workload.test_entries import KERNEL

from kernelband.errors import ExecutorFault, WorkloadError
from kernelband.source import Workspace, find_program
from kernelband.workload import Choice, capture_first, choose, choose_proof
from kernelband.workload.capture import within
from kernelband.workload.entries import script_of

NEVER = WorkloadError("The entry test_a never launches add_kernel: it launched no Triton kernel at all. Name one.", kind="never_launches")
MISSING = WorkloadError("The entry test_b fails: ModuleNotFoundError: No module named 'gone'", kind="entry_failed", detail="line 3")
HUNG = ExecutorFault("It took too long.", fault="timeout")


class Answering:
    """An executor with an answer for each try."""

    role = "cpu"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, float]] = []
        self.at_most: list[float] = []
        self.restarts = 0

    def call(self, operation: str, params: Any, deadline_s: float, lock: str | None = None, *, shared: bool = False) -> dict[str, Any]:
        self.asked.append((params["entry"]["name"], params["seconds"]))
        self.at_most.append(params["at_most_s"])
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def restart(self) -> None:
        self.restarts += 1


def good() -> dict[str, Any]:
    return {"cases": [{"replayable": True}], "truncated": None, "out_of_bounds": [], "notes": []}


def capture(folder: Path, executor: Answering, *names: str, seconds: float = 60.0, script: bool = False, text: str = KERNEL) -> Any:
    path = folder / "kernel.py"
    path.write_text(text)
    workspace = Workspace.for_file(str(path))
    entries: list[Any] = [{"kind": "callable", "module": "kernel", "path": str(path), "name": n} for n in names]
    entries += [script_of(workspace, str(path))] if script else []
    return capture_first(executor, workspace, find_program(workspace, str(path)), Choice(entries[0], tuple(entries[1:])), entry_s=seconds)


class Counting(Workspace):
    """Counts how often all files are asked for."""

    walks = 0

    def files(self, near: str, limit: int = 5000) -> Iterator[str]:
        self.walks += 1
        return super().files(near, limit)


def test_a_run_walks_through_the_workspace_once(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL + "\ndef bench():\n    add(1)\n\ndef test_add():\n    add(1)\n")
    workspace = Counting([str(tmp_path)])
    program = find_program(workspace, str(path))
    workspace.walks = 0
    choice = choose(workspace, program, None)
    assert choose(workspace, program, None, measured=True, there=choice.there).entry["name"] == "bench"
    assert choose_proof(workspace, program, choice.entry, choice.there)["name"] == "test_add"
    executor = Answering(good())
    found = capture_first(executor, workspace, program, choice, sizes=True)
    assert (found.entry["name"], found.sizes["name"] if found.sizes else None) == ("test_add", "bench")
    assert workspace.walks == 1
    named = choose(workspace, program, "bench")
    assert (named.there, workspace.walks) == (None, 1)
    assert choose_proof(workspace, program, named.entry, named.there)["name"] == "test_add"


def test_the_first_that_launches(tmp_path: Path) -> None:
    executor = Answering(NEVER, HUNG, good())
    found = capture(tmp_path, executor, "test_a", "test_b", "test_c", "test_d")
    assert found.entry["name"] == "test_c"
    assert [name for name, _ in executor.asked] == ["test_a", "test_b", "test_c"]
    assert executor.restarts == 2
    assert "test_a (kernel.py) never launches add_kernel" in found.notes[0]


def test_nobody_waits_longer_than_for_one(tmp_path: Path) -> None:
    executor = Answering(NEVER, NEVER)
    with pytest.raises(WorkloadError):
        capture(tmp_path, executor, "test_a", "test_b", seconds=40.0)
    assert [round(seconds) for _, seconds in executor.asked] == [20, 40]  # the first answered at once
    assert [round(seconds) for seconds in executor.at_most] == [40, 40], "with importing all that is left"


def test_recording_may_take_a_third_of_a_runs_seconds() -> None:
    assert [within(seconds) for seconds in (30.0, 60.0, 900.0, None)] == [10.0, 20.0, 60.0, 60.0]


def test_one_sentence_names_what_was_tried(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError) as refused:
        capture(tmp_path, Answering(NEVER, MISSING), "test_a", "test_b")
    assert refused.value.message == (
        "No entry that was found runs add_kernel: test_a (kernel.py) never launches add_kernel: it launched no Triton kernel at all; "
        "test_b (kernel.py) fails: ModuleNotFoundError: No module named 'gone'. Name one that does with --entry FILE.py::NAME."
    )
    assert (refused.value.kind, refused.value.detail) == ("never_launches", "line 3")


def test_what_is_the_same_of_several_entries_is_said_once(tmp_path: Path) -> None:
    import_fails = WorkloadError("Importing test_kernel fails: ModuleNotFoundError: No module named 'gone'", kind="entry_failed")
    with pytest.raises(WorkloadError) as refused:
        capture(tmp_path, Answering(import_fails, NEVER, import_fails), "test_a", "test_b", "test_c")
    assert refused.value.message == (
        "No entry that was found runs add_kernel: test_a (kernel.py), test_c (kernel.py): Importing test_kernel fails: ModuleNotFoundError"
        ": No module named 'gone'; test_b (kernel.py): The entry test_a never launches add_kernel: it launched no Triton kernel at all. "
        "Name one that does with --entry FILE.py::NAME."
    )


def test_what_no_other_entry_mends_is_told_at_once(tmp_path: Path) -> None:
    executor = Answering(WorkloadError("It is a Gluon kernel.", kind="unsupported"))
    with pytest.raises(WorkloadError, match="Gluon"):
        capture(tmp_path, executor, "test_a", "test_b")
    assert len(executor.asked) == 1


GENERATED = WorkloadError("The entry test_a never launches add_kernel: it launched text, which calls it.", kind="generated")


def test_where_only_generated_text_launches_it_no_other_entry_is_tried(tmp_path: Path) -> None:
    executor = Answering(GENERATED)
    unlaunched = KERNEL.replace("add_kernel[", "other_kernel[")
    with pytest.raises(WorkloadError) as refused:
        capture(tmp_path, executor, "test_a", "test_b", text=unlaunched)
    assert (refused.value.kind, len(executor.asked)) == ("generated", 1)
    assert capture(tmp_path, Answering(GENERATED, good()), "test_a", "test_b").entry["name"] == "test_b"


def test_the_only_entry_says_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError) as refused:
        capture(tmp_path, Answering(NEVER), "test_a")
    assert refused.value is NEVER


def test_that_a_file_is_run_as_a_script_is_said(tmp_path: Path) -> None:
    found = capture(tmp_path, Answering(good()), script=True)
    assert found.notes == ("No test or benchmark was found for add_kernel, so kernel.py is run as a script.",)


def test_what_lies_beside_an_entry_is_found_while_it_runs_and_beside_the_proof(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"help_{name}.py").write_text("")
        (tmp_path / name / f"test_{name}.py").write_text("from kernel import add\n\ndef test_it():\n    add(1)\n")
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    (tmp_path / "pyproject.toml").write_text("")
    workspace = Workspace.for_file(str(path))
    program = find_program(workspace, str(path))
    chosen = choose(workspace, program, None)
    assert workspace.locate("help_a") is workspace.locate("help_b") is None
    capture_first(Answering(good()), workspace, program, Choice(chosen.entry))
    first = Path(chosen.entry["path"]).parent.name
    assert workspace.locate(f"help_{first}") is not None
    (other,) = {"a", "b"} - {first}
    assert workspace.locate(f"help_{other}") is None
    choose_proof(workspace, program, chosen.others[0])
    assert workspace.locate(f"help_{other}") is not None
