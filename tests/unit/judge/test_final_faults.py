"""The final on simulated executors: whom a fault costs what, and that every process ends."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from kernelband.errors import ExecutorFault, KernelBandError
from kernelband.judge.final import final
from kernelband.judge.protocol import Settings
from tests.unit.judge.pools import PATIENCE_S, Pool, candidate, judge, of_a_variant, wrong
from tests.unit.judge.simulation import SimulatedExecutor, case, died, operation_failed

HASTY = Settings(pauses_s=(0.0, 0.0))


def only(variant, fault, operation):
    """A fault of one variant, wherever it goes."""
    clean = SimulatedExecutor({"a": 1.3, "b": 1.3, "c": 1.3})

    def answer(params):
        return fault if params.get("variant") == variant else getattr(clean, operation)(params)

    return {operation: answer}


@pytest.mark.parametrize("operation", ["check", "prepare", "turn"])
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
    if operation in ("check", "prepare"):
        assert not [c for calls in pool.asked("turn").values() for c in calls if c["variant"] == "b"]


def test_a_finalist_that_fails_while_its_tuner_chooses_is_not_checked():
    failed = operation_failed("It needs 300 KB of shared memory.", "compile_error")
    pool = Pool({"a": 1.3, "b": 1.3}, **{"*": only("a", failed, "prepare")})
    cases = (
        case("c1", launches=[{"config": {"num_warps": 4}, "kernel": {"module": "m", "path": "m.py", "qualname": "m_kernel"}}]),
        case("c2"),
    )
    report = final(judge(cases), pool, [candidate("a"), candidate("b")])
    assert [v.result.fault for v in report.verdicts] == ["compile_error", "none"]
    assert report.verdicts[1].result.verified
    assert not pool.asked("check", "check-0")["check-0"]


def test_a_finalist_that_does_not_compile_when_prepared_keeps_the_processes():
    failed = operation_failed("It needs 300 KB of shared memory.", "compile_error")
    pool = Pool({"a": 1.3, "b": 1.3}, **{"*": only("a", failed, "prepare")})
    report = final(judge(), pool, [candidate("a"), candidate("b")])
    assert [v.result.fault for v in report.verdicts] == ["compile_error", "none"]
    assert not [n for n in pool.made if n.count("-") == 3]


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
            "check-0": {"check": scarce("check")},
            "final-0-2": {"prepare": lambda params: prepare(params) if params.get("variant") else {}},
            "proof-0": {"entry_run": scarce("entry_run")},
        },
    )
    report = final(judge(), pool, [candidate()])
    assert sorted(set(crowded)) == ["check", "entry_run", "prepare"]
    assert report.verdicts[0].result.verified
    assert {"check-0-1", "final-0-2-1", "proof-0-1"} <= set(pool.made)
    assert pool.made["check-0-1"].shared[1] is True
    assert pool.made["proof-0-1"].shared[-1] is False


def test_memory_that_runs_out_again_is_a_fault():
    pool = Pool({"v": 1.3}, **{"*": {"check": died("oom")}})
    assert final(judge(settings=HASTY), pool, [candidate()]).verdicts[0].result.fault == "oom"
    pool = Pool({"v": 1.3}, **{"*": {"entry_run": of_a_variant(died("oom"))}})
    assert final(judge(settings=HASTY), pool, [candidate()]).verdicts[0].result.fault == "oom"


@pytest.mark.parametrize(("who", "operation"), [("original-2", "turn"), ("final-0-2", "turn"), ("check-0", "check")])
def test_memory_that_others_took_since_is_no_fault_either(who, operation):
    """What a GPU's memory seems to have room for may be another run's by now: once more, with the processes of one round at a time."""
    short = {operation: died("oom")}
    pool = Pool({"v": 1.3}, **dict.fromkeys((who, f"{who}-1"), short))
    heard = []
    report = final(judge(tell=heard.append, settings=HASTY), pool, [candidate()])
    assert report.verdicts[0].result.verified
    assert any("memory ran out" in said for said in heard)
    again = [n for n in pool.made if "-again-1" in n and not n.startswith("proof")]
    assert again
    assert not [n for n in pool.made if "-again-2" in n]
    assert not any(True in pool.made[n].shared for n in again)
    assert pool.ended


def test_memory_that_runs_out_in_a_round_of_its_own_is_a_fault():
    pool = Pool({"a": 1.3, "b": 1.3}, **{"*": only("b", died("oom"), "turn")})
    report = final(judge(settings=HASTY), pool, [candidate(n) for n in "ab"])
    assert [(v.result.fault, v.result.verified) for v in report.verdicts] == [("none", True), ("oom", False)]
    pool = Pool({"v": 1.3}, **{"*": only(None, died("oom"), "turn")})
    with pytest.raises(ExecutorFault):
        final(judge(settings=HASTY), pool, [candidate()])
    assert {n.rpartition("-again-")[2] for n in pool.made if "-again-" in n} >= {"1", "2"}


def test_a_wrong_finalist_is_not_timed():
    pool = Pool({"a": 1.3, "b": 1.3}, **{"check-0": {"check": wrong("It differs on a held-out case.")}})
    report = final(judge(), pool, [candidate("a"), candidate("b")])
    assert report.verdicts[0].result.correctness == "wrong"
    assert report.verdicts[0].result.stage == "final"
    assert report.verdicts[1].result.verified
    used = [c for name in ("prepare", "turn") for calls in pool.asked(name).values() for c in calls]
    assert not [c for c in used if c.get("variant") == "a"]
    assert pool.ended


def test_nothing_is_timed_when_every_finalist_is_wrong():
    pool = Pool({"v": 1.3}, **{"check-0": {"check": wrong("It differs.")}})
    final(judge(), pool, [candidate()])
    assert not [c for calls in pool.asked("turn").values() for c in calls]
    assert pool.ended


def test_an_executor_that_dies_of_the_original_is_replaced_once():
    pool = Pool({"v": 1.3}, **{"original-2": {"turn": died()}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified
    assert "original-2-1" in pool.made
    broken = Pool({"v": 1.3}, **{"original-2": {"turn": died()}, "original-2-1": {"turn": died()}})
    with pytest.raises(ExecutorFault):
        final(judge(), broken, [candidate()])
    assert broken.ended


def test_a_process_that_does_not_start_ahead_gets_its_chance():
    pool = Pool({"v": 1.3}, **{"original-1": {"prepare": died()}})
    assert final(judge(), pool, [candidate()]).verdicts[0].result.verified
    assert "original-1-1" in pool.made


# ---------------------------------------------------------------- the end of it all


@pytest.mark.parametrize("operation", ["prepare", "check", "turn", "entry_run"])
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

    pool = Pool({"v": 1.3}, **{"final-0-1": {"turn": interrupt}})
    with pytest.raises(KeyboardInterrupt):
        final(judge(), pool, [candidate()])
    assert pool.ended
