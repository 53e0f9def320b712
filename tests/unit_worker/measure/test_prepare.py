"""Operation prepare: the clock first, then a call on every buffer, so that a first timed call waits for nothing."""

from __future__ import annotations

import pytest
import torch

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure import turn
from kernelband_worker.measure.clocks import Snapshot
from kernelband_worker.measure.prepare import prepare
from kernelband_worker.measure.time import Workbench
from tests.unit_worker.measure.simulation import SimulatedDevice
from tests.unit_worker.measure.test_operation import state


@pytest.fixture
def executor(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (100_000, 200_000))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    made = state("gpu")
    made.kept["time"] = Workbench(SimulatedDevice(), lambda: Snapshot(sm_mhz=1980))
    return made


def test_the_first_call_decides_the_share(executor):
    assert prepare(executor, {"cases": [], "share": 0.05}) == {}
    assert executor.kept["inputs"].budget_bytes == 5_000


def test_each_case_is_called_and_all_share_the_room(executor, monkeypatch):
    called = []
    monkeypatch.setattr(turn, "call_once", lambda _state, case, variant: called.append((case, variant)))
    assert prepare(executor, {"cases": ["c1", "c2"], "variant": "v"}) == {}
    assert called == [("c1", "v"), ("c2", "v")]
    assert executor.kept["timed"] == ["c1", "c2"]


def test_memory_that_runs_out_lets_go_of_what_was_kept(executor, monkeypatch):
    def scarce(*_):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory.")

    executor.kept["contents"] = {"c1": object()}
    monkeypatch.setattr(turn, "_calls", scarce)
    with pytest.raises(OperationFailed) as raised:
        prepare(executor, {"cases": ["c1"], "variant": "v"})
    assert raised.value.kind == "out_of_memory"
    assert "contents" not in executor.kept


def test_what_is_kept_is_released_for_others(executor, monkeypatch):
    given_back = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: given_back.append(True))
    prepare(executor, {"cases": [], "share": 0.5})
    executor.kept["inputs"].get("c1", 0, 10, object)
    executor.kept["contents"] = {"c1": object()}
    prepare(executor, {"cases": [], "release": True})
    assert executor.kept["inputs"].held_bytes == 0
    assert "contents" not in executor.kept
    assert given_back


@pytest.mark.parametrize("role", ["cpu", "compile"])
def test_other_roles_prepare_nothing(role):
    with pytest.raises(OperationFailed) as raised:
        prepare(state(role), {"cases": []})
    assert raised.value.kind == "no_gpu"
