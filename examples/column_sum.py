"""Sum over the rows of a tall matrix, as for the gradient of a bias."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def column_sum_kernel(
    x_ptr,
    out_ptr,
    M,  # rows
    N,  # columns
    stride_m,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    # Each program owns a strip of columns and walks down all rows.
    pid = tl.program_id(0)
    cols = pid * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * stride_m + cols[None, :], mask=mask, other=0.0)
        acc += x.to(tl.float32)
    tl.store(out_ptr + cols, tl.sum(acc, axis=0), mask=cols < N)


def column_sum(x: torch.Tensor) -> torch.Tensor:
    M, N = x.shape
    out = torch.empty(N, device=x.device, dtype=torch.float32)
    BLOCK_M, BLOCK_N = 32, 64
    num_programs = triton.cdiv(N, BLOCK_N)
    column_sum_kernel[(num_programs,)](x, out, M, N, x.stride(0), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return out


def test_column_sum():
    torch.manual_seed(0)
    for m, n, dtype in ((1000, 200, torch.float32), (257, 64, torch.float16), (64, 512, torch.bfloat16)):
        x = torch.randn(m, n, device=DEVICE, dtype=dtype)
        torch.testing.assert_close(column_sum(x), x.float().sum(dim=0), atol=1e-3, rtol=1e-4)


def bench():
    for m, n in ((8192, 4096), (16384, 1024), (4096, 8192)):
        x = torch.randn(m, n, device=DEVICE, dtype=torch.float16)
        ms = triton.testing.do_bench(lambda x=x: column_sum(x))
        print(f"column_sum {m}x{n}: {ms * 1e3:.1f} us, {x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_column_sum()
    bench()
