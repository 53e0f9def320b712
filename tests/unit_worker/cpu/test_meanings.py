"""Python's words in a kernel mean where it is interpreted what they mean where it is compiled."""

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


def test_and_or_and_not_are_of_each_element(program):
    mixed = program("mixed")
    x = torch.arange(1.0, 7.0, device="cuda").reshape(2, 3)
    out = mixed.module.run_words(x, None)
    rows, columns = torch.arange(4)[:, None] < 2, torch.arange(4)[None, :] < 3
    wanted = [rows & columns, rows | columns, ~(rows & columns), rows & columns, torch.zeros(4, 4), torch.ones(4, 4), rows & columns]
    assert [torch.equal(got, one.float()) for got, one in zip(out, wanted)] == [True] * len(wanted)
    assert mixed.machine.out_of_bounds == []
    assert torch.equal(mixed.module.run_words(x, x)[6], torch.zeros(4, 4))


def test_what_a_constant_lets_through_is_itself_and_a_scalar_combines_with_a_block(program):
    module = program("mixed").module
    out = module.run_words_of_scalars(torch.arange(2.0, 10.0, device="cuda"), 5)
    assert out.tolist() == [[2, 3, 4, 5, 6, 7, 8, 9], [1, 1, 1, 1, 1, 0, 0, 0], [0] * 8, [1] * 8]
