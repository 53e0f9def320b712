"""Counts of small whole numbers, added up by atomics in whatever order they come."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def histogram_kernel(x_ptr, counts_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    tl.atomic_add(counts_ptr + x, 1, mask=mask)


def histogram(x, bins):
    counts = torch.zeros((bins,), device=x.device, dtype=torch.int32)
    n = x.numel()
    histogram_kernel[(triton.cdiv(n, 256),)](x, counts, n, BLOCK=256)
    return counts


def test_histogram():
    torch.manual_seed(0)
    for n, bins in ((2000, 16), (3000, 64)):
        x = torch.randint(0, bins, (n,), device=DEVICE)
        torch.testing.assert_close(histogram(x, bins), torch.bincount(x, minlength=bins).to(torch.int32))


def bench():
    for n, bins in ((1 << 22, 1024), (1 << 23, 4096)):
        histogram(torch.randint(0, bins, (n,), device=DEVICE), bins)
