"""An autotuned program, captured by the interpreter, and executors with a pretended GPU that share its store."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from kernelband_worker.cases.store import Store, StoredCase
from kernelband_worker.compare import check
from kernelband_worker.cpu import device
from kernelband_worker.loader import Loader
from kernelband_worker.measure.clocks import Snapshot
from kernelband_worker.measure.inputs import InputSets
from kernelband_worker.measure.prepare import prepare
from kernelband_worker.measure.time import Workbench, time
from kernelband_worker.state import State
from tests.unit_worker.cases.conftest import H100, Run
from tests.unit_worker.launches.conftest import gpu as pretended
from tests.unit_worker.measure.simulation import SimulatedDevice
from tests.unit_worker.served import Served

TEXT = """
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 64}, num_warps=2),
        triton.Config({"BLOCK": 128}, num_warps=4),
        triton.Config({"BLOCK": 256}, num_warps=8),
    ],
    key=["n"],
)
@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * 2, mask=offs < n)


def double(x):
    y = torch.empty_like(x)
    double_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())
    return y


def bench():
    for n in (2048, 4096):
        double(torch.randn(n, device="cuda"))
"""
#: What the tuner chose for each timing case, by its size.
CHOSEN = {2048: {"BLOCK": 64, "num_warps": 2}, 4096: {"BLOCK": 256, "num_warps": 8}}


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """The store of a run in which the tuner chose as ``CHOSEN`` says, with neighbours; and its cases."""
    store = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
        made = device.install({"backend": "cuda", "arch": 90, "warp_size": 32}, H100, "NVIDIA H100")
        run = Run(made, store, {"doubling.py": TEXT})
        cases = run.capture("doubling", "double_kernel", ["double"], "bench")
        run.loader.uninstall()
        made.uninstall()
    kept = Store(str(store))
    for case in cases:
        stored = kept.load(case["id"])
        for launch in stored.case["launches"]:
            launch["config"] = CHOSEN[launch["scalars"]["n"]]
        for tree in stored.sets:
            for storage in tree.storages:
                storage.device = "cpu"
        kept.save(StoredCase(**{**vars(stored), "case": {**stored.case, "role": "time" if case["launches"] else "check"}}))
    return str(store), [kept.load(case["id"]).case for case in cases]


class Executor:
    """A process of the run: its own modules, the run's store."""

    def __init__(self, captured, gpu, tuning=None):
        self.store, self.cases = captured
        self.gpu = gpu
        self.served = Served({"doubling.py": TEXT})
        self.state = State("gpu", self.served.ask, lambda method, params: None)
        self.state.session = self.served.session(store=self.store, **({"tuning": tuning} if tuning else {}))
        self.loader = self.state.loader = Loader(self.served.ask, self.state.session)
        self.loader.install()
        self.device = SimulatedDevice()
        self.state.kept.update(inputs=InputSets(1 << 30), room=1 << 30, time=Workbench(self.device, lambda: Snapshot(sm_mhz=1980)))

    @property
    def timed(self):
        """Configurations that a tuner timed so far, in all executors of the test."""
        return round(100 - self.gpu.clock)

    def ids(self, role):
        return [case["id"] for case in self.cases if case["role"] == role]

    def variant(self, name, *edits):
        text = TEXT
        for old, new in edits:
            assert old in text
            text = text.replace(old, new)
        self.loader.register(self.served.variant(name, doubling=text))
        return name

    def check(self, variant, *roles):
        ids = [case for role in roles for case in self.ids(role)]
        return check(self.state, {"variant": variant, "cases": ids, "input_sets": [0], "numerics": "exact"})

    def time(self, variant, ids=None):
        return time(self.state, {"variant": variant, "cases": ids or self.ids("time"), "pairs": 5, "warmup_s": 0.0})

    def prepare(self, variant, role="time"):
        return prepare(self.state, {"variant": variant, "cases": self.ids(role)})

    def open(self, case):
        return prepare(self.state, {"open": case})

    def choice(self, variant, case):
        """BLOCK that the tuner's memory has for a case."""
        tuner = self.loader.variant(variant, "doubling").double_kernel
        n = next(c for c in self.cases if c["id"] == case)["tensors"][0]["shape"][0]
        return next(config.kwargs["BLOCK"] for key, config in tuner.cache.items() if key[0] == n)


gpu = pretended


@pytest.fixture
def start(captured, gpu, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    for kept in Path(captured[0], "choices").glob("*"):  # of another test
        kept.unlink()
    made = []

    def begin(tuning=None):
        for other in made:
            other.loader.uninstall()
        made.append(Executor(captured, gpu, tuning))
        return made[-1]

    yield begin
    for other in made:
        other.loader.uninstall()
