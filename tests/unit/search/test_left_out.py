"""A case for which the original takes too long to compile: the run, and what resumes it, do without."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest
from attrs import evolve

from kernelband.search.resume import options_of

from .fake_lab import CASE, FakeExecutor, FakeLab
from .world import World, rows

SAID = "Compiling the original takes too long where it gets x: float32[999]: that is left out."


def several(lab: FakeLab, checked: set[str], after: int | None) -> Any:
    """An executor that captures two cases, keeps which are checked, and is interrupted after so many checks."""

    class Several(FakeExecutor):
        def call(self, operation: str, params: Any, *rest: Any, **more: Any) -> Any:
            out = super().call(operation, params, *rest, **more)
            if operation == "capture":
                out["cases"] = [CASE, {**CASE, "id": "late", "arguments": "x: float32[999]"}]
            if operation == "check":
                checked.update(params["cases"])
                checks.append(operation)
                if len(checks) == after:
                    raise KeyboardInterrupt
            return out

    checks: list[str] = []
    return lambda: Several(lab)


def building(lab: FakeLab) -> Any:
    whole = lab.build

    def build(files: Any, cases: Any) -> Any:
        if files is not None:
            return whole(files, cases)
        out: Future[Any] = Future()
        out.set_result(evolve(whole(files, cases).result(), late=frozenset({"late"})))
        return out

    return build


@pytest.mark.parametrize("after", [None, 3])
def test_what_takes_too_long_to_compile_is_left_out_by_the_run_and_by_what_resumes_it(world: World, after: int | None) -> None:
    checked: set[str] = set()
    ended = world.run(measured=False, measuring=lambda lab: several(lab, checked, after), build=building)
    assert ended.state == ("finished" if after is None else "interrupted")
    if after is not None:  # on a machine that is quicker now
        ended = world.run(
            options_of(world.db, ended.run), measured=False, resume=ended.run, measuring=lambda lab: several(lab, checked, None)
        )
    assert ended.counts["executed"] > 0
    assert checked == {CASE["id"]}
    assert SAID in [event.text for event in world.named("noted")]
    assert [(c.id, c.role) for c in rows(world, ended.run)["cases"]] == [(CASE["id"], "time"), ("late", "left_out")]
