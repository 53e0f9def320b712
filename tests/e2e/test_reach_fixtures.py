"""Small programs in the manners of many projects, without a GPU: each is found, given an entry that nobody named, and captured at its host
function with something to try, or refused with the reason that is true.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import KernelBandError
from kernelband.hardware import driver_properties, find_device
from kernelband.propose import Rewriter
from kernelband.source import Workspace, find_kernels, find_program, require_parsable
from kernelband.source.model import Program
from kernelband.strategies import STRATEGIES, Facts, Proposal
from kernelband.worker import Executor, Worker, WorkerCommand
from kernelband.workload import Captured, capture_first, choose
from kernelband_worker.wire import ModuleFile, VariantFiles
from tests.reach_fixtures import PROGRAMS, Reach

FOLDER = Path(__file__).parents[1] / "fixtures" / "reach"
DEADLINE_S = 400.0
DEVICE = find_device("h200")


class Bench:
    """One worker for all programs, each of which is a project of its own: what is asked for is that of the one at hand."""

    def __init__(self, python: str, folder: Path) -> None:
        self.folder = folder
        self.workspace = Workspace([str(folder)])
        self.variants: dict[str, VariantFiles] = {}
        self.worker = Worker.start(WorkerCommand.of(python=python), files=self)

    def find_module(self, name: str) -> ModuleFile | None:
        return self.workspace.find_module(name)

    def top_level(self) -> list[str]:
        return self.workspace.top_level()

    def blob(self, sha256: str) -> bytes:
        return self.workspace.blob(sha256)

    def project(self, name: str) -> Path:
        """A copy, with nothing else beside it."""
        top = FOLDER / name.partition("::")[0].partition("/")[0]
        home = self.folder / str(len(list(self.folder.iterdir()))) / top.stem
        if top.is_dir():
            shutil.copytree(top, home, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            home.mkdir(parents=True)
            shutil.copy(top, home)
        return home

    def executor(self) -> Executor:
        """A fresh process over the project at hand."""
        session: Any = {
            "id": "reach",
            "top_level": self.top_level(),
            "store": f"{self.worker.hello['scratch']}/{self.workspace.roots[0].replace('/', '_')}",
            "cache": f"{self.worker.hello['scratch']}/cache",
            "seed": 3,
            "target": DEVICE.target,
            "device_properties": driver_properties(DEVICE),
        }
        return Executor(self.worker, "reach", "cpu", session=session, variants=self.variants.__getitem__)

    def variant(self, program: Program, proposal: Proposal) -> str:
        """The proposal's texts, ready to be loaded."""
        after, name = proposal.patch.apply(program.texts), f"{len(self.variants):08x}"
        self.variants[name] = {
            "id": name,
            "files": [
                {"module": self.workspace.module_name(f.path), "path": f.path, "sha256": self.workspace.keep(after[f.path])}
                for f in proposal.patch.files
            ],
        }
        return name


@pytest.fixture(scope="module")
def bench(worker_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    made = Bench(worker_python, tmp_path_factory.mktemp("reach"))
    yield made
    made.worker.close()


@pytest.mark.parametrize("name", PROGRAMS)
def test_captured_with_something_to_try_or_refused(bench: Bench, name: str) -> None:
    home, expect = bench.project(name), PROGRAMS[name]
    file, _, kernel = name.partition("::")
    path = str(home / (file.partition("/")[2] or file))
    if expect.refused:
        with pytest.raises(KernelBandError) as refusal:
            captured(bench, path, kernel or None)
        assert expect.refused.format(home=home) in refusal.value.message
        assert "\n" not in refusal.value.message
        assert refusal.value.message.endswith(".") or refusal.value.detail
        return
    program, found, executor = captured(bench, path, kernel)
    check(found, program, expect)
    proposal = first_proposal(program, found)
    params = {"variant": bench.variant(program, proposal), "cases": [c["id"] for c in found.cases], "numerics": proposal.numerics}
    checked = executor.call("check", {**params, "input_sets": [0]}, DEADLINE_S)
    assert [c["reason"] for c in checked["cases"] if not c["ok"]] == []
    assert len(checked["cases"]) == len(found.cases)


def captured(bench: Bench, path: str, kernel: str | None) -> tuple[Program, Captured, Executor]:
    """As ``search.captured`` does it, but for the worker, which is there already."""
    workspace = bench.workspace = Workspace.for_file(path)
    require_parsable(workspace.read(path), path)
    program = find_program(workspace, path, kernel)
    choice = choose(workspace, program, None)
    executor = bench.executor()
    return program, capture_first(executor, workspace, program, choice, brief=True, predicting=True, sizes=True), executor


def check(found: Captured, program: Program, expect: Reach) -> None:
    """The cases are what the table says."""
    cases = found.cases
    assert [c["function"]["qualname"] for c in cases] == [expect.at] * expect.distinct
    assert {c["boundary"] for c in cases} == {expect.boundary}
    assert any(c["role"] == "time" for c in cases)
    first = cases[0]
    assert tuple(first["outputs"]) == expect.outputs
    assert {t["name"] for t in first["tensors"] if t["mutated"]} == set(expect.mutated)
    kernel = program.kernel.place
    for case in cases:
        assert tuple(x["kernel"]["qualname"] for x in case["launches"]) == (expect.launches or (kernel.qualname,))
        assert [x["kernel"]["path"] for x in case["launches"] if x["target"]] == [kernel.path]
    assert found.refused == ()
    assert found.out_of_bounds == ()
    assert found.entry["name"].rpartition("::")[2].startswith("test_") if not expect.entry else found.entry["name"] == expect.entry
    assert expect.note in " ".join(found.notes)


def first_proposal(program: Program, found: Captured) -> Proposal:
    """Of the first strategy that has one, as a search would write it."""
    facts = Facts(DEVICE, found.cases)
    drafts = (Rewriter().write(program, s.card.name, facts, frozenset(), 1) for s in STRATEGIES)
    return next(p for draft in drafts for p in draft.proposals)


def test_every_program_is_in_the_table() -> None:
    told = {name.partition("::")[0] for name in PROGRAMS}
    launched = {f for f in FOLDER.rglob("*.py") if find_kernels(str(f), f.read_text())}
    assert {str(f.relative_to(FOLDER)) for f in launched} - {"lone_copy/test_floor.py"} <= told
    assert all((FOLDER / name).is_file() for name in told)
    assert {n.partition("/")[0] for n in told} == {p.name for p in FOLDER.iterdir() if p.name[0] not in "._"} - {"ruff.toml"}
