"""A profile in words: what was counted is said with its figure, what wasn't is not."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kernelband.hardware.profiled import moved, sentence
from kernelband_worker.wire import KernelProfile

COUNTED: dict[str, Any] = {
    "source": "ncu",
    "kernel": "scale",
    "us": 12.0,
    "dram": 0.82,
    "l2": 0.4,
    "sm": 0.1,
    "occupancy": 0.5,
    "stalls": {"long_scoreboard": 7.25, "wait": 1.5},
    "sectors": {"load": 16.0},
}


def profile(**more: Any) -> KernelProfile:
    return cast("KernelProfile", {k: v for k, v in {**COUNTED, **more}.items() if v is not None})


def test_all_that_was_counted() -> None:
    assert sentence(profile()) == (
        "Nsight Compute: scale keeps memory at 82 %, L2 at 40 %, multiprocessors at 10 % of the peak; 50 % of the warp slots filled; "
        "warps wait mostly for global memory, 7.25 cycles for each instruction; 16 sectors of 32 bytes per load request."
    )


@pytest.mark.parametrize(
    ("stalls", "said"),
    [
        ({"barrier": 2.0, "wait": 1.0}, "at barriers for other warps, 2 cycles"),
        ({"tex_throttle": 3.5}, "wait mostly tex throttle, 3.5 cycles"),  # one that has no words
        ({"barrier": 0.9}, None),
        ({}, None),
        (None, None),
    ],
)
def test_what_warps_wait_for_most(stalls: dict[str, float] | None, said: str | None) -> None:
    text = sentence(profile(stalls=stalls))
    assert said in text if said is not None else "wait" not in text


def test_without_counters_only_its_time() -> None:
    nothing = {"source": "profiler", "dram": None, "l2": None, "sm": None}
    assert sentence(profile(**nothing)).startswith("torch's profiler: scale takes 12")
    assert sentence(profile(**nothing, us=None)).startswith("torch's profiler: scale was seen;")
    assert "peak" not in sentence(profile(**nothing))


def test_what_moved_most_comes_first_and_what_hardly_moved_not_at_all() -> None:
    after = profile(dram=0.85, l2=0.2, sm=0.4, occupancy=0.75, sectors={"load": 4.0})
    assert moved(profile(), after) == (
        "multiprocessors 10 % busy before, 40 % after",
        "16 sectors per load request before, 4 after",
        "L2 40 % busy before, 20 % after",
        "50 % of the warp slots filled before, 75 % after",
    )


def test_only_what_both_counted_is_compared() -> None:
    assert moved(profile(), profile(source="profiler")) == ()
    assert moved(profile(), profile(l2=None, sm=None, occupancy=None, sectors=None, dram=0.41)) == ("memory 82 % busy before, 41 % after",)
    assert moved(profile(), profile(l2=0.0))[0] == "L2 40 % busy before, 0 % after"
