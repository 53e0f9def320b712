"""Where cheats are tried: the real final with real processes, on a GPU, or rehearsed on a CPU, where times mean nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from kernelband.hardware import driver_properties, find_device
from kernelband.judge.final import final
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate, Settings, Task, Verdict
from kernelband.source import Workspace, find_program
from kernelband.source.model import text_hash
from kernelband.worker import Executor, Worker, WorkerCommand
from kernelband.workload import Captured, capture_cases, choose_entry
from kernelband_worker.wire import SessionParams, VariantFiles
from tests.redteam.corpus import Edited, Program, Reason

HERE = Path(__file__).parent
AGAIN = "a second call on the same objects"  # kernelband_worker.cases.stressed, which imports torch
EXTRA = {
    "rehearsal.py": (HERE / "rehearsal.py").read_bytes(),
    "host.py": (HERE.parent / "unit_worker" / "measure" / "host.py").read_bytes(),
}
#: One round of two sweeps; the interpreter is slow.
SETTINGS = Settings(processes=1, sweeps=2, repeats=0, finalists=1, least_deadline_s=300.0)
ON_GPU = Settings(processes=3)
#: In a rehearsal, what is by less than that faster gains nothing: the machine is busy, and a trick that reaches the clock doubles at least.
GAIN = 1.6


class Lasting:
    """An executor of the original's, used by one final after the other: it never loads a variant."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def call(self, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False) -> Any:
        return self._executor.call(operation, params, deadline_s, lock, shared=shared)

    def close(self) -> None:
        pass


class Stage:
    """A worker over copies of the programs, and what was captured of each."""

    def __init__(self, python: str, folder: Path, *, gpu: bool = False) -> None:
        self.folder, self.gpu = folder, gpu
        for program in (HERE / "programs").glob("*.py"):
            (folder / program.name).write_bytes(program.read_bytes())
        self._workspace = Workspace([str(folder)])
        command = WorkerCommand.of(python=python) if gpu else WorkerCommand((), python, executor="rehearsal", extra=EXTRA)
        self.worker = Worker.start(command, files=self._workspace, deadline_s=300.0)
        device = find_device("h100")
        self._session: SessionParams = {
            "id": "redteam",
            "top_level": self._workspace.top_level(),
            "cache": str(folder / "triton"),
            "seed": 3,
            "target": device.target,
            "device_properties": driver_properties(device),
        }
        self._captured: dict[str, Captured] = {}
        self._lasting: dict[str, Lasting] = {}
        self._variants: dict[str, VariantFiles] = {}
        self._made = 0

    def close(self) -> None:
        self.worker.close()

    def play(self, edited: Edited, *, without: str = "") -> Verdict:
        """The verdict of the final on an edit; in a rehearsal, if so wished, without one of the defences but in the original's turns."""
        base = edited.base
        captured = self._capture(base)
        path = str(self.folder / f"{base.name}.py")
        files: VariantFiles = {
            "id": text_hash(edited.text)[:16],
            "files": [{"module": self._workspace.module_name(path), "path": path, "sha256": self._workspace.keep(edited.text)}],
        }
        self._variants[files["id"]] = files
        judge = Judge(Task(captured.cases), settings=ON_GPU if self.gpu else SETTINGS)

        def make(name: str) -> Any:
            if name.startswith("original") and not self.gpu and not (without and name == "original-hidden"):
                return self._lasting.setdefault(base.name, Lasting(self._executor(base, f"original of {base.name}")))
            self._made += 1
            return self._executor(base, f"{name} {self._made}", without)

        return final(judge, make, [Candidate(files, "reassociates")]).verdicts[0]

    def _executor(self, base: Program, name: str, without: str = "") -> Executor:
        session: SessionParams = {**self._session, "id": without, "store": f"{self.worker.hello['scratch']}/{base.name}"}
        role, gpu = ("gpu", 0) if self.gpu else ("cpu", None)
        return Executor(self.worker, name, role, gpu=gpu, session=session, variants=lambda variant: self._variants[variant])

    def _capture(self, base: Program) -> Captured:
        if base.name not in self._captured:
            path = str(self.folder / f"{base.name}.py")
            program = find_program(self._workspace, path, base.kernels[0])
            entry = choose_entry(self._workspace, program, f"{path}::{'bench' if self.gpu else base.entry}")
            with self._executor(base, f"capture {base.name}") as executor:
                self._captured[base.name] = capture_cases(executor, self._workspace, program, entry)
        return self._captured[base.name]


def refused(verdict: Verdict) -> bool:
    """Whether it can't be verified however fast it is."""
    result = verdict.result
    return result.correctness != "passed" or result.integrity != "ok" or result.fault != "none" or bool(result.not_exercised)


def caught_by(verdict: Verdict) -> Reason | None:
    """What refuses it; None where nothing does. Where that is its time, a GPU's performance says so, or what it gains in a rehearsal."""
    result = verdict.result
    if result.fault != "none":
        return Reason.FAULT
    if result.correctness in ("wrong", "nondeterministic"):
        return _wrong(verdict)
    if result.integrity != "ok":
        return Reason.CLOCK if "times can't be trusted" in result.reason else Reason.INTEGRITY
    if result.performance != "faster" and gain(verdict) < GAIN:
        return Reason.SLOWER
    return None


def _wrong(verdict: Verdict) -> Reason:
    """Where it is wrong. Stress comes only after all cases are right, and timed calls after all stress."""
    check, said = verdict.check, verdict.result.reason
    if "a subclass of Tensor" in said:
        return Reason.INTEGRITY
    if check is None or (all(c["ok"] for c in check["cases"]) and not check["out_of_bounds"]):
        return Reason.TIMED_RESULT
    if check["out_of_bounds"] or "outside of" in said:
        return Reason.BOUNDS
    if "overwrites the result of the first" in said:
        return Reason.STATE
    stressed = check.get("stress", [])
    if not stressed:
        return Reason.CHECK
    return Reason.STATE if stressed[-1]["name"] == AGAIN else Reason.STRESS


def gain(verdict: Verdict) -> float:
    """How many times as fast as the original it seems, by the geometric mean over the timing cases; 1 where nothing was timed."""
    times: dict[str, list[tuple[float, float]]] = {}
    for m in verdict.measurements:
        if m.quantity == "device":
            times.setdefault(m.case, []).append((m.original_us, m.variant_us))
    ratios = [median(o for o, _ in pairs) / median(v for _, v in pairs) for pairs in times.values()]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0
