"""Correctness from a check, identity of programs, and the speed of light."""

from __future__ import annotations

import random

import pytest
from attrs import evolve

from kernelband.hardware import Device
from kernelband.judge.identity import identity
from kernelband.judge.judge import Judge
from kernelband.judge.numerics import judge_check
from kernelband.judge.protocol import Candidate, Task
from kernelband.judge.speed_of_light import floor_of, too_fast
from tests.unit.judge.simulation import SimulatedExecutor, case

H200 = Device(
    key="h200", name="NVIDIA H200", backend="cuda", arch=90, warp_size=32, multiprocessors=132, registers_per_sm=65536,
    max_registers_per_thread=255, shared_per_sm=233472, shared_per_program=232448, max_warps_per_sm=64, max_programs_per_sm=32,
    l2_bytes=50 << 20, memory_bytes=141 << 30, dram_bytes_per_s=4.8e12, l2_bytes_per_s=1e13, fp32_flops=67e12,
    instructions_per_s=33.5e12, special_per_s=3.9e12, programs_per_s=1.66e9,
    tensor_flops={"float16": 989e12, "tf32": 494e12, "float8": 1979e12}, launch_us=3.0,
)  # fmt: skip


def checked(ok=True, deterministic=True, reason=None, comparable=True, **more):
    one = {"case": "c1", "input_set": 0, "ok": ok, "deterministic": deterministic, "reason": reason, "outputs": []}
    one = one if comparable else {**one, "comparable": False}
    return {"cases": [one], "not_exercised": [], "interpreted": False, "out_of_bounds": [], "seconds": 0.0, **more}


@pytest.mark.parametrize(
    ("check", "correctness", "says"),
    [
        (checked(), "passed", ""),
        (checked(ok=False, reason="3 of 8 differ."), "wrong", "3 of 8 differ."),
        (checked(ok=False), "wrong", "case c1, input set 0"),
        (checked(ok=False, deterministic=False), "nondeterministic", "Two runs"),
        (checked(deterministic=False), "nondeterministic", "Two runs"),
        (checked(interpreted=True), "interpreted", "sampled programs"),
        (checked(ok=False, interpreted=True), "wrong", ""),
        (checked(cases=[]), "untested", "No case"),
        (checked(ok=False, reason="the original differs itself", comparable=False), "untested", "the original differs itself"),
        (checked(not_exercised=["f", "g"]), "passed", "Not exercised by any case: f, g."),
        (checked(out_of_bounds=[{"path": "k.py", "line": 7, "message": "x + 8"}]), "wrong", "k.py:7"),
    ],
)
def test_judge_check(check, correctness, says):
    found, reason = judge_check(check)
    assert found == correctness
    assert says in reason
    assert says or not reason or correctness == "wrong"


def specialised(code="k", grid=(4, 1, 1), scalars=None, host="h1", cases=("c1", "c2")):
    launches = [{"key": code, "case": c, "grid": list(grid), "scalars": scalars or {"n": 8}} for c in cases]
    return {"launches": launches, "host_hash": {"m:softmax": host, "m:kernel": "anything", "m:other": code}}


def facts(**more):
    return {"code_hash": "abc", "num_warps": 4, "num_ctas": 1, "shared_bytes": 0, **more}


def named(spec, compiled=None):
    return identity(spec, {"k": facts(), "j": facts(**(compiled or {}))}, {"kernel", "other"})


def test_the_same_program_under_another_key_is_equal():
    assert named(specialised()) == named(specialised("j")) != ""


@pytest.mark.parametrize(
    "other",
    [
        named(specialised("j"), {"code_hash": "abd"}),
        named(specialised("j"), {"num_warps": 8}),
        named(specialised("j"), {"num_ctas": 2}),
        named(specialised("j"), {"shared_bytes": 1024}),
        named(specialised(grid=(8, 1, 1))),
        named(specialised(scalars={"n": 9})),
        named(specialised(host="h2")),
        named(specialised(cases=("c1",))),
        named(specialised(cases=("c1", "c1", "c2"))),
    ],
)
def test_anything_else_is_not(other):
    assert other not in (named(specialised()), "")


def test_of_what_is_not_known_nothing_is_said():
    assert identity(specialised("unknown"), {}, {"kernel", "other"}) == ""
    assert named(specialised(cases=())) == ""


def memory_case(**more):
    return case("c1", compulsory_bytes=960_000_000, **more)


def test_floor_of_a_memory_bound_case():
    floor = floor_of(memory_case(), H200)
    assert floor.us == pytest.approx((960e6 - (50 << 20)) / 4.8e12 * 1e6)
    stores = memory_case(launches=[{"stores_bytes": 10_000_000, "dot_flops": None, "target": True}])
    assert floor_of(stores, H200).us == pytest.approx(950e6 / 4.8e12 * 1e6)


def test_floor_of_a_compute_bound_case():
    flops = 2 * 8192**3
    tensors = [{"dtype": "float16", "mutated": False}]
    matmul = memory_case(launches=[{"stores_bytes": None, "dot_flops": flops, "target": True}], tensors=tensors)
    assert floor_of(matmul, H200).us == pytest.approx(flops / 989e12 * 1e6)
    assert "matrix products" in floor_of(matmul, H200).why


def test_unknown_bytes_have_no_floor():
    assert floor_of(case("c1"), H200) is None
    assert too_fast(case("c1"), H200, 1e-9, 250.0) is None


def test_too_fast():
    assert too_fast(memory_case(), H200, 190.0, 250.0) is None
    said = too_fast(memory_case(), H200, 100.0, 250.0)
    assert "100.0 µs" in said
    assert "4.80 TB/s" in said


def test_a_floor_that_the_original_is_below_is_none():
    """Its kernel touches a part of a tensor that it gets as a whole."""
    assert too_fast(memory_case(), H200, 100.0, 150.0) is None


def test_a_suspect_is_checked_on_everything_and_stays_suspect():
    cases = (case("c1", compulsory_bytes=530_000_000), case("h1", "held_out"))  # 100 µs, as the original takes there
    executor = SimulatedExecutor({"v": 2.0}, random.Random(0))
    result = Judge(Task(cases), device=H200).screen(executor, Candidate({"id": "v", "files": []})).result
    assert result.integrity == "suspect"
    assert "faster than the hardware" in result.reason
    assert "passed a second check" in result.reason
    assert executor.calls[-1][0] == "check"
    assert sorted(executor.calls[-1][1]["cases"]) == ["c1", "h1"]
    assert not evolve(result, stage="final").verified
