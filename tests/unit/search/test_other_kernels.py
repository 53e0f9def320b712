"""Calls that spend most of their device time in other kernels than the one that is optimized: it is said, and no time of the kernel's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernelband.hardware import find_device
from kernelband.search.beside import beside, others_us
from kernelband.search.profile import Profiler
from tests.unit.hardware.conftest import make_work

from . import fake_lab
from .world import World

COPY = "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<int>>(int, char)"


def told(folder: Path, share: float | None, monkeypatch: pytest.MonkeyPatch, other: str = COPY) -> list[str]:
    monkeypatch.setitem(fake_lab.CASE, "target_share", share)
    monkeypatch.setitem(fake_lab.CASE, "other_kernels", [other, other])
    world = World(folder)
    world.run(world.options(trials=1))
    (known,) = world.named("baseline_known")
    return [line for line in known.lines if "others'" in line]


def test_what_others_take_is_said_with_what_is_left_to_gain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = told(tmp_path, 0.25, monkeypatch)
    assert line == (
        "25% of the 500 µs on the device are this kernel's, the rest is others' that copy runs (elementwise_kernel): "
        "a faster kernel alone gains 1.33× at most."
    )


@pytest.mark.parametrize(("searched", "said"), [(["a"], ", so a is searched with it."), (["a", "b"], ", so a and b are searched with it.")])
def test_others_that_are_searched_too_are_named(searched: list[str], said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case: Any = {**fake_lab.CASE, "target_share": 0.25, "other_kernels": [COPY]}
    monkeypatch.setitem(case, "launches", [{"target": True}, {"target": False, "kernel": {"qualname": "a"}}])
    (line,) = beside([case], {case["id"]: 500.0}, (), searched)
    assert line.endswith(f"1.33× at most{said}")


@pytest.mark.parametrize("share", [None, 0.9, 1.0])
def test_a_kernel_that_takes_most_of_it_is_left_alone(share: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(tmp_path, share, monkeypatch) == []


@pytest.mark.parametrize(
    ("others", "took", "us", "used"),
    [
        (0.0, 100.0, 100.0, 0.2),
        (75.0, 25.0, 100.0, 0.8),
        (60.0, 40.0, 80.0, 20.0 / 32.0),  # others have less to do for this variant: at least its share is the kernel's
    ],
)
def test_the_kernel_s_own_time_is_what_its_bytes_are_held_against(others: float, took: float, us: float, used: float) -> None:
    device = find_device("h200")
    work = make_work(case="a", dram_bytes=20e-6 * device.dram_bytes_per_s)  # 20 µs of memory at its peak
    profiler = Profiler(device, (), (), {"a": took}, {"a": others})
    member = profiler.member(1, (1e-4, 1e-4), [work], {"a": us})
    assert member.headroom["dram"] == pytest.approx(1.0 - used)


@pytest.mark.parametrize(
    ("share", "targets", "found"), [(0.25, [True], {"a": 75.0}), (0.25, [True, False], {}), (None, [True], {}), (0.0, [True], {})]
)
def test_what_others_take_where_only_the_kernel_s_work_is_counted(share: Any, targets: list[bool], found: dict[str, float]) -> None:
    case: Any = {"id": "a", "target_share": share, "launches": [{"target": target} for target in targets]}
    assert others_us([case], {"a": 100.0}) == found


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (COPY, "elementwise_kernel"),
        ("void (anonymous namespace)::fill<int>(int*)", "fill"),
        ("<unnamed>::k(int)", "k"),
        ("at::CatArrayBatchedCopy", "CatArrayBatchedCopy"),
        ("Memcpy DtoD (Device -> Device)", "DtoD"),
        ("(odd)", "(odd)"),
    ],
)
def test_other_kernels_by_their_short_names(name: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = told(tmp_path, 0.25, monkeypatch, name)
    assert f"({shown})" in line


def test_of_a_call_that_waits_for_the_device_only_what_the_device_worked_is_the_kernel_s() -> None:
    case: Any = {
        "id": "a",
        "device_us": 250.0,
        "target_share": 0.9,
        "launches": [{"target": True}],
        "other_kernels": [COPY],
        "function": {"qualname": "loss"},
    }
    assert others_us([case], {"a": 900.0}, {"a"}) == {"a": 675.0}
    assert others_us([case], {"a": 200.0}, {"a"}) == {"a": pytest.approx(20.0)}  # the clock said less than the profiler
    assert list(beside([case], {"a": 900.0}, {"a"})) == [
        "25% of the 900 µs of a call by the wall clock are this kernel's: the device works 250 µs, also for others (elementwise_kernel), "
        "and loss waits for it (by .item(), say) or works where events don't see it. A faster kernel alone gains 1.33× at most."
    ]
    assert list(beside([case], {"a": 240.0}, {"a"})) == []


def test_what_the_wall_clock_measured_is_no_time_of_the_kernel_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fake_lab.CASE, "target_share", 1.0)
    monkeypatch.setattr(fake_lab.FakeLab, "method", "wall")
    world = World(tmp_path)
    world.run(world.options(trials=1))
    (known,) = world.named("baseline_known")
    assert [
        line
        for line in known.lines
        if line.startswith("20% of the 500 µs of a call by the wall clock are this kernel's: the device works 100 µs,")
    ]
