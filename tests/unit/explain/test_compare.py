from __future__ import annotations

from kernelband.explain.compare import explain_measured, explain_predicted
from kernelband.hardware import find_device
from tests.unit.hardware.conftest import make_work

H100 = find_device("h100")
COPY = {"dram_bytes": 1e9, "moved_bytes": 1e9, "flops": 1e8, "dot_flops": 0, "sectors": 1.0}


def test_gains_and_costs_are_the_facts_that_moved():
    after = make_work(code="b", spills=300, **{**COPY, "dram_bytes": 5e8, "moved_bytes": 5e8})
    found = explain_measured(H100, [make_work(**COPY)], [after])
    assert found.headline.startswith("Measured faster, with fewer bytes")
    assert len(found.gains) == 2
    assert found.costs == ("registers spill: 0 bytes per thread before, 600 after",)
    assert "- against it: registers spill" in found.markdown()


def test_no_fact_no_claim():
    same = make_work(**COPY)
    assert "its cause isn't known" in explain_measured(H100, [same], [make_work(code="b", **COPY)]).headline
    assert explain_predicted(H100, [same], [same]).headline.startswith("Predicted unclear: it compiles to the same machine code")


def test_a_prediction_never_shows_a_ratio_or_a_time():
    after = make_work(code="b", width=128, **{**COPY, "dram_bytes": 3e8, "moved_bytes": 3e8})
    text = explain_predicted(H100, [make_work(width=16, **COPY)], [after]).markdown()
    assert text.startswith("Predicted likely faster: ")
    assert " us" not in text
    assert "times faster" not in text
    assert "x faster" not in text


def test_only_costs_are_not_turned_into_a_reason():
    after = make_work(code="b", width=16, **COPY)
    assert "no fact that is read here explains it" in explain_measured(H100, [make_work(**COPY)], [after]).headline
