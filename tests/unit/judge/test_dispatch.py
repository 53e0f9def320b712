"""A choice by size is worth its branches, or isn't: the rule on made-up measurements, and a final that times what the rule needs."""

from __future__ import annotations

import random
import re

import pytest

from kernelband.judge.dispatch import refusal
from kernelband.judge.final import final
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import ORIGINAL, Candidate, Dispatch, Measurement, Rival, Side, Task
from tests.unit.judge.pools import ENTRY, Pool, SizedPool
from tests.unit.judge.simulation import case, died

A, B, C = Rival("a", "variant 3"), Rival("b", "variant 5"), Rival("c", "variant 7")
SMALL, LARGE = ("s1", "s2"), ("l1",)


def choice(small: Rival = B, large: Rival = A, single: Rival = A, unseen: tuple[str | None, str | None] = ("us", "ul")) -> Dispatch:
    """Of variant 3 for small and variant 5 for large sizes, where variant 3 is the best single one."""
    return Dispatch((Side("n <= 64", SMALL, unseen[0], small), Side("n > 64", LARGE, unseen[1], large)), single)


#: Ratios against the original by case; "d" chooses.
GOOD = {
    "a": {"s1": 1.5, "s2": 1.5, "l1": 1.2, "us": 1.4, "ul": 1.2},
    "b": {"s1": 1.2, "s2": 1.3, "l1": 1.5},
    "c": {"s1": 1.3, "s2": 1.3, "l1": 1.3, "us": 1.3, "ul": 1.3},
    "d": {"s1": 1.5, "s2": 1.5, "l1": 1.5, "us": 1.4, "ul": 1.4},
}


def times(ratios: dict[str, dict[str, float]], *, scatter: float = 0.004, us: float = 100.0) -> dict[str, list[Measurement]]:
    """Five processes of five pairs, with scatter of processes and of pairs."""
    rng = random.Random(1)
    out: dict[str, list[Measurement]] = {}
    for name, by_case in ratios.items():
        for c, ratio in by_case.items():
            for process in range(5):
                shift = rng.gauss(0, scatter)
                for pair in range(5):
                    variant = us / ratio * (1 + shift + rng.gauss(0, scatter))
                    for quantity in ("device", "call"):
                        out.setdefault(name, []).append(
                            Measurement(name, c, "final", process, pair, 0, quantity, us, variant, "events")  # pyright: ignore[reportArgumentType]
                        )
    return out


def changed(**more: dict[str, float]) -> dict[str, dict[str, float]]:
    return {name: {**ratios, **more.get(name, {})} for name, ratios in GOOD.items()}


def refused(ratios: dict[str, dict[str, float]], dispatch: Dispatch | None = None, **noise: float) -> str:
    return refusal(dispatch or choice(), "d", times(ratios, **noise), "device")


def test_a_choice_that_gains_on_both_sides_and_loses_nowhere_is_worth_it() -> None:
    assert refused(GOOD) == ""


def test_against_a_third_variant_that_is_the_best_single_one() -> None:
    third = choice(small=C, large=C, single=C)
    assert refused(GOOD, third) == ""
    assert re.search("n > 64 it is [1-3].* % faster than variant 7", refused(changed(c={"l1": 1.47}), third))


def test_against_the_original() -> None:
    original = Rival(ORIGINAL, "the original")
    there = choice(small=B, large=original, single=original)
    ratios = {"b": {"s1": 0.8, "s2": 0.8}, "d": {"s1": 1.0, "s2": 1.0, "l1": 1.5, "us": 1.0, "ul": 1.3}}
    assert refused(ratios, there) == ""
    assert "faster than the original" in refused({**ratios, "d": {**ratios["d"], "l1": 1.03}}, there)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"a": {"l1": 1.46}}, "where n > 64 it is [1-4].* % faster than variant 3: a choice must gain 5 % on each side"),
        ({"b": {"s1": 1.5, "s2": 1.45}}, "where n <= 64 it is [1-3].* % faster than variant 5"),
        ({"a": {"l1": 1.6}}, "where n > 64 it is [5-8].* % slower than variant 3"),
        ({"b": {"s1": 1.1, "s2": 1.56}}, r"on case s2 \(n <= 64\) it is slower than variant 5"),
        ({"d": {"us": 0.9}}, r"wasn't chosen by \(n <= 64, case us\) it is 1.* % slower than the original"),
        ({"d": {"ul": 1.1}}, r"wasn't chosen by \(n > 64, case ul\) it is .* % slower than variant 3"),
    ],
)
def test_what_makes_it_needless(more: dict[str, dict[str, float]], says: str) -> None:
    said = refused(changed(**more))
    assert re.search(says, said), said
    assert said.startswith("It chooses by size, and ")


def test_a_gain_within_the_scatter_is_none() -> None:
    assert "must gain 5 %" in refused(changed(a={"l1": 1.4}), scatter=0.05)
    assert refused(changed(a={"l1": 1.4})) == ""


def test_a_loss_of_less_than_a_microsecond_is_none() -> None:
    assert "slower than variant 3" in refused(changed(d={"ul": 1.15}))
    assert refused(changed(d={"ul": 1.15}), us=10.0) == ""


@pytest.mark.parametrize("side", [0, 1])
def test_without_an_unseen_size_on_both_sides_nothing_is_verified(side: int) -> None:
    unseen = [None if i == side else u for i, u in enumerate(("us", "ul"))]
    says = ("n <= 64", "n > 64")[side]
    assert f"where {says} there is no other size to time" in refused(GOOD, choice(unseen=(unseen[0], unseen[1])))
    missing = {n: {c: r for c, r in by.items() if c != ("us", "ul")[side]} for n, by in GOOD.items()}
    assert f"where {says} it could not be timed" in refused(missing)


def test_a_rival_that_was_not_timed_proves_nothing() -> None:
    assert "no time of variant 5 to compare with" in refused({n: by for n, by in GOOD.items() if n != "b"})
    assert "no time of variant 5" in refused(changed() | {"b": {"s1": 1.2}})


# ---------------------------------------------------------------- in the final

CASES = (
    case("s1"),
    case("s2"),
    case("l1"),
    case("us", "check", neighbour_of="s2", input_sets=1),
    case("ul", "held_out"),
    case("k", "check"),
)


def candidates(dispatch: Dispatch) -> list[Candidate]:
    found = [Candidate({"id": name, "files": []}, "reassociates") for name in "dab"]
    return [Candidate(found[0].files, "reassociates", dispatch), *found[1:]]


def verify(dispatch: Dispatch, pool: Pool):  # type: ignore[no-untyped-def]
    judge = Judge(Task(CASES, entry=ENTRY), gpu="GPU-1")  # pyright: ignore[reportArgumentType]
    return final(judge, pool, candidates(dispatch))


def test_sizes_that_a_choice_was_not_made_by_are_timed_in_every_round() -> None:
    pool = SizedPool(GOOD)
    report = verify(choice(), pool)
    assert [v.result.verified for v in report.verdicts] == [True, True, True]
    first, *_, last = report.verdicts
    assert {m.case for m in first.measurements} == {"s1", "s2", "l1"}
    assert {(m.case, m.stage) for m in first.unseen} == {("us", "unseen"), ("ul", "unseen"), ("k", "unseen")}
    assert {m.process for m in first.unseen if m.case == "ul"} == set(range(5))
    assert {m.process for m in first.unseen if m.case == "k"} == {0}
    assert {c.case for c in first.result.cases} == {"s1", "s2", "l1"}
    assert {m.case for m in last.unseen} == {"us", "ul", "k"}


def test_a_final_without_a_choice_times_other_sizes_once() -> None:
    judge = Judge(Task(CASES, entry=ENTRY), gpu="GPU-1")  # pyright: ignore[reportArgumentType]
    report = final(judge, SizedPool(GOOD), candidates(choice())[1:])
    assert {m.process for v in report.verdicts for m in v.unseen} == {0}


def test_a_needless_choice_is_faster_than_the_original_and_not_verified() -> None:
    report = verify(choice(small=A), SizedPool(GOOD))  # on the small sizes it is variant 3
    result = report.verdicts[0].result
    assert (result.performance, result.verified) == ("inconclusive", False)
    assert "variant 3: a choice must gain" in result.reason
    assert result.score is not None
    assert report.verdicts[1].result.verified


@pytest.mark.parametrize("who", ["d", "a"])
def test_who_faults_at_another_size_is_out_and_a_choice_needs_its_rival(who: str) -> None:
    def fault(params):  # type: ignore[no-untyped-def]
        return died() if params.get("variant") == who and any(c["case"] == "us" for c in params["cases"]) else None

    report = verify(choice(), SizedPool(GOOD, **{"*": {"turn": fault}}))
    assert [v.result.verified for v in report.verdicts] == [False, who != "a", True]
    assert [v.result.fault for v in report.verdicts] == ["crashed" if who == n else "none" for n in "dab"]
