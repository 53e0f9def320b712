"""The final on simulated executors: what runs together, what runs alone, and what is proven."""

from __future__ import annotations

import random
import threading

import pytest

from kernelband.hardware import find_device
from kernelband.judge.final import final
from kernelband.judge.protocol import Candidate, Settings
from kernelband.judge.turns import Clocks, Seat
from tests.unit.judge.pools import ENTRY, FAILS, PATIENCE_S, Pool, SizedPool, candidate, judge, of_a_variant
from tests.unit.judge.simulation import SimulatedExecutor, case, died


def test_every_process_knows_one_version():
    pool = Pool({"a": 1.3, "b": 1.0, "c": 0.8})
    report = final(judge(), pool, [candidate(n) for n in "abc"])
    assert [v.candidate for v in report.verdicts] == ["a", "b", "c"]
    assert [v.result.performance for v in report.verdicts] == ["faster", "inconclusive", "slower"]
    assert report.verdicts[0].result.verified
    assert not any(v.result.verified for v in report.verdicts[1:])
    rounds = range(5)
    timed = [f"original-{p}" for p in rounds] + [f"final-{i}-{p}" for i in range(3) for p in rounds]
    assert sorted(pool.made) == sorted([*timed, *(f"{what}-{i}" for what in ("check", "proof") for i in range(3)), "original-hidden"])
    assert pool.ended
    for name, executor in pool.made.items():
        operations = {c[0] for c in executor.calls}
        versions = {c[1]["variant"] for c in executor.calls if "variant" in c[1]}
        if name in timed:
            own = None if name.startswith("original") else "abc"[int(name.split("-")[1])]
            assert versions == {own}
            assert "check" not in operations
            assert ("referee" in operations) == (own is None)
            assert ("reveal" in operations) == (own is not None)
        else:
            assert not operations & {"turn", "survey", "reveal", "referee"}
    assert len(report.baseline) == len(report.verdicts[0].measurements) == 5 * 6 * 2 * 2
    assert list(report.seconds) == ["check", "prepare", "measure", "proof"]


def test_what_our_moves_made_shares_processes_and_what_others_wrote_does_not():
    pool = Pool({"a": 1.3, "b": 1.3, "c": 1.3})
    ours = [Candidate({"id": n, "files": []}, "reassociates", ours=n != "b") for n in "abc"]
    report = final(judge(), pool, ours)
    assert [v.result.verified for v in report.verdicts] == [True, True, True]
    assert {n for n in pool.made if n.startswith(("final", "check"))} == {
        *(f"final-{g}-{p}" for g in range(2) for p in range(5)),
        *(f"check-{i}" for i in range(3)),
    }
    for name, executor in pool.made.items():
        if name.startswith("final-"):
            versions = {c[1]["variant"] for c in executor.calls if "variant" in c[1]}
            assert versions == ({"a", "c"} if name.split("-")[1] == "0" else {"b"})


def test_checks_see_everything_that_there_is():
    pool = Pool({"a": 1.3})
    final(judge(), pool, [candidate("a")])
    (asked,) = pool.asked("check", "check")["check-0"]
    assert sorted(asked["cases"]) == ["c1", "c2", "h1", "k1"]
    assert asked["input_sets"] == [0, 1, 2]
    assert asked["stress"] is True


def test_turns_alternate_and_their_contents_are_never_the_same():
    pool = Pool({"a": 1.3, "b": 1.0})
    final(judge(), pool, [candidate(n) for n in "ab"])
    turns = [c for c in pool.calls if c[1] == "turn" and {x["case"] for x in c[2]["cases"]} == {"c1", "c2"}]
    first, back = ["original-0", "final-0-0", "final-1-0", "original-1"], ["original-1", "final-1-0", "final-0-0", "original-0"]
    assert [c[0] for c in turns[:24]] == (first + back) * 3
    assert [c[0] for c in turns[96:100]] == ["original-4", "final-0-4", "final-1-4", "original-0"]
    seeds = [c[2]["seed"] for c in turns]
    assert len(set(seeds)) == len(seeds) == 5 * 6 * 4
    assert all(c[2]["cases"] == turns[0][2]["cases"] for c in turns)


def test_results_of_every_case_are_compared_before_one_is_twice():
    pool = Pool({"v": 1.3})
    final(judge(), pool, [candidate()])
    for process in range(5):
        asked = [c[2]["case"] for c in pool.calls if c[1] == "reveal" and c[0] == f"final-0-{process}" and c[2]["case"] in ("c1", "c2")]
        assert len(asked) == 6
        assert all(set(asked[i : i + 2]) == {"c1", "c2"} for i in (0, 2, 4))
        compared = [c for c in pool.calls if c[1] == "referee" and c[0] == f"original-{process}" and c[2]["case"] in ("c1", "c2")]
        assert len(compared) == 6


def test_a_timed_result_that_is_wrong_is_wrong():
    clean = SimulatedExecutor({})

    def answer(params):
        return {**clean.referee(params), "ok": False, "reason": "10 of 20 elements of return are wrong"}

    report = final(judge(), Pool({"v": 1.3}, **{"original-3": {"referee": answer}}), [candidate()])
    (result,) = (v.result for v in report.verdicts)
    assert (result.correctness, result.verified) == ("wrong", False)


@pytest.mark.parametrize("odd", [{"seconds": 1.0, "supervised_s": 3.0}, {"seconds": 3.0, "supervised_s": 1.0}, {"threads": 4}])
def test_a_clock_that_is_not_the_supervisors_and_work_between_calls_are_turned_away(odd):
    clean = SimulatedExecutor({"a": 1.3, "b": 1.3})
    scripts = {"final-0-2": {"turn": lambda params: {**clean.turn(params), **odd}}}
    report = final(judge(), Pool({"a": 1.3, "b": 1.3}, **scripts), [candidate("a"), candidate("b")])
    assert [(v.result.integrity, v.result.verified) for v in report.verdicts] == [("rejected", False), ("ok", True)]


def late(by_s):
    """Answers each turn by so many seconds late, and by the last of them for ever. The simulated originals are always 10 ms late."""
    clean, left = SimulatedExecutor({"v": 1.3}), iter(by_s)

    def answer(params):
        return {**clean.turn(params), "seconds": 0.1, "supervised_s": 0.1 + next(left, by_s[-1])}

    return {"turn": answer}


def of_every_round(script, who="final-0"):
    return {f"{who}-{process}": script for process in range(5)}


def test_a_clock_that_is_slow_in_every_turn_is_turned_away():
    """Where turns are short a clock at half its speed is behind by less than messages may come late: only all turns together show it."""
    report = final(judge(), Pool({"v": 1.3}, **of_every_round(late([0.1]))), [candidate()])
    assert [(v.result.integrity, v.result.verified) for v in report.verdicts] == [("rejected", False)]


@pytest.mark.parametrize(
    "scripts",
    [
        {"final-0-2": late([0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])},  # in a round, however many of its turns
        of_every_round(late([0.2, 0.2, 0.2, 0.01])),
        of_every_round(late([0.016])),  # always, but by little
        {**of_every_round(late([0.1])), "original-3": late([0.01, 0.09, 0.01])},  # the machine is like that
    ],
)
def test_messages_that_come_late_are_no_lie(scripts):
    assert final(judge(), Pool({"v": 1.3}, **scripts), [candidate()]).verdicts[0].result.verified


@pytest.mark.parametrize("scale_s", [0.001, 0.02, 0.2])
def test_no_honest_clock_is_doubted_on_a_machine_that_is_busy(scale_s):
    """Late by a Pareto distribution without a mean, a whole process more than another: of 2,000 finals none may be wrong about a clock."""
    rng = random.Random(7)
    original, finalists = Seat(None, Candidate(None), "original"), [Seat(None, candidate(n), n) for n in "abc"]
    for _ in range(2_000):
        clocks = Clocks()
        for _round in range(5):
            for seat in (original, *finalists, original):
                slow = scale_s * rng.lognormvariate(0.0, 1.0)
                for _turn in range(6):
                    clocks.saw(seat, 0.05, 0.05 + slow * (rng.paretovariate(0.9) - 0.9))
        assert clocks.doubts() == []


def test_of_few_turns_no_clock_is_doubted():
    clocks, original, finalist = Clocks(), Seat(None, Candidate(None), "original"), Seat(None, candidate(), "v")
    clocks.saw(original, 0.05, 0.05)
    for turn in range(1, 6):
        clocks.saw(finalist, 0.05, 0.10)
        assert len(clocks.doubts()) == (turn == 5)


def test_no_size_may_lose():
    slow = {"v": {"c1": 1.5, "c2": 1.5, "k1": 1.5, "h1": 0.7}}
    assert not final(judge(), SizedPool(slow), [candidate()]).verdicts[0].result.verified
    assert final(judge(), SizedPool({"v": {**slow["v"], "h1": 1.0}}), [candidate()]).verdicts[0].result.verified


def test_a_disturbed_sweep_is_followed_by_another():
    clean, disturbed = SimulatedExecutor({"v": 1.3}), iter(["The clock changed.", None])

    def answer(params):
        return {**clean.turn(params), "disturbed": next(disturbed, None)}

    report = final(judge(), Pool({"v": 1.3}, **{"final-0-1": {"turn": answer}}), [candidate()])
    found = [m for m in report.verdicts[0].measurements if m.process == 1]
    assert len(found) == 7 * 2 * 2
    assert {m.pair for m in found if m.superseded} == {0}
    assert report.verdicts[0].result.verified


def test_the_lock_is_held_whenever_the_gpu_works_and_alone_when_it_measures():
    pool = Pool({"v": 1.3})
    final(judge(), pool, [candidate()])
    alone = {"turn", "survey", "referee", "reveal"}
    for executor in pool.made.values():
        for (operation, params, _, lock), shared in zip(executor.calls, executor.shared, strict=True):
            begins = operation == "prepare" and not params["cases"] and "open" not in params
            assert lock == (None if begins else "GPU-1")
            assert shared == (not begins and operation not in alone)


def test_everything_is_prepared_before_anything_is_measured():
    pool = Pool({"a": 1.3, "b": 1.3})
    final(judge(), pool, [candidate("a"), candidate("b")])
    timed = ["c1", "c2"]
    begun = [name for name, operation, params in pool.calls if operation == "prepare" and params["cases"] == timed]
    assert len(begun) == 15
    first = next(i for i, c in enumerate(pool.calls) if c[1] in ("survey", "turn"))
    assert not [c for c in pool.calls[first:] if c[1] == "prepare" and c[2]["cases"] == timed]
    for name in begun:
        assert pool.made[name].calls[0][1] == {"cases": [], "share": pytest.approx(0.25 / 15)}
    measured = [x for x in pool.log if x[0] == "turn"]
    assert measured == [("turn", "begin"), ("turn", "end")] * (len(measured) // 2)


def test_the_program_is_imported_ahead_where_it_is_checked_and_where_finalists_are_timed():
    pool = Pool({"a": 1.3}, **{"check-0": {"prepare": lambda params: died() if "open" in params else {}}})
    assert final(judge(), pool, [candidate("a")]).verdicts[0].result.verified  # what goes wrong then goes wrong again where it matters
    opened = {name for name, calls in pool.asked("prepare", "").items() if any(params.get("open") == "c1" for params in calls)}
    assert opened == {"check-0", *(f"final-0-{process}" for process in range(5))}


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


def test_all_processes_but_that_of_the_check_start_at_once():
    clean = SimulatedExecutor({})
    starting = together(12, clean.prepare)
    begins = {"prepare": lambda params: clean.prepare(params) if params["cases"] or "open" in params else starting(params)}
    scripts = {"*": begins, "check-0": {}}
    assert final(judge(), Pool({"v": 1.3}, **scripts), [candidate()]).verdicts[0].result.verified


KERNEL = {"module": "m", "path": "m.py", "qualname": "m_kernel"}
AUTOTUNED = {"launches": [{"config": {"num_warps": 4}, "kernel": KERNEL}]}


def test_tuners_choose_alone_and_that_of_the_original_last():
    pool = Pool({"a": 1.3, "b": 1.3})
    report = final(judge((case("c1", **AUTOTUNED), case("c2"))), pool, [candidate("a"), candidate("b")])
    assert [v.result.verified for v in report.verdicts] == [True, True]
    worked = [
        (name, operation, params.get("variant")) for name, operation, params in pool.calls if operation != "prepare" or params["cases"]
    ]
    assert worked[:3] == [("final-0-0", "prepare", "a"), ("final-1-0", "prepare", "b"), ("original-0", "prepare", None)]
    first = next(n for n, (_, operation, params) in enumerate(pool.calls) if operation == "prepare" and params["cases"])
    begun = {name for name, _, params in pool.calls[:first] if "open" in params}
    assert begun == {n for n in pool.made if not n.startswith(("proof", "original-hidden"))}  # all import at once, before anybody tunes
    for name, _, _ in worked[:3]:
        executor = pool.made[name]
        calls = zip(executor.calls, executor.shared, strict=True)
        assert next(shared for call, shared in calls if call[3] == "GPU-1" and "open" not in call[1]) is False
    assert all(True in pool.made[name].shared for name in ("check-0", "check-1"))  # all else goes on side by side


@pytest.mark.parametrize("autotuned", [{}, AUTOTUNED])
def test_large_cases_keep_to_their_turn(autotuned):
    pool = Pool({"a": 1.3, "b": 1.3})
    large = case("c1", memory_bytes=20 << 30, **autotuned)
    report = final(judge((large, case("c2")), device=find_device("h200")), pool, [candidate("a"), candidate("b")])
    assert [v.result.verified for v in report.verdicts] == [True, True]
    assert not any(s for n, e in pool.made.items() if not n.startswith("proof") for s in e.shared)
    assert pool.ended


def test_an_entry_that_the_original_does_not_pass_says_nothing():
    for answer in (FAILS, {**FAILS, "reason": "The entry bench took more than 60 s."}, died("timeout"), died("crashed")):
        report = final(judge(), Pool({"a": 1.3}, **{"*": {"entry_run": answer}}), [candidate("a")])
        (result,) = (v.result for v in report.verdicts)
        assert result.verified
        assert "Not proven by bench" in result.reason


def test_of_an_entry_that_was_run_in_part_the_winner_says_so():
    said = "The first 2 of 6 parameter sets of bench were run: all would take too long."
    report = final(judge(), Pool({"a": 1.3}, **{"*": {"entry_run": {**FAILS, "ok": True, "reason": said}}}), [candidate("a")])
    assert report.verdicts[0].result.verified
    assert said in report.verdicts[0].result.reason


def test_a_proof_is_told_which_kernels_it_is_for():
    asked = []

    def proof(params):
        asked.append((params["entry"], params["kernels"]))
        return {"ok": True, "reason": None, "output": "", "seconds": 1.0}

    cases = (case("c1", **AUTOTUNED), case("k1", "check", **AUTOTUNED))
    final(judge(cases), Pool({"a": 1.3}, **{"*": {"entry_run": proof}}), [candidate("a")])
    assert asked == [(ENTRY, ["m:m_kernel"])]


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
    assert [t.partition("round ")[2] for t in told[:2]] == ["1 of 2.", "2 of 2."]
    assert told[-1].startswith("Final verification took ")
    assert all(part in told[-1] for part in ("check", "prepare", "measure", "proof"))
