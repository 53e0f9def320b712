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
