from __future__ import annotations

import pytest
import torch

from kernelband_worker.errors import OperationFailed


def test_an_access_past_the_end_is_a_diagnostic_and_touches_nothing(program):
    mixed = program("mixed")
    behind = torch.full((128,), 7.0, device="cuda")
    x = behind[:50].clone()
    out = mixed.module.run_past_the_end(x)
    assert torch.equal(out, x + 1)
    load, store = mixed.machine.out_of_bounds
    assert load["line"] == mixed.line("x = tl.load(x_ptr + offs)\n".strip())
    assert load["path"] == mixed.served.path("mixed.py")
    assert load["message"] == (
        "load up to 56 bytes past the end of x_ptr (200 bytes): 14 elements of 4 bytes in program (0, 0, 0) of past_the_end"
    )
    assert store["line"] == load["line"] + 1
    mixed.module.run_past_the_end(x)
    assert len(mixed.machine.out_of_bounds) == 2  # once per line


def test_before_the_start(program):
    mixed = program("mixed")
    x, out = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    mixed.module.strided[(1,)](x, out, -1, BLOCK=32)
    assert out.tolist() == [1.0] + [0.0] * 63
    assert "124 bytes before the start of x_ptr" in mixed.machine.out_of_bounds[0]["message"]


def test_a_view_may_reach_into_its_storage(program):
    mixed = program("mixed")
    whole = torch.arange(64.0, device="cuda")
    out = torch.zeros(32, device="cuda")
    mixed.module.strided[(1,)](whole[:1], out, 2, BLOCK=32)
    assert mixed.machine.out_of_bounds == []
    assert torch.equal(out, whole[::2])


def test_what_the_interpreter_does_not_know_is_said_with_its_line(program):
    mixed = program("mixed")
    with pytest.raises(OperationFailed, match="assembly can't be run without a GPU") as failed:
        mixed.module.assembly[(1,)](torch.ones(32, device="cuda"), BLOCK=32)
    assert failed.value.kind == "unsupported"
    assert failed.value.data["line"] == mixed.line("inline_asm_elementwise")
    # and the next launch is not harmed
    mixed.module.run_add(torch.ones(8, device="cuda"), torch.ones(8, device="cuda"))


def test_a_kernel_that_waits_for_another_program_ends(program, monkeypatch):
    mixed = program("mixed")
    monkeypatch.setattr("kernelband_worker.cpu.guard._SPINS", 100)
    with pytest.raises(OperationFailed, match="waits in program"):
        mixed.module.waits[(2,)](torch.zeros(1, dtype=torch.int32, device="cuda"))


def test_a_wrong_kernel_is_said_with_its_line(program):
    mixed = program("mixed")
    x = torch.ones(24, device="cuda")
    with pytest.raises(OperationFailed, match="scans fails in Triton's interpreter at line") as failed:
        mixed.module.scans[(1,)](x, x, x, BLOCK=24)  # 24 is no power of two
    assert failed.value.data["line"] == mixed.line("def scans") + 1


def test_a_mask_with_a_number_in_it_hides_what_it_hides(program):
    shifted = program("shifted")
    x = torch.arange(64.0, device="cuda").reshape(2, 32)
    with shifted.observe():
        y = shifted.module.shift(x).cpu()
    assert torch.equal(y[0, 1:], torch.zeros(2, 32))
    assert torch.equal(y[1, 1], x[0].cpu())
    assert shifted.machine.out_of_bounds == []
    traffic = shifted.events[0].traffic
    assert traffic.loads_bytes == 3 * 32 * 4  # three of six rows are there
