"""Representatives get the headroom that a profiler saw; equal machine code is profiled once; a refusal is said once and ends nothing."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kernelband.errors import ExecutorFault
from kernelband.hardware import find_device
from kernelband.search._base import Member, Pull
from kernelband.search.frontier import Frontier
from kernelband.search.profile import FIRST_S, LIMIT_S, Instruments, room_of
from tests.unit.hardware.conftest import make_work

H200 = find_device("h200")
NCU = {"source": "ncu", "kernel": "kernel", "us": 100.0, "sm": 0.25, "dram": 0.8, "l2": 0.5}
REFUSED = "Nsight Compute gave no figures, this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM): headroom comes from …"


class Executor:
    def __init__(self, *answers: Any) -> None:
        self.answers, self.asked = list(answers), []

    def call(self, operation, params, deadline_s, lock=None, *, shared=False):
        assert (operation, lock) == ("profile", "GPU-1")
        self.asked.append(dict(params))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None: ...


def answer(*profiles, note=None, usable=True, seconds=1.0):
    return {"profiles": list(profiles), "note": note, "usable": usable, "seconds": seconds}


def member(number: int) -> Member:
    return Member(
        number, 1e-4 + 1e-5 * number, (float(number % 3), 10.0 * (number % 3), 0.0, 7.0, 50.0), {"sm": 0.5, "dram": 0.5, "l2": 0.5}
    )


class World:
    """A frontier of several variants; ``codes`` gives each its machine code."""

    def __init__(self, executor: Executor, count: int = 1, codes: dict[int, str] | None = None) -> None:
        self.executor, self.said, self.codes = executor, [], codes or {}
        self.frontier = Frontier()
        self.log: list[Pull] = []
        for number in range(count):
            self.frontier.add(member(number))
            if number:
                self.log.append(Pull(number, 0, "tiling", number, True, 0.0, 0.0, "faster"))
        self.instruments = Instruments(H200, {"id": "c"}, "GPU-1", "/usr/bin/ncu", self.said.append)  # type: ignore[typeddict-item]

    def works(self, number: int):
        code = self.codes.get(number, f"code{number}")
        return [make_work(code=code, dram_bytes=2.4e8, moved_bytes=2.4e8, flops=1e6, dot_flops=0)]

    def update(self, elapsed: float = 1000.0):
        return self.instruments.update(
            self.frontier, tuple(self.log), self.works, lambda n: (self.executor, f"v{n}" if n else None), elapsed
        )


def test_the_originals_headroom_comes_from_the_counters_and_is_said():
    world = World(Executor(answer(NCU)))
    assert world.update() == (0,)
    assert world.frontier[0].headroom == {"sm": 0.75, "dram": pytest.approx(0.2), "l2": 0.5}
    assert world.executor.asked == [{"variant": None, "case": "c", "ncu": "/usr/bin/ncu", "limit_s": FIRST_S}]
    (said,) = world.said
    assert said.startswith("Nsight Compute: kernel keeps memory at 80 %, L2 at 50 %, multiprocessors at 25 % of the peak")
    assert world.update() == ()  # the same representative is not checked again


def test_only_representatives_are_profiled_each_code_once():
    executor = Executor(*[answer(NCU) for _ in range(4)])
    world = World(executor, count=9)
    changed = world.update()
    assert 1 <= len(changed) <= 3
    assert len(executor.asked) == len(changed)
    assert executor.asked[1:] == [a | {"limit_s": LIMIT_S} for a in executor.asked[1:]]
    same = World(Executor(answer(NCU)), count=9, codes=dict.fromkeys(range(9), "one"))
    assert len(same.update()) == len(changed)
    assert len(same.executor.asked) == 1


def test_a_refusal_is_said_once_and_torch_is_asked_from_then_on():
    executor = Executor(answer({"source": "profiler", "kernel": "kernel", "us": 100.0}, note=REFUSED, usable=False), *[answer()] * 3)
    world = World(executor, count=9)
    world.update()
    assert sum(REFUSED in text for text in world.said) == 1
    assert [a["ncu"] for a in executor.asked] == ["/usr/bin/ncu", *[None] * (len(executor.asked) - 1)]
    first = next(iter(world.instruments.profiles))
    # 240 MB in 100 µs of 4.8 TB/s: half of the bandwidth is left.
    assert world.frontier[first].headroom["dram"] == pytest.approx(0.5)


def test_a_fault_keeps_the_forecast_and_the_run():
    world = World(Executor(ExecutorFault("profile took longer than 30 s.", fault="timeout")))
    assert world.update() == ()
    assert world.frontier[0].headroom == member(0).headroom
    assert world.said == ["Nothing is profiled in this run, headroom comes from the forecast: profile took longer than 30 s."]
    world.frontier.add(member(1))
    assert world.update() == ()
    assert len(world.executor.asked) == 1


def test_profiles_take_a_small_share_of_the_run():
    world = World(Executor(answer(NCU, seconds=FIRST_S + 1), *[answer(NCU)] * 3), count=9)
    assert len(world.update(elapsed=1.0)) == 1
    assert world.update(elapsed=1000.0)


def test_several_launches_are_weighted_by_their_time():
    works = [make_work(), evolve(make_work(), kernel="l")]
    other = {**NCU, "kernel": "l", "us": 300.0, "dram": 0.4}
    assert room_of(H200, [NCU, other], works)["dram"] == pytest.approx(0.5)  # type: ignore[list-item]
    assert room_of(H200, [], works) == {}
    assert room_of(H200, [{"source": "profiler", "kernel": "elsewhere", "us": 1.0}], works) == {}
