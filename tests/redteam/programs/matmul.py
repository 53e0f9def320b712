"""A product of matrices with a loop over K, in float32 without shortcuts or in float16 with a float32 accumulator."""

# ruff: noqa: PLR0917
import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        ks = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :], mask=(rows[:, None] < M) & (ks[None, :] < K), other=0.0)
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :], mask=(ks[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


def matmul(a, b):
    a, b = a.contiguous(), b.contiguous()
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BLOCK=32)
    return c


def test_matmul():
    torch.manual_seed(0)
    for size, dtype, close in (((64, 64, 512), torch.float16, 1e-2), ((50, 40, 70), torch.float32, 1e-4)):
        M, N, K = size
        a, b = torch.randn(M, K, device=DEVICE, dtype=dtype), torch.randn(K, N, device=DEVICE, dtype=dtype)
        torch.testing.assert_close(matmul(a, b).float(), a.float() @ b.float(), atol=close * K**0.5, rtol=close)


def bench():
    for size, dtype in ((1024, torch.float16), (768, torch.float32)):
        a, b = torch.randn(size, size, device=DEVICE, dtype=dtype), torch.randn(size, size, device=DEVICE, dtype=dtype)
        matmul(a, b)
