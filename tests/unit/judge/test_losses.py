"""Faster must not be able to lose: not a case in either time, not all calls together, not a size beside the timing cases."""

from __future__ import annotations

import math
import random

import pytest
from attrs import evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelband.judge.comparison import compare
from kernelband.judge.statistics import of_processes
from tests.unit.judge.simulation import case, measurements

QUIET = {"pair_noise": 0.002, "process_noise": 0.001}


def judged(times, *, seed=1, calls=None, noise=None, baseline_noise=None, stage="final", objective="device", **more):
    """``times``: by case the microseconds before, the true ratio, and that of calls where it is another."""
    rng = random.Random(seed)
    one = {"stage": stage, "processes": 5 if stage == "final" else 1}

    def measured(name, us, ratio, call_ratio=None, noise=noise):
        return measurements(rng, ratio, call_ratio=call_ratio, cases=(name,), us=us, **one, **(noise or QUIET))

    found = [m for name, what in times.items() for m in measured(name, *what)]
    baseline = [m for name, what in times.items() for m in measured(name, what[0], 1.0, noise=baseline_noise or noise)]
    cases = [case(name, calls=(calls or {}).get(name, 1)) for name in times]
    return compare(found, cases, objective, stage=stage, baseline=baseline if stage == "final" else (), **more)


def unseen(ratio, us=100.0, seed=2, name="h1", **more):
    """Of one process and five pairs, as the final times a size that it doesn't decide by."""
    one = {"cases": (name,), "processes": 1, "pairs": 5, "pair_noise": 0.005, "stage": "unseen", **more}
    return measurements(random.Random(seed), ratio, us=us, **one)


GAIN = {"c1": (100.0, 1.25), "c2": (100.0, 1.25)}


# ------------------------------------------------------------ cases


@pytest.mark.parametrize("finalists", [1, 3])
@pytest.mark.parametrize(
    ("times", "case", "ratio"),
    [
        ({"c1": (10.0, 10 / 3.3), "c2": (1000.0, 1000 / 1100)}, "c2", "0.91×"),
        ({f"c{i}": (100.0, 1.2) for i in range(7)} | {"c7": (100.0, 0.5)}, "c7", "0.50×"),
        ({"c1": (100.0, 2.0), "c2": (100.0, 0.8), "c3": (100.0, 0.7)}, "c3", "0.70×"),
        ({"c1": (100.0, 2.0), "c2": (3.0, 0.9)}, "c2", "0.90×"),  # 0.3 µs, but the objective is what every case is timed for
    ],
)
def test_no_case_loses(times, case, ratio, finalists):
    found = judged(times, finalists=finalists)
    assert found.score.low > 1.02
    assert found.performance == "inconclusive"
    assert f"On case {case} it is slower: {ratio}, so it isn't called faster." in found.reason


def test_under_two_percent_is_no_loss():
    assert judged({"c1": (100.0, 1.5), "c2": (100.0, 0.985)}).performance == "faster"


def test_a_loss_counts_whatever_the_interval_is_wide():
    """0.94× at 1 % between processes: the interval ends above 0.98×, yet the case is slower beyond doubt."""
    found = judged({"c1": (100.0, 1.5), "c2": (100.0, 0.94)}, noise={"pair_noise": 0.001, "process_noise": 0.01}, finalists=3, seed=4)
    assert 1 / 1.02 < found.cases[1].device.high < 1
    assert found.performance == "inconclusive"


def test_what_may_be_scatter_is_said_beside_faster():
    noise = {"pair_noise": 0.01, "process_noise": 0.06}
    quiet = measurements(random.Random(1), 2.0, cases=("c1",), **QUIET)
    unsure = measurements(random.Random(1), 0.95, cases=("c2",), **noise)
    found = compare([*quiet, *unsure], [case("c1"), case("c2")], "device", stage="final")
    assert found.cases[1].device.value < 0.98
    assert found.cases[1].device.high > 1
    assert found.performance == "faster"
    assert "On case c2 it may be slower: 0.9" in found.reason


def test_as_far_as_the_original_differs_from_itself_is_no_loss():
    times = {"c1": (100.0, 2.0), "c2": (100.0, 0.95)}
    found = {name: measurements(random.Random(1), ratio, cases=(name,), us=us, **QUIET) for name, (us, ratio) in times.items()}
    still = measurements(random.Random(2), cases=("c1", "c2"), **QUIET)
    drifting = [evolve(m, variant_us=m.variant_us * 1.06) if m.case == "c2" else m for m in still]
    cases = [case("c1"), case("c2", calls=0)]
    both = [m for ms in found.values() for m in ms]
    assert compare(both, cases, "device", stage="final", baseline=still).performance == "inconclusive"
    assert compare(both, cases, "device", stage="final", baseline=drifting).performance == "faster"


def test_screening_keeps_what_loses_a_case_for_a_choice_by_size():
    found = judged({"c1": (10.0, 3.0), "c2": (1000.0, 0.9, 0.9)}, stage="screening", sizes=unseen(0.5))
    assert found.performance == "faster"
    assert "On case c2 it is slower: 0.90×." in found.reason
    assert found.worst == pytest.approx(0.9, rel=0.01)
    assert found.weighted == pytest.approx(1010 / (10 / 3 + 1000 / 0.9), rel=0.01)


# ------------------------------------------------------------ all calls together


def test_small_losses_of_large_cases_may_not_add_up():
    times = {"c1": (10.0, 3.0), "c2": (1000.0, 0.985)}
    found = judged(times)
    assert found.weighted < 1
    assert found.performance == "inconclusive"
    assert "All calls together take 0.8% longer, most of it on case c2 (0.9" in found.reason
    often = judged(times, calls={"c1": 100})
    assert often.weighted > 1.4
    assert often.performance == "faster"


def test_a_total_that_the_original_reaches_itself_is_none():
    """A large case that didn't change scatters below 1 in every other run: that alone refuses nothing."""
    noise = {"pair_noise": 0.0, "process_noise": 0.01}
    found = [judged({"c1": (10.0, 1.5), "c2": (10_000.0, 1.0)}, noise=noise, seed=s) for s in range(150)]
    refused = [f for f in found if f.performance != "faster"]
    assert sum(f.weighted < 1 for f in found) > 50
    assert sum("All calls" in f.reason for f in refused) <= 5


def test_a_total_is_that_of_pairs_not_of_medians_that_jump():
    """In two of five processes everything takes twice as long; in a third it begins to between original and variant."""
    found = []
    for process in range(5):
        for pair in range(15):
            before = 200.0 if process < 2 or (process == 2 and pair > 7) else 100.0
            after = 200.0 if process < 2 or (process == 2 and pair > 6) else 100.0
            for quantity in ("device", "call"):
                found += [evolve(_pair(process, pair, quantity), original_us=before, variant_us=after)]
    assert compare(found, [case("c1")], "device", stage="final").weighted == pytest.approx(1.0)


def _pair(process, pair, quantity):
    return evolve(measurements(random.Random(0), cases=("c1",), processes=1, pairs=1)[0], process=process, pair=pair, quantity=quantity)


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["c1", "c2", "c3", "c4"]), st.tuples(st.floats(1, 1e4), st.floats(0.2, 5)), min_size=1),
    st.integers(0, 10**6),
)
def test_the_total_lies_between_the_cases(times, seed):
    found = judged(times, seed=seed, noise={"pair_noise": 0.0, "process_noise": 0.0}, stage="screening", calls={"c1": 7})
    ratios = [r.device.value for r in found.cases]
    assert found.worst == pytest.approx(min(ratios))
    assert min(ratios) * 0.999 <= found.weighted <= max(ratios) * 1.001


# ------------------------------------------------------------ sizes beside the timing cases


@pytest.mark.parametrize(
    ("sizes", "loses"),
    [
        (unseen(0.8), True),
        (unseen(0.8, processes=3), True),
        (unseen(1.3, name="h0") + unseen(0.8) + unseen(0.9, name="h2"), True),
        (unseen(1.2), False),
        (unseen(0.965), False),  # under 5 %
        (unseen(0.85, us=5.0), False),  # 0.9 µs
        (unseen(0.85, us=8.0), True),  # 1.4 µs
        (unseen(0.8, pair_noise=0.5, seed=4), False),  # as its pairs scatter
        (unseen(0.8, pairs=1), False),  # nothing to tell scatter by
        ([evolve(m, superseded=True) for m in unseen(0.5)], False),
        (unseen(1.0, call_ratio=0.5), False),  # the objective's time only
        ([m for m in unseen(0.5) if m.quantity == "call"], False),
    ],
)
def test_no_size_loses(sizes, loses):
    found = judged(GAIN, sizes=sizes)
    assert found.performance == ("inconclusive" if loses else "faster")
    assert ("On case h1, which is no timing case, it is slower: 0." in found.reason) == loses


def test_sizes_are_no_part_of_the_figures():
    assert judged(GAIN, sizes=unseen(1.2)) == judged(GAIN)


@pytest.mark.parametrize(("ratio", "performance", "said"), [(0.97, "faster", False), (0.45, "faster", True), (0.3, "inconclusive", True)])
def test_at_a_size_that_we_made_up_a_loss_is_said_and_only_a_cliff_decides(ratio, performance, said):
    found = judged(GAIN, sizes=unseen(ratio), made_up={"h1"})
    assert found.performance == performance
    assert ("case h1" in found.reason) == said


def test_a_loss_that_decides_is_told_before_a_larger_one_that_does_not():
    found = judged(GAIN, sizes=unseen(0.7) + unseen(0.9, name="h2"), made_up={"h1"})
    assert found.performance == "inconclusive"
    assert "case h2" in found.reason


# ------------------------------------------------------------ the other time


def test_no_case_loses_in_the_other_time():
    times = {"c1": (100.0, 1.25, 1.2), "c2": (100.0, 1.25, 1.2), "c3": (100.0, 1.25, 0.9)}
    found = judged(times)
    assert found.performance == "inconclusive"
    assert "On case c3 it is slower per call: 0.90×, so it isn't called faster." in found.reason
    assert judged({name: (us, 1.25, 1.2) for name, (us, *_) in times.items()}).performance == "faster"
    assert judged({name: (us / 20, *ratios) for name, (us, *ratios) in times.items()}).performance == "faster"  # 0.6 µs
    assert judged(times, stage="screening").performance == "faster"
    swapped = judged({name: (us, call, device) for name, (us, device, call) in times.items()}, objective="call")
    assert "On case c3 it is slower on the device: 0.90×" in swapped.reason


def test_a_loss_of_the_other_time_that_only_all_cases_show():
    """Each loses much in one process, each in another, so that none loses surely; together they do."""
    pairs = measurements(random.Random(1), 1.4, cases=("c0", "c1", "c2", "c3", "c4"), **QUIET)
    late = {(f"c{p}", p) for p in range(5)}
    found = [
        evolve(m, original_us=100.0, variant_us=130.0 if (m.case, m.process) in late else 104.0) if m.quantity == "call" else m
        for m in pairs
    ]
    compared = compare(found, [case(f"c{i}") for i in range(5)], "device", stage="final")
    assert all(r.call.value < 0.98 and r.call.high > 1 for r in compared.cases)
    assert compared.performance == "inconclusive"
    assert "slower per call: not called faster" in compared.reason


# ------------------------------------------------------------ the interval that is shown decides


@settings(max_examples=60, deadline=None)
@given(st.floats(0.9, 1.6), st.sampled_from([1, 2, 3]), st.floats(0.0005, 0.02), st.integers(0, 10**6))
def test_the_shown_bound_decides(ratio, finalists, scatter, seed):
    rng = random.Random(seed)
    one = {"cases": ("c1",), "pairs": 3, "pair_noise": 0.001, "process_noise": scatter}
    found, baseline = measurements(rng, ratio, **one), measurements(rng, **one)
    compared = compare(found, [case("c1")], "device", stage="final", baseline=baseline, finalists=finalists)
    itself = compare(baseline, [case("c1")], "device", stage="final").score.value
    least = max(1.02, itself, 1 / itself)
    if compared.performance == "faster":
        assert compared.score.low > least
    if compared.score.low > 1.25 * least:
        assert compared.performance == "faster"
    if compared.performance == "slower":
        assert compared.score.high < 1 / least


def test_several_finalists_widen_every_interval():
    alone, one_of_three = judged(GAIN), judged(GAIN, finalists=3)
    pairs = [(alone.score, one_of_three.score), *((a.device, b.device) for a, b in zip(alone.cases, one_of_three.cases, strict=True))]
    pairs += [(a.call, b.call) for a, b in zip(alone.cases, one_of_three.cases, strict=True)]
    for narrow, wide in pairs:
        assert wide.value == narrow.value
        # Quantiles of t with 4 degrees of freedom: 2.776 at 0.975, 3.961 at 0.99167.
        assert math.log(wide.high / wide.low) / math.log(narrow.high / narrow.low) == pytest.approx(3.961 / 2.776, rel=1e-3)


def test_the_shown_interval_is_for_one_more_process():
    found = judged(GAIN)
    mean = of_processes([0.0, 0.01, -0.01, 0.005, -0.005])
    by_process = {p: 0.01 * x for p, x in enumerate((0, 1, -1, 0.5, -0.5))}
    pairs = measurements(random.Random(1), 1.0, cases=("c1",), pairs=1, pair_noise=0.0, process_noise=0.0)
    shown = compare(
        [evolve(m, variant_us=m.original_us * math.exp(-by_process[m.process])) for m in pairs], [case("c1")], "device", stage="final"
    )
    assert math.log(shown.score.high) == pytest.approx(mean.bound(0.975) * math.sqrt(6))
    assert found.score.low < 1.25 < found.score.high
