from __future__ import annotations

import pytest
from triton.runtime.driver import driver

from kernelband_worker.cpu.driver import TargetDriver
from kernelband_worker.launches import observe
from kernelband_worker.loader import Loader
from kernelband_worker.state import State
from kernelband_worker.triton_versions import current_driver
from tests.unit_worker.launches.programs import FILES
from tests.unit_worker.served import Served

TARGET = {"backend": "cuda", "arch": 90, "warp_size": 32}
H100 = {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32}


class PretendGpu(TargetDriver):
    """Compiles for real, and notes launches instead of doing them. Timing favours the last configuration."""

    def __init__(self):
        super().__init__(TARGET, H100)
        self.launched = []
        gpu = self

        class Launcher:
            def __init__(self, src, metadata):
                self.name = src.fn.__name__

            def __call__(self, *args, **kwargs):
                gpu.launched.append((self.name, args[:3]))

        self.launcher_cls = Launcher
        self.clock = 100.0

    def get_benchmarker(self):
        def benchmark(kernel_call, quantiles):
            kernel_call()
            self.clock -= 1
            return [self.clock] * 3

        return benchmark


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns when it is unset
    before, made = current_driver(), PretendGpu()
    driver.set_active(made)
    yield made
    if before is not None:  # compiled kernels ask the driver when they are freed
        driver.set_active(before)


class Session:
    def __init__(self, role="gpu", **files):
        self.served = Served({**FILES, **files})
        self.state = State(role, self.served.ask, lambda method, params: None)
        self.loader = self.state.loader = Loader(self.served.ask, self.served.session())
        self.loader.install()
        self.events = []

    @property
    def launcher(self):
        return self.loader.original("lw.launcher")

    def observe(self, **options):
        return observe(self.state, self.events.append, **options)


@pytest.fixture
def session(gpu):
    made = Session()
    yield made
    made.loader.uninstall()
