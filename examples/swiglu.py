"""SwiGLU activation: silu of the first half of each row times the second half, as in the MLP of a Llama."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def silu_and_mul_kernel(
    out_ptr,
    x_ptr,
    stride_out,
    stride_x,
    d,  # number of columns of the output: half of those of the input
    BLOCK_SIZE: tl.constexpr,
):
    # int64: tokens times columns can be more than 2**31.
    token = tl.program_id(0).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = cols < d

    gate = tl.load(x_ptr + token * stride_x + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(x_ptr + token * stride_x + d + cols, mask=mask, other=0.0)

    # silu needs the exponential in float32; the product is rounded as in eager PyTorch.
    silu = (gate * tl.sigmoid(gate)).to(up.dtype)
    tl.store(out_ptr + token * stride_out + cols, silu * up, mask=mask)


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    d = x.shape[-1] // 2
    out = torch.empty((*x.shape[:-1], d), device=x.device, dtype=x.dtype)
    n_tokens = x.numel() // x.shape[-1]
    x2, out2 = x.view(n_tokens, 2 * d), out.view(n_tokens, d)
    grid = lambda meta: (n_tokens, triton.cdiv(d, meta["BLOCK_SIZE"]))  # noqa: E731
    silu_and_mul_kernel[grid](out2, x2, out2.stride(0), x2.stride(0), d, BLOCK_SIZE=512)
    return out


def test_silu_and_mul():
    torch.manual_seed(0)
    for shape, dtype in (((5, 600), torch.float32), ((2, 7, 1024), torch.float16), ((16, 2816), torch.bfloat16)):
        x = torch.randn(shape, device=DEVICE, dtype=dtype)
        gate, up = x.chunk(2, dim=-1)
        torch.testing.assert_close(silu_and_mul(x), torch.nn.functional.silu(gate) * up)


def bench():
    for n_tokens, d in ((4096, 11008), (2048, 14336), (16384, 2048)):
        x = torch.randn(n_tokens, 2 * d, device=DEVICE, dtype=torch.bfloat16)
        ms = triton.testing.do_bench(lambda x=x: silu_and_mul(x))
        print(f"silu_and_mul {n_tokens}x{d}: {ms * 1e3:.1f} us, {1.5 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_silu_and_mul()
    bench()
