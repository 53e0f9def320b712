"""The judge on simulated executors: every way that a trial can go."""

from __future__ import annotations

import pytest

from kernelband.errors import KernelBandError, WorkloadError
from kernelband.judge.final import final
from kernelband.judge.judge import Judge
from kernelband.judge.protocol import Candidate, Settings, Task
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


@pytest.mark.parametrize(
    ("lead", "blocks"),
    [
        ({"c1": 1.5, "c2": 1.5}, 1),
        ({"c1": 1.5, "c2": 1.2}, 2),
        ({"c1": 1.33, "c2": 1.33}, 2),
        ({"c1": 1.2, "c2": 1.2}, 2),
        ({"c1": 1.5}, 2),
        ({}, 2),
    ],
)
def test_what_can_t_lead_in_any_case_gets_five_pairs(lead, blocks):
    executor = SimulatedExecutor({"v": 1.3})
    verdict = judge().screen(executor, candidate(), lead=lead)
    assert operations(executor).count("time") == blocks
    assert verdict.result.performance == "faster"


def test_only_the_first_block_warms_up():
    executor = SimulatedExecutor({"v": 1.3})
    judge().screen(executor, candidate())
    assert [c[1].get("warmup_s") for c in executor.calls if c[0] == "time"] == [None, 0.0]


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


def test_interpreted_says_nothing_of_speed():
    def answer(params):
        return {**SimulatedExecutor({}).check(params), "interpreted": True}

    executor = SimulatedExecutor({}, check=answer)
    result = Judge(Task(CASES)).interpret(executor, candidate()).result
    assert (result.correctness, result.performance, result.score) == ("interpreted", "not_measured", None)
    assert "not races" in result.reason
    assert {lock for _, _, _, lock in executor.calls} == {None}
    assert "time" not in operations(executor)


@pytest.mark.parametrize(("seconds", "whole"), [(0.5, True), (20.0, False)])
def test_the_smallest_case_is_interpreted_whole_unless_that_takes_long(seconds, whole):
    executor = SimulatedExecutor({})
    cases = (case("large", "check"), case("small", "check", memory_bytes=1000, replay_s=seconds), case("time"))
    Judge(Task(cases)).interpret(executor, candidate())
    few = Settings().programs
    asked = {tuple(params["cases"]): params["programs"] for _, params, _, _ in executor.calls}
    assert asked == ({("small",): 64, ("large", "time"): few} if whole else {("large", "small", "time"): few})


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


@pytest.mark.parametrize("stage", ["screening", "final"])
def test_without_a_timing_case_nothing_is_judged(stage):
    cases = (case("k1", "check"), case("n1", "time", replayable=False, reason="its argument holds a lock"))
    run = {
        "screening": lambda: Judge(Task(cases)).screen(SimulatedExecutor({"v": 1.0}), candidate()),
        "final": lambda: final(Judge(Task(cases)), lambda name: SimulatedExecutor({}), [candidate()]),
    }[stage]
    with pytest.raises(WorkloadError, match=r"None of the 2 recorded calls can be timed \(its argument holds a lock\)"):
        run()
