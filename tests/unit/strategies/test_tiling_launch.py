"""``more_programs`` and ``register_cap``: the edits, and where there is no reason for them."""

from __future__ import annotations

import attrs
import pytest

from kernelband.hardware.occupancy import occupancy
from tests.unit.strategies.order_samples import TEXTS, captured
from tests.unit.strategies.samples import H200, made_by, program_of
from tests.unit.strategies.test_tiling import changed, proposals


def few(tmp_path, name, grid, **more):
    program = program_of(TEXTS[name], tmp_path, f"{name}.py")
    given = captured(name, program, **more)
    given.cases[0]["launches"][0]["grid"] = grid
    return program, made_by("more_programs", program, given)


def test_more_programs_shrinks_the_blocks_that_the_grid_counts(tmp_path):
    program, found = few(tmp_path, "batched", [4, 8, 1])
    assert found[0].key == "tiling.more_programs(BLOCK_M=16,num_warps=2)"
    assert changed(program, found[0]) == [
        "-    bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64), B)](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)",
        "+    bmm_kernel[(triton.cdiv(M, 16), triton.cdiv(N, 64), B)](a, b, c, M, N, K, BLOCK_M=16, BLOCK_N=64, BLOCK_K=32, num_warps=2)",
    ]
    assert "32 programs leave 100 of 132 multiprocessors idle" in found[0].why
    assert found[0].numerics == "reassociates"
    assert all("BLOCK_K" not in p.parameters for p in found)  # the loop's block makes no program
    assert all(p.parameters.get("BLOCK_M", 16) >= 16 for p in found)


def test_more_programs_of_an_elementwise_kernel_is_exact(tmp_path):
    _, found = few(tmp_path, "scale_2d", [2, 2, 1])
    assert {p.numerics for p in found} == {"exact"}
    assert all(p.parameters.get("BLOCK_C", 64) >= 32 for p in found)


@pytest.mark.parametrize(("name", "grid"), [("batched", [12, 11, 1]), ("rms_norm", [4, 1, 1]), ("persistent_matmul", [3, 1, 1])])
def test_more_programs_wants_idle_multiprocessors_and_a_block_that_makes_programs(name, grid, tmp_path):
    assert few(tmp_path, name, grid)[1] == []


def compiled(program, **facts):
    place = program.kernel.place
    kernel = {"module": "sample", "path": place.path, "qualname": place.qualname}
    return ({"kernel": kernel, "spill_store_bytes": 0, "shared_bytes": 1024, "num_warps": 4} | facts,)


def capped(name, tmp_path, *, text=None, **facts):
    program = program_of(text or TEXTS[name], tmp_path, f"{name}.py")
    more = {k: facts.pop(k) for k in ("device", "triton") if k in facts}
    return proposals(name, tmp_path, text=text, move="register_cap", compiled=compiled(program, **facts), **more)


def test_a_cap_makes_room_for_one_more_program(tmp_path):
    program, found = capped("rms_norm", tmp_path, registers=132)
    assert [p.key for p in found] == ["tiling.register_cap(maxnreg=128)", "tiling.register_cap(maxnreg=96)"][: len(found)]
    assert changed(program, found[0])[-1].endswith("BLOCK=triton.next_power_of_2(n_cols), maxnreg=128)")
    assert found[0].numerics == "exact"
    for p in found:
        assert occupancy(H200, p.parameters["maxnreg"], 1024, 4).programs > occupancy(H200, 132, 1024, 4).programs
        assert p.parameters["maxnreg"] >= 0.7 * 132


@pytest.mark.parametrize(
    "facts",
    [
        {"registers": 32},  # warps are the limit
        {"registers": 132, "spill_store_bytes": 16},
        {"registers": 132, "shared_bytes": 200 * 1024},  # shared memory is
        {"registers": 132, "triton": (3, 1)},
        {"registers": 132, "device": attrs.evolve(H200, backend="hip", arch="gfx942", warp_size=64)},
        {"registers": 132, "text": TEXTS["rms_norm"].replace("(n_cols))", "(n_cols), maxnreg=64)")},
        {"registers": None},
    ],
)
def test_a_cap_needs_registers_as_the_limit(facts, tmp_path):
    assert capped("rms_norm", tmp_path, **facts)[1] == []
