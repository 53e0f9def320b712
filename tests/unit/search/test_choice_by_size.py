"""When two variants complement each other: from ratios by case alone."""

from __future__ import annotations

import math

import pytest

from kernelband.judge.result import Ratio
from kernelband.search.choice_by_size import Axis, Plan, Version, cuts, plans, threshold, unable

CASES = {"a": 1024, "b": 4096, "c": 32000}
N = Axis("n_cols", CASES, {"u": 2048, "v": 4097, "w": 31999})


def version(number: int, *ratios: float, spread: float = 0.01) -> Version:
    return Version(number, {c: Ratio(r, r * (1 - spread), r * (1 + spread)) for c, r in zip(CASES, ratios, strict=True)})


ORIGINAL = Version(0, dict.fromkeys(CASES, Ratio(1.0, 1.0, 1.0)))


def found(*versions: Version, axes: tuple[Axis, ...] = (N,), best: float | None = None) -> list[Plan]:
    every = [ORIGINAL, *versions]
    return plans(every, axes, max(v.score for v in every) if best is None else best)


@pytest.mark.parametrize(
    ("low", "high", "at"),
    [
        (1024, 4096, 2048),
        (4096, 32000, 8192),
        (1000, 100_000, 8192),
        (2048, 4096, 3072),  # no power of two in between: three halves of one
        (4096, 8192, 6144),
        (781, 1000, 781),  # nothing round in between: the larger small size
        (1, 2, 1),
        (0, 5, 0),
    ],
)
def test_the_threshold_is_a_round_number_near_the_middle(low: int, high: int, at: int) -> None:
    assert threshold(low, high) == at
    assert low <= at < high


def test_two_that_complement_each_other() -> None:
    small, large = version(3, 1.5, 1.4, 1.0), version(5, 1.1, 1.2, 1.6)
    (best, *_) = found(small, large)
    assert (best.sides.size, best.sides.up_to, best.sides.small, best.sides.large) == ("n_cols", 8192, 3, 5)
    assert (best.cut.small, best.cut.large) == (("a", "b"), ("c",))
    assert best.cut.unseen == ("v", "w")
    assert best.expected == pytest.approx(math.log(1.5 * 1.4 * 1.6) / 3)
    assert best.rivals == (5, 3)
    assert best.why == (
        "where n_cols <= 8192, variant 3 was 26 % faster than variant 5; where n_cols > 8192, variant 5 was 60 % faster than variant 3"
    )


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ((1.5, 1.5, 1.5), (1.1, 1.1, 1.56)),  # 4 % is not enough
        ((1.5, 1.5, 1.5), (1.4, 1.4, 1.4)),  # one is better everywhere
        ((1.5, 1.2, 1.5), (1.1, 1.5, 1.1)),  # the middle size isn't a side
    ],
)
def test_others_do_not(small: tuple[float, ...], large: tuple[float, ...]) -> None:
    assert found(version(3, *small), version(5, *large)) == []


def test_scatter_is_no_evidence() -> None:
    assert found(version(3, 1.5, 1.5, 1.3), version(5, 1.1, 1.1, 1.4))
    assert found(version(3, 1.5, 1.5, 1.3, spread=0.1), version(5, 1.1, 1.1, 1.4, spread=0.1)) == []


def test_no_case_of_a_side_may_be_slower_there() -> None:
    plan = found(version(3, 1.6, 1.15, 1.0), version(5, 1.1, 1.2, 1.6))
    assert all(p.cut.small != ("a", "b") for p in plan)
    assert plan[0].cut.small == ("a",)


def test_both_sides_must_beat_a_third_that_is_the_best_single_one() -> None:
    small, large = version(3, 2.0, 1.8, 1.0), version(5, 1.0, 1.0, 2.0)
    assert found(small, large, version(7, 1.7, 1.6, 1.7))[0].rivals == (7, 7)
    assert found(small, large, version(7, 1.95, 1.75, 1.95)) == []


def test_the_original_may_be_a_side() -> None:
    (best, *_) = found(version(5, 0.8, 0.9, 1.6))
    assert (best.sides.small, best.sides.large) == (0, 5)
    assert "the original was" in best.why


def test_it_must_be_better_than_what_there_is() -> None:
    pair = version(3, 1.5, 1.4, 1.0), version(5, 1.1, 1.2, 1.6)
    assert found(*pair, best=math.log(1.5)) == []
    assert found(*pair, best=math.log(1.4))


def test_the_first_size_that_can_be_timed_elsewhere_on_both_sides_is_asked() -> None:
    rows = Axis("n_rows", {"a": 8192, "b": 4096, "c": 1024}, {"u": 2048, "v": 9000})
    blind = Axis("n_cols", CASES, {"u": 2048})
    assert [(c.code, c.small) for c in cuts([N, rows])] == [("n_cols", ("a",)), ("n_cols", ("a", "b"))]
    assert [(c.code, c.unseen) for c in cuts([blind, rows])] == [("n_rows", ("u", "v"))] * 2
    assert [(c.code, c.unseen) for c in cuts([blind])] == [("n_cols", ("u", None))] * 2
    assert [c.small for c in cuts([rows])] == [("c",), ("b", "c")]
    (best, *_) = found(version(3, 1.5, 1.4, 1.0), version(5, 1.1, 1.2, 1.6), axes=(blind,))
    assert best.cut.unseen == ("u", None)
    assert "where n_cols > 8192 there is no other size" in unable(best)


def test_calls_of_one_size_are_never_parted() -> None:
    same = Axis("n_cols", dict.fromkeys(CASES, 4096), {"u": 100, "v": 9000})
    assert list(cuts([same])) == []
    two = Axis("n_cols", {"a": 64, "b": 64, "c": 4096}, {"u": 32, "v": 9000})
    assert [(c.small, c.large) for c in cuts([two])] == [(("a", "b"), ("c",))]


def test_no_variants_no_choice() -> None:
    assert plans([], [N], 0.0) == []
    assert found() == []
