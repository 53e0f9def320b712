"""The rules of performance, and the sentences beside them."""

from __future__ import annotations

import random

import pytest
from attrs import evolve

from kernelband.judge.comparison import compare, upper_bound
from tests.unit.judge.simulation import case, measurements

CASES = [case("c1"), case("c2"), case("c3")]


def final(ratio, *, call_ratio=None, baseline=None, objective="device", cases=CASES, seed=1, **noise):
    rng = random.Random(seed)
    found = measurements(rng, ratio, call_ratio=call_ratio, **noise)
    return compare(found, cases, objective, stage="final", baseline=baseline or measurements(rng, **noise))


def test_faster_says_so_with_the_score_in_its_interval():
    found = final(1.25)
    assert found.performance == "faster"
    assert found.score.low < 1.25 < found.score.high
    assert found.score.low > 1.2
    assert [r.case for r in found.cases] == ["c1", "c2", "c3"]
    assert found.cases[0].device_before_us == pytest.approx(100, rel=0.02)
    assert found.cases[0].device_after_us == pytest.approx(80, rel=0.02)
    assert found.weighted == pytest.approx(1.25, rel=0.02)
    assert found.worst == pytest.approx(1.25, rel=0.03)
    assert found.reason == ""


def test_under_two_percent_is_inconclusive():
    found = final(1.015, pair_noise=0.0005, process_noise=0.0001)
    assert found.score.low > 1.0
    assert found.performance == "inconclusive"
    assert f"{found.score.low:.3f}× to {found.score.high:.3f}×" in found.reason
    assert "1.020× is called faster" in found.reason


def test_what_the_original_differs_from_itself_is_no_difference():
    rng = random.Random(3)
    noisy = measurements(rng, 1.15, processes=5)  # an A/A run that is off by 15 %
    assert final(1.10).performance == "faster"
    unsure = final(1.10, baseline=noisy)
    assert unsure.performance == "inconclusive"
    assert "the original differs from itself" in unsure.reason


def test_faster_on_the_device_but_slower_to_call_is_not_faster():
    found = final(1.25, call_ratio=0.9)
    assert found.performance == "inconclusive"
    assert "slower per call" in found.reason
    assert final(1.25, call_ratio=0.985).performance == "faster"  # within 2 %


def test_a_microsecond_per_call_is_forgiven():
    rng = random.Random(1)
    found = [evolve(m, original_us=m.original_us / 20, variant_us=m.variant_us / 20) for m in measurements(rng, 1.25, call_ratio=0.9)]
    base = [evolve(m, original_us=m.original_us / 20, variant_us=m.variant_us / 20) for m in measurements(rng)]
    assert compare(found, CASES, "device", stage="final", baseline=base).performance == "faster"  # 5 µs a call became 5.6


def test_the_objective_decides():
    assert final(1.0, call_ratio=1.3, objective="call").performance == "faster"
    assert final(1.0, call_ratio=1.3, objective="device").performance == "inconclusive"


def test_the_worst_case_stands_beside_the_score():
    rng = random.Random(1)
    found = measurements(rng, 2.0, cases=("c1", "c2")) + measurements(rng, 0.8, cases=("c3",))
    compared = compare(found, CASES, "device", stage="final", baseline=measurements(rng))
    assert compared.score.value == pytest.approx((2 * 2 * 0.8) ** (1 / 3), rel=0.02)
    assert compared.worst == pytest.approx(0.8, rel=0.02)


def test_weighted_by_calls():
    rng = random.Random(1)
    found = measurements(rng, 2.0, cases=("c1",)) + measurements(rng, 1.0, cases=("c2",))
    cases = [case("c1", calls=1), case("c2", calls=9)]
    assert compare(found, cases, "device", stage="final", baseline=measurements(rng)).weighted == pytest.approx(10 / 9.5, rel=0.01)


def test_a_small_kernel_in_a_large_call_is_said():
    found = measurements(random.Random(1), 1.25)
    found = [evolve(m, original_us=300.0, variant_us=280.0) if m.quantity == "call" else m for m in found]
    compared = compare(found, CASES, "device", stage="final")
    assert "The kernel is 33% of a call of the original on 3 of 3 cases" in compared.reason
    shared = compare(measurements(random.Random(1), 1.25), CASES, "device", stage="final", shares={"c1": 0.2})
    assert "20% of a call of the original on 1 of 3 cases" in shared.reason


def test_superseded_blocks_are_not_counted():
    rng = random.Random(1)
    old = [evolve(m, superseded=True) for m in measurements(rng, 5.0)]
    assert compare(old + measurements(rng, 1.0), CASES, "device", stage="final").score.value == pytest.approx(1.0, abs=0.02)


def test_one_process_is_not_enough_for_a_final():
    alone = final(2.0, processes=1)
    assert (alone.performance, alone.reason.partition(".")[0]) == (
        "inconclusive",
        "It was measured in too few processes to be called faster",
    )


def test_a_process_that_died_halfway_does_not_stand_for_the_score():
    rng = random.Random(1)
    found = measurements(rng, 1.25, processes=4) + [
        evolve(m, process=4, variant_us=m.variant_us * 9) for m in measurements(rng, 1.25, processes=1, cases=("c1",))
    ]
    assert compare(found, CASES, "device", stage="final").score.value == pytest.approx(1.25, rel=0.02)


def test_the_first_block_drops_only_what_is_surely_slower():
    rng = random.Random(2)
    one = {"processes": 1, "pairs": 5, "stage": "screening"}
    assert upper_bound(measurements(rng, 0.9, **one), "device") < 1
    kept = sum(upper_bound(measurements(rng, 1.0, pair_noise=0.02, process_noise=0, **one), "device") >= 1 for _ in range(300))
    assert kept / 300 > 0.87


def test_nothing_measured_is_an_error():
    with pytest.raises(ValueError, match="nothing to compare"):
        compare([], CASES, "device", stage="final")


@pytest.mark.parametrize("stage", ["screening", "final"])
@pytest.mark.parametrize("quantity", ["device", "call", "both"])
def test_with_a_timing_case_unmeasured_nothing_is_faster_or_slower(stage, quantity):
    rng = random.Random(1)
    for ratio in (2.0, 0.5):
        found = measurements(rng, ratio, stage=stage, processes=5 if stage == "final" else 1)
        assert compare(found, CASES, "device", stage=stage).performance == ("faster" if ratio > 1 else "slower")
        partly = [m for m in found if m.case != "c2" or m.quantity not in (quantity, *(("device", "call") if quantity == "both" else ()))]
        compared = compare(partly, CASES, "device", stage=stage)
        assert compared.performance == "inconclusive"
        assert "c2" in compared.reason
        assert [r.case for r in compared.cases] == ["c1", "c3"]


def test_a_case_whose_every_pair_was_superseded_is_unmeasured():
    found = [evolve(m, superseded=m.case == "c3") for m in measurements(random.Random(1), 2.0)]
    assert compare(found, CASES, "device", stage="final").performance == "inconclusive"
    assert compare(found, CASES[:2], "device", stage="final").performance == "faster"
