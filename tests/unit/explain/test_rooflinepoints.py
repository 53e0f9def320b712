"""Where variants stand in a roofline: counted work over measured time, each with its source, and words in place of what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from kernelband.explain.kept import Kept
from kernelband.explain.rooflinepoints import Point, RooflineView, roofline_view
from kernelband.history.records import CaseRow, FinalRow, MeasurementRow, TrialRow
from kernelband.history.values import works_to_json
from tests.unit.hardware.conftest import make_work
from tests.unit.history.rows import run_row, trial_row, variant_row

RUN = "a1b2c3d4"
SMALL = {"case": "c1", "dram_bytes": 4.8e7, "moved_bytes": 4.8e7, "flops": 1e7, "dot_flops": 0.0}
LARGE = {"case": "c2", "dram_bytes": 4.8e8, "moved_bytes": 4.8e8, "flops": 9.6e8, "dot_flops": 0.0}
RIGHT = {"correctness": "passed", "fault": "none", "integrity": "ok"}


def case(number: int, **more: Any) -> CaseRow:
    facts = {"id": f"c{number}", "role": "time", "arguments": f"n: {number}", "function": {"qualname": "f"}, "other_kernels": [], **more}
    return CaseRow(RUN, facts["id"], number, facts["role"], facts)


def took(us: float, stage: str = "final", case_id: str = "c2") -> MeasurementRow:
    return MeasurementRow(RUN, 0, stage, 0, case_id, "events", "device", 0, 0, us, us, None, superseded=False)


def timed(us: float, **more: Any) -> dict[str, Any]:
    return {**RIGHT, "cases": [{"case": "c1", "device_after_us": us / 8}, {"case": "c2", "device_after_us": us}], **more}


def kept(
    works: dict[int, list[dict[str, Any]] | None],
    *,
    results: dict[int, dict[str, Any]] | None = None,
    finals: dict[int, dict[str, Any]] | None = None,
    **more: Any,
) -> Kept:
    """A run on an H200 whose variants launch this; results are of screening. Without them all was right, and not timed."""
    variants, facts = {}, {}
    for number, launches in works.items():
        made = [make_work(**w) for w in launches or ()]
        variants[number] = evolve(variant_row(RUN, number), forecast={} if launches is None else {"launches": works_to_json(made)})
        facts[number] = {w.facts["key"]: w.facts for w in made}
    tried = tuple(evolve(trial_row(RUN, n), result=(results or {}).get(n, {**RIGHT, "cases": []})) for n in works if n)
    given: dict[str, Any] = {
        "run": run_row(RUN, device="NVIDIA H200 SXM", state="finished"),
        "cases": (case(1), case(2)),
        "variants": variants,
        "trials": tried,
        "finals": {n: FinalRow(RUN, n, True, 1.2, 1.1, 1.3, r, seconds=1.0) for n, r in (finals or {}).items()},
        "measurements": (took(240.0), took(30.0, case_id="c1")),
        "facts": facts,
        "pulls": (),
        "arms": (),
        "decisions": (),
        "base": {},
    }
    return Kept(**{**given, **more})


def view(found: Kept) -> RooflineView:
    return roofline_view(found, found.trials)


def point(found: Kept, variant: int) -> Point:
    return next(p for p in view(found).points if p.variant == variant)


def test_a_rate_is_counted_work_over_measured_time() -> None:
    found = kept({0: [SMALL, LARGE], 1: [SMALL, LARGE]}, results={1: timed(300.0)}, finals={1: timed(200.0)})
    shown = view(found)
    assert (shown.case, shown.case_name, shown.reason) == ("c2", "n=2", "")
    assert shown.device is not None
    assert (shown.device.name, shown.device.source, shown.device.dram_bytes_per_s) == ("NVIDIA H200 SXM", "data sheet", 4.8e12)
    first, one = shown.points
    assert (first.how, first.stage, first.device_us) == ("measured", "final", 240.0)
    assert first.intensity_flop_per_byte == pytest.approx(2.0)
    assert first.flops_per_s == pytest.approx(9.6e8 / 240e-6)
    assert first.dram_bytes_per_s == pytest.approx(4.8e8 / 240e-6)
    assert first.peak_flops_per_s == shown.device.fp32_flops_per_s
    assert (one.stage, one.device_us, one.reason) == ("final", 200.0, "")


def test_what_was_only_screened_says_so() -> None:
    found = kept({0: [LARGE], 1: [LARGE]}, results={1: timed(300.0)})
    assert (point(found, 1).stage, point(found, 1).device_us) == ("screening", 300.0)


def test_of_several_launches_the_work_of_all_counts() -> None:
    found = kept({0: [LARGE], 1: [LARGE, LARGE]}, results={1: timed(300.0)})
    assert point(found, 1).flops_per_s == pytest.approx(2 * 9.6e8 / 300e-6)
    assert point(found, 1).intensity_flop_per_byte == pytest.approx(2.0)


@pytest.mark.parametrize("wrong", [{"correctness": "wrong"}, {"integrity": "rejected"}, {"fault": "crashed"}])
def test_what_is_not_right_has_no_rate(wrong: dict[str, Any]) -> None:
    screened = point(kept({0: [LARGE], 1: [LARGE]}, results={1: timed(300.0, **wrong)}), 1)
    refused = point(kept({0: [LARGE], 1: [LARGE]}, results={1: timed(300.0)}, finals={1: timed(200.0, **wrong)}), 1)
    for p in (screened, refused):
        assert (p.how, p.stage, p.device_us, p.flops_per_s) == ("predicted", None, None, None)
        assert "no time" in p.reason


def test_a_call_that_launches_other_kernels_has_no_rate() -> None:
    found = kept({0: [LARGE]}, cases=(case(2, other_kernels=["fill"]),))
    assert point(found, 0).device_us is None
    assert point(found, 0).intensity_flop_per_byte == pytest.approx(2.0)
    assert "launches other kernels too" in point(found, 0).reason


def test_operations_that_were_not_counted_leave_the_bytes() -> None:
    p = point(kept({0: [{**LARGE, "flops": None, "dot_flops": None}]}), 0)
    assert (p.intensity_flop_per_byte, p.flops_per_s) == (None, None)
    assert p.dram_bytes_per_s == pytest.approx(4.8e8 / 240e-6)
    assert "weren't counted" in p.reason


def test_a_copy_has_no_place_on_a_logarithmic_axis() -> None:
    p = point(kept({0: [{**LARGE, "flops": 0.0}]}), 0)
    assert (p.intensity_flop_per_byte, p.flops_per_s) == (0.0, 0.0)
    assert "no floating-point operations" in p.reason


def test_of_several_cases_one_that_was_counted_is_shown() -> None:
    found = kept({0: [SMALL, {**LARGE, "flops": None}]})
    assert view(found).case == "c1"


@pytest.mark.parametrize("launches", [None, [], [SMALL]])
def test_a_variant_whose_launches_are_not_known_has_words(launches: list[dict[str, Any]] | None) -> None:
    p = point(kept({0: [SMALL, LARGE], 1: launches}), 1)
    assert p.intensity_flop_per_byte is None
    assert "can't be shown" in p.reason


def test_nothing_is_measured_in_a_prediction() -> None:
    predicted = run_row(RUN, device="NVIDIA H200 SXM", mode="predicted", state="finished")
    tried: tuple[TrialRow, ...] = (evolve(trial_row(RUN, 1), result=timed(300.0)),)
    found = kept({0: [LARGE], 1: [LARGE]}, run=predicted, measurements=(), trials=tried)
    for p in view(found).points:
        assert (p.how, p.stage, p.device_us, p.flops_per_s) == ("predicted", None, None, None)
        assert p.reason
        assert p.limited_by == "memory"
