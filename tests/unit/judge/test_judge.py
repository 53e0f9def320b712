"""The judge on simulated executors: every way that a trial and a final can go."""

from __future__ import annotations

import random

import pytest

from kernelband.errors import ExecutorFault, KernelBandError, WorkloadError
from kernelband.judge import Candidate, Judge, Settings, Task, final
from tests.unit.judge.simulation import SimulatedExecutor, case, died, operation_failed

CASES = (case("c1"), case("c2"), case("k1", "check"), case("h1", "held_out"), case("n1", "check", replayable=False))
ENTRY = {"kind": "callable", "module": "m", "path": "m.py", "name": "bench"}


def candidate(name="v", numerics="reassociates"):
    return Candidate({"id": name, "files": []}, numerics)


def judge(**more):
    return Judge(Task(CASES, entry=ENTRY), gpu="GPU-1", **more)


def wrong(reason):
    def answer(params):
        checked = SimulatedExecutor({}).check(params)
        checked["cases"][0].update(ok=False, reason=reason)
        return checked

    return answer


def operations(executor):
    return [c[0] for c in executor.calls]


def test_checks_before_it_times():
    executor = SimulatedExecutor({"v": 1.3})
    verdict = judge().screen(executor, candidate())
    assert operations(executor) == ["check", "time", "time"]
    _, checked, _, lock = executor.calls[0]
    assert sorted(checked["cases"]) == ["c1", "c2", "k1"]
    assert checked["input_sets"] == [0, 1]
    assert checked["numerics"] == "reassociates"
    assert lock == "GPU-1"
    assert [c[1]["pairs"] for c in executor.calls[1:]] == [5, 10]
    assert verdict.result.performance == "faster"
    assert verdict.result.stage == "screening"
    assert not verdict.result.verified
    assert len(verdict.measurements) == 2 * 2 * 15
    assert sorted({m.pair for m in verdict.measurements}) == list(range(15))


def test_the_profiler_is_asked_once():
    executor, judging = SimulatedExecutor({"v": 1.3}), judge()
    judging.screen(executor, candidate())
    judging.screen(executor, candidate())
    assert [c[1]["profile"] for c in executor.calls if c[0] == "time"] == [True, False, False, False]


def test_what_is_surely_slower_gets_five_pairs():
    executor = SimulatedExecutor({"v": 0.8})
    verdict = judge().screen(executor, candidate())
    assert operations(executor).count("time") == 1
    assert verdict.result.performance == "slower"


def test_wrong_is_not_timed():
    executor = SimulatedExecutor({"v": 1.3}, check=wrong("out: 3 of 8 elements differ."))
    verdict = judge().screen(executor, candidate())
    assert "time" not in operations(executor)
    assert verdict.result.correctness == "wrong"
    assert verdict.result.reason == "out: 3 of 8 elements differ."
    assert verdict.measurements == ()


@pytest.mark.parametrize("fault", ["timeout", "crashed", "oom"])
@pytest.mark.parametrize("operation", ["check", "time"])
def test_a_fault_is_a_result(operation, fault):
    executor = SimulatedExecutor({"v": 1.3}, **{operation: died(fault)})
    result = judge().screen(executor, candidate()).result
    assert result.fault == fault
    assert "illegal memory access" in result.reason
    assert result.performance == "not_measured"
    assert not result.verified


@pytest.mark.parametrize(
    ("kind", "fault"),
    [("compile_error", "compile_error"), ("out_of_memory", "oom"), ("internal", "crashed"), ("not_replayable", "crashed")],
)
def test_a_failed_operation_is_a_result(kind, fault):
    executor = SimulatedExecutor({"v": 1.3}, check=operation_failed("It needs 300 KB of shared memory.", kind))
    result = judge().screen(executor, candidate()).result
    assert (result.fault, result.correctness) == (fault, "untested")


@pytest.mark.parametrize("kind", ["no_gpu", "lost", "bad_request", ""])
def test_what_the_variant_did_not_do_is_raised(kind):
    executor = SimulatedExecutor({"v": 1.3}, time=operation_failed("No GPU.", kind))
    with pytest.raises(KernelBandError, match="No GPU"):
        judge().screen(executor, candidate())


def test_disturbed_blocks_are_repeated_twice_and_then_marked():
    clean = SimulatedExecutor({"v": 1.3})

    def always(params):
        answer = clean.time(params)
        for timed in answer["cases"]:
            if timed["case"] == "c1":
                timed["disturbed"] = "The SM clock of the GPU went from 1980 to 1700 MHz while this was measured."
        return answer

    executor = SimulatedExecutor({}, time=always)
    verdict = judge().screen(executor, candidate())
    timed = [c[1]["cases"] for c in executor.calls if c[0] == "time"]
    assert timed == [["c1", "c2"], ["c1"], ["c1"]] * 2
    marks = {r.case: r.disturbed for r in verdict.result.cases}
    assert "1980 to 1700" in marks["c1"]
    assert marks["c2"] is None
    assert "disturbed" in verdict.result.reason
    assert sum(m.superseded for m in verdict.measurements) == 2 * 2 * 15
    assert sum(not m.superseded for m in verdict.measurements) == 2 * 2 * 15


def test_not_exercised_is_never_verified():
    def answer(params):
        return {**SimulatedExecutor({}).check(params), "not_exercised": ["backward"]}

    report = final(judge(), lambda name: SimulatedExecutor({"v": 1.5}, check=answer), [candidate()])
    result = report.verdicts[0].result
    assert result.performance == "faster"
    assert result.not_exercised == ("backward",)
    assert "backward" in result.reason
    assert not result.verified


class Pool:
    """Makes executors and remembers them."""

    def __init__(self, ratios, **scripts):
        self.ratios = ratios
        self.scripts = scripts  # by executor name
        self.made = {}
        self.rng = random.Random(0)

    def __call__(self, name):
        assert name not in self.made
        self.made[name] = SimulatedExecutor(self.ratios, self.rng, **self.scripts.get(name, {}))
        return self.made[name]


def test_final_verifies_in_fresh_processes():
    pool = Pool({"a": 1.3, "b": 1.0, "c": 0.8, "d": 9.0})
    report = final(judge(), pool, [candidate(n) for n in "abcd"])
    assert [v.candidate for v in report.verdicts] == ["a", "b", "c"]
    assert [v.result.performance for v in report.verdicts] == ["faster", "inconclusive", "slower"]
    assert report.verdicts[0].result.verified
    assert not any(v.result.verified for v in report.verdicts[1:])
    assert list(pool.made) == [f"final-{i}" for i in range(5)] + ["entry-a"]
    assert all(e.stopped for e in pool.made.values())
    first = pool.made["final-0"]
    checks = [c[1] for c in first.calls if c[0] == "check"]
    assert [c["variant"] for c in checks] == ["a", "b", "c"]
    assert sorted(checks[0]["cases"]) == ["c1", "c2", "h1", "k1"]
    assert checks[0]["input_sets"] == [0, 1, 2]
    orders = [[c[1]["variant"] for c in e.calls if c[0] == "time"] for name, e in pool.made.items() if name.startswith("final")]
    assert orders[:3] == [[None, "a", "b", "c"], [None, "b", "c", "a"], [None, "c", "a", "b"]]
    assert len(report.baseline) == 5 * 2 * 2 * 15
    assert len(report.verdicts[0].measurements) == 5 * 2 * 2 * 15
    assert all(c[3] == "GPU-1" for e in pool.made.values() for c in e.calls if c[0] != "environment")
    assert all(c[1]["methods"] == {"c1": "events", "c2": "events"} for c in pool.made["final-1"].calls if c[0] == "time")


def test_a_winner_must_pass_the_users_own_entry():
    failing = {"entry_run": {"ok": False, "reason": "AssertionError: not close", "output": "", "seconds": 1.0}}
    report = final(judge(), Pool({"v": 1.3}, **{"entry-v": failing}), [candidate()])
    result = report.verdicts[0].result
    assert result.correctness == "wrong"
    assert "bench fails with it: AssertionError: not close" in result.reason
    assert not result.verified
    report = final(judge(), Pool({"v": 1.3}, **{"entry-v": {"entry_run": died("timeout")}}), [candidate()])
    assert report.verdicts[0].result.fault == "timeout"
    assert not report.verdicts[0].result.verified


def test_a_crash_of_one_finalist_costs_the_others_nothing():
    clean = SimulatedExecutor({"a": 1.3, "b": 1.3})

    def time(params):
        return died() if params["variant"] == "a" else clean.time(params)

    pool = Pool({"a": 1.3, "b": 1.3}, **{f"final-{i}": {"time": time} for i in range(5)})
    report = final(judge(), pool, [candidate("a"), candidate("b")])
    assert [v.result.fault for v in report.verdicts] == ["crashed", "none"]
    assert report.verdicts[1].result.verified
    assert "final-0-1" in pool.made
    assert all(e.stopped for e in pool.made.values())


def test_a_wrong_finalist_is_not_timed():
    pool = Pool({"v": 1.3}, **{"final-0": {"check": wrong("It differs on a held-out case.")}})
    report = final(judge(), pool, [candidate()])
    assert report.verdicts[0].result.correctness == "wrong"
    assert report.verdicts[0].result.stage == "final"
    assert not [c for e in pool.made.values() for c in e.calls if c[0] == "time"]
    assert all(e.stopped for e in pool.made.values())


def test_the_original_against_itself_is_not_faster():
    report = final(judge(), Pool({}), [Candidate(None), Candidate(None)])
    assert [v.result.performance for v in report.verdicts] == ["inconclusive", "inconclusive"]
    assert not any(v.result.verified for v in report.verdicts)


def test_an_executor_that_dies_of_the_original_is_replaced_once():
    pool = Pool({"v": 1.3}, **{"final-2": {"time": died()}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified
    assert "final-2-1" in pool.made
    broken = Pool({"v": 1.3}, **{"final-2": {"time": died()}, "final-2-1": {"time": died()}})
    with pytest.raises(ExecutorFault):
        final(judge(), broken, [candidate()])
    assert all(e.stopped or name == "final-2" for name, e in broken.made.items())


def test_interpreted_says_nothing_of_speed():
    def answer(params):
        return {**SimulatedExecutor({}).check(params), "interpreted": True}

    executor = SimulatedExecutor({}, check=answer)
    result = Judge(Task(CASES)).interpret(executor, candidate()).result
    assert (result.correctness, result.performance, result.score) == ("interpreted", "not_measured", None)
    assert "not races" in result.reason
    _, params, _, lock = executor.calls[-1]
    assert params["programs"] == 64
    assert lock is None
    assert "time" not in operations(executor)


def test_interpreted_wrong_is_wrong():
    executor = SimulatedExecutor({}, check=wrong("out: 3 of 8 elements differ."))
    assert Judge(Task(CASES)).interpret(executor, candidate()).result.correctness == "wrong"


def test_deadlines_follow_the_cases():
    slow = (case("c1", device_us=1e6),)
    for cases, least, most in ((CASES, 10.0, 60.0), (slow, 60.0, 900.0)):
        executor = SimulatedExecutor({"v": 1.3})
        Judge(Task(cases)).screen(executor, candidate())
        assert all(c[2] >= 10.0 for c in executor.calls)
        assert all(least < c[2] < most for c in executor.calls if c[0] == "time")


def test_settings_are_the_protocol():
    settings = Settings()
    assert (settings.first_pairs, settings.pairs, settings.processes, settings.finalists, settings.repeats) == (5, 15, 5, 3, 2)


def test_an_interrupt_ends_every_process():
    def interrupt(params):
        raise KeyboardInterrupt

    pool = Pool({"v": 1.3}, **{"final-1": {"time": interrupt}})
    with pytest.raises(KeyboardInterrupt):
        final(judge(), pool, [candidate()])
    assert all(e.stopped for e in pool.made.values())
    starting = Pool({"v": 1.3}, **{"final-1": {"environment": interrupt}})
    with pytest.raises(KeyboardInterrupt):
        final(judge(), starting, [candidate()])
    assert all(e.stopped for e in starting.made.values())


def test_a_process_that_does_not_start_ahead_gets_its_chance():
    pool = Pool({"v": 1.3}, **{"final-1": {"environment": died()}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified


@pytest.mark.parametrize("stage", ["screening", "final"])
def test_without_a_timing_case_nothing_is_judged(stage):
    cases = (case("k1", "check"), case("n1", "time", replayable=False, reason="its argument holds a lock"))
    run = {
        "screening": lambda: Judge(Task(cases)).screen(SimulatedExecutor({"v": 1.0}), candidate()),
        "final": lambda: final(Judge(Task(cases)), Pool({}), [candidate()]),
    }[stage]
    with pytest.raises(WorkloadError, match=r"None of the 2 recorded calls can be timed \(its argument holds a lock\)"):
        run()
