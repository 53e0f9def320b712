"""What counts as a disturbance, and what is said of it."""

from __future__ import annotations

import re

import pytest

from kernelband_worker.measure.clocks import Snapshot, disturbed, watch
from kernelband_worker.measure.inputs import InputSets
from kernelband_worker.measure.share import known_share, share_of

QUIET = Snapshot(sm_mhz=1980, memory_mhz=3201, celsius=40, reasons=0, processes=(7,))


@pytest.mark.parametrize(
    ("after", "says"),
    [
        (QUIET, None),
        (Snapshot(sm_mhz=1950, memory_mhz=3201, celsius=60, reasons=0x04, processes=(7,)), None),
        (Snapshot(sm_mhz=1700, memory_mhz=3201, reasons=0x04, processes=(7,)), "SM clock of the GPU went from 1980 to 1700 MHz"),
        (Snapshot(sm_mhz=1980, memory_mhz=3201, reasons=0x40, processes=(7,)), "hardware thermal slowdown"),
        (Snapshot(sm_mhz=1980, memory_mhz=3201, reasons=0, processes=(7, 9)), r"came to the GPU \(1\)"),
        (Snapshot(sm_mhz=1980, memory_mhz=3201, reasons=0, processes=()), r"left it \(1\)"),
    ],
)
def test_disturbed(after, says):
    found = disturbed(QUIET, after)
    if says is None:
        assert found is None
    else:
        assert re.search(says, found or "")


def test_nothing_is_claimed_where_nothing_is_known():
    assert disturbed(Snapshot(), Snapshot()) is None
    assert watch(None)() == Snapshot()


def test_no_such_gpu_gives_unknowns():
    assert watch("GPU-00000000-0000-0000-0000-000000000000")() == Snapshot()


def launch(name, target):
    return {"kernel": {"module": "m", "path": "m.py", "qualname": name}, "target": target}


def test_share_when_nothing_else_is_launched():
    assert known_share({"launches": [launch("k", True)], "other_kernels": []}) == 1.0
    assert known_share({"launches": [launch("k", True)], "other_kernels": ["memset"]}) is None
    assert known_share({"launches": [launch("k", True), launch("j", False)], "other_kernels": []}) is None
    assert known_share({"launches": [launch("j", False)], "other_kernels": []}) == 0.0


def test_share_tells_names_apart():
    case = {"launches": [launch("Attention.fwd", True), launch("fwd_reduce", False)], "other_kernels": []}
    assert share_of([("fwd", 30.0), ("fwd_reduce", 50.0), ("memcpy", 20.0)], case) == pytest.approx(0.3)
    assert share_of([("fwd_0d1d2", 10.0), ("memcpy", 10.0)], case) == pytest.approx(0.5)
    assert share_of([], case) is None


def test_input_sets_stay_within_their_budget():
    made = []
    sets = InputSets(100)

    def get(case, i, size):
        return sets.get(case, i, size, lambda: made.append((case, i)) or (case, i))

    assert get("a", 0, 60) == ("a", 0)
    assert get("a", 1, 40) == ("a", 1)
    get("a", 0, 60)
    assert made == [("a", 0), ("a", 1)]
    get("b", 0, 50)  # drops set 1, which was used longest ago, then set 0
    assert sets.held_bytes == 50
    get("c", 0, 500)  # larger than the budget: alone
    assert sets.held_bytes == 500
