"""Rotary position embedding, forward and backward by one kernel: the gradient turns the other way."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def rope_kernel(
    x_ptr,
    out_ptr,
    cos_ptr,
    sin_ptr,
    x_row_stride,  # from one token to the next
    out_row_stride,
    cos_row_stride,
    sin_row_stride,
    seq_len,
    head_dim: tl.constexpr,
    BACKWARD_PASS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    # One program turns one head of one token.
    row = tl.program_id(0)
    head = tl.program_id(1)
    half = head_dim // 2
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < half

    # Tokens of all sequences are in one dimension; the position starts anew with each.
    position = row % seq_len
    cos = tl.load(cos_ptr + position * cos_row_stride + cols, mask=mask, other=0).to(tl.float32)
    sin = tl.load(sin_ptr + position * sin_row_stride + cols, mask=mask, other=0).to(tl.float32)
    if BACKWARD_PASS:
        sin = -sin

    # Element i turns together with element i + head_dim / 2.
    x_ptrs = x_ptr + row * x_row_stride + head * head_dim + cols
    x1 = tl.load(x_ptrs, mask=mask, other=0).to(tl.float32)
    x2 = tl.load(x_ptrs + half, mask=mask, other=0).to(tl.float32)

    out_ptrs = out_ptr + row * out_row_stride + head * head_dim + cols
    tl.store(out_ptrs, x1 * cos - x2 * sin, mask=mask)
    tl.store(out_ptrs + half, x2 * cos + x1 * sin, mask=mask)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, backward: bool) -> torch.Tensor:
    batch, seq_len, n_heads, head_dim = x.shape
    x = x.contiguous().view(batch * seq_len, n_heads * head_dim)
    out = torch.empty_like(x)
    BLOCK_SIZE = triton.next_power_of_2(head_dim // 2)
    rope_kernel[(batch * seq_len, n_heads)](
        x,
        out,
        cos,
        sin,
        x.stride(0),
        out.stride(0),
        cos.stride(0),
        sin.stride(0),
        seq_len,
        head_dim=head_dim,
        BACKWARD_PASS=backward,
        BLOCK_SIZE=BLOCK_SIZE,
    )
    return out.view(batch, seq_len, n_heads, head_dim)


class RoPE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return rotate(x, cos, sin, backward=False)

    @staticmethod
    def backward(ctx, dy):
        cos, sin = ctx.saved_tensors
        return rotate(dy, cos, sin, backward=True), None, None


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """x is (batch, sequence, heads, head_dim); cos and sin are (sequence, head_dim / 2)."""
    return RoPE.apply(x, cos, sin)


def rope_torch(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    x1, x2 = x.float().chunk(2, dim=-1)
    cos, sin = cos[None, :, None, :], sin[None, :, None, :]
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


def angles(seq_len: int, head_dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    frequencies = 10000.0 ** (-torch.arange(0, head_dim, 2, device=DEVICE) / head_dim)
    angle = torch.outer(torch.arange(seq_len, device=DEVICE).float(), frequencies)
    return angle.cos(), angle.sin()


def test_rope():
    torch.manual_seed(0)
    for batch, seq_len, n_heads, head_dim, dtype in ((2, 9, 4, 64, torch.float32), (1, 16, 3, 80, torch.float16)):
        cos, sin = angles(seq_len, head_dim)
        x = torch.randn(batch, seq_len, n_heads, head_dim, device=DEVICE, dtype=dtype, requires_grad=True)
        y = rope(x, cos, sin)
        torch.testing.assert_close(y, rope_torch(x, cos, sin))
        dy = torch.randn_like(y)
        (dx,) = torch.autograd.grad(y, x, dy)
        (expected,) = torch.autograd.grad(rope_torch(x, cos, sin), x, dy)
        torch.testing.assert_close(dx, expected)


def bench():
    for batch, seq_len, n_heads, head_dim in ((4, 2048, 32, 128), (1, 8192, 32, 128), (8, 2048, 16, 64)):
        cos, sin = angles(seq_len, head_dim)
        x = torch.randn(batch, seq_len, n_heads, head_dim, device=DEVICE, dtype=torch.bfloat16)
        ms = triton.testing.do_bench(lambda x=x, cos=cos, sin=sin: rope(x, cos, sin))
        print(f"rope {batch}x{seq_len}x{n_heads}x{head_dim}: {ms * 1e3:.1f} us, {2 * x.nbytes / ms / 1e6:.0f} GB/s")


if __name__ == "__main__":
    test_rope()
    bench()
