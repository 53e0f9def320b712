"""What a launch moves: the interpreter's count of the source, less what the machine code has no instruction for."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from kernelband.hardware.find import find_device
from kernelband.hardware.work import MOST_AT_ONCE, works
from tests.unit.hardware.conftest import make_work

H200 = find_device("h200")
KERNEL = {"module": "k", "path": "k.py", "qualname": "kernel"}


def line(number, moved, kind="load"):
    return {
        "path": "k.py",
        "line": number,
        "kind": kind,
        "masked": True,
        "mask_always_true": True,
        "sectors_ratio": 1.0,
        "moved_bytes": moved,
    }


def moved(lines, accesses=None):
    facts = {**make_work().facts}
    if accesses is not None:
        facts["accesses"] = accesses
    launch = {
        "kernel": KERNEL,
        "tensors": {},
        "loads_bytes": sum(x["moved_bytes"] for x in lines if x["kind"] == "load"),
        "stores_bytes": sum(x["moved_bytes"] for x in lines if x["kind"] == "store"),
        "flops": 0,
        "dot_flops": 0,
        "sectors_per_request": 1.0,
        "lines": lines,
    }
    case = {"id": "c", "launches": [launch], "compulsory_bytes": 10}
    spec = {"kernel": KERNEL, "key": "code", "case": "c", "grid": [1, 1, 1]}
    (work,) = works([spec], {"code": facts}, [case])
    return work.moved_bytes


def test_a_line_that_the_compiler_merged_into_another_moves_nothing():
    assert moved([line(5, 100), line(6, 100), line(7, 100, "store")]) == 200


def test_every_line_with_an_instruction_counts():
    assert moved([line(5, 100), line(7, 100, "store")]) == 200


def launch(loads, stores, **more):
    return {"kernel": KERNEL, "tensors": {}, "loads_bytes": loads, "stores_bytes": stores, "flops": 0, "dot_flops": 0, **more}


def least(case, counted, count=1):
    """Bytes that memory must move for a variant, by what was counted of each of its launches."""
    spec = {"kernel": KERNEL, "key": "code", "case": "c", "grid": [1, 1, 1]}
    found = works([spec] * count, {"code": make_work().facts}, [case], None if counted is None else {"c": counted})
    return [work.dram_bytes for work in found]


COUNTS = st.integers(1, 400)


@given(st.lists(st.tuples(COUNTS, COUNTS), min_size=2, max_size=5), COUNTS)
def test_what_memory_must_move_is_the_same_for_every_variant_that_touches_as_much(variants, touched):
    """Of one copy some variants moved 563 MB and others 1.08 GB, for the number that a sample happened to count."""
    own = launch(touched, touched, unique_bytes=2 * touched, sectors_per_request=1.0)
    case = {"id": "c", "launches": [own], "compulsory_bytes": 500}
    (original,) = least(case, None)
    for loads, stores in variants:
        (found,) = least(case, [launch(loads, stores, unique_bytes=loads + stores, sectors_per_request=1.0)])
        assert found == original or loads + stores < 0.75 * original


def test_what_the_launch_does_not_touch_of_its_tensors_need_not_move():
    half = launch(200, 200, unique_bytes=400, sectors_per_request=1.0)
    again = launch(600, 200, unique_bytes=400, sectors_per_request=1.0)  # it reads the same three times
    for own in (half, again):
        case = {"id": "c", "launches": [own], "compulsory_bytes": 1000}
        assert least(case, None) == least(case, [half]) == least(case, [again]) == [400]


def test_launches_that_the_original_does_not_have_move_what_they_touch():
    case = {"id": "c", "launches": [launch(500, 500, unique_bytes=1000, sectors_per_request=1.0)], "compulsory_bytes": 1000}
    parts = [launch(500, 600, unique_bytes=1100, sectors_per_request=1.0), launch(100, 10, unique_bytes=110, sectors_per_request=1.0)]
    assert least(case, parts, 2) == [1100, 110]


@pytest.mark.parametrize("more", [{}, {"arithmetic": 7, "functions": {"exp": 3}}])
def test_arithmetic_is_that_of_the_capture_where_it_counted_any(more):
    launch = {"kernel": KERNEL, "tensors": {}, "loads_bytes": 1, "stores_bytes": 1, "flops": 9, "dot_flops": 0}
    case = {"id": "c", "launches": [{**launch, "sectors_per_request": 1.0, **more}], "compulsory_bytes": 10}
    (work,) = works([{"kernel": KERNEL, "key": "code", "case": "c", "grid": [1, 1, 1]}], {"code": make_work().facts}, [case])
    assert (work.arithmetic, work.functions) == (more.get("arithmetic"), more.get("functions"))


def test_unknown_lines_take_nothing_away():
    unplaced = [{"opcode": "LDG", "space": "global", "store": False, "bits": 32, "count": 1, "path": None, "line": None}]
    assert moved([line(5, 100), line(6, 100)], unplaced) == 200
    elsewhere = [{**unplaced[0], "path": "other.py", "line": 5}]
    assert moved([line(5, 100), line(6, 100)], elsewhere) == 200
    assert moved([line(5, 100), line(6, 100)], []) == 200


def test_bytes_in_flight_are_of_the_programs_that_the_grid_has(work):
    few, many = work(programs=264, width=128, loads=1, warps=1), work(programs=10**6, width=128, loads=1, warps=1)
    assert few.in_flight(H200) == 2 * 32 * 16  # two programs of a warp, 16 bytes a thread
    assert many.in_flight(H200) == 32 * 32 * 16  # all that fit
    assert work(programs=7, width=128, loads=1, warps=1).in_flight(H200) == 32 * 16


def test_bytes_in_flight_are_of_the_line_that_loads_most(work):
    lines = [{**work().facts["accesses"][0], "count": count, "bits": bits, "line": line} for count, bits, line in ((2, 128, 5), (9, 16, 8))]
    two = evolve(work(programs=132, warps=1), facts={**work(warps=1).facts, "accesses": lines})
    assert two.in_flight(H200) == 32 * 32
    assert work(programs=132, warps=1, loads=50).in_flight(H200) == 32 * MOST_AT_ONCE
    assert evolve(two, facts={**two.facts, "accesses": []}).in_flight(H200) == 32 * MOST_AT_ONCE
