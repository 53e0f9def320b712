"""Which elements a sampled run gives a value to, and what becomes of the others."""

from __future__ import annotations

import torch


def written(mixed, tensor):
    unknown = mixed.machine.memory.unknown(tensor)
    return torch.ones(tensor.shape, dtype=torch.bool) if unknown is None else ~unknown


def run(mixed, n=256 * 10, programs=3):
    x = torch.ones(n, device="cuda")
    with mixed.observe(programs=programs):
        return x, mixed.module.run_add(x, x)


def test_only_what_sampled_programs_wrote_is_known(program):
    mixed = program("mixed")
    x, out = run(mixed)
    known = written(mixed, out).reshape(10, 256)
    assert known.all(1).sum() == 3
    assert known[0].all()
    assert known[9].all()
    assert not known.any(1)[~known.all(1)].any()
    assert torch.equal(out[written(mixed, out)], torch.full((768,), 2.0))
    assert mixed.machine.memory.unknown(x) is None


def test_a_complete_run_knows_everything(program):
    mixed = program("mixed")
    _, out = run(mixed, programs=0)
    assert mixed.machine.memory.unknown(out) is None


def test_what_follows_from_unknown_elements_is_unknown(program):
    mixed = program("mixed")
    x, out = run(mixed)
    known = written(mixed, out)
    assert torch.equal(written(mixed, out.to(torch.float16)), known)
    assert torch.equal(written(mixed, out * 2 + x), known)
    assert torch.equal(written(mixed, out.view(10, 256).contiguous()), known.view(10, 256))
    assert torch.equal(written(mixed, out.view(10, 256)[1:, ::2]), known.view(10, 256)[1:, ::2])
    assert not written(mixed, out.sum()).any()
    assert not written(mixed, out.flip(0)).any()
    assert written(mixed, torch.zeros_like(out)).all()
    target = torch.zeros(2560, device="cuda")
    target.copy_(out)
    assert torch.equal(written(mixed, target), known)
    target.zero_()
    assert written(mixed, target).all()


def test_writing_into_known_tensors(program):
    mixed = program("mixed")
    x, out = run(mixed)
    known = written(mixed, out)
    total = torch.zeros(2560, device="cuda")
    total += out
    assert torch.equal(written(mixed, total), known)
    given = torch.zeros(2560, device="cuda")
    torch.add(out, x, out=given)
    assert torch.equal(written(mixed, given), known)
    target = torch.zeros(2, 2560, device="cuda")
    target[0] = out
    assert not written(mixed, target).any()
    target = torch.zeros(2, 2560, device="cuda")
    target[0] = x
    assert written(mixed, target).all()


def test_a_launch_with_atomics_that_takes_too_long_is_unknown(program, monkeypatch):
    mixed = program("mixed")
    monkeypatch.setattr("kernelband_worker.cpu.machine._ATOMIC_SECONDS", 0.0)
    x, total = torch.ones(640, device="cuda"), torch.zeros(1, device="cuda")
    with mixed.observe(programs=4):
        mixed.module.count[(10,)](x, total, BLOCK=64)
    assert mixed.events[0].traffic.sampled
    assert mixed.machine.memory.unknown(total).all()


def test_a_kernel_that_reads_unknown_elements_writes_unknown_ones(program):
    mixed = program("mixed")
    x, out = run(mixed)
    known = written(mixed, out).reshape(10, 256).all(1)
    with mixed.observe(programs=0):
        again = mixed.module.run_add(out, x)
    assert torch.equal(written(mixed, again).reshape(10, 256).all(1), known)


def test_in_place(program):
    mixed = program("mixed")
    x = torch.ones(2560, device="cuda")
    with mixed.observe(programs=3):
        mixed.module.add[(10,)](x, x, x, 2560, BLOCK=256)
    known = written(mixed, x)
    assert known.sum() == 768
    assert torch.equal(x[known], torch.full((768,), 2.0))


def test_atomics_run_every_program(program):
    mixed = program("mixed")
    x, total = torch.ones(640, device="cuda"), torch.zeros(1, device="cuda")
    with mixed.observe(programs=4):
        mixed.module.count[(10,)](x, total, BLOCK=64)
    assert total.item() == 640
    assert mixed.machine.memory.unknown(total) is None
    assert mixed.events[0].traffic.programs == 10


def test_an_address_that_is_given_away_again_starts_known(program):
    mixed = program("mixed")
    for _ in range(3):
        _, out = run(mixed)
        del out
    fresh = [torch.zeros(2560, device="cuda") for _ in range(4)]
    assert all(mixed.machine.memory.unknown(tensor) is None for tensor in fresh)
