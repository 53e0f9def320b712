"""When a search ends, and what it says about it."""

from __future__ import annotations

from typing import Any

import pytest

from kernelband.hardware import find_device
from kernelband.propose import Draft
from kernelband.search.budget import Budget
from kernelband.search.stop import PATIENCE, Progress, longest, only_launches, percent_of_light, why_stop
from tests.unit.hardware.conftest import make_work

from .fake_lab import CASE, FakeAuthor, FakeExecutor, FakeLab
from .world import World


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def budget(trials: int | None = None, seconds: float | None = None, elapsed: float = 0.0) -> Budget:
    clock = Clock()
    out = Budget(trials, seconds, now=clock)
    clock.now = elapsed
    return out


def test_the_budget_ends_every_search() -> None:
    assert why_stop(budget(trials=20), Progress(19, 19, 1), 0) == ""
    assert why_stop(budget(trials=20), Progress(20, 20, 1), 0) == "the 20 trials are used up"
    assert why_stop(budget(trials=1), Progress(1, 1, 1), 0) == "the one trial is used up"
    assert why_stop(budget(seconds=60, elapsed=61), Progress(3, 3, 1), 0) == "the 60 s are used up"
    assert why_stop(budget(seconds=60, elapsed=50), Progress(3, 3, 1), 12) == "the 60 s are used up, 12 s of them kept for the final"
    assert why_stop(budget(trials=20, seconds=60, elapsed=61), Progress(3, 3, 1), 0) == "the 60 s are used up"


def test_a_policy_that_pays_for_failures_is_counted_by_what_it_paid() -> None:
    assert why_stop(budget(trials=5), Progress(2, 5, 1), 0) == "the 5 trials are used up"


def test_no_gain_for_long_ends_a_search_by_seconds_only() -> None:
    stuck = Progress(3 + PATIENCE, 3 + PATIENCE, 3)
    assert why_stop(budget(seconds=60), stuck, 0) == f"no gain in the last {PATIENCE} trials"
    assert why_stop(budget(), stuck, 0)  # a person's minute
    assert why_stop(budget(trials=100), stuck, 0) == ""
    assert why_stop(budget(seconds=60), Progress(2 + PATIENCE, 2 + PATIENCE, 3), 0) == ""
    assert why_stop(budget(seconds=60), Progress(PATIENCE, PATIENCE, 0), 0)  # the original leads from the beginning


def test_near_the_speed_of_light_ends_a_search_by_seconds_only() -> None:
    near = Progress(4, 4, 3, light=91.4)
    assert why_stop(budget(seconds=60), near, 0) == "variant 3 reaches 91 % of the speed of light or more on every timing case"
    assert why_stop(budget(seconds=60), Progress(0, 0, 0, light=95.0), 0).startswith("the original reaches 95 %")
    assert why_stop(budget(trials=20), near, 0) == ""
    assert why_stop(budget(seconds=60), Progress(4, 4, 3, light=89.9), 0) == ""
    assert why_stop(budget(seconds=60), Progress(4, 4, 3, light=None), 0) == ""


def case(name: str, least: int | None) -> Any:
    return {**CASE, "id": name, "compulsory_bytes": least}


def test_the_case_that_is_farthest_decides() -> None:
    device = find_device("h200")
    cases = [case("a", 480_000_000), case("b", 480_000_000)]  # 100 us each at 4.8 TB/s
    assert percent_of_light(device, cases, (), {"a": 105.0, "b": 125.0}) == pytest.approx(80.0)
    assert percent_of_light(device, cases, (), {"a": 105.0}) is None
    assert percent_of_light(device, [cases[0], case("c", None)], (), {"a": 105.0, "c": 1.0}) is None  # access depends on data
    assert percent_of_light(device, [], (), {}) is None


def test_products_of_matrices_take_their_time_too() -> None:
    class Product:
        case, dot_flops, dtype = "a", 989.5e12 * 200e-6, "float16"  # 200 us of the tensor cores

    found = percent_of_light(find_device("h200"), [case("a", 480_000_000)], (Product(),), {"a": 250.0})  # pyright: ignore
    assert found == pytest.approx(80.0, rel=0.01)


TINY = make_work(case="a", dram_bytes=1e4, moved_bytes=1e4, flops=100, dot_flops=0, arithmetic=100, functions={})
LARGE = make_work(case="b", dram_bytes=1e9, moved_bytes=1e9, flops=100, dot_flops=0, arithmetic=100, functions={})


def test_launching_must_take_longer_than_the_work_of_every_timing_case() -> None:
    h200, (a, b) = find_device("h200"), (case("a", 10_000), case("b", 10**9))
    said = only_launches(h200, [a], [TINY], {})
    assert said.startswith("launching it takes about 3 µs, longer than its work on every timing case")
    assert only_launches(h200, [a], [TINY], {"a": 4.0}) == said
    assert only_launches(h200, [a], [TINY], {"a": 4.5}) == "", "it was measured to take longer than a launch"
    assert only_launches(h200, [a], [TINY, TINY], {"a": 8.0}) == said, "two launches in each call"
    assert only_launches(h200, [a, b], [TINY, LARGE], {}) == ""
    assert only_launches(h200, [a, b], [TINY], {}) == "", "nothing is known of one case"
    assert only_launches(h200, [], [], {}) == ""


def test_launches_end_a_search_by_seconds_at_once() -> None:
    assert why_stop(budget(), Progress(0, 0, 0, launches="so"), 0) == "so"
    assert why_stop(budget(trials=20), Progress(0, 0, 0, launches="so"), 0) == "", "20 trials were asked for"
    assert why_stop(budget(), Progress(1, 1, 0, launches="so"), 0) == "", "a search of trials goes on by seconds"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"trials": 2}, "the 2 trials are used up"),
        ({"trials": 200}, "nothing is left to try"),
        ({"trials": None, "seconds": 100.0}, "nothing is left to try"),
    ],
)
def test_a_run_says_why_it_ended(world: World, more: Any, said: str) -> None:
    class Tired(FakeAuthor):
        """Writes for the original only."""

        def write(self, program: Any, *rest: Any) -> Draft:
            return super().write(program, *rest) if "BLOCK=16)" in "".join(program.texts.values()) else Draft((), exhausted=True)

    ended = world.run(world.options(**more), author=Tired())
    assert ended.reason.endswith(f"verified; {said}")
    with world.store() as store:
        from kernelband.history import runs

        assert runs.find(store, ended.run).reason == ended.reason


def test_a_run_ends_near_the_speed_of_light(world: World) -> None:
    class Light(FakeExecutor):
        """450 MB must be moved: 94 us at full rate, 500 us in the original, 100 us in the best variant."""

        def call(self, operation: str, *rest: Any, **more: Any) -> Any:
            out = super().call(operation, *rest, **more)
            if operation == "capture":
                out["cases"] = [{**CASE, "compulsory_bytes": 450_000_000}]
            return out

    def measuring(lab: FakeLab) -> Any:
        return lambda: Light(lab)

    quick = world.run(world.options(trials=None, seconds=100.0), measuring=measuring, author=FakeAuthor())
    assert "of the speed of light" in quick.reason
    asked = world.run(world.options(trials=12), measuring=measuring, author=FakeAuthor())
    assert "of the speed of light" not in asked.reason
    assert asked.counts["executed"] > quick.counts["executed"]


def test_where_there_is_no_final_no_seconds_are_kept_for_one() -> None:
    late = budget(seconds=60, elapsed=55)
    assert why_stop(late, Progress(3, 3, 1), 12, final=False) == "the 60 s are used up"


def test_a_run_that_tried_nothing_says_what_took_the_time(world: World) -> None:
    class Silent(FakeAuthor):
        """Has nothing to propose."""

        def write(self, *_: Any) -> Draft:
            return Draft((), exhausted=True)

    ended = world.run(measured=False, author=Silent())
    assert ended.counts.get("executed", 0) == 0
    assert ended.reason.startswith("nothing was tried: no strategy has a move for this kernel")
    assert longest({"capture": 40.0, "baseline": 18.0, "other": 2.0}) == (
        "recording the program's calls took 40 s, compiling and measuring the original took 18 s"
    )


def test_a_run_whose_proposals_all_fail_to_compile_says_by_what(world: World) -> None:
    class Failing(FakeAuthor):
        """Nothing else."""

        def write(self, *given: Any) -> Draft:
            draft = super().write(*given)
            return Draft(tuple(p for p in draft.proposals if p.parameters["trouble"]), exhausted=True)

    ended = world.run(measured=False, author=Failing(("compile_error",)))
    assert ended.counts.get("executed", 0) == 0
    assert ended.reason.startswith("nothing was tried: the one proposal doesn't compile, because: It does not compile;")
    ended = world.run(measured=False, author=Failing(("compile_error", "compile_error")))
    assert ended.reason.startswith("nothing was tried: none of 2 proposals compiles, 2 of them because: It does not compile;")
