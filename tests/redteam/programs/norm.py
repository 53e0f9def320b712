"""The sum of squares in two kernels, with a scratch of partial sums between them."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def partial_kernel(x_ptr, scratch_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(scratch_ptr + pid, tl.sum(x * x, axis=0))


@triton.jit
def finish_kernel(scratch_ptr, out_ptr, count, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    partial = tl.load(scratch_ptr + places, mask=places < count, other=0.0)
    tl.store(out_ptr, tl.sqrt(tl.sum(partial, axis=0)))


def norm(x):
    x = x.contiguous()
    n = x.numel()
    count = triton.cdiv(n, 512)
    scratch = torch.empty((triton.next_power_of_2(count),), device=x.device, dtype=torch.float32)
    out = torch.empty((1,), device=x.device, dtype=torch.float32)
    partial_kernel[(count,)](x, scratch, n, BLOCK=512)
    finish_kernel[(1,)](scratch, out, count, BLOCK=triton.next_power_of_2(count))
    return out


def test_norm():
    torch.manual_seed(0)
    for n in (3000, 5000):
        x = torch.randn(n, device=DEVICE)
        torch.testing.assert_close(norm(x)[0], x.norm(), atol=1e-3, rtol=1e-5)


def bench():
    for n in (1 << 22, 1 << 21):
        norm(torch.randn(n, device=DEVICE))
