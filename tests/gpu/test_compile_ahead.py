"""What is compiled ahead, without CUDA, is what a launch on the GPU finds in the cache, and its facts are those of the loaded kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelband.hardware import from_gpu
from kernelband.source.workspace import Workspace
from kernelband.worker import Executor, Worker, WorkerCommand
from kernelband.worker.pool import CompilePool
from tests.e2e.conftest import worker_python  # noqa: F401  # the fixture
from tests.e2e.test_inspect import EXAMPLES, _hosts, _kernel

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not Path("/dev/nvidiactl").exists(), reason="there is no NVIDIA GPU on this machine (/dev/nvidiactl)"),
]

OPERATIONS = b"""
import torch, triton
from kernelband_worker.cases.replay import open_case
from kernelband_worker.compiler.kernels import resolve
from kernelband_worker.executor import OPERATIONS, main as serve

def main():
    serve({**OPERATIONS, "launched": "ahead_operations:launched", "referred": "ahead_operations:referred"})

def launched(state, params):
    hits = []
    triton.knobs.compilation.listener = lambda **told: hits.append(told["cache_hit"])
    case = open_case(state, params["case"])
    case.call(None, case.inputs(0))
    torch.cuda.synchronize()
    kernel = resolve(state, None, params["kernel"])
    loaded = [c for cache in kernel.device_caches.values() for c in cache[0].values()]
    return {"hits": hits, "registers": [c.n_regs for c in loaded], "spills": [c.n_spills for c in loaded]}

def referred(state, params):
    hits = []
    triton.knobs.compilation.listener = lambda **told: hits.append(told["cache_hit"])
    found = open_case(state, params["case"]).reference(0, 0)
    torch.cuda.synchronize()
    return {"hits": hits, "dtypes": sorted({str(t.dtype) for _, t in found or []})}
"""


@pytest.mark.parametrize("example", ["vector_add", "fused_softmax", "layer_norm", "matmul"])
def test_a_launch_finds_what_was_compiled_ahead(example: str, worker_python: str) -> None:  # noqa: F811  # the fixture above
    path = EXAMPLES / f"{example}.py"
    name, entry = _kernel(path)
    space = Workspace.for_file(str(path))
    module = space.module_name(str(path))
    place = {"module": module, "path": str(path), "qualname": name}
    command = WorkerCommand((), worker_python, executor="ahead_operations", extra={"ahead_operations.py": OPERATIONS})
    with Worker.start(command, files=space) as worker:
        scratch = worker.hello["scratch"]

        def session(cache: str, **more: Any) -> Any:
            base = {"id": "s", "top_level": space.top_level(), "store": f"{scratch}/store", "cache": f"{scratch}/{cache}", "seed": 0}
            return {**base, **more}

        with Executor(worker, "capture", "gpu", gpu=0, session=session("first")) as first:
            environment = first.call("environment", {}, 60)
            capture = {"entry": {"kind": "callable", "module": module, "path": str(path), "name": entry}, "kernel": place}
            capture["hosts"] = [{**place, "qualname": host} for host in _hosts(path, name)]
            captured = first.call("capture", {**capture, "seconds": 60.0, "distinct_cases": 2, "input_sets": 1}, 120)
            case = next(c for c in captured["cases"] if c["replayable"])["id"]
            specs = first.call("specialise", {"variant": None, "cases": [case]}, 60)["launches"]
        device = from_gpu(environment["gpus"][0])
        assert all(s["target"]["arch"] == device.arch for s in specs)
        with CompilePool(worker, session("ahead", target=device.target, device_properties={}), size=1) as pool:
            facts = [pool.submit({"variant": None, "launch": s, "target": device.target}, deadline_s=120).result() for s in specs]
            if example == "fused_softmax":  # what its checks run for a reference
                double = pool.submit({"variant": None, "cases": [case], "double": True}, operation="specialise", deadline_s=60).result()
                for spec in double["launches"]:
                    pool.submit({"variant": None, "launch": spec, "target": device.target}, deadline_s=120).result()
        assert not any(f["cache_hit"] for f in facts[:1])
        with Executor(worker, "launch", "gpu", gpu=0, session=session("ahead")) as second:
            seen = second.call("launched", {"case": case, "kernel": place}, 120)
            if example == "fused_softmax":
                assert second.call("referred", {"case": case}, 120) == {"hits": [True], "dtypes": ["torch.float64"]}
        assert seen["hits"]
        assert all(seen["hits"])
        assert set(seen["registers"]) <= {f["registers"] for f in facts}
        assert set(seen["spills"]) == {0}
