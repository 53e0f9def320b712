"""Layer normalisation over the last dimension, as a function and as a module."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def _layer_norm_fwd_kernel(
    X,  # pointer to the input
    Y,  # pointer to the output
    W,  # pointer to the weights
    B,  # pointer to the biases
    stride,  # how much to increase the pointer when moving by one row
    N,  # number of columns in X
    eps,  # added to the variance
    BLOCK_SIZE: tl.constexpr,
):
    # Map the program id to the row of X and Y it should compute.
    row = tl.program_id(0)
    Y += row * stride
    X += row * stride

    # Mean
    _mean = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        a = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        _mean += a
    mean = tl.sum(_mean, axis=0) / N

    # Variance
    _var = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(X + cols, mask=cols < N, other=0.0).to(tl.float32)
        x = tl.where(cols < N, x - mean, 0.0)
        _var += x * x
    var = tl.sum(_var, axis=0) / N
    rstd = 1 / tl.sqrt(var + eps)

    # Normalise and apply the linear transformation
    for off in range(0, N, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < N
        w = tl.load(W + cols, mask=mask)
        b = tl.load(B + cols, mask=mask)
        x = tl.load(X + cols, mask=mask, other=0.0).to(tl.float32)
        y = (x - mean) * rstd * w + b
        tl.store(Y + cols, y, mask=mask)


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5) -> torch.Tensor:
    y = torch.empty_like(x)
    x_arg = x.reshape(-1, x.shape[-1])
    M, N = x_arg.shape
    BLOCK_SIZE = 1024
    _layer_norm_fwd_kernel[(M,)](x_arg, y, weight, bias, x_arg.stride(0), N, eps, BLOCK_SIZE=BLOCK_SIZE)
    return y


class LayerNorm(torch.nn.Module):
    def __init__(self, features: int, eps: float = 1e-5, device=None, dtype=None):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features, device=device, dtype=dtype))
        self.bias = torch.nn.Parameter(torch.zeros(features, device=device, dtype=dtype))
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return layer_norm(x, self.weight, self.bias, self.eps)


def test_layer_norm():
    torch.manual_seed(0)
    for rows, features, dtype in ((64, 1000, torch.float32), (32, 2048, torch.float16), (8, 5120, torch.float16)):
        x = torch.randn(rows, features, device=DEVICE, dtype=dtype)
        weight = torch.rand(features, device=DEVICE, dtype=dtype)
        bias = torch.rand(features, device=DEVICE, dtype=dtype)
        expected = torch.nn.functional.layer_norm(x, (features,), weight, bias, 1e-5)
        torch.testing.assert_close(layer_norm(x, weight, bias), expected, atol=1e-2, rtol=1e-2)


@torch.no_grad()
def bench():
    for rows, features in ((4096, 4096), (4096, 8192)):
        module = LayerNorm(features, device=DEVICE, dtype=torch.float16)
        x = torch.randn(rows, features, device=DEVICE, dtype=torch.float16)
        ms = triton.testing.do_bench(lambda module=module, x=x: module(x))
        print(f"layer_norm {rows}x{features}: {ms * 1e3:.1f} us, {2 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_layer_norm()
    bench()
