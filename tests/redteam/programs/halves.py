"""Two halves on two streams that wait for the caller's stream and are waited for."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def square_kernel(x_ptr, y_ptr, first, last, BLOCK: tl.constexpr):
    offsets = first + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < last
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, x * x, mask=mask)


def square(x):
    y = torch.empty_like(x)
    n = x.numel()
    middle = n // 2
    here = torch.cuda.current_stream()
    side = torch.cuda.Stream()
    side.wait_stream(here)
    with torch.cuda.stream(side):
        square_kernel[(triton.cdiv(middle, 256),)](x, y, 0, middle, BLOCK=256)
    square_kernel[(triton.cdiv(n - middle, 256),)](x, y, middle, n, BLOCK=256)
    here.wait_stream(side)
    return y


def test_square():
    torch.manual_seed(0)
    for n in (1000, 2048):
        x = torch.randn(n, device=DEVICE)
        torch.testing.assert_close(square(x), x * x)


def bench():
    for n in (1 << 24, 1 << 25):
        square(torch.randn(n, device=DEVICE))
