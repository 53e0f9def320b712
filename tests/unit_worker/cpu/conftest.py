from __future__ import annotations

from pathlib import Path

import pytest

from kernelband_worker.cpu import device
from kernelband_worker.launches import observe
from kernelband_worker.loader import Loader
from kernelband_worker.state import State
from tests.unit_worker.served import Served

PROGRAMS = Path(__file__).parent / "programs"
H100 = {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32, "sm_clock_rate": 1980000}


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns when it is unset
        made = device.install({"backend": "cuda", "arch": 90, "warp_size": 32}, H100, "NVIDIA H100")
        yield made
        made.uninstall()


class Program:
    """A program of ``programs``, loaded as a user's, and what happens when it launches."""

    def __init__(self, shim, name):
        self.served = Served({f"{name}.py": (PROGRAMS / f"{name}.py").read_text()})
        self.state = State("cpu", self.served.ask, lambda method, params: None)
        self.loader = self.state.loader = Loader(self.served.ask, self.served.session())
        self.loader.install()
        self.machine = shim.machine
        self.module = self.loader.original(name)
        self.events = []

    def observe(self, **options):
        return observe(self.state, self.events.append, **options)

    def line(self, text):
        lines = next(iter(self.served.files.values())).splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)


@pytest.fixture(scope="module")
def program(shim):
    made = {}

    def load(name):
        if name not in made:
            made[name] = Program(shim, name)
        made[name].events.clear()
        shim.machine.out_of_bounds.clear()
        return made[name]

    yield load
    for each in made.values():
        each.loader.uninstall()
