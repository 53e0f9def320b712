"""Rows, shares and sentences of the benchmark's tables, from figures by hand."""

from __future__ import annotations

import sys

import pytest
from against import lost, report
from figures import failed, row, summary
from gpus import FailedError, Lane, lanes, run, spread
from idle import idle
from light import percent

from kernelband.hardware import find_device

H200 = find_device("h200")


def tensor(*shape, dtype="float16"):
    return {"shape": list(shape), "dtype": dtype}


SQUARES = (tensor(4096, 4096), tensor(4096, 4096))


def case(name="matmul", compulsory=2 * 3 * 4096 * 4096, tensors=SQUARES, **constants):
    return {
        "id": "c1",
        "function": {"qualname": name},
        "compulsory_bytes": compulsory,
        "tensors": list(tensors),
        "constants": constants,
        "launches": [],
        "device_us": 300.0,
    }


def trial(number, started, seconds, **clock):
    return {"number": number, "variant": number, "correctness": "passed", "started": started, "seconds": seconds, "clock": clock}


def shown(*, verified=True, correctness="passed"):
    result = {
        "correctness": correctness,
        "cases": [{"case": "c1", "device_before_us": 300.0, "device_after_us": 200.0, "call_before_us": 310.0, "call_after_us": 215.0}],
    }
    return {
        "run": {"device": "NVIDIA H200 SXM", "summary": {"counts": {"proposed": 60, "compiled": 50, "executed": 2}}, "seconds_used": 70.4},
        "cases": [{"role": "time", "facts": case()}, {"role": "check", "facts": case()}],
        "variants": [
            {"id": 0, "parent": None, "strategy": "", "move": "", "parameters": {}},
            {"id": 1, "parent": 0, "strategy": "tiling", "move": "tiles", "parameters": {}},
            {"id": 2, "parent": 1, "strategy": "pipeline", "move": "stages", "parameters": {"after": ["fusion.exp2()"], "without": [1]}},
        ],
        "trials": [trial(1, 100.0, 1.0, time=0.4, waiting=0.6), trial(2, 101.0, 3.0, check=0.6, waiting=2.4)],
        "finals": [{"variant": 2, "verified": verified, "score": 1.5, "low": 1.4, "high": 1.6, "result": result}],
    }


def test_a_row_says_everything_of_a_run():
    made = row("matmul", shown())
    assert made.cells[:7] == (
        "matmul",
        "300.0 → 200.0",
        "310.0 → 215.0",
        "**1.50×** (1.40 to 1.60)",
        "46 → 69",
        "tiling.tiles, fusion.exp2, pipeline.stages",
        "2",
    )
    assert made.cells[7:] == ("60 / 50 / 2", "25.0", "0 dropped, 0 in the final", "2.0", "75%", "70")


def test_nothing_verified_counts_as_unchanged_and_wrong_finalists_are_counted():
    none, wrong = row("a", shown(verified=False)), row("b", shown(verified=False, correctness="wrong"))
    assert none.score == 1.0
    said = summary([row("c", shown()), none, wrong, failed("d", "It took longer than 900 s | and was ended.")])
    for figure in ("2 of 3 finalists", "(67%)", "1 of 4 examples", "(25%)", "geometric mean 1.11×"):
        assert figure in said[0]
    assert said[1].startswith("25.0 variants")
    assert "2.00 s per trial" in said[1]
    assert said[2].startswith("1 failed")
    assert said[2].endswith(": d.")
    assert failed("d", "a | b").line.count("|") == failed("d", "a").line.count("|")


def test_the_gpu_is_idle_where_it_neither_checked_nor_timed():
    seen = idle([trial(1, 10.0, 2.0, time=1.0, waiting=0.5), trial(2, 13.0, 1.0, check=0.5, propose=0.5)])
    assert seen is not None
    assert (seen.span_s, seen.busy_s, seen.share) == (4.0, 1.5, pytest.approx(0.625))
    assert seen.waits == {"between trials": pytest.approx(1.5), "waiting": 0.5, "propose": 0.5}
    assert idle([]) is None


def test_the_speed_of_light_of_products_and_of_lookups():
    assert percent(case(), H200, 2 * 4096**3 / 989e12 * 1e6) == pytest.approx(100, rel=0.01)
    copy = case("add", compulsory=4.8e8, tensors=[tensor(10)])
    assert percent(copy, H200, 200.0) == pytest.approx(50, rel=0.01)
    rows = [tensor(1000, 64), tensor(100, dtype="int64")]
    assert percent(case("Embedding.forward", None, rows), H200, 1.0) == pytest.approx(100 * (800 + 128 * (100 + 95.2)) / 4.8e6, rel=0.01)
    assert percent(case("unknown", None), H200, 1.0) is None
    attention = case("flash_attention", 0, [tensor(4, 16, 2048, 64)] * 3, causal=True)
    assert percent(attention, H200, 2 * 64 * 2048 * 2048 * 64 / 989e12 * 1e6) == pytest.approx(100, rel=0.01)


def opponent(us, wrong=None, **more):
    one = {"original_us": 100.0, "us": us, "ratio": 100 / us, "call_us": us, "call_ratio": 1.0, "wrong": wrong, "method": "events"}
    return {"cases": [one], "first_call_s": 12.0, "configurations": None, **more}


def raced(name, verified=True, **opponents):
    return {
        "example": name,
        "cases": ["f32[8]"],
        "device": "H200",
        "verified": verified,
        "ours_seconds": 70,
        "ours_trials": 20,
        "opponents": opponents,
    }


def test_where_we_lose_is_said_the_worst_first_and_a_wrong_opponent_beats_nobody():
    results = [
        raced("a", ours=opponent(60.0), autotune=opponent(50.0, configurations=20), eager=opponent(59.5), broken={"error": "boom"}),
        raced("b", verified=False, autotune=opponent(50.0), eager=opponent(10.0, wrong="integers differ")),
        {"example": "c", "error": "It took longer", "cases": [], "opponents": {}},
    ]
    first, second = lost(results)
    assert first.startswith("- b: autotune is 2.00× as fast as the original")
    assert second.startswith("- a: autotune is 1.20× as fast as ours")
    text = report(results)
    assert "| a | f32[8] | 100.0 | 60.0 (1.67×) | 50.0 (2.00×) | 59.5 (1.68×) | failed |" in text
    assert "ours: 1.29× over 2 examples" in text
    for said in ("10.0 (wrong)", "a: broken: boom", "b: eager: computes something else: integers differ", "c: It took longer"):
        assert said in text


def test_one_failing_job_stops_nothing_and_gpus_share_the_work():
    def work(job, lane):
        if job == "bad":
            raise ValueError("no")
        return job, lane.environment.get("CUDA_VISIBLE_DEVICES")

    outcomes = dict(spread(["a", "bad", "b"], [Lane("0", None), Lane("3", None)], work))
    assert isinstance(outcomes["bad"], ValueError)
    assert {outcomes["a"][1], outcomes["b"][1]} <= {"0", "3"}
    assert [lane.gpu for lane in lanes("0,2")] == ["0", "2"]
    assert lanes(None) == [Lane(None, None)]


def test_a_process_that_hangs_or_fails_is_one_sentence():
    with pytest.raises(FailedError, match="longer than 0 s"):
        run([sys.executable, "-c", "import time; time.sleep(60)"], 0.3, {})
    with pytest.raises(FailedError, match=r"code 3: so it is\."):
        run([sys.executable, "-c", "import sys; print('so it is.', file=sys.stderr); sys.exit(3)"], 20.0, {})
