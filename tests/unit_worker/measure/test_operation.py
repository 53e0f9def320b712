"""The operation where there is no GPU: a sentence, not a number."""

from __future__ import annotations

import pytest
from kernelband_worker.measure.replayed import repeatable
from kernelband_worker.measure.time import time
from kernelband_worker.state import OperationFailed, State


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
