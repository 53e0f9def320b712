"""Inspection with a compile pool that answers from a table."""

from __future__ import annotations

import io
from concurrent.futures import Future

import pytest
from rich.console import Console

from kernelband.cli.inspection import print_inspection
from kernelband.errors import ExecutorFault
from kernelband.explain.inspect import inspect, instruction_mix, traffic_warnings
from kernelband.explain.inspectionrows import as_json
from kernelband.hardware import find_devices
from tests.unit.hardware.conftest import make_work

KERNEL = {"module": "k", "path": "/w/k.py", "qualname": "kernel"}


def tensor(storage: int) -> dict:
    return {"name": "x", "shape": [1024, 1024], "stride": [1024, 1], "dtype": "float32", "storage": storage}


def launch(key: str = "a", lines=()) -> dict:
    return {
        "kernel": KERNEL,
        "specialization": key,
        "grid": [1024, 1, 1],
        "target": True,
        "tensors": {"x": tensor(1), "y": tensor(2)},
        "loads_bytes": 4 * 2**20,
        "stores_bytes": 4 * 2**20,
        "flops": 2**20,
        "dot_flops": 0,
        "sectors_per_request": 1.0,
        "lines": list(lines),
    }


def spec(key: str = "a", case: str = "c", grid: int = 1024) -> dict:
    return {
        "kernel": KERNEL,
        "key": key,
        "case": case,
        "grid": [grid, 1, 1],
        "constants": {"BLOCK": 1024},
        "options": {"num_warps": 4},
        "scalars": {},
        "signature": {},
    }


def case(name: str = "c", lines=()) -> dict:
    return {"id": name, "arguments": "x: float32[1024, 1024]", "launches": [launch(lines=lines)], "compulsory_bytes": 8 * 2**20}


class Pool:
    def __init__(self) -> None:
        self.asked: list[dict] = []

    def submit(self, params, *, operation="compile", deadline_s=0.0):
        assert operation == "compile"
        self.asked.append(dict(params))
        future: Future = Future()
        if params["target"]["arch"] == 80:
            future.set_exception(ExecutorFault("Compiling took longer than 120 s.", fault="timeout"))
        else:
            facts = make_work().facts
            facts["warnings"] = [{"code": "narrow-access", "path": "/w/k.py", "line": 5, "message": "Each thread reads 4 bytes at a time."}]
            facts["opcodes"] = {"LDG.E.128": 2, "STG.E.128": 1, "FADD": 4, "BRA": 1}
            future.set_result(facts)
        return future


@pytest.fixture
def found():
    pool = Pool()
    captured = {"out_of_bounds": [{"path": "/w/k.py", "line": 9, "message": "reads 4 bytes past x"}]}
    specs = {"launches": [spec(grid=8), spec(), spec("b")], "host_hash": {}}
    line = {"path": "/w/k.py", "line": 7, "kind": "load", "masked": True, "mask_always_true": True, "sectors_ratio": 8.0}
    out = list(
        inspect(
            [case(lines=[line]), {**case("near"), "neighbour_of": "c"}],
            find_devices("h100,a100"),
            lambda cases: specs if cases == ["c"] else {},
            pool,
            captured=captured,
        )
    )
    assert len(pool.asked) == 4
    assert all(p["instructions"] for p in pool.asked)
    return out


def test_every_specialisation_on_every_gpu_once(found):
    assert [(i.spec["key"], i.device.key) for i in found] == [("a", "h100"), ("a", "a100"), ("b", "h100"), ("b", "a100")]
    assert found[0].spec["grid"] == [1024, 1, 1]  # of equal ones the largest grid


def test_facts_are_joined_with_traffic(found):
    seen = found[0].seen
    assert seen.work.dram_bytes == 8 * 2**20
    assert seen.roofline.us == pytest.approx(8 * 2**20 / 3350e9 * 1e6)
    assert seen.occupancy.fraction == 1.0
    assert seen.mix == {"float": 4, "global load": 2, "global store": 1, "branch": 1}
    assert seen.widths == {"loads": "16 B x2", "stores": "16 B x1"}
    assert [(w["code"], w["line"]) for w in seen.warnings] == [
        ("narrow-access", 5),
        ("uncoalesced", 7),
        ("mask-always-true", 7),
        ("out-of-bounds", 9),
    ]


def test_a_compilation_that_hangs_is_an_error_of_that_gpu_alone(found):
    assert found[1].seen is None
    assert "took longer" in (found[1].error or "")
    assert found[2].seen is not None


def test_rendering_calls_it_predicted_and_shows_warnings_once(found):
    out = io.StringIO()
    print_inspection(found, Console(file=out, width=160, color_system=None))
    text = out.getvalue()
    assert "predicted" in text
    assert text.count("reads 4 bytes past x") == 2  # one for each specialisation
    assert "took longer" in text
    rows = as_json(found)
    assert rows[0]["label"] == "predicted"
    assert rows[0]["occupancy"]["limiter"] == "warps"
    assert rows[1]["error"]
    assert "facts" not in rows[1]


def test_a_mask_that_hid_something_in_one_case_is_needed():
    line = {"path": "k.py", "line": 7, "kind": "load", "masked": True, "mask_always_true": True, "sectors_ratio": 1.0}
    other = {**line, "mask_always_true": False}
    assert [w["code"] for w in traffic_warnings([case(lines=[line])], "kernel")] == ["mask-always-true"]
    assert traffic_warnings([case(lines=[line]), case("d", lines=[other])], "kernel") == ()


def test_groups_do_not_swallow_each_other():
    mix = instruction_mix(
        {"LDGSTS.E.BYPASS.128": 1, "LDGDEPBAR": 1, "LDG.E": 1, "REDUX.MAX": 1, "RED.E.ADD": 1, "LDSM.16.M88.4": 1, "IMAD": 5}
    )
    assert mix == {
        "integer and other": 5,
        "copy global to shared": 1,
        "wait or barrier": 1,
        "global load": 1,
        "shuffle": 1,
        "atomic": 1,
        "shared memory": 1,
    }
