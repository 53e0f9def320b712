"""Backward pass of layer normalisation by two kernels: one for the input, one for weight and bias."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def layer_norm_bwd_dx_kernel(
    DX,  # pointer to the input's gradient
    DY,  # pointer to the output's gradient
    X,
    W,
    Mean,
    Rstd,
    stride,  # how much to increase the pointer when moving by one row
    N,  # number of columns
    BLOCK_SIZE: tl.constexpr,
):
    # One row per program
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0).to(tl.float32)
    dy = tl.load(DY + row * stride + cols, mask=mask, other=0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0).to(tl.float32)
    mean = tl.load(Mean + row)
    rstd = tl.load(Rstd + row)

    # dx = (w dy - xhat mean(xhat w dy) - mean(w dy)) / std
    xhat = (x - mean) * rstd
    wdy = w * dy
    xhat = tl.where(mask, xhat, 0.0)
    wdy = tl.where(mask, wdy, 0.0)
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    dx = (wdy - (xhat * c1 + c2)) * rstd
    tl.store(DX + row * stride + cols, dx, mask=mask)


@triton.jit
def layer_norm_bwd_dwdb_kernel(
    DW,  # pointer to the weights' gradient
    DB,  # pointer to the biases' gradient
    DY,
    X,
    Mean,
    Rstd,
    stride,
    M,  # number of rows
    N,  # number of columns
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
):
    # Some columns per program, summed over all rows
    pid = tl.program_id(0)
    cols = pid * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    dw = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for i in range(0, M, BLOCK_SIZE_M):
        rows = i + tl.arange(0, BLOCK_SIZE_M)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        offs = rows[:, None] * stride + cols[None, :]
        x = tl.load(X + offs, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(DY + offs, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(Mean + rows, mask=rows < M, other=0.0)
        rstd = tl.load(Rstd + rows, mask=rows < M, other=0.0)
        dw += dy * (x - mean[:, None]) * rstd[:, None]
        db += dy
    sum_dw = tl.sum(dw, axis=0)
    sum_db = tl.sum(db, axis=0)
    tl.store(DW + cols, sum_dw, mask=cols < N)
    tl.store(DB + cols, sum_db, mask=cols < N)


def layer_norm_backward(dy, x, weight, mean, rstd):
    """The gradients of input, weight and bias. ``mean`` and ``rstd`` of each row are what the forward pass has kept."""
    M, N = x.shape
    x, dy = x.contiguous(), dy.contiguous()
    dx = torch.empty_like(x)
    dw = torch.empty_like(weight)
    db = torch.empty_like(weight)
    BLOCK_SIZE = triton.next_power_of_2(N)
    layer_norm_bwd_dx_kernel[(M,)](dx, dy, x, weight, mean, rstd, x.stride(0), N, BLOCK_SIZE=BLOCK_SIZE)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK_SIZE_N"]),)  # noqa: E731
    layer_norm_bwd_dwdb_kernel[grid](dw, db, dy, x, mean, rstd, x.stride(0), M, N, BLOCK_SIZE_M=32, BLOCK_SIZE_N=128)
    return dx, dw, db


def forward(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5):
    """Output, mean and 1 / std."""
    mean = x.float().mean(dim=1)
    rstd = torch.rsqrt(x.float().var(dim=1, unbiased=False) + eps)
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps), mean, rstd


def inputs(rows: int, features: int, dtype: torch.dtype):
    x = torch.randn(rows, features, device=DEVICE, dtype=dtype, requires_grad=True)
    weight = torch.rand(features, device=DEVICE, dtype=dtype, requires_grad=True)
    bias = torch.rand(features, device=DEVICE, dtype=dtype, requires_grad=True)
    return x, weight, bias, 0.1 * torch.randn(rows, features, device=DEVICE, dtype=dtype)


def test_layer_norm_backward():
    torch.manual_seed(0)
    for rows, features, dtype in ((50, 300, torch.float32), (16, 1024, torch.float16)):
        x, weight, bias, dy = inputs(rows, features, dtype)
        y, mean, rstd = forward(x, weight, bias)
        expected = torch.autograd.grad(y, (x, weight, bias), dy)
        with torch.no_grad():
            got = layer_norm_backward(dy, x, weight, mean, rstd)
        torch.testing.assert_close(got, expected, atol=1e-2, rtol=1e-2)


@torch.no_grad()
def bench():
    for rows, features in ((4096, 4096), (8192, 2048), (4096, 8192)):
        x, weight, bias, dy = inputs(rows, features, torch.float16)
        _, mean, rstd = forward(x, weight, bias)
        ms = triton.testing.do_bench(lambda a=(dy, x, weight, mean, rstd): layer_norm_backward(*a))
        print(f"layer_norm_backward {rows}x{features}: {ms * 1e3:.1f} us, {5 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_layer_norm_backward()
    bench()
