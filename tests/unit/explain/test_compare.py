from __future__ import annotations

from kernelband.explain.compare import Step, because, explain_measured, explain_predicted, measured, predicted
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


def test_a_childs_reason_is_not_its_parents():
    parents, own, cost = "fewer bytes", "wider accesses", "registers spill"
    known, nothing, lost = Step(3, (own,), (cost,)), Step(3, (), ()), Step(3)
    assert because("likely faster", parents, None) == parents
    assert because("likely faster", parents, known) == f"against variant 3, {own}; against the original, {parents}"
    assert because("likely slower", parents, known) == f"against variant 3, {cost}; against the original, {parents}"
    assert because("likely faster", parents, Step(3, (), (cost,))).endswith(f"against it only {cost}")
    assert because("likely faster", parents, nothing).endswith("against it no fact changed by 10 % or more")
    assert because("likely faster", parents, lost) == f"together with the edits of variant 3, {parents}"
    assert because("likely faster", own, known) == own, "the same numbers moved in the last edit alone"


def test_what_moved_against_the_parent_stands_beside_what_moved_against_the_original():
    step = Step(3, ("wider accesses",), ())
    for told in (measured(("fewer bytes",), (), step), predicted("likely faster", "fewer bytes", ("fewer bytes",), (), step)):
        assert "together with the edits of variant 3" in told.headline
        assert told.lines()[-2:] == ["Against variant 3:", "  + wider accesses"]
        assert told.markdown().endswith("\n\nAgainst variant 3:\n- wider accesses")
    same = measured(("fewer bytes",), (), Step(3, ("fewer bytes",), ()))
    assert same.lines()[-1] == "Against variant 3 the same facts changed."


def test_what_was_not_verified_is_not_called_faster():
    for gains in ((), ("fewer bytes",)):
        assert measured(gains, (), verified=False).headline.startswith("Not verified to be faster")
