"""The whole arithmetic of a block on a simulated clock: what comes out is what was put in, by every method, in the time promised."""

from __future__ import annotations

from statistics import median

import pytest

from kernelband_worker.errors import OperationFailed
from kernelband_worker.measure.block import Wish, time_block
from kernelband_worker.measure.interleave import by_input_set, order, run_pair
from tests.unit_worker.measure.simulation import Program, SimulatedDevice


def timed(original, variant, device=None, **wish):
    device = device or SimulatedDevice()
    asked = []

    def sides_of(input_set):
        asked.append(input_set)
        return {"A": device.side(original, "A"), "B": device.side(variant, "B")}

    wish = Wish(**{"pairs": 5, "warmup_s": 0.025, "input_sets": 3, **wish})
    return time_block(device, sides_of, wish), device, asked


def medians(pairs):
    return median(p["original_us"] for p in pairs), median(p["variant_us"] for p in pairs)


def test_events_see_the_device_time_with_a_cold_cache_and_hidden_submission():
    timing, _, asked = timed(Program(100.0, host_us=90.0, warm=0.5), Program(80.0, host_us=300.0, warm=0.5))
    assert timing.plan.method == "events"
    # The event that closes the interval costs nothing on the device once submission is hidden.
    assert medians(timing.device) == (pytest.approx(100.0), pytest.approx(80.0))
    assert asked == [0, 1, 2]
    assert [p["input_set"] for p in timing.device] == [0, 1, 2, 0, 1] == [p["input_set"] for p in timing.call]


def test_call_time_is_the_steady_rate_without_flush():
    timing, _, _ = timed(Program(100.0, host_us=90.0, warm=0.5), Program(80.0, host_us=300.0, warm=0.5))
    # The original is bound by its 90 µs of submission (50 µs of warm device work behind it), the variant by 300 µs.
    assert medians(timing.call) == (pytest.approx(90.0, rel=0.05), pytest.approx(300.0, rel=0.05))


def test_short_calls_are_repeated_within_a_pair():
    timing, device, _ = timed(Program(5.0, host_us=40.0, warm=0.3), Program(4.0, host_us=60.0, warm=0.3))
    assert timing.plan.method == "events"
    assert medians(timing.device) == (pytest.approx(5.0), pytest.approx(4.0))
    assert device.flushes > 5 * 2 * 2 * timing.plan.quads


@pytest.mark.parametrize("who", ["original", "variant"])
def test_a_call_that_synchronises_is_timed_by_wall_on_both_sides(who):
    original = Program(200.0, host_us=20.0, synchronises=who == "original")
    variant = Program(100.0, host_us=20.0, synchronises=who == "variant")
    timing, _, _ = timed(original, variant)
    assert timing.plan.method == "wall"
    before, after = medians(timing.device)
    assert before == pytest.approx(220.0, abs=8.0)
    assert after == pytest.approx(120.0, abs=8.0)


def test_a_hiccup_of_the_host_is_not_a_synchronisation():
    device = SimulatedDevice()
    beats = iter(range(1, 1_000_000))
    device.hiccup = lambda: 900.0 if next(beats) % 7 == 0 else 0.0
    timing, _, _ = timed(Program(100.0), Program(100.0), device)
    assert timing.plan.method == "events"


def test_a_submission_longer_than_its_sleep_is_measured_again():
    device = SimulatedDevice()
    beats = iter(range(1, 1_000_000))
    # From the 1,000th call on the host is four times as slow as the probe saw.
    device.hiccup = lambda: 120.0 if next(beats) > 1000 else 0.0
    timing, _, _ = timed(Program(50.0, host_us=40.0), Program(50.0, host_us=40.0), device, pairs=15)
    assert all(p["original_us"] == pytest.approx(50.0) and p["variant_us"] == pytest.approx(50.0) for p in timing.device)


def test_work_on_another_stream_does_not_escape():
    timing, _, _ = timed(Program(1000.0), Program(5.0, elsewhere_us=995.0))
    assert timing.plan.method == "wall"
    assert medians(timing.device)[1] == pytest.approx(1025.0, rel=0.05)


def test_compiling_is_over_before_anything_is_timed():
    slow = Program(100.0, compiles=2)
    timing, device, _ = timed(Program(100.0), slow)
    assert medians(timing.device) == (pytest.approx(100.0), pytest.approx(100.0))
    assert device.compiled == 2


def test_a_call_that_always_compiles_is_refused():
    with pytest.raises(OperationFailed, match="still compiles"):
        timed(Program(100.0), Program(100.0, compiles=10**9))


def test_warm_up_lasts():
    device = SimulatedDevice()
    timed(Program(100.0), Program(100.0), device, pairs=1)
    before_first_flush = device.log.index("call A")
    assert before_first_flush == 1
    assert device.now() >= 0.025


def test_restored_before_every_sample():
    _, device, _ = timed(Program(100.0), Program(90.0), repeatable=False)
    calls = [i for i, line in enumerate(device.log) if line.startswith("call")]
    assert calls
    assert all(device.log[i - 1] == device.log[i].replace("call", "restore") for i in calls)


def test_a_screening_block_is_cheap():
    """5 pairs on 3 cases of a 100 µs kernel in well under half a second (JUDGING: a second a trial)."""
    device = SimulatedDevice()
    for _ in range(3):
        timed(Program(100.0, host_us=50.0), Program(95.0, host_us=50.0), device)
    assert device.now() < 0.3


def test_a_dear_restore_means_fewer_repeats():
    cheap, _, _ = timed(Program(100.0), Program(100.0))
    dear, device, _ = timed(Program(100.0, restore_us=700.0), Program(100.0, restore_us=700.0), pairs=15)
    assert dear.plan.quads < cheap.plan.quads
    assert device.now() < 0.3


@pytest.mark.parametrize(("us", "most_s"), [(1_000.0, 0.5), (30_000.0, 2.0), (120_000.0, 7.0), (1_000_000.0, 20.0)])
def test_long_calls_do_not_take_minutes(us, most_s):
    timing, device, _ = timed(Program(us), Program(us / 2), pairs=15)
    assert device.now() < most_s
    assert len(timing.device) == len(timing.call) >= 3
    before, after = medians(timing.device)
    assert before / after == pytest.approx(2.0, rel=0.02)


def test_same_seed_same_pairs():
    first, _, _ = timed(Program(30.0, noise=0.02), Program(20.0, noise=0.02))
    again, _, _ = timed(Program(30.0, noise=0.02), Program(20.0, noise=0.02))
    assert first == again


@pytest.mark.parametrize("sides", [(True, False), (False, True)], ids=["original", "variant"])
def test_who_waits_for_the_device_is_timed_by_the_clock(sides):
    timing, _, _ = timed(*(Program(21.0, synchronises=waits) for waits in sides))
    assert timing.plan.method == "wall"


def test_abba_cancels_a_linear_drift():
    clock = iter(range(10_000))
    for pair in range(4):
        a, b = run_pair(order(pair, 3), lambda side: 10.0 + 0.01 * next(clock))
        assert a == pytest.approx(b, abs=1e-9)


def test_each_side_begins_equally_often():
    assert [order(i, 1)[0] for i in range(4)] == ["A", "B", "A", "B"]
    assert [order(i, 0) for i in range(2)] == ["AB", "BA"]


@pytest.mark.parametrize("pairs", [1, 2, 5, 15])
@pytest.mark.parametrize("sets", [1, 3, 4])
def test_pair_i_uses_set_i_modulo_n(pairs, sets):
    seen = {i: s for s, members in by_input_set(pairs, sets) for i in members}
    assert seen == {i: i % sets for i in range(pairs)}


def test_an_autotuner_that_times_in_measured_calls_is_refused():
    device = SimulatedDevice()
    with pytest.raises(OperationFailed, match="key that stays the same"):
        timed(Program(100.0), Program(100.0, tunes_every=40), device)
    with pytest.raises(OperationFailed, match="key that stays the same"):
        timed(Program(40_000.0), Program(40_000.0, tunes_every=4), device)
    timed(Program(100.0), Program(100.0), device)  # what was tuned before is of no interest
