"""RMS normalisation of the rows of a matrix, as in Llama: no mean is subtracted and there is no bias."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def rms_norm_kernel(
    Y,
    Y_row_stride,
    X,
    X_row_stride,
    W,
    n_cols,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    """y_i = x_i / rms(x) * w_i with rms(x) = sqrt(mean(x^2) + eps)"""
    row_idx = tl.program_id(0)
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols

    X_row = tl.load(X + row_idx * X_row_stride + col_offsets, mask=mask, other=0).to(tl.float32)
    W_row = tl.load(W + col_offsets, mask=mask, other=0).to(tl.float32)

    # Squares in float32: in half precision they would overflow.
    mean_square = tl.sum(X_row * X_row, axis=0) / n_cols
    rstd = tl.rsqrt(mean_square + eps)

    Y_row = X_row * rstd * W_row
    tl.store(Y + row_idx * Y_row_stride + col_offsets, Y_row, mask=mask)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    shape = x.shape
    x = x.view(-1, shape[-1])
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    BLOCK_SIZE = triton.next_power_of_2(n_cols)
    rms_norm_kernel[(n_rows,)](
        y,
        y.stride(0),
        x,
        x.stride(0),
        weight,
        n_cols,
        eps,
        BLOCK_SIZE=BLOCK_SIZE,
    )
    return y.view(*shape)


def rms_norm_torch(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    x_fp32 = x.float()
    rstd = torch.rsqrt(x_fp32.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (x_fp32 * rstd * weight.float()).to(x.dtype)


def test_rms_norm():
    torch.manual_seed(0)
    for shape, dtype in (((37, 1000), torch.float32), ((2, 16, 768), torch.float16), ((8, 4096), torch.bfloat16)):
        x = torch.randn(shape, device=DEVICE, dtype=dtype)
        weight = torch.rand(shape[-1], device=DEVICE, dtype=dtype)
        torch.testing.assert_close(rms_norm(x, weight), rms_norm_torch(x, weight))


def bench():
    for n_rows, n_cols in ((4096, 4096), (8192, 5120), (4096, 8192)):
        x = torch.randn(n_rows, n_cols, device=DEVICE, dtype=torch.bfloat16)
        weight = torch.rand(n_cols, device=DEVICE, dtype=torch.bfloat16)
        ms = triton.testing.do_bench(lambda x=x, weight=weight: rms_norm(x, weight))
        print(f"rms_norm {n_rows}x{n_cols}: {ms * 1e3:.1f} us, {2 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_rms_norm()
    bench()
