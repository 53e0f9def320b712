"""The final on simulated executors: what runs together, what runs alone, and whom a fault costs what."""

from __future__ import annotations

import random
import signal
import threading
import time

import pytest

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.hardware import find_device
from kernelband.judge import Candidate, Judge, Settings, Task, final
from tests.unit.judge.simulation import SimulatedExecutor, case, died, operation_failed

CASES = (case("c1"), case("c2"), case("k1", "check"), case("h1", "held_out"), case("n1", "check", replayable=False))
ENTRY = {"kind": "callable", "module": "m", "path": "m.py", "name": "bench"}
PATIENCE_S = 5.0
PHASES = {"prepare": 0, "check": 0, "time": 1, "entry/run": 2}


def candidate(name="v", numerics="reassociates"):
    return Candidate({"id": name, "files": []}, numerics)


def judge(cases=CASES, **more):
    return Judge(Task(cases, entry=ENTRY), gpu="GPU-1", **more)


def wrong(reason):
    def answer(params):
        checked = SimulatedExecutor({}).check(params)
        checked["cases"][0].update(ok=False, reason=reason)
        return checked

    return answer


class Pool:
    """Makes executors and remembers them, and what began and ended in which order. ``scripts``: by executor name, "*" for all others."""

    def __init__(self, ratios, **scripts):
        self.ratios = ratios
        self.scripts = scripts
        self.made = {}
        self.rng = random.Random(0)
        self.log = []

    def __call__(self, name):
        assert name not in self.made
        self.made[name] = Logged(self.ratios, self.rng, **self.scripts.get(name, self.scripts.get("*", {})))
        self.made[name].log = self.log
        return self.made[name]

    def asked(self, operation, prefix="final"):
        return {n: [c[1] for c in e.calls if c[0] == operation] for n, e in self.made.items() if n.startswith(prefix)}

    @property
    def ended(self):
        return all(e.stopped for e in self.made.values())


class Logged(SimulatedExecutor):
    def call(self, operation, params, deadline_s, lock=None, *, shared=False):
        self.log.append((operation, "begin"))
        try:
            return super().call(operation, params, deadline_s, lock, shared=shared)
        finally:
            self.log.append((operation, "end"))


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


# ---------------------------------------------------------------- faults


def only(variant, fault, operation):
    """A fault of one variant, wherever it goes."""
    clean = SimulatedExecutor({"a": 1.3, "b": 1.3, "c": 1.3})

    def answer(params):
        return fault if params.get("variant") == variant else getattr(clean, operation)(params)

    return {operation: answer}


@pytest.mark.parametrize("operation", ["check", "prepare", "time"])
@pytest.mark.parametrize("fault", ["crashed", "timeout"])
def test_a_fault_of_one_finalist_costs_the_others_nothing(operation, fault):
    pool = Pool({"a": 1.3, "b": 1.3, "c": 1.3}, **{"*": only("b", died(fault), operation)})
    report = final(judge(), pool, [candidate(n) for n in "abc"])
    assert [v.result.fault for v in report.verdicts] == ["none", fault, "none"]
    assert [v.result.verified for v in report.verdicts] == [True, False, True]
    assert report.verdicts[1].result.stage == "final"
    assert pool.ended
    if operation == "check":
        assert report.verdicts[1].result.correctness == "untested"
        assert "final-1-1" in pool.made
        assert "final-0-1" not in pool.made
    if operation == "prepare":
        assert not [c for calls in pool.asked("time").values() for c in calls if c["variant"] == "b"]


def test_a_finalist_that_does_not_compile_when_prepared_keeps_the_processes():
    failed = operation_failed("It needs 300 KB of shared memory.", "compile_error")
    pool = Pool({"a": 1.3, "b": 1.3}, **{"*": only("a", failed, "prepare")})
    report = final(judge(), pool, [candidate("a"), candidate("b")])
    assert [v.result.fault for v in report.verdicts] == ["compile_error", "none"]
    assert not [n for n in pool.made if n.count("-") == 2]


def test_memory_that_runs_out_beside_others_is_no_fault_yet():
    clean, crowded = SimulatedExecutor({"v": 1.3}), []

    def scarce(operation):
        def answer(params):
            crowded.append(operation)
            return died("oom") if crowded.count(operation) == 1 else getattr(clean, operation)(params)

        return answer

    prepare = scarce("prepare")
    pool = Pool(
        {"v": 1.3},
        **{
            "final-0": {"check": scarce("check")},
            "final-2": {"prepare": lambda params: prepare(params) if params.get("variant") else {}},
            "proof-0": {"entry_run": scarce("entry_run")},
        },
    )
    report = final(judge(), pool, [candidate()])
    assert sorted(set(crowded)) == ["check", "entry_run", "prepare"]
    assert report.verdicts[0].result.verified
    assert {"final-0-1", "final-2-1", "proof-0-1"} <= set(pool.made)
    assert pool.made["final-0-1"].shared[1] is True
    assert pool.made["proof-0-1"].shared[-1] is False


def test_memory_that_runs_out_again_is_a_fault():
    pool = Pool({"v": 1.3}, **{"*": {"check": died("oom")}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.fault == "oom"
    pool = Pool({"v": 1.3}, **{"*": {"entry_run": of_a_variant(died("oom"))}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.fault == "oom"


def test_a_wrong_finalist_is_not_timed():
    pool = Pool({"a": 1.3, "b": 1.3}, **{"final-0": {"check": wrong("It differs on a held-out case.")}})
    report = final(judge(), pool, [candidate("a"), candidate("b")])
    assert report.verdicts[0].result.correctness == "wrong"
    assert report.verdicts[0].result.stage == "final"
    assert report.verdicts[1].result.verified
    used = [c for name in ("prepare", "time") for calls in pool.asked(name).values() for c in calls]
    assert not [c for c in used if c.get("variant") == "a"]
    assert pool.ended


def test_nothing_is_timed_when_every_finalist_is_wrong():
    pool = Pool({"v": 1.3}, **{"final-0": {"check": wrong("It differs.")}})
    final(judge(), pool, [candidate()])
    assert not [c for calls in pool.asked("time").values() for c in calls]
    assert pool.ended


PASSES = {"ok": True, "reason": None, "output": "", "seconds": 1.0}
FAILS = {"ok": False, "reason": "AssertionError: not close", "output": "", "seconds": 1.0}


def of_a_variant(fails):
    """The original passes the entry."""

    def answer(params):
        if params["variant"] is None:
            return PASSES
        if isinstance(fails, Exception):
            raise fails
        return fails

    return answer


def test_an_entry_that_the_original_does_not_pass_says_nothing():
    for answer in (FAILS, {**FAILS, "reason": "The entry bench took more than 60 s."}, died("timeout"), died("crashed")):
        report = final(judge(), Pool({"a": 1.3}, **{"*": {"entry_run": answer}}), [candidate("a")])
        (result,) = (v.result for v in report.verdicts)
        assert result.verified
        assert "Not proven by bench, which the original doesn't pass here either." in result.reason


def test_a_winner_must_pass_the_users_own_entry():
    failing = {"entry_run": of_a_variant(FAILS)}
    report = final(judge(), Pool({"a": 1.3, "b": 1.3}, **{"proof-0": failing}), [candidate("a"), candidate("b")])
    result = report.verdicts[0].result
    assert result.correctness == "wrong"
    assert "It doesn't pass bench: AssertionError: not close" in result.reason
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


def test_an_executor_that_dies_of_the_original_is_replaced_once():
    pool = Pool({"v": 1.3}, **{"final-2": {"time": died()}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified
    assert "final-2-1" in pool.made
    broken = Pool({"v": 1.3}, **{"final-2": {"time": died()}, "final-2-1": {"time": died()}})
    with pytest.raises(ExecutorFault):
        final(judge(), broken, [candidate()])
    assert broken.ended


def test_a_process_that_does_not_start_ahead_gets_its_chance():
    pool = Pool({"v": 1.3}, **{"final-1": {"prepare": died()}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified
    assert "final-1-1" in pool.made


# ---------------------------------------------------------------- the end of it all


@pytest.mark.parametrize("operation", ["prepare", "check", "time", "entry_run"])
def test_what_no_variant_did_ends_every_process(operation):
    clean = SimulatedExecutor({"v": 1.3})

    def answer(params):
        named = operation == "entry_run" or params.get("variant")
        return operation_failed("The worker is gone.", "lost") if named else getattr(clean, operation)(params)

    pool = Pool({"v": 1.3}, **{"*": {operation: answer}})
    with pytest.raises(KernelBandError, match="worker is gone"):
        final(judge(), pool, [candidate()])
    assert pool.ended


class Stuck(SimulatedExecutor):
    """Answers nothing from ``operation`` on until it is closed, as a process does that is killed."""

    def __init__(self, operation, reached):
        super().__init__({"a": 1.3, "b": 1.3})
        self.operation, self.reached = operation, reached
        self.killed = threading.Event()

    def call(self, operation, params, deadline_s, lock=None, *, shared=False):
        if operation == self.operation and params.get("cases", ["any"]):
            self.reached.release()
            assert self.killed.wait(PATIENCE_S), "nobody ended it"
            raise died()
        return super().call(operation, params, deadline_s, lock, shared=shared)

    def close(self):
        super().close()
        self.killed.set()


@pytest.mark.parametrize("operation", ["check", "prepare", "entry/run"])
def test_an_interrupt_ends_every_process(operation):
    reached, made = threading.Semaphore(0), {}

    def make(name):
        assert name not in made
        made[name] = Stuck(operation, reached)
        return made[name]

    def interrupt():  # as Ctrl-C does: in the thread that waits
        if reached.acquire(timeout=PATIENCE_S):
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        final(judge(), make, [candidate("a"), candidate("b")])
    assert made
    assert all(e.stopped for e in made.values())
    # A thread that the interrupt met while it started can't be joined, but finds its room shut.
    patience = time.monotonic() + PATIENCE_S / 2
    while (left := [t for t in threading.enumerate() if t.name.startswith("final")]) and time.monotonic() < patience:
        time.sleep(0.01)
    assert not left


def test_an_interrupt_while_measuring_ends_every_process():
    def interrupt(params):
        raise KeyboardInterrupt

    pool = Pool({"v": 1.3}, **{"final-1": {"time": interrupt}})
    with pytest.raises(KeyboardInterrupt):
        final(judge(), pool, [candidate()])
    assert pool.ended


def test_where_the_time_went_is_told():
    told = []
    final(judge(tell=told.append, settings=Settings(processes=2)), Pool({"v": 1.3}), [candidate()])
    assert told[:2] == ["Final verification: process 1 of 2.", "Final verification: process 2 of 2."]
    assert told[-1].startswith("Final verification took ")
    assert all(part in told[-1] for part in ("start", "check", "prepare", "measure", "proof"))
