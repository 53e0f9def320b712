from __future__ import annotations

import numpy as np
import pytest
import torch

from kernelband_worker.cpu.machine import sample
from kernelband_worker.cpu.traffic import _distinct


def test_add_is_counted_as_by_hand(program):
    mixed = program("mixed")
    x = torch.ones(5000, device="cuda")
    with mixed.observe(programs=0):
        mixed.module.run_add(x, x.clone())
    traffic = mixed.events[0].traffic
    assert (traffic.loads_bytes, traffic.stores_bytes) == (40000, 20000)
    assert (traffic.unique_loads_bytes, traffic.unique_stores_bytes) == (40000, 20000)
    assert traffic.flops == 20 * 256
    assert traffic.sectors_per_request == 1.0
    assert not traffic.sampled
    assert all(access.masked and not access.mask_always_true for access in traffic.accesses)


@pytest.mark.parametrize("programs", [2, 8, 16])
def test_sampling_scales_to_the_grid(program, programs):
    mixed = program("mixed")
    x = torch.ones(256 * 100, device="cuda")
    with mixed.observe(programs=programs):
        mixed.module.run_add(x, x.clone())
    traffic = mixed.events[0].traffic
    assert (traffic.programs, traffic.total, traffic.sampled) == (programs, 100, True)
    assert traffic.loads_bytes == traffic.unique_loads_bytes == 2 * 4 * 25600
    assert traffic.flops == 25600


def test_a_mask_that_hides_nothing_and_a_stride_that_wastes(program):
    mixed = program("mixed")
    x, out = torch.ones(1024, device="cuda"), torch.empty(128, device="cuda")
    with mixed.observe(programs=0):
        mixed.module.strided[(4,)](x, out, 8, BLOCK=32)
    load, store = sorted(mixed.events[0].traffic.accesses, key=lambda access: access.line)
    assert load.line == mixed.line("offs * stride")
    assert (load.kind, load.masked, load.mask_always_true, load.sectors_ratio) == ("load", True, True, 8.0)
    assert (store.kind, store.masked, store.mask_always_true, store.sectors_ratio) == ("store", False, False, 1.0)


def test_a_fused_multiplication_and_addition_are_two_operations(program):
    mixed = program("mixed")
    x = torch.ones(256, device="cuda")
    with mixed.observe(programs=0):
        mixed.module.fused[(1,)](x, torch.empty_like(x), BLOCK=256)
    assert mixed.events[0].traffic.flops == 2 * 256


def test_elements_that_programs_share_are_unique_once(program):
    matmul = program("matmul_tutorial")
    a, b = torch.ones(128, 128, device="cuda"), torch.ones(128, 128, device="cuda")
    with matmul.observe(programs=0):
        matmul.module.matmul(a, b)
    traffic = matmul.events[0].traffic
    assert traffic.dot_flops == 2 * 128**3
    assert traffic.unique_loads_bytes == 2 * 128 * 128 * 4
    assert traffic.loads_bytes > 2 * traffic.unique_loads_bytes


@pytest.mark.parametrize(("total", "programs"), [(10, 0), (10, 10), (10, 64), (1, 1), (0, 4)])
def test_all_programs_where_they_are_few(total, programs):
    assert sample(total, programs) == list(range(total))


@pytest.mark.parametrize(("total", "programs"), [(1000, 64), (65, 64), (7, 3), (5, 2), (10**9, 64)])
def test_sampled_programs(total, programs):
    chosen = sample(total, programs)
    assert len(chosen) == programs
    assert chosen == sorted(set(chosen))
    assert chosen[0] == 0
    assert chosen[-1] == total - 1
    assert chosen == sample(total, programs)


def test_one_program_is_the_last():
    assert sample(9, 1) == [8]


def test_a_launch_of_long_programs_is_sampled_less_and_at_both_ends(program, monkeypatch):
    monkeypatch.setattr("kernelband_worker.cpu.machine._EFFORT", 1.0)
    mixed = program("mixed")
    x = torch.ones(256 * 100, device="cuda")
    with mixed.observe(programs=32):
        out = mixed.module.run_add(x, x)
    assert mixed.events[0].traffic.programs == 4
    unknown = mixed.machine.memory.unknown(out).reshape(100, 256)
    known = [row for row in range(100) if not unknown[row].any()]
    assert len(known) == 4
    assert (known[0], known[-1]) == (0, 99)
    assert any(25 <= row < 75 for row in known)


@pytest.mark.parametrize("addresses", [[0, 4, 8], [8, 0, 4, 8, 0], [0, 1 << 40], [1, 4, 9, 4], [4096 * i for i in range(50)] * 2])
def test_touched_elements_are_counted_once(addresses):
    assert _distinct(np.array(addresses, dtype=np.uint64), 4) == len(set(addresses))


def test_a_last_program_that_does_less_stands_for_itself_only(program):
    mixed = program("mixed")
    n = 256 * 99 + 1
    x = torch.ones(n, device="cuda")
    with mixed.observe(programs=4):
        mixed.module.run_add(x, x.clone())
    traffic = mixed.events[0].traffic
    assert (traffic.programs, traffic.total) == (4, 100)
    assert (traffic.loads_bytes, traffic.stores_bytes) == (2 * 4 * n, 4 * n)


ALL = 16 * 16  # elements of a block of 16 rows


@pytest.mark.parametrize(
    ("which", "instructions", "functions"),
    [
        ("nothing", 0, {}),
        ("exp", 0, {"exp": ALL}),
        ("exp2", 0, {"exp2": ALL}),
        ("divided by each", 3 * ALL, {"div": ALL}),
        ("divided by row", 3 * ALL + 15 * 16, {"div": 16}),  # and the maximum of each row
        ("multiply and add", ALL, {}),
        ("multiply, use and add", 2 * ALL + 15 * 16, {}),
        ("sum of products", 2 * ALL, {}),  # the products with their sum, and the addition
        ("select", 2 * ALL, {}),
        ("narrow", (0.5 + 0.5 + 0.5 + 1) * ALL, {}),
        ("product", 0, {}),
        ("libdevice", 0, {"libdevice.tanh": ALL}),
        ("indices", 0, {}),
        ("precise", 3 * ALL, {"div_rn": ALL, "sqrt_rn": ALL}),
    ],
)
def test_arithmetic_is_counted_as_a_compiler_writes_it(program, which, instructions, functions):
    mixed = program("mixed")
    x = torch.ones(16, 16, device="cuda")
    with mixed.observe():
        mixed.module.arithmetic[(1,)](x, x.clone(), torch.empty_like(x), WHICH=which, M=16, N=16)
    traffic = mixed.events[0].traffic
    assert traffic.functions == functions
    assert traffic.arithmetic == instructions


def test_functions_are_scaled_to_the_grid_with_its_ends_as_they_are(program):
    mixed = program("mixed")
    x = torch.rand(128 * 40, device="cuda")
    with mixed.observe(programs=4):
        mixed.module.run_dropout(x, 0.5, 7)
    traffic = mixed.events[0].traffic
    assert (traffic.programs, traffic.total) == (4, 40)
    assert traffic.functions == {"div": 40}  # one divisor for all elements of a program
    assert traffic.arithmetic % 40 == 0
