"""What a variant's compilations cost, said beside the verdict: only where a kernel has more of them than before, and never as a refusal."""

from __future__ import annotations

from typing import Any

import pytest

from kernelband.judge.final import final
from kernelband.judge.protocol import Candidate
from kernelband.judge.specialisations import remark
from tests.unit.judge.pools import Pool, judge


def facts(*kernels: str, seconds: float = 1.0, hit: bool = False) -> dict[str, Any]:
    return {f"key {i}": {"kernel": {"qualname": name}, "seconds": seconds, "cache_hit": hit} for i, name in enumerate(kernels)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (facts("k"), facts("k")),
        (facts("k", "k", "k"), facts("k", "k")),
        (facts("k", "k"), facts("first", "first", "second", "second")),  # two kernels for one
        (facts("k", "k", "other"), facts("k", "other", "new", "new")),
        ({}, facts("k", "k")),  # nothing is known of the original
        (facts("k"), {}),
    ],
)
def test_no_kernel_is_compiled_more_often(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert remark(before, after, 5) == ""


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (facts("k"), facts("k", "k", "k"), "k is compiled 3 times for 5 cases, the original's once"),
        (facts("k", "k", "other"), facts("k", "k", "other", "other"), "other is compiled 2 times for 5 cases, the original's once"),
        (facts("k", "k"), facts("new", "new", "new"), "new is compiled 3 times for 5 cases, the original's 2 times"),
    ],
)
def test_the_kernel_that_is_compiled_more_often_is_named(before: dict[str, Any], after: dict[str, Any], says: str) -> None:
    assert remark(before, after, 5).startswith(says)


def test_seconds_are_those_that_were_measured() -> None:
    assert "about 2.5 s each" in remark(facts("k"), facts("k", "k", seconds=2.5), 2)
    cached = facts("k", "k", seconds=0.01, hit=True)
    assert "each" not in remark(facts("k"), cached, 2), "what lay in the cache took no compiler"
    assert "about 2.5 s each" in remark(facts("k"), {**cached, "new": facts("k", seconds=2.5)["key 0"]}, 2)


def test_it_stands_beside_faster_and_refuses_nothing() -> None:
    said = "k is compiled 4 times."
    pool = Pool({"a": 1.3, "b": 1.0})
    report = final(judge(), pool, [Candidate({"id": n, "files": []}, "reassociates", remark=said) for n in "ab"])
    faster, unsure = (v.result for v in report.verdicts)
    assert faster.verified
    assert faster.reason.endswith(said)
    assert unsure.performance == "inconclusive"
    assert said not in unsure.reason, "it isn't why"
