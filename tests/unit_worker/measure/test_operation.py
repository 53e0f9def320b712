"""The operation where there is no GPU: a sentence, not a number."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.clocks import Snapshot
from kernelband_worker.measure.inputs import InputSets
from kernelband_worker.measure.replayed import repeatable
from kernelband_worker.measure.time import Workbench, time
from kernelband_worker.state import State
from tests.unit_worker.measure.simulation import Program, SimulatedDevice
from tests.unit_worker.measure.test_replayed import Replay, prepare


def state(role):
    return State(role=role, ask=lambda method, params: None, tell=lambda method, params: None)


@pytest.mark.parametrize("role", ["cpu", "compile"])
def test_other_roles_measure_nothing(role):
    with pytest.raises(OperationFailed, match="no GPU") as raised:
        time(state(role), {"variant": None, "cases": [], "pairs": 5})
    assert raised.value.kind == "no_gpu"


def test_floats_may_drift_counters_may_not():
    def case(*tensors):
        return {"tensors": [{"mutated": m, "dtype": d} for m, d in tensors]}

    assert repeatable(case((False, "int32"), (True, "bfloat16")))
    assert not repeatable(case((True, "int32")))
    assert not repeatable(case((True, "bool"), (False, "float32")))


CASE = {
    "id": "c1",
    "launches": [{"kernel": {"module": "m", "path": "m.py", "qualname": "k"}, "target": True}],
    "other_kernels": [],
    "tensors": [],
    "memory_bytes": 1000,
    "input_sets": 3,
    "reads_rng": False,
}


class SimulatedReplay(Replay):
    """A case whose calls take simulated time."""

    def __init__(self, device, programs):
        super().__init__({variant: lambda p=program: device.call(p) for variant, program in programs.items()}, ())
        self.case = CASE
        self.prepared = []

    def inputs(self, input_set):
        self.prepared.append(input_set)
        return prepare()


def measured(monkeypatch, programs, *, snapshots=(), **params):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    device = SimulatedDevice()
    told = iter(snapshots)
    executor = state("gpu")
    executor.kept["time"] = Workbench(device, lambda: next(told, Snapshot(sm_mhz=1980)))
    executor.kept["inputs"] = InputSets(10_000)
    executor.cases["c1"] = SimulatedReplay(device, programs)
    return time(executor, {"cases": ["c1"], "pairs": 5, "variant": "v", **params}), executor


def test_the_answer_is_a_time_result(monkeypatch):
    result, executor = measured(monkeypatch, {None: Program(100.0), "v": Program(80.0)})
    (timed,) = result["cases"]
    assert timed["case"] == "c1"
    assert timed["method"] == "events"
    assert [p["input_set"] for p in timed["device"]] == [p["input_set"] for p in timed["call"]] == [0, 1, 2, 0, 1]
    assert timed["device"][0]["original_us"] == pytest.approx(100.0)
    assert timed["device"][0]["variant_us"] == pytest.approx(80.0)
    assert timed["host_us"] == pytest.approx(30.0)
    assert timed["target_share"] == 1.0
    assert timed["disturbed"] is None
    assert [c["sm_mhz"] for c in timed["clocks"]] == [1980, 1980]
    time(executor, {"cases": ["c1"], "pairs": 5, "variant": "v"})
    assert executor.cases["c1"].prepared == [0, 1, 2]  # input sets stay for the next trial


def test_a_change_of_clocks_is_told(monkeypatch):
    slow = [Snapshot(sm_mhz=1980), Snapshot(sm_mhz=1200)]
    result, _ = measured(monkeypatch, {None: Program(100.0), "v": Program(80.0)}, snapshots=slow)
    assert "1980 to 1200 MHz" in result["cases"][0]["disturbed"]


def test_memory_that_is_not_there(monkeypatch):
    def greedy(program):
        raise torch.cuda.OutOfMemoryError("tried to allocate 200 GiB")

    monkeypatch.setattr(SimulatedDevice, "work", lambda self, program: greedy(program))
    with pytest.raises(OperationFailed, match="ran out of memory") as raised:
        measured(monkeypatch, {None: Program(100.0), "v": Program(100.0)})
    assert raised.value.kind == "out_of_memory"


def test_no_pairs_are_refused(monkeypatch):
    with pytest.raises(OperationFailed, match="At least one pair"):
        measured(monkeypatch, {None: Program(100.0), "v": Program(1.0)}, pairs=0)
