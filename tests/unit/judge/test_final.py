"""The final on simulated executors: what runs together, what runs alone, and what is proven."""

from __future__ import annotations

import threading

import pytest

from kernelband.hardware import find_device
from kernelband.judge import Candidate, Settings, final
from tests.unit.judge.pools import FAILS, PATIENCE_S, PHASES, Pool, candidate, judge, of_a_variant
from tests.unit.judge.simulation import SimulatedExecutor, case, died


def test_verifies_in_fresh_processes():
    pool = Pool({"a": 1.3, "b": 1.0, "c": 0.8, "d": 9.0})
    report = final(judge(), pool, [candidate(n) for n in "abcd"])
    assert [v.candidate for v in report.verdicts] == ["a", "b", "c"]
    assert [v.result.performance for v in report.verdicts] == ["faster", "inconclusive", "slower"]
    assert report.verdicts[0].result.verified
    assert not any(v.result.verified for v in report.verdicts[1:])
    assert sorted(pool.made) == [f"final-{i}" for i in range(5)] + [f"proof-{i}" for i in range(3)]
    assert pool.ended
    checks = pool.asked("check")
    assert {n: [c["variant"] for c in found] for n, found in checks.items() if found} == {
        "final-0": ["a"],
        "final-1": ["b"],
        "final-2": ["c"],
    }
    assert sorted(checks["final-0"][0]["cases"]) == ["c1", "c2", "h1", "k1"]
    assert checks["final-0"][0]["input_sets"] == [0, 1, 2]
    orders = {n: [c["variant"] for c in found] for n, found in pool.asked("time").items()}
    assert [orders[f"final-{i}"] for i in range(3)] == [[None, "a", "b", "c"], [None, "b", "c", "a"], [None, "c", "a", "b"]]
    assert len(report.baseline) == 5 * 2 * 2 * 15
    assert len(report.verdicts[0].measurements) == 5 * 2 * 2 * 15
    assert all(c["methods"] == {"c1": "events", "c2": "events"} for c in pool.asked("time")["final-1"])
    assert list(report.seconds) == ["start", "check", "prepare", "measure", "proof"]


def test_the_lock_is_held_whenever_the_gpu_works_and_alone_when_it_measures():
    pool = Pool({"v": 1.3})
    final(judge(), pool, [candidate()])
    for executor in pool.made.values():
        for (operation, params, _, lock), shared in zip(executor.calls, executor.shared, strict=True):
            begins = operation == "prepare" and not params["cases"]
            assert lock == (None if begins else "GPU-1")
            assert shared == (not begins and operation != "time")


def test_everything_is_prepared_before_anything_is_measured():
    pool = Pool({"a": 1.3, "b": 1.3})
    final(judge(), pool, [candidate("a"), candidate("b")])
    phases = [PHASES[operation] for operation, _ in pool.log]
    assert phases == sorted(phases)
    prepared = pool.asked("prepare")
    assert len(prepared) == 5
    for calls in prepared.values():
        assert [c.get("variant") for c in calls] == [None, None, "a", "b"]
        assert calls[0] == {"cases": [], "share": pytest.approx(0.05)}
        assert all(c["cases"] == ["c1", "c2"] for c in calls[1:])
    timing = [x for x in pool.log if x[0] == "time"]
    assert timing == [("time", "begin"), ("time", "end")] * (len(timing) // 2)


def together(count, answer):
    """An operation that answers only once ``count`` executors are in it."""
    barrier = threading.Barrier(count)

    def wait(params):
        barrier.wait(PATIENCE_S)
        return answer(params)

    return wait


def test_checks_and_proofs_run_side_by_side():
    clean = SimulatedExecutor({})
    scripts = {"*": {"check": together(3, clean.check), "entry_run": together(3, clean.entry_run)}}
    report = final(judge(), Pool({"a": 1.3, "b": 1.3, "c": 1.3}, **scripts), [candidate(n) for n in "abc"])
    assert [v.result.verified for v in report.verdicts] == [True, True, True]


def test_all_processes_start_at_once():
    clean = SimulatedExecutor({})
    starting = together(6, clean.prepare)
    scripts = {"*": {"prepare": lambda params: clean.prepare(params) if params["cases"] else starting(params)}}
    assert final(judge(), Pool({"v": 1.3}, **scripts), [candidate()]).verdicts[0].result.verified


@pytest.mark.parametrize("more", [{"memory_bytes": 20 << 30}, {"launches": [{"config": {"num_warps": 4}}]}])
def test_large_cases_and_autotuned_kernels_keep_to_their_turn(more):
    pool = Pool({"a": 1.3, "b": 1.3})
    report = final(judge((case("c1", **more), case("c2")), device=find_device("h200")), pool, [candidate("a"), candidate("b")])
    assert [v.result.verified for v in report.verdicts] == [True, True]
    assert not any(s for n, e in pool.made.items() if n.startswith("final") for s in e.shared)
    assert [c["variant"] for c in pool.asked("check")["final-0"]] == ["a", "b"]
    assert all(calls == [{"cases": []}] for calls in pool.asked("prepare").values())
    assert pool.ended


def test_an_entry_that_the_original_does_not_pass_says_nothing():
    for answer in (FAILS, {**FAILS, "reason": "The entry bench took more than 60 s."}, died("timeout"), died("crashed")):
        report = final(judge(), Pool({"a": 1.3}, **{"*": {"entry_run": answer}}), [candidate("a")])
        (result,) = (v.result for v in report.verdicts)
        assert result.verified
        assert "Not proven by bench" in result.reason


def test_a_winner_must_pass_the_users_own_entry():
    failing = {"entry_run": of_a_variant(FAILS)}
    report = final(judge(), Pool({"a": 1.3, "b": 1.3}, **{"proof-0": failing}), [candidate("a"), candidate("b")])
    result = report.verdicts[0].result
    assert result.correctness == "wrong"
    assert "AssertionError: not close" in result.reason
    assert [v.result.verified for v in report.verdicts] == [False, True]
    for fault in ("timeout", "crashed"):
        report = final(
            judge(), Pool({"a": 1.3, "b": 1.3}, **{"proof-0": {"entry_run": of_a_variant(died(fault))}}), [candidate("a"), candidate("b")]
        )
        assert report.verdicts[0].result.fault == fault
        assert [v.result.verified for v in report.verdicts] == [False, True]


def test_not_exercised_is_never_verified():
    def answer(params):
        return {**SimulatedExecutor({}).check(params), "not_exercised": ["backward"]}

    result = final(judge(), Pool({"v": 1.5}, **{"*": {"check": answer}}), [candidate()]).verdicts[0].result
    assert result.performance == "faster"
    assert result.not_exercised == ("backward",)
    assert "backward" in result.reason
    assert not result.verified


def test_the_original_against_itself_is_not_faster():
    pool = Pool({})
    report = final(judge(), pool, [Candidate(None), Candidate(None)])
    assert [v.result.performance for v in report.verdicts] == ["inconclusive", "inconclusive"]
    assert not any(v.result.verified for v in report.verdicts)
    assert not [n for n in pool.made if n.startswith("proof")]


def test_the_same_variant_twice_has_processes_of_its_own():
    report = final(judge(), Pool({"v": 1.3}), [candidate(), candidate()])
    assert [v.result.verified for v in report.verdicts] == [True, True]


def test_where_the_time_went_is_told():
    told = []
    final(judge(tell=told.append, settings=Settings(processes=2)), Pool({"v": 1.3}), [candidate()])
    assert [t.partition("process ")[2] for t in told[:2]] == ["1 of 2.", "2 of 2."]
    assert told[-1].startswith("Final verification took ")
    assert all(part in told[-1] for part in ("start", "check", "prepare", "measure", "proof"))
