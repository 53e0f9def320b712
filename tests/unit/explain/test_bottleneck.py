"""The sentence names the limit with its numbers."""

from __future__ import annotations

import pytest

from kernelband.explain.bottleneck import bottleneck
from kernelband.hardware import find_device
from tests.unit.hardware.conftest import make_work

H100 = find_device("h100")
COPY = {"dram_bytes": 3.35e9, "moved_bytes": 3.35e9, "flops": 1e8, "dot_flops": 0, "sectors": 1.0}


@pytest.mark.parametrize(
    ("work", "kind", "words"),
    [
        (make_work(**COPY), "memory", ["3.35 GB", "1 ms", "3350 GB/s"]),
        (make_work(spills=400, **COPY), "spills", ["800 bytes per thread"]),
        (make_work(unusable="too much shared memory", **COPY), "unusable", ["too much shared memory"]),
        (make_work(programs=30, **COPY), "idle", ["30 programs fill 23 %", "132 multiprocessors"]),
        (make_work(**{**COPY, "dram_bytes": 1e4, "moved_bytes": 1e4, "flops": 100}), "launch", ["about 3 µs"]),
        (make_work(dtype="float16", tensor_core="wgmma", **{**COPY, "dot_flops": 1e13}), "compute", ["10 TFLOP in float16"]),
        (make_work(programs=132, **{**COPY, "dram_bytes": 2e6, "moved_bytes": 2e8, "flops": 100}), "cache", ["200 MB pass through"]),
        (
            make_work(programs=262144, **{**COPY, "dram_bytes": 1e8, "moved_bytes": 1e8}),
            "programs",
            ["262,144 take about 158 µs", "the work alone would take 29.9 µs"],
        ),
        (
            make_work(programs=264, loads=1, **{**COPY, "dram_bytes": 1e6, "moved_bytes": 8e6, "flops": 100}),
            "memory",
            ["each thread fetches one thing after the other, about 11.8 µs"],
        ),
        (make_work(**{**COPY, "dot_flops": 1e12}), "compute", ["without tensor cores"]),
        (
            make_work(arithmetic=1e9, functions={"exp2": 2e10, "div": 1e6}, **COPY),
            "compute",
            ["Special functions (exp2, division): 20 G of them", "5.17 ms at peak"],
        ),
        (
            make_work(arithmetic=1e11, functions={"exp": 2e10}, **COPY),
            "compute",
            ["Arithmetic: 200 G instructions on floats outside matrix products, 5.97 ms at peak"],
        ),
        (make_work(**{**COPY, "moved_bytes": 2e10}), "cache", ["20 GB pass through them", "Larger blocks reuse more"]),
        (
            make_work(arithmetic=6e10, functions={"exp": 4e9}, **{**COPY, "moved_bytes": 2e10}),
            "cache",
            ["Computing takes nearly as long"],
        ),
        (make_work(**{**COPY, "moved_bytes": 1e11}), "cache", ["100 GB pass through", "3.35 GB", "Larger blocks"]),
        (make_work(), "unknown", ["run it once under capture"]),
    ],
)
def test_what_limits(work, kind, words):
    found = bottleneck(H100, work)
    assert found.kind == kind
    for word in words:
        assert word in found.sentence


def test_a_measured_time_is_set_against_the_speed_of_light():
    assert "It reaches 50 % of that." in bottleneck(H100, make_work(**COPY), 2000).sentence


def test_too_little_in_flight_is_named_with_its_causes():
    found = bottleneck(H100, make_work(width=16, loads=1, warps=1, registers=128, programs=100000, **COPY))
    assert "accesses are 2 bytes wide" in found.also[0]
    assert "limited by registers" in found.also[0]
    assert bottleneck(H100, make_work(**COPY)).also == ()


def test_a_grid_of_few_programs_is_the_cause_where_more_would_fit():
    found = bottleneck(H100, make_work(programs=264, warps=1, loads=1, **COPY))
    assert any("the grid has 2 programs of 1 warp for each" in line and "occupancy" not in line for line in found.also)


def test_uncoalesced_and_waiting_are_said():
    found = bottleneck(H100, make_work(serialized=True, tensor_core="wgmma", **{**COPY, "sectors": 8.0}))
    assert found.also == ("Tensor-core instructions wait for each other.", "Accesses touch 8 times the memory sectors that they need.")
