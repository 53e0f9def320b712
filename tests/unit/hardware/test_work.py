"""What a launch moves: the interpreter's count of the source, less what the machine code has no instruction for."""

from __future__ import annotations

import pytest

from kernelband.hardware.work import works
from tests.unit.hardware.conftest import make_work

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
