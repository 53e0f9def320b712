"""An elementwise kernel whose last block is never full."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def scale_kernel(x_ptr, y_ptr, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x * factor, mask=mask)


def scale(x, factor):
    y = torch.empty_like(x)
    n = x.numel()
    scale_kernel[(triton.cdiv(n, 256),)](x, y, factor, n, BLOCK=256)
    return y


def test_scale():
    torch.manual_seed(0)
    for n in (1000, 4096):
        x = torch.randn(n, device=DEVICE)
        torch.testing.assert_close(scale(x, 2.0), x * 2.0)


def bench():
    for n in (1 << 24, 1 << 25):
        scale(torch.randn(n, device=DEVICE), 2.0)
