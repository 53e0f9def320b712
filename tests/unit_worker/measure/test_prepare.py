"""Operation prepare: both sides are called on every input set that can be kept, and what is kept is what timing then uses."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.measure.clocks import Snapshot
from kernelband_worker.measure.inputs import InputSets
from kernelband_worker.measure.prepare import prepare
from kernelband_worker.measure.time import Workbench, time
from kernelband_worker.state import OperationFailed
from tests.unit_worker.measure.simulation import Program, SimulatedDevice
from tests.unit_worker.measure.test_operation import SimulatedReplay, state


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (100_000, 200_000))


def executor(programs, budget=None):
    device = SimulatedDevice()
    made = state("gpu")
    made.kept["time"] = Workbench(device, lambda: Snapshot(sm_mhz=1980))
    if budget is not None:
        made.kept["inputs"] = InputSets(budget)
    made.cases["c1"] = SimulatedReplay(device, programs)
    return made


def test_each_side_is_called_on_each_input_set():
    programs = {None: Program(100.0), "v": Program(80.0)}
    made = executor(programs, 10_000)
    assert prepare(made, {"cases": ["c1"], "variant": "v"}) == {}
    assert (programs[None].runs, programs["v"].runs) == (3, 3)
    assert made.cases["c1"].prepared == [0, 1, 2]
    time(made, {"cases": ["c1"], "pairs": 5, "variant": "v"})
    assert made.cases["c1"].prepared == [0, 1, 2]  # nothing was read again


def test_no_more_than_fits_is_kept():
    made = executor({None: Program(100.0)}, 2_500)  # a set takes 1,000
    prepare(made, {"cases": ["c1"]})
    prepare(made, {"cases": ["c1"]})
    assert made.cases["c1"].prepared == [0, 1]


def test_one_set_is_prepared_however_large():
    made = executor({None: Program(100.0)}, 1)
    prepare(made, {"cases": ["c1"]})
    assert made.cases["c1"].prepared == [0]


def test_the_first_call_decides_the_share():
    made = executor({None: Program(100.0)})
    prepare(made, {"share": 0.05})
    assert made.kept["inputs"].budget_bytes == 5_000
    prepare(made, {"cases": ["c1"], "share": 0.5})
    assert made.kept["inputs"].budget_bytes == 5_000


def test_memory_that_is_not_there(monkeypatch):
    made = executor({None: Program(100.0)}, 10_000)

    def greedy(self, program):
        raise torch.cuda.OutOfMemoryError("tried to allocate 200 GiB")

    monkeypatch.setattr(SimulatedDevice, "work", greedy)
    with pytest.raises(OperationFailed, match="ran out of memory") as raised:
        prepare(made, {"cases": ["c1"]})
    assert raised.value.kind == "out_of_memory"
    assert made.kept["inputs"].held_bytes == 0


def test_what_the_variant_raises_is_its_own(monkeypatch):
    made = executor({None: Program(100.0), "v": Program(80.0)}, 10_000)

    def broken(self, program):
        if program.device_us == 80.0:
            raise ValueError("no such block")

    monkeypatch.setattr(SimulatedDevice, "work", broken)
    with pytest.raises(OperationFailed, match="ValueError: no such block") as raised:
        prepare(made, {"cases": ["c1"], "variant": "v"})
    assert raised.value.kind == "entry_failed"


def test_without_a_gpu():
    with pytest.raises(OperationFailed, match="no GPU") as raised:
        prepare(state("cpu"), {"cases": []})
    assert raised.value.kind == "no_gpu"
