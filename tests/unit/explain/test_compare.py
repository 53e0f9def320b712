from __future__ import annotations

from kernelband.explain.compare import Explanation, Step, because, measured, predicted
from kernelband.hardware import find_device
from kernelband.hardware.changes import changes
from kernelband.hardware.forecast import forecast
from kernelband.hardware.work import Work
from tests.unit.hardware.conftest import make_work

H100 = find_device("h100")
COPY = {"dram_bytes": 1e9, "moved_bytes": 1e9, "flops": 1e8, "dot_flops": 0, "sectors": 1.0}


def sides(before: Work, after: Work) -> tuple[tuple[str, ...], tuple[str, ...]]:
    moved = changes(H100, [before], [after])
    return tuple(c.sentence for c in moved if c.better), tuple(c.sentence for c in moved if not c.better)


def foretold(before: Work, after: Work) -> Explanation:
    known = forecast(H100, [before], [after])
    return predicted(known.tier, known.fact, *sides(before, after))


def test_gains_and_costs_are_the_facts_that_moved():
    after = make_work(code="b", spills=300, **{**COPY, "dram_bytes": 5e8, "moved_bytes": 5e8})
    found = measured(*sides(make_work(**COPY), after))
    assert found.headline.startswith("Measured faster, with fewer bytes")
    assert len(found.gains) == 2
    assert found.costs == ("registers spill: 0 bytes per thread before, 600 after",)
    assert "  - registers spill: 0 bytes per thread before, 600 after" in found.lines()


def test_no_fact_no_claim():
    same = make_work(**COPY)
    assert "its cause isn't known" in measured(*sides(same, make_work(code="b", **COPY))).headline
    assert foretold(same, same).headline.startswith("Predicted unclear: it compiles to the same machine code")


def test_a_prediction_never_shows_a_ratio_or_a_time():
    after = make_work(code="b", width=128, **{**COPY, "dram_bytes": 3e8, "moved_bytes": 3e8})
    text = "\n".join(foretold(make_work(width=16, **COPY), after).lines())
    assert text.startswith("Predicted likely faster: ")
    assert " us" not in text
    assert "times faster" not in text
    assert "x faster" not in text


def test_only_costs_are_not_turned_into_a_reason():
    after = make_work(code="b", width=16, **COPY)
    assert "no fact that is read here explains it" in measured(*sides(make_work(**COPY), after)).headline


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
    same = measured(("fewer bytes",), (), Step(3, ("fewer bytes",), ()))
    assert same.lines()[-1] == "Against variant 3 the same facts changed."


def test_what_was_not_verified_is_not_called_faster():
    for gains in ((), ("fewer bytes",)):
        assert measured(gains, (), verified=False).headline.startswith("Not verified to be faster")
