"""Capture a fixture with a real worker and replay it in a process that never recorded anything: for tests/e2e and tests/gpu."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import WorkloadError
from kernelband.hardware import driver_properties, find_device
from kernelband.source import Workspace, find_program
from kernelband.worker import Executor, Worker, WorkerCommand
from kernelband.workload import Captured, capture_cases, choose_entry
from tests.capture_fixtures import Expect

FOLDER = Path(__file__).parent / "fixtures" / "capture"
DEADLINE_S = 500.0


class Bench:
    """One worker over a copy of the fixtures, with one store; ``role`` is where programs run."""

    def __init__(self, python: str, role: str, folder: Path) -> None:
        self.root, self.role = folder / "fixtures", role
        shutil.copytree(FOLDER, self.root, ignore=shutil.ignore_patterns("ruff.toml", "__pycache__"))
        self.before = self.files()
        self.workspace = Workspace([str(self.root)])
        self.worker = Worker.start(WorkerCommand.of(python=python), files=self.workspace)
        device = find_device("h200")
        self.session: Any = {
            "id": "capture",
            "top_level": self.workspace.top_level(),
            "store": f"{self.worker.hello['scratch']}/cases",
            "cache": str(folder / "triton"),
            "seed": 3,
            "target": device.target,
            "device_properties": driver_properties(device),
        }
        self.capturer, self.replayer = self.executor("capture"), self.executor("replay")
        self.captured: set[str] = set()  # modules that the capturer has loaded: each only once

    def close(self) -> None:
        self.worker.close()

    def files(self) -> dict[str, bytes]:
        """Everything in the workspace."""
        return {str(p.relative_to(self.root)): p.read_bytes() for p in sorted(self.root.rglob("*")) if p.is_file()}

    def executor(self, name: str) -> Executor:
        return Executor(self.worker, name, self.role, gpu=0 if self.role == "gpu" else None, session=self.session)

    def capture(self, expect: Expect) -> Captured:
        """Find kernel, hosts and entry in the text, and capture."""
        path = str(self.root / f"{expect.module}.py")
        program = find_program(self.workspace, path, expect.kernel)
        named = None
        if expect.entry:
            file, _, name = expect.entry.partition("::")
            named = f"{self.root / file}::{name}"
        entry = choose_entry(self.workspace, program, named)
        if expect.module in self.captured:
            with self.executor("capture again") as fresh:
                return capture_cases(fresh, self.workspace, program, entry)
        self.captured.add(expect.module)
        return capture_cases(self.capturer, self.workspace, program, entry)

    def check(self, captured: Captured, **more: Any) -> dict[str, Any]:
        """The original against itself on every case and input set, in the process that didn't record."""
        ids = [c["id"] for c in captured.cases]
        return self.replayer.call("check", {"variant": None, "cases": ids, "input_sets": [0, 1, 2], **more}, DEADLINE_S)


def prove(bench: Bench, expect: Expect) -> None:
    """Capture and replay one fixture, or see it refused with the expected words."""
    if expect.refused:
        with pytest.raises(WorkloadError) as refusal:
            bench.capture(expect)
        message = refusal.value.message
        assert expect.refused in message
        assert message.endswith(".") or refusal.value.detail
        assert "Traceback" not in message
        return
    captured = bench.capture(expect)
    cases = [c for c in captured.cases if c["neighbour_of"] is None]
    assert [c["function"]["qualname"] for c in cases] == [expect.function] * expect.distinct
    assert {c["boundary"] for c in cases} == {expect.boundary}
    assert any(c["role"] == "time" for c in cases)
    first = cases[0]
    assert tuple(first["outputs"]) == expect.outputs
    if expect.launches:
        assert tuple(x["kernel"]["qualname"] for x in first["launches"]) == expect.launches
    assert [x["kernel"]["qualname"] for x in first["launches"] if x["target"]] == [expect.kernel]
    policies = {t["name"]: t["policy"] for t in first["tensors"]}
    for name, policy in expect.policies:
        assert policies[name] == policy, (name, policies)
    assert {t["name"] for t in first["tensors"] if t["mutated"]} == set(expect.mutated)
    for output, name in expect.aliases:
        assert first["aliases"][output] == name
    assert first["reads_rng"] == expect.reads_rng
    assert expect.note in " ".join(captured.notes)
    if expect.neighbours:  # where it leaves its tensors only at another size, that size is nothing to judge by
        assert tuple(c["arguments"].rpartition(" (")[2][:-1] for c in captured.cases if c["neighbour_of"]) == expect.neighbours
    checked = bench.check(captured)
    wrong = [(c["case"], c["input_set"], c["reason"]) for c in checked["cases"] if not c["ok"] or not c["deterministic"]]
    assert wrong == []
    assert len(checked["cases"]) == sum(min(3, c["input_sets"]) for c in captured.cases)
    compared = [o for c in checked["cases"] for o in c["outputs"]]
    assert compared
    assert all(o["total"] > 0 and o["wrong"] == 0 for o in compared)
