"""Dropout by a seed: the same seed always drops the same elements."""

# ruff: noqa: PLR0917
import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def dropout_kernel(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(y_ptr + offsets, tl.where(keep, x / (1.0 - p), 0.0), mask=mask)


def dropout(x, p, seed):
    y = torch.empty_like(x)
    n = x.numel()
    dropout_kernel[(triton.cdiv(n, 512),)](x, y, n, p, seed, BLOCK=512)
    return y


def test_dropout():
    torch.manual_seed(0)
    for seed in (1, 2):
        x = torch.rand(2000, device=DEVICE) + 1.0
        y = dropout(x, 0.25, seed)
        kept = y != 0
        assert 0.65 < kept.float().mean().item() < 0.85
        torch.testing.assert_close(y[kept], x[kept] / 0.75)
        torch.testing.assert_close(dropout(x, 0.25, seed), y)


def bench():
    for n in (1 << 24, 1 << 23):
        dropout(torch.rand(n, device=DEVICE) + 1.0, 0.25, 3)
