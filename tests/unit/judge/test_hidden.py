"""Stress among timed calls: who meets which hidden case, where, and what comes of it."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from kernelband.errors import KernelBandError
from kernelband.judge.final import final
from kernelband.judge.hidden import Hidden
from kernelband.judge.protocol import Candidate, Settings
from tests.unit.judge.pools import Pool, candidate, judge
from tests.unit.judge.simulation import SimulatedExecutor, died, operation_failed

HIDDEN = [{"id": f"s{i}", "name": f"stress {i}"} for i in range(41)]
MAKES = {"original-hidden": {"hide": {"cases": HIDDEN, "threads": 3}}}


def turns_of(pool, prefix):
    """The cases of each turn, hidden and timed."""
    return [[c["case"] for c in params["cases"]] for name, op, params in pool.calls if op == "turn" and name.startswith(prefix)]


def test_each_is_met_once_among_timed_cases():
    pool = Pool({"v": 1.3}, **MAKES)
    report = final(judge(), pool, [candidate()])
    met = Counter(case for turn in turns_of(pool, "final-0") for case in turn if case.startswith("s"))
    assert met == {case["id"]: 1 for case in HIDDEN}
    assert not [case for turn in turns_of(pool, "original") for case in turn if case.startswith("s")]
    assert {m.case for m in report.verdicts[0].measurements} == {"c1", "c2"}
    assert report.verdicts[0].result.verified
    compared = [c[2] for c in pool.calls if c[1] == "referee"]
    assert {c["case"] for c in compared} >= set(met)
    assert all(name.startswith("original") for name, op, _ in pool.calls if op == "referee")


def test_the_process_that_makes_them_knows_no_variant_and_is_gone_before_anything_is_timed():
    pool = Pool({"v": 1.3}, **MAKES)
    final(judge(), pool, [candidate()])
    operations = [(name, op) for name, op, _ in pool.calls]
    assert operations.index(("original-hidden", "hide")) < operations.index(("original-0", "survey"))
    assert [c[0] for c in pool.made["original-hidden"].calls] == ["prepare", "hide"]
    (asked,) = [params for name, op, params in pool.calls if op == "hide"]
    assert sorted(asked["cases"]) == ["c1", "c2", "h1", "k1"]


def test_they_come_at_any_place_of_a_turn():
    hidden = Hidden(None, 1, random.Random(0))
    timed = [{"case": c, "method": "events", "samples": 8, "batch": 4, "sleep_us": 9.0} for c in ("c1", "c2")]
    places = Counter()
    for _ in range(300):
        mixed = hidden.among(timed, HIDDEN[:1])
        assert [c for c in mixed if c in timed] == timed
        places[next(i for i, c in enumerate(mixed) if c["case"] == "s0")] += 1
    assert set(places) == {0, 1, 2}
    assert min(places.values()) > 60


def test_moves_of_ours_and_the_original_meet_none():
    pool = Pool({"a": 1.3}, **MAKES)
    final(judge(), pool, [Candidate({"id": "a", "files": []}, "reassociates", ours=True), Candidate(None)])
    assert "original-hidden" not in pool.made
    assert all(set(turn) <= {"c1", "c2", "k1", "h1"} for turn in turns_of(pool, ""))


@pytest.mark.parametrize("together", [True, False])
def test_what_is_wrong_in_one_is_wrong(together):
    clean = SimulatedExecutor({})

    def answer(params):
        wrong = params["case"] == "s7"
        return {**clean.referee(params), "ok": not wrong, "reason": "3 of 20 elements of return are wrong" if wrong else None}

    scripts = {**MAKES, **{f"original-{i}": {"referee": answer} for i in range(5)}}
    settings = Settings() if together else Settings(crowd_share=0.0)
    report = final(judge(settings=settings), Pool({"a": 1.3, "b": 1.3}, **scripts), [candidate("a"), candidate("b")])
    for verdict in report.verdicts:
        assert (verdict.result.correctness, verdict.result.verified) == ("wrong", False)
        assert verdict.result.reason == "Of a call among timed ones, with stress 7: 3 of 20 elements of return are wrong."


@pytest.mark.parametrize("failure", [died("oom"), died("crashed"), operation_failed("No memory.", "out_of_memory")])
def test_what_goes_wrong_beside_others_is_tried_once_more_alone(failure):
    answers = iter([failure, {"cases": HIDDEN, "threads": 3}])
    pool = Pool({"v": 1.3}, **{n: {"hide": lambda params: next(answers)} for n in ("original-hidden", "original-hidden-1")})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified
    assert sum(case.startswith("s") for turn in turns_of(pool, "final-0") for case in turn) == len(HIDDEN)


def test_where_the_original_does_not_stand_other_sizes_there_are_none():
    def answer(params):
        if params["sizes"]:
            raise died("crashed")
        return {"cases": HIDDEN, "threads": 3}

    pool = Pool({"v": 1.3}, **{n: {"hide": answer} for n in ("original-hidden", "original-hidden-1", "original-hidden-2")})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified
    assert [params["sizes"] for _, op, params in pool.calls if op == "hide"] == [True, True, False]


@pytest.mark.parametrize("failure", [died("oom"), died("crashed"), operation_failed("No memory.", "out_of_memory")])
def test_where_the_original_fails_on_one_that_says_nothing_of_a_variant(failure):
    clean = SimulatedExecutor({})

    def answer(params):
        if params["case"] == "s7":
            raise failure
        return clean.referee(params)

    scripts = {**MAKES, **{f"original-{i}{again}": {"referee": answer} for i in range(5) for again in ("", "-1")}}
    assert final(judge(), Pool({"v": 1.3}, **scripts), [candidate()]).verdicts[0].result.verified


def test_threads_that_the_original_has_after_them_are_allowed():
    clean = SimulatedExecutor({"v": 1.3})
    scripts = {f"final-0-{i}": {"turn": lambda params: {**clean.turn(params), "threads": 4}} for i in range(5)}
    for threads, verified in ((3, False), (4, True)):
        made = {"original-hidden": {"hide": {"cases": HIDDEN, "threads": threads}}}
        assert final(judge(), Pool({"v": 1.3}, **scripts, **made), [candidate()]).verdicts[0].result.verified is verified


def test_a_result_of_another_turn_is_none():
    clean = SimulatedExecutor({})
    scripts = {"final-0-2": {"reveal": lambda params: {**clean.reveal(params), "seed": "of mine"}}}
    result = final(judge(), Pool({"v": 1.3}, **scripts), [candidate()]).verdicts[0].result
    assert (result.correctness, result.verified) == ("wrong", False)


def test_without_them_nobody_is_judged():
    pool = Pool({"v": 1.3}, **{n: {"hide": died("crashed")} for n in ("original-hidden", "original-hidden-1", "original-hidden-2")})
    with pytest.raises(KernelBandError):
        final(judge(), pool, [candidate()])
    assert pool.ended
