"""Quantisation of each row to int8 by its largest absolute value."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def quantize_rowwise_kernel(x_ptr, q_ptr, scale_ptr, n_cols, P2: tl.constexpr):
    row = tl.program_id(axis=0)
    offsets = tl.arange(0, P2)
    mask = offsets < n_cols

    x = tl.load(x_ptr + row * n_cols + offsets, mask=mask, other=0.0).to(tl.float32)
    absmax = tl.max(tl.abs(x), axis=0)
    # A row of zeros gets a small scale, not a division by zero.
    scale = tl.maximum(absmax, 1e-10) / 127.0

    q = x / scale
    # Conversion to int truncates: add a half away from zero to round.
    q = q + tl.where(q >= 0, 0.5, -0.5)
    tl.store(q_ptr + row * n_cols + offsets, q.to(tl.int8), mask=mask)
    tl.store(scale_ptr + row, scale)


def quantize_rowwise(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 values and a float32 scale for each row: x is about q * scale."""
    assert x.is_contiguous()
    n_rows, n_cols = x.shape
    q = torch.empty_like(x, dtype=torch.int8)
    scale = torch.empty(n_rows, device=x.device, dtype=torch.float32)
    P2 = int(2 ** (n_cols - 1).bit_length())
    grid = (n_rows,)
    quantize_rowwise_kernel[grid](x, q, scale, n_cols, P2=P2)
    return q, scale


def test_quantize_rowwise():
    torch.manual_seed(0)
    for n_rows, n_cols, dtype in ((33, 500, torch.float32), (16, 1024, torch.float16), (4, 4096, torch.bfloat16)):
        x = torch.randn(n_rows, n_cols, device=DEVICE, dtype=dtype)
        x[1] = 0
        q, scale = quantize_rowwise(x)
        torch.testing.assert_close(scale * 127, x.float().abs().amax(dim=1))
        # Half a step at most, and a little for rounding.
        torch.testing.assert_close(q * scale[:, None], x.float(), atol=0.501 * scale.max().item(), rtol=0)


def bench():
    for n_rows, n_cols in ((4096, 4096), (8192, 8192), (16384, 2048)):
        x = torch.randn(n_rows, n_cols, device=DEVICE, dtype=torch.float16)
        ms = triton.testing.do_bench(lambda x=x: quantize_rowwise(x))
        print(f"quantize_rowwise {n_rows}x{n_cols}: {ms * 1e3:.1f} us, {1.5 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_quantize_rowwise()
    bench()
