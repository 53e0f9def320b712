"""The examples, inspected for every target in real processes, without a GPU."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernelband.errors import ExecutorFault
from kernelband.explain.inspect import Inspection, inspect
from kernelband.hardware import driver_properties, find_device, find_devices
from kernelband.source.workspace import Workspace
from kernelband.worker import Worker, WorkerCommand
from kernelband.worker.executor import Executor
from kernelband.worker.pool import CompilePool
from tests.e2e.conftest import endless_ptxas

EXAMPLES = Path(__file__).parents[2] / "examples"
TARGETS = "a100,a10,l4,h100,b200,rtx5090,mi300x,mi355x"  # sm_80/86/89/90/100/120, gfx942/950


class Bench:
    """A worker with the session of one example, captured once."""

    def __init__(self, python: str, path: Path, kernel: str, entry: str, compilers: int = 2) -> None:
        space = Workspace.for_file(str(path))
        self.log: list[str] = []
        self.worker = Worker.start(WorkerCommand((), python), files=space, on_log=lambda _, text: self.log.append(text))
        scratch = self.worker.hello["scratch"]
        device = find_device("h100")
        module = space.module_name(str(path))
        session: Any = {
            "id": "s",
            "top_level": space.top_level(),
            "store": f"{scratch}/store",
            "cache": f"{scratch}/cache",
            "seed": 0,
            "target": device.target,
            "device_properties": driver_properties(device),
        }
        place = {"module": module, "path": str(path), "qualname": kernel}
        self.executor = Executor(self.worker, "cpu", "cpu", session=session)
        params = {
            "entry": {"kind": "callable", "module": module, "path": str(path), "name": entry},
            "kernel": place,
            "hosts": [{**place, "qualname": name} for name in _hosts(path, kernel)],
            "seconds": 60.0,
            "distinct_cases": 4,
            "input_sets": 1,
            "programs": 8,
        }
        self.captured: Any = self.executor.call("capture", params, 120.0)
        self.pool = CompilePool(self.worker, session, size=compilers)

    def look(self, devices: str) -> list[Inspection]:
        return list(
            inspect(
                self.captured["cases"],
                find_devices(devices),
                lambda cases: self.executor.call("specialise", {"variant": None, "cases": list(cases)}, 60.0),  # type: ignore[arg-type,return-value]
                self.pool,
                captured=self.captured,
            )
        )

    def close(self) -> None:
        self.pool.close()
        self.worker.close()


def _hosts(path: Path, kernel: str) -> list[str]:
    """The functions that launch ``kernel``."""
    tree = ast.parse(path.read_text())
    return [
        f.name for f in tree.body if isinstance(f, ast.FunctionDef) and f"{kernel}[" in ast.unparse(f) and not f.name.startswith("test_")
    ]


def _kernel(path: Path) -> tuple[str, str]:
    """The first kernel and the first test of an example."""
    lines = path.read_text().splitlines()
    jit = next(i for i, line in enumerate(lines) if line.startswith("@triton.jit"))
    kernel = next(line for line in lines[jit:] if line.startswith("def ")).split("def ")[1].split("(")[0]
    test = next(line for line in lines if line.startswith("def test_")).split("def ")[1].split("(")[0]
    return kernel, test


@pytest.fixture(scope="module", params=["matmul"])
def bench(request: pytest.FixtureRequest, worker_python: str) -> Iterator[Bench]:
    path = EXAMPLES / f"{request.param}.py"
    made = Bench(worker_python, path, *_kernel(path))
    yield made
    made.close()


def test_every_target_is_compiled_once(bench: Bench) -> None:
    cold = bench.look(TARGETS)
    assert [i.error for i in cold if i.error] == []
    assert {i.device.arch for i in cold} == {80, 86, 89, 90, 100, 120, "gfx942", "gfx950"}
    for one in cold:
        seen = one.seen
        assert seen is not None
        assert seen.facts["registers"]
        assert seen.mix
        assert "loads" in seen.widths
        assert seen.work.dram_bytes
        assert seen.roofline is not None
        assert seen.bottleneck.kind != "unknown"
        assert seen.occupancy.programs >= 1 or seen.facts.get("unusable")
    warm = bench.look(TARGETS)
    assert len(warm) == len(cold)
    for before, after in zip(cold, warm, strict=True):
        assert before.seen is not None
        assert after.seen is not None
        assert after.seen.facts["cache_hit"]
        assert before.seen.facts["code_hash"] == after.seen.facts["code_hash"]


def test_an_assembler_that_never_ends_is_ended_at_its_deadline(worker_python: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ptxas = endless_ptxas(tmp_path)
    for name in ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH"):
        monkeypatch.setenv(name, str(ptxas))
    path = EXAMPLES / "vector_add.py"
    bench = Bench(worker_python, path, *_kernel(path), compilers=1)
    try:
        cases = bench.captured["cases"]
        specs = bench.executor.call("specialise", {"variant": None, "cases": [cases[0]["id"]]}, 60.0)
        params = {"variant": None, "launch": specs["launches"][0], "target": find_device("a100").target}
        mark = f"KERNELBAND_SCRATCH={bench.worker.hello['scratch']}".encode()
        future = bench.pool.submit(params, deadline_s=20.0)
        while not (running := [p for p in Path("/proc").glob("[0-9]*") if _sleeps(p, mark)]) and not future.done():
            time.sleep(0.1)
        assert running
        with pytest.raises(ExecutorFault) as caught:
            future.result(200)
        assert caught.value.fault == "timeout"
        end = time.monotonic() + 60
        while (running := [p for p in Path("/proc").glob("[0-9]*") if _sleeps(p, mark)]) and time.monotonic() < end:
            time.sleep(0.1)
        assert running == []
    finally:
        bench.close()


def _sleeps(process: Path, mark: bytes) -> bool:
    """Whether it is such an assembler, of the worker with that mark in its environment."""
    try:
        return mark in (process / "environ").read_bytes().split(b"\0") and b"sleep\x00600" in (process / "cmdline").read_bytes()
    except OSError:
        return False
