from __future__ import annotations

import copy
from pathlib import Path

import pytest

from kernelband_worker.cases.capture import capture
from kernelband_worker.cases.entry import run_entry
from kernelband_worker.compare import check
from kernelband_worker.cpu import device
from kernelband_worker.loader import Loader
from kernelband_worker.state import State
from tests.unit_worker.served import Served

FIXTURES = Path(__file__).parents[2] / "fixtures" / "capture"
FILES = {str(p.relative_to(FIXTURES)): p.read_text() for p in FIXTURES.rglob("*.py")}
H100 = {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32, "sm_clock_rate": 1980000}


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # 3.9 warns when it is unset
        made = device.install({"backend": "cuda", "arch": 90, "warp_size": 32}, H100, "NVIDIA H100")
        yield made
        made.uninstall()


class Run:
    """An executor's state in this process, over some files, with a store."""

    def __init__(self, shim, store, files=None):
        self.served = Served(FILES if files is None else files)
        self.state = State("cpu", self.served.ask, lambda method, params: None)
        self.state.session = self.served.session(store=str(store))
        self.loader = self.state.loader = Loader(self.served.ask, self.state.session)
        self.loader.passed_over = lambda: shim.machine.sampled
        self.loader.install()
        shim.machine.out_of_bounds.clear()
        shim.machine.sampled = False

    def capture(self, module, kernel, hosts, entry, kind="callable", **more):
        params = {
            "entry": {"kind": kind, "module": module, "path": self.served.find(module)["path"], "name": entry},
            "kernel": self.place(module, kernel),
            "hosts": [self.place(module, h) for h in hosts],
            "input_sets": 2,
            **more,
        }
        result = capture(self.state, params)
        self.cases, self.outside, self.notes = result["cases"], result["out_of_bounds"], result["notes"]
        return self.cases

    def place(self, module, name):
        other, _, qualname = name.rpartition(":")
        return self.served.function(other or module, qualname)

    def variant(self, name, *edits):
        """``edits``: (module, text, its replacement)."""
        texts = {}
        for module, old, new in edits:
            text = texts.get(module) or self.served.files[module.replace(".", "/") + ".py"]
            assert old in text
            texts[module] = text.replace(old, new)
        self.loader.register(self.served.variant(name, **{m.replace(".", "__"): t for m, t in texts.items()}))
        return name

    def check(self, variant, numerics="exact", **more):
        ids = [c["id"] for c in self.cases if c["replayable"]]
        return check(self.state, {"variant": variant, "cases": ids, "input_sets": [0, 1], "numerics": numerics, **more})

    def run_entry(self, module, entry, kind="callable", variant=None, seconds=250.0, **more):
        named = {"kind": kind, "module": module, "path": self.served.find(module)["path"], "name": entry}
        return run_entry(self.state, {"variant": variant, "entry": named, "seconds": seconds, **more})


@pytest.fixture
def make(shim, tmp_path):
    """A fresh state over the fixtures, or over given files."""
    made = []

    def build(files=None):
        run = Run(shim, tmp_path / f"store{len(made)}", files)
        made.append(run)
        return run

    yield build
    for run in made:
        run.loader.uninstall()


@pytest.fixture(scope="module")
def captures(shim, tmp_path_factory):
    """The store and the cases of a capture of the fixtures, made once for all tests of a file that don't change it."""
    made = {}

    def captured(*what):
        key = repr(what)
        if key not in made:
            store = tmp_path_factory.mktemp("store")
            run = Run(shim, store)
            try:
                made[key] = (store, run.capture(*what))
            finally:
                run.loader.uninstall()
        return made[key]

    return captured


@pytest.fixture
def replay(shim, captures):
    """A fresh state over a capture that is made once."""
    made = []

    def start(*what):
        store, cases = captures(*what)
        run = Run(shim, store)
        made.append(run)
        run.cases = copy.deepcopy(cases)
        return run

    yield start
    for run in made:
        run.loader.uninstall()
