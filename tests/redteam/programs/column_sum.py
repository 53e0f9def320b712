"""Sums of columns: each program walks down all rows of a strip."""

# ruff: noqa: PLR0917
import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def column_sum_kernel(x_ptr, out_ptr, n_rows, n_cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    acc = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, n_rows, BLOCK_R):
        rows = start + tl.arange(0, BLOCK_R)
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        x = tl.load(x_ptr + rows[:, None] * n_cols + cols[None, :], mask=mask, other=0.0)
        acc += tl.sum(x, axis=0)
    tl.store(out_ptr + cols, acc, mask=cols < n_cols)


def column_sum(x):
    x = x.contiguous()
    n_rows, n_cols = x.shape
    out = torch.empty((n_cols,), device=x.device, dtype=x.dtype)
    column_sum_kernel[(triton.cdiv(n_cols, 32),)](x, out, n_rows, n_cols, BLOCK_R=32, BLOCK_C=32)
    return out


def test_column_sum():
    torch.manual_seed(0)
    for shape in ((128, 96), (256, 80)):
        x = torch.randn(shape, device=DEVICE)
        torch.testing.assert_close(column_sum(x), x.sum(dim=0), atol=1e-4, rtol=1e-4)


def bench():
    for shape in ((4096, 4096), (8192, 2048)):
        column_sum(torch.randn(shape, device=DEVICE))
