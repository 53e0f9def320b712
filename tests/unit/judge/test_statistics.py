"""Quantiles against tables, intervals against their promise, and the two error rates of the final verdict."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.judge.comparison import compare
from kernelband.judge.statistics import Interval, average, log_ratio, of_pairs, of_processes, prediction
from kernelband.judge.student import t_quantile
from tests.unit.judge.simulation import case, measurements

CASES = [case("c1"), case("c2"), case("c3")]


# Upper quantiles of the printed tables (Abramowitz and Stegun, table 26.10).
@pytest.mark.parametrize(
    ("probability", "degrees", "value"),
    [
        (0.90, 1, 3.078), (0.975, 1, 12.706), (0.995, 1, 63.657),
        (0.90, 2, 1.886), (0.975, 2, 4.303), (0.995, 2, 9.925),
        (0.90, 3, 1.638), (0.975, 3, 3.182), (0.9995, 3, 12.924),
        (0.90, 4, 1.533), (0.95, 4, 2.132), (0.975, 4, 2.776), (0.995, 4, 4.604),
        (0.975, 10, 2.228), (0.975, 14, 2.145), (0.90, 30, 1.310), (0.975, 120, 1.980),
    ],
)  # fmt: skip
def test_t_quantile_is_that_of_the_tables(probability, degrees, value):
    assert t_quantile(probability, degrees) == pytest.approx(value, abs=6e-4)
    assert t_quantile(1 - probability, degrees) == pytest.approx(-value, abs=6e-4)


def test_t_quantile_tends_to_the_normal_one():
    assert t_quantile(0.975, 1e6) == pytest.approx(NormalDist().inv_cdf(0.975), abs=1e-5)


@given(st.floats(0.001, 0.999), st.floats(1.0, 500.0))
def test_t_quantile_grows_with_probability_and_shrinks_with_degrees(p, n):
    assert t_quantile(p, n) <= t_quantile(min(0.9995, p + 0.0004), n)
    if p > 0.5:
        assert t_quantile(p, n) >= t_quantile(p, n + 1) - 1e-9


def test_t_quantile_is_continuous_in_the_degrees():
    for exact in (1.0, 2.0):
        for p in (0.5004, 0.9, 0.975, 0.9995):
            assert t_quantile(p, exact + 1e-9) == pytest.approx(t_quantile(p, exact), rel=1e-6)


@pytest.mark.parametrize(("p", "n"), [(0.0, 4), (1.0, 4), (0.9, 0.5)])
def test_t_quantile_refuses_nonsense(p, n):
    with pytest.raises(ValueError, match="needed"):
        t_quantile(p, n)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (math.nan, 1.0)])
def test_times_must_be_positive(a, b):
    with pytest.raises(ValueError, match="positive"):
        log_ratio(a, b)


def test_one_value_gives_no_bound():
    for interval in (of_pairs([0.1]), of_processes([0.1]), prediction([0.1]), average([of_pairs([0.1])])):
        assert interval.ratio().low == 0.0
        assert interval.ratio().high == math.inf


def coverage(make, inside, runs=1000):
    rng = random.Random(5)
    return sum(inside(make(rng)) for _ in range(runs)) / runs


def test_the_interval_over_processes_covers():
    def covers(values):
        interval = of_processes(values)
        return interval.bound(0.025) <= 0.1 <= interval.bound(0.975)

    assert coverage(lambda r: [r.gauss(0.1, 0.01) for _ in range(5)], covers) == pytest.approx(0.95, abs=0.015)


def test_the_prediction_interval_covers_one_more_process():
    def covers(values):
        interval = prediction(values[:5])
        return interval.bound(0.025) <= values[5] <= interval.bound(0.975)

    assert coverage(lambda r: [r.gauss(0.1, 0.01) for _ in range(6)], covers) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("pairs", [5, 15])
def test_the_interval_of_a_block_covers(pairs):
    def covers(values):
        interval = of_pairs(values)
        return interval.bound(0.025) <= 0.1 <= interval.bound(0.975)

    # A median scatters less than its normal error says for few values: a little wide is right, narrow is wrong.
    assert 0.94 <= coverage(lambda r: [r.gauss(0.1, 0.01) for _ in range(pairs)], covers) <= 0.985


def test_a_half_width_grows_with_confidence_and_with_a_bias():
    interval = of_processes([0.0, 0.01, -0.01, 0.005, -0.005])
    assert interval.reach == interval.farthest(0.95) < interval.farthest(0.98)
    assert interval.farthest(0.95) == pytest.approx(2.776 * interval.error, rel=1e-3)
    assert Interval(-0.03, interval.error, 4).farthest(0.95) == pytest.approx(0.03 + 2.776 * interval.error, rel=1e-3)
    assert of_processes([0.1]).farthest() == math.inf


def test_an_interrupted_pair_hides_nothing():
    logs = [0.1 + 0.001 * ((-1) ** i) for i in range(14)] + [3.0]
    assert of_pairs(logs).bound(0.025) > 0.09


def test_average_covers():
    def covers(groups):
        interval = average([of_processes(g) for g in groups])
        return interval.bound(0.025) <= 0.1 <= interval.bound(0.975)

    def groups(r):
        return [[r.gauss(0.1, s) for _ in range(5)] for s in (0.01, 0.02, 0.05)]

    assert 0.93 <= coverage(groups, covers) <= 0.98


def called(runs, seed, baseline_of, variant_of):
    rng = random.Random(seed)
    counts: dict[str, int] = {}
    for _ in range(runs):
        found = compare(variant_of(rng), CASES[:1], "device", stage="final", baseline=baseline_of(rng))
        counts[found.performance] = counts.get(found.performance, 0) + 1
    return counts


@pytest.mark.parametrize(
    "noise",
    [
        {"pair_noise": 0.01, "process_noise": 0.003},
        {"pair_noise": 0.03, "process_noise": 0.02, "tails": True},
        {"pair_noise": 0.30, "process_noise": 0.10, "tails": True},
    ],
    ids=["quiet", "heavy tails", "very noisy"],
)
def test_the_same_code_is_not_called_faster(noise):
    """500 A/A runs: under 1 % are called faster, and under 1 % slower."""
    one = {"cases": ("c1",), "pairs": 5, **noise}
    counts = called(500, 1, lambda r: measurements(r, **one), lambda r: measurements(r, **one))
    assert counts.get("faster", 0) < 5
    assert counts.get("slower", 0) < 5


def test_a_real_tenth_is_found():
    """A true 1.10× at 1 % noise is called faster in more than 95 % of the runs."""
    noise = {"pair_noise": 0.01, "process_noise": 0.01, "cases": ("c1",), "pairs": 5}
    counts = called(200, 2, lambda r: measurements(r, **noise), lambda r: measurements(r, 1.10, **noise))
    assert counts["faster"] > 190


#: One figure a process, 1 % between processes, and nothing else.
SCATTER = {"cases": ("c1",), "pairs": 1, "pair_noise": 0.0, "process_noise": 0.01}


def finals(runs, seed, finalists, ratio=1.0):
    """Each of so many finals: what it found of its finalists beside one A/A run."""
    rng = random.Random(seed)
    for _ in range(runs):
        baseline = measurements(rng, **SCATTER)
        yield [
            compare(measurements(rng, ratio, **SCATTER), [case("c1")], "device", stage="final", baseline=baseline, finalists=finalists)
            for _ in range(finalists)
        ]


def test_of_three_finalists_of_the_same_code_none_is_called_faster():
    """The family of three: at most 5 % of finals; the 2 % make it far fewer."""
    called = sum(any(f.performance == "faster" for f in found) for found in finals(400, 4, 3))
    assert called / 400 <= 0.05 / 10


def test_the_intervals_of_three_finalists_hold_together():
    """One more process of each of three lies in all three intervals in 95 % of finals; at 95 % each it would be 86 %."""
    rng = random.Random(5)
    held = sum(all(f.score.low <= math.exp(rng.gauss(0, 0.01)) <= f.score.high for f in found) for found in finals(500, 6, 3))
    assert held / 500 == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("finalists", [1, 3])
def test_a_real_tenth_is_found_among_finalists(finalists):
    """1.10× at 1 % between processes: at least 90 % of the finalists."""
    found = [f for found in finals(400 // finalists, 7, finalists, ratio=1.10) for f in found]
    assert sum(f.performance == "faster" for f in found) / len(found) >= 0.90


def test_a_real_loss_is_called_slower():
    counts = called(100, 3, lambda r: measurements(r, pairs=5), lambda r: measurements(r, 0.9, pairs=5))
    assert counts["slower"] > 95


@settings(max_examples=30, deadline=None)
@given(st.permutations(["c1", "c2", "c3"]), st.integers(0, 10**6))
def test_the_order_of_cases_does_not_matter(names, seed):
    found = measurements(random.Random(seed), 1.07, processes=3, pairs=3)
    shuffled = sorted(found, key=lambda m: names.index(m.case))
    a = compare(found, CASES, "device", stage="final", baseline=found)
    b = compare(shuffled, CASES, "device", stage="final", baseline=shuffled)
    assert a == b


@settings(max_examples=30, deadline=None)
@given(st.floats(0.2, 5.0), st.integers(0, 10**6))
def test_swapping_the_sides_inverts_the_ratio(ratio, seed):
    from attrs import evolve

    found = measurements(random.Random(seed), ratio, processes=3, pairs=3, cases=("c1",))
    swapped = [evolve(m, original_us=m.variant_us, variant_us=m.original_us) for m in found]
    a, b = (compare(x, CASES, "device", stage="final").score for x in (found, swapped))
    assert a.value * b.value == pytest.approx(1.0)
    assert a.low * b.high == pytest.approx(1.0)
