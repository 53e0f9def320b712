"""What the judge asks an executor to check, and how the answers of groups become one."""

from __future__ import annotations

from kernelband.judge.check import check
from kernelband.judge.protocol import Settings
from tests.unit.judge.pools import candidate
from tests.unit.judge.simulation import SimulatedExecutor, case

RECORDED = (case("c1"), case("c2", input_sets=2), case("n1", "check", neighbour_of="c1", input_sets=1))


def asked(stress: bool) -> tuple[SimulatedExecutor, dict[str, float]]:
    """The executor, and the deadline of each group by its first case."""
    executor = SimulatedExecutor({})
    check(executor, candidate(), RECORDED, sets=None, settings=Settings(), stress=stress)
    return executor, {params["cases"][0]: deadline for _, params, deadline, _ in executor.calls}


def test_stress_is_asked_for_and_has_its_time_where_recorded_cases_are():
    plain, quick = asked(False)
    executor, slow = asked(True)
    assert not any("stress" in params for _, params, _, _ in plain.calls)
    assert all(params["stress"] for _, params, _, _ in executor.calls)
    assert slow["n1"] == quick["n1"]  # neighbours aren't stressed
    assert all(slow[c] > quick[c] + 300 for c in ("c1", "c2"))


def test_what_was_stressed_in_each_group_is_kept():
    def answer(params):
        said = {"case": params["cases"][0], "name": "zeros", "used": True, "why": None}
        return {"cases": [], "not_exercised": [], "interpreted": False, "out_of_bounds": [], "seconds": 0.0, "stress": [said]}

    found = check(SimulatedExecutor({}, check=answer), candidate(), RECORDED, sets=None, settings=Settings(), stress=True)
    assert {s["case"] for s in found["stress"]} == {"c1", "c2", "n1"}
