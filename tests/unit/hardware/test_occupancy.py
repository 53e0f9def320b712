"""Occupancy against NVIDIA's calculator and the notes' measured kernels."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelband.hardware.devices import table
from kernelband.hardware.find import find_device
from kernelband.hardware.occupancy import occupancy, waves


@pytest.mark.parametrize(
    ("gpu", "registers", "shared", "warps", "fraction", "programs", "limiter"),
    [
        ("h100", 26, 0, 4, 1.0, 16, "warps"),  # vector add
        ("h100", 208, 147456, 8, 0.125, 1, "registers"),  # matmul 128x256x64
        ("h100", 219, 65536, 4, 0.125, 2, "registers"),  # flash attention
        ("h100", 32, 100 * 1024, 4, 0.125, 2, "shared memory"),
        ("h100", 32, 0, 1, 0.5, 32, "programs"),
        ("a100", 64, 0, 8, 0.5, 4, "registers"),
        ("a100", 255, 0, 4, 0.125, 2, "registers"),
        ("rtx4090", 32, 0, 4, 1.0, 12, "warps"),
        ("rtx4090", 40, 0, 8, 1.0, 6, "warps"),
        ("rtx4090", 64, 48 * 1024, 4, 8 / 48, 2, "shared memory"),
        ("mi300x", 82, 16384, 8, 0.5, 2, "registers"),  # LLVM says 5 waves per SIMD: two programs of 8 waves fit 20
        ("mi300x", 64, 0, 4, 1.0, 8, "warps"),
    ],
)
def test_known_kernels(gpu, registers, shared, warps, fraction, programs, limiter):  # noqa: PLR0917
    held = occupancy(find_device(gpu), registers, shared, warps)
    assert held.fraction == pytest.approx(fraction, abs=1e-3)
    assert (held.programs, held.limiter) == (programs, limiter)


def test_a_tile_over_the_limit_does_not_fit():
    held = occupancy(find_device("rtx4090"), 208, 147456, 8)
    assert (held.fraction, held.programs, held.limiter) == (0, 0, "shared memory")


@given(
    st.sampled_from(table()),
    st.integers(0, 255),
    st.integers(0, 65536),
    st.sampled_from([1, 2, 4, 8, 16]),
)
def test_more_of_anything_never_raises_occupancy(device, registers, shared, warps):
    base = occupancy(device, registers, shared, warps)
    assert 0 <= base.fraction <= 1
    assert base.warps <= device.max_warps_per_sm
    assert occupancy(device, min(registers + 8, 255), shared, warps).fraction <= base.fraction
    assert occupancy(device, registers, shared + 1024, warps).fraction <= base.fraction


def test_impossible_numbers_are_refused():
    with pytest.raises(ValueError, match="0 warps"):
        occupancy(find_device("h100"), 10, 0, 0)


@pytest.mark.parametrize(
    ("programs", "per", "count", "filled"),
    [(132, 1, 1.0, 1.0), (133, 1, 133 / 132, 133 / 264), (66, 1, 0.5, 0.5), (264, 16, 264 / 2112, 1.0), (0, 1, 0.0, 0.0)],
)
def test_waves(programs, per, count, filled):
    found = waves(find_device("h100"), programs, per)
    assert found.count == pytest.approx(count)
    assert found.filled == pytest.approx(filled)
