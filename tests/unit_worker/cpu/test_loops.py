"""A loop's variable, and the least of tensors, is a tensor where it is interpreted, as it is where it is compiled."""

from __future__ import annotations

import torch


def test_loop_variables_can_be_used_as_tensors(program):
    mixed = program("mixed")
    x = torch.ones(150, device="cuda")
    out = mixed.module.run_loops(x)
    each = torch.tensor([3.0 + 2.0 + 1.0] * 22 + [2.0 + 2.0 + 1.0] * 42)
    assert torch.equal(out[:64], each + 64 - 150 + 7)
    assert out[64] == 0.0
    assert mixed.machine.out_of_bounds == []
