from __future__ import annotations

import pytest

from kernelband_worker.cases.choose import choose, short


def case(number, share, **more):
    return {
        "id": str(number),
        "share": share,
        "calls": 1,
        "call_index": number,
        "replayable": True,
        "neighbour_of": None,
        "role": "check",
        "device_us": 50.0,
        "launches": [],
        **more,
    }


def roles(cases):
    return [c["role"] for c in choose(cases)]


def test_the_heaviest_that_cover_nine_tenths_are_timed():
    assert roles([case(0, 0.02), case(1, 0.95), case(2, 0.03)]) == ["check", "time", "check"]


def test_a_case_of_some_weight_is_timed_beyond_them():
    assert roles([case(0, 0.63), case(1, 0.30), case(2, 0.07)]) == ["time", "time", "time"]


def test_at_most_eight_are_timed_and_sixteen_kept():
    chosen = choose([case(i, 1 / 40) for i in range(40)])
    assert len(chosen) == 16
    assert sum(c["role"] == "time" for c in chosen) == 8


@pytest.mark.parametrize(("count", "held"), [(1, 0), (3, 0), (4, 1), (8, 2), (16, 4)])
def test_a_quarter_is_held_out(count, held):
    chosen = roles([case(i, 1 / (i + 1)) for i in range(count)])
    assert chosen.count("held_out") == held
    assert chosen[0] == "time"


def test_what_cannot_be_replayed_stays_to_be_shown():
    lost = case(1, None, replayable=False)
    assert roles([case(0, 1.0), lost]) == ["time", "check"]


def test_short_cases_are_told():
    assert short([case(0, 1.0, role="time", device_us=5.0)])
    assert not short([case(0, 1.0, role="time", device_us=25.0)])
    assert not short([case(0, 1.0, role="time", device_us=None)])
