"""Cumulative sum along the rows of a matrix."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def cumsum_kernel(x_ptr, y_ptr, row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * row_stride
    y_ptr += row * row_stride
    # What all earlier blocks of the row add up to.
    carry = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        y = tl.cumsum(x, axis=0) + carry
        tl.store(y_ptr + cols, y, mask=mask)
        carry += tl.sum(x, axis=0)


def cumsum(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    y = torch.empty_like(x)
    n_rows, n_cols = x.shape
    BLOCK = 1024
    cumsum_kernel[(n_rows,)](x, y, x.stride(0), n_cols, BLOCK)
    return y


def test_cumsum():
    torch.manual_seed(0)
    for n_rows, n_cols in ((19, 100), (8, 1024), (6, 3000)):
        x = torch.randn(n_rows, n_cols, device=DEVICE)
        torch.testing.assert_close(cumsum(x), torch.cumsum(x, dim=1), atol=1e-4, rtol=1e-4)


def bench():
    for n_rows, n_cols in ((8192, 4096), (4096, 8192), (32768, 1024)):
        x = torch.randn(n_rows, n_cols, device=DEVICE)
        ms = triton.testing.do_bench(lambda x=x: cumsum(x))
        print(f"cumsum {n_rows}x{n_cols}: {ms * 1e3:.1f} us, {2 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_cumsum()
    bench()
