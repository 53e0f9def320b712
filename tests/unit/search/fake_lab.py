"""A laboratory without processes: a kernel whose time is known from its text, and variants that misbehave on request."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from kernelband.errors import ExecutorFault, WorkloadError
from kernelband.hardware import Device, find_device
from kernelband.propose import Draft
from kernelband.search._lab import Built
from kernelband.source import Workspace, make_patch
from kernelband.source.model import Edit, Program, Span, text_hash
from kernelband.strategies import Facts, Proposal

from .fake_kernel import CASE, GPU, TEXT, microseconds, trouble


class FakeExecutor:
    """Answers what an executor answers; ``calls`` is what it was asked."""

    def __init__(self, lab: FakeLab) -> None:
        self.lab = lab
        self.role = "gpu" if lab.measured else "cpu"
        self.turns = 0

    def call(
        self, operation: str, params: Mapping[str, Any], deadline_s: float, lock: str | None = None, *, shared: bool = False
    ) -> dict[str, Any]:
        self.lab.calls.append(operation)
        text = self.lab.text(params.get("variant"))
        if operation == "capture":
            return {
                "cases": [CASE],
                "out_of_bounds": [],
                "functions_reached": [],
                "output": "",
                "seconds": 0.1,
                "truncated": None,
                "notes": [],
            }
        if operation == "check":
            self._fail(trouble(text))
            ok = trouble(text) != "wrong"
            one = {
                "case": CASE["id"],
                "input_set": 0,
                "ok": ok,
                "deterministic": True,
                "reason": None if ok else "3 elements differ",
                "outputs": [],
            }
            return {"cases": [one], "not_exercised": [], "interpreted": not self.lab.measured, "out_of_bounds": [], "seconds": 0.0}
        if operation == "time":
            self._fail("timeout" if trouble(text) == "slow_timeout" else "")
            before, after = microseconds(TEXT), microseconds(text)
            pairs = [
                {"input_set": i % 3, "original_us": before * (1 + 1e-4 * i), "variant_us": after * (1 - 1e-4 * (i % 2))}
                for i in range(params["pairs"])
            ]
            case = {
                "case": CASE["id"],
                "method": self.lab.method,
                "device": pairs,
                "call": pairs,
                "host_us": 1.0,
                "target_share": 1.0,
                "disturbed": None,
            }
            return {"cases": [case], "seconds": 0.0}
        if operation == "hide":
            return {"cases": [], "threads": 1}
        if operation == "survey":
            one = {"host_us": 1.0, "device_us": 9.0, "wall_us": 12.0, "restore_us": 1.0, "flush_us": 1.0}
            return {"cases": [{"case": c, **one, "synchronises": False, "long": False, "buffers": 4} for c in params["cases"]]}
        if operation == "turn":
            self._fail("timeout" if trouble(text) == "slow_timeout" else "")
            self.turns += 1
            self.seed = params["seed"]
            cases = [{"case": c["case"], **self._turn(text, c["case"], c["samples"])} for c in params["cases"]]
            return {"cases": cases, "disturbed": None, "threads": 1, "seconds": 0.0}
        if operation == "reveal":
            return {"seed": self.seed, "k": 1, "input_set": 0, "outputs": [], "described": [], "aliases": {}, "leaves": []}
        if operation == "referee":
            return {"case": params["case"], "input_set": 0, "ok": True, "deterministic": True, "reason": None, "outputs": []}
        if operation == "profile":
            return {"profiles": [], "note": None, "usable": True, "seconds": 0.0}
        if operation == "entry/run":
            return {"ok": trouble(text) != "entry", "reason": "AssertionError", "output": "", "seconds": 0.0}
        return {}

    def _turn(self, text: str, case: str, samples: int) -> dict[str, Any]:
        us = self.us(text, case) * (1 + 1e-4 * (self.turns % 2))
        return {"device_us": [us] * samples, "call_us": [us] * samples}

    def us(self, text: str, case: str) -> float:
        return microseconds(text)

    def _fail(self, what: str) -> None:
        if what in ("timeout", "crashed", "oom"):
            raise ExecutorFault(f"The executor {what}.", fault=what)

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass

    def restart(self) -> None:
        pass


class FakeLab:
    """Implements ``search._lab.Lab`` and what ``run`` asks besides."""

    method = "events"  # what device time is measured with

    def __init__(self, workspace: Workspace, measured: bool = True) -> None:
        self.workspace, self.measured = workspace, measured
        self.device: Device = find_device("h200")
        self.gpu: Any = GPU if measured else None
        self.uuid = "GPU-fake" if measured else None
        self.environment: Any = {
            "python": "3",
            "torch": "2.13",
            "triton": "3.6.0",
            "driver": None,
            "ptxas": None,
            "settings": {},
            "gpus": [],
        }
        self.variants: dict[str, str] = {}
        self.calls: list[str] = []
        self.waited_after: tuple[str, ...] = ()  # what was asked before the references were waited for
        self.closed = threading.Event()
        self.builders = 1
        self.compiling = True
        self.opened: list[str] = []
        self.modules: tuple[str, ...] = ()
        self.stragglers: list[tuple[Future[Built], Built]] | None = []  # None: they take no longer than others
        self._waking = threading.Lock()

    def text(self, variant: str | None) -> str:
        return TEXT if variant is None else self.variants[variant]

    def keep(self, texts: Mapping[str, str], paths: Iterable[str]) -> Any:
        (path,) = paths or list(texts)
        name = text_hash(texts[path])[:16]
        self.variants[name] = texts[path]
        return {"id": name, "files": [{"module": "k", "path": path, "sha256": text_hash(texts[path])}]}

    def measuring(self) -> FakeExecutor:
        return FakeExecutor(self)

    def fresh(self, name: str) -> FakeExecutor:
        assert not self.compiling or name.startswith(("apart-", "early-")), "a final beside compilers"
        return FakeExecutor(self)

    def specialise(self, files: Any, cases: Sequence[str]) -> Any:
        text = self.text(files["id"] if files is not None else None)
        launch = {
            "kernel": {"module": "k", "path": "/k.py", "qualname": "k"},
            "key": text_hash(text),
            "specialization_data": "",
            "signature": {},
            "constants": {},
            "attributes": [],
            "options": {"num_warps": 4},
            "grid": [7, 1, 1],
            "scalars": {},
            "case": cases[0],
        }
        return {"launches": [launch], "host_hash": {"k:copy": text_hash(text.replace("# nothing", "").strip())}}

    def count(self, files: Any, cases: Sequence[str]) -> Future[Any]:
        out: Future[Any] = Future()
        out.set_result({"launches": {}})
        return out

    def open_ahead(self, case: Any) -> None:
        """Nothing is imported here."""
        self.opened.append(case["id"])

    def import_ahead(self, modules: Sequence[str]) -> None:
        """Nothing is imported here."""
        self.modules = tuple(modules)

    def build_references(self, cases: Sequence[Any]) -> None:
        """Nothing is compiled here."""

    def references_built(self) -> None:
        self.waited_after = tuple(self.calls)

    def make_way(self, lock: str | None) -> None:
        self.compiling = False

    def build(self, files: Any, cases: Sequence[Any]) -> Future[Built]:
        out: Future[Built] = Future()
        text = self.text(files["id"] if files is not None else None)
        specialised = self.specialise(files, [c["id"] for c in cases])
        if trouble(text) == "compile_error":
            out.set_exception(WorkloadError("It does not compile.", kind="compile_error"))
        elif trouble(text) == "compiler_hangs":
            out.set_exception(ExecutorFault("The compiler took more than 20 s.", fault="timeout"))
        else:
            built = Built(specialised, {x["key"]: self.facts_of(x, text) for x in specialised["launches"]})
            with self._waking:
                if trouble(text) == "straggler" and self.stragglers is not None:
                    self.stragglers.append((out, built))
                    return out
            out.set_result(built)
        return out

    def wake(self) -> int:
        """The compilers come back with the stragglers; how many there were."""
        with self._waking:
            found, self.stragglers = self.stragglers or [], None
        for future, built in found:
            future.set_result(built)
        return len(found)

    def facts_of(self, launch: Any, text: str) -> Any:
        return {
            "kernel": launch["kernel"],
            "key": launch["key"],
            "target": self.device.target,
            "code_hash": text_hash(text.replace("# nothing", "").strip()),
            "registers": 32,
            "stack_bytes": 0,
            "spill_store_bytes": 0,
            "spill_load_bytes": 0,
            "shared_bytes": 0,
            "num_warps": 4,
            "num_stages": 3,
            "num_ctas": 1,
            "tensor_core": None,
            "opcodes": {},
            "accesses": [],
            "warnings": [],
            "seconds": 0.0,
            "cache_hit": False,
        }

    def close(self) -> None:
        self.closed.set()


class FakeAuthor:
    """Every strategy halves, doubles or quadruples BLOCK; ``troubles`` are written into the first proposals of ``tiling``."""

    name = "fake"
    free = True

    def __init__(self, troubles: Sequence[str] = ()) -> None:
        self.troubles = tuple(troubles)

    def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
        ((path, text),) = program.texts.items()
        span = next(m for m in re.finditer(r"BLOCK=(\d+)", text)).span(1)
        block = int(text[span[0] : span[1]])
        wanted = [(block * f, "") for f in {"tiling": (2, 4), "pipeline": (8,), "fusion": (1,)}.get(strategy, ())]
        if strategy == "tiling" and block == 16:
            wanted = [(32 + 32 * i, t) for i, t in enumerate(self.troubles)] + wanted
        out: list[Proposal] = []
        for value, what in wanted:
            edits = [Edit(Span(*span), str(value))]
            if what:
                edits.append(Edit(Span(len(text), len(text)), f"# MAKE {what}\n"))
            if what == "same":
                edits = [Edit(Span(len(text), len(text)), "# nothing\n")]
            out.append(
                Proposal(
                    strategy,
                    "block",
                    {"BLOCK": value, "trouble": what},
                    make_patch(program.texts, {path: edits}),
                    "exact",
                    f"BLOCK {value}",
                    "test",
                )
            )
        new = [p for p in out if p.key not in already]
        return Draft(tuple(new[:limit]), exhausted=len(new) <= limit)
