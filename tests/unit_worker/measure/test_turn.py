"""One timed call of a turn on a simulated GPU: what counts, and when it is taken again. Turns of real programs: cases/test_turns.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kernelband_worker.measure.turn import TAIL_US, _Calls
from tests.unit_worker.measure.simulation import Program, SimulatedDevice


def calls_of(program):
    device = SimulatedDevice()
    replay = SimpleNamespace(call=lambda variant, prepared: device.call(program))
    contents = SimpleNamespace(replay=replay, buffers=[None], sets=[0], fill=lambda buffer, content, variant: None)
    return _Calls(device, contents, None, seed="s", chance=None)


def test_the_device_time_is_that_of_the_call_alone():
    us, wall_us = calls_of(Program(100.0, warm=0.2)).alone("events", sleep_us=200.0)
    assert us == pytest.approx(100.0)
    assert wall_us > 100.0


@pytest.mark.parametrize("elsewhere_us", [300.0, 2_000.0])
def test_work_on_another_stream_counts(elsewhere_us):
    us, _ = calls_of(Program(100.0, elsewhere_us=elsewhere_us)).alone("events", sleep_us=50.0)
    assert us > elsewhere_us / 2
    assert us > 100.0 + TAIL_US


def test_a_submission_longer_than_its_sleep_is_timed_again():
    program = Program(50.0, host_us=400.0)
    us, _ = calls_of(program).alone("events", sleep_us=10.0)
    assert program.calls == 2
    assert us == pytest.approx(50.0)


def test_by_the_wall_all_counts():
    us, wall_us = calls_of(Program(100.0, synchronises=True)).alone("wall", sleep_us=0.0)
    assert us == wall_us > 100.0
