from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl


def pointers_are_there():
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    return version <= (3, 6)


def test_block_pointers_or_the_sentence_that_they_are_gone(program):
    blocks = program("blocks")
    x = torch.randn(40, 100, device="cuda")
    out = torch.empty_like(x)
    if pointers_are_there():
        blocks.module.block_pointers[(3,)](x, out, 40, 100, BLOCK=16)
        assert torch.equal(out, x * 2)
        assert blocks.machine.out_of_bounds == []
    else:
        with pytest.raises(Exception, match="block_pointers can't be run without a GPU") as failed:
            blocks.module.block_pointers[(3,)](x, out, 40, 100, BLOCK=16)
        assert failed.value.data["line"] == blocks.line("x = tl.make_block_ptr")


@pytest.mark.skipif(not hasattr(tl, "make_tensor_descriptor"), reason="this Triton has no tensor descriptors")
def test_tensor_descriptors(program):
    from triton.tools.tensor_descriptor import TensorDescriptor

    blocks = program("blocks")
    x = torch.randn(40, 64, device="cuda")
    out, other = torch.empty_like(x), torch.empty_like(x)
    with blocks.observe(programs=0):
        blocks.module.host_descriptor[(3,)](
            TensorDescriptor.from_tensor(x, [16, 64]), TensorDescriptor.from_tensor(out, [16, 64]), BLOCK=16
        )
        blocks.module.device_descriptor[(3,)](x, other, 40, 64, BLOCK=16)
    assert torch.equal(out, x * 2)
    assert torch.equal(other, x * 2)
    assert [event.traffic.unique_stores_bytes for event in blocks.events] == [40 * 64 * 4] * 2
    assert not any(access.masked for event in blocks.events for access in event.traffic.accesses)
