"""Batched matrix multiplication with a short list of configurations for autotune."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=2),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 64, "BLOCK_K": 32}, num_warps=4, num_stages=3),
        triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}, num_warps=8, num_stages=3),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def bmm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_ab,
    stride_am,
    stride_ak,
    stride_bb,
    stride_bk,
    stride_bn,
    stride_cb,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """C[i] = A[i] @ B[i] for each i of the batch"""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    batch = tl.program_id(2)

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + batch * stride_ab + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + batch * stride_bb + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K - k), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K - k) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk

    c_ptrs = c_ptr + batch * stride_cb + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=mask)


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    B, M, K = a.shape
    _, _, N = b.shape
    assert b.shape[:2] == (B, K), "incompatible dimensions"
    c = torch.empty((B, M, N), device=a.device, dtype=a.dtype)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]), triton.cdiv(N, META["BLOCK_N"]), B)  # noqa: E731
    bmm_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    return c


def test_bmm():
    torch.manual_seed(0)
    for batch, m, n, k in ((3, 64, 128, 64), (2, 100, 72, 40)):
        a = torch.randn(batch, m, k, device=DEVICE, dtype=torch.float16)
        b = torch.randn(batch, k, n, device=DEVICE, dtype=torch.float16)
        torch.testing.assert_close(bmm(a, b), torch.bmm(a, b), atol=1e-2, rtol=1e-2)
        # The second operand transposed, as in q @ k^T
        b = torch.randn(batch, n, k, device=DEVICE, dtype=torch.float16).transpose(1, 2)
        torch.testing.assert_close(bmm(a, b), torch.bmm(a, b), atol=1e-2, rtol=1e-2)


def bench():
    for batch, m, n, k in ((16, 1024, 1024, 1024), (64, 512, 512, 512), (32, 2048, 2048, 64)):
        a = torch.randn(batch, m, k, device=DEVICE, dtype=torch.float16)
        b = torch.randn(batch, k, n, device=DEVICE, dtype=torch.float16)
        ms = triton.testing.do_bench(lambda a=a, b=b: bmm(a, b))
        print(f"bmm {batch}x{m}x{n}x{k}: {ms * 1e3:.1f} us, {2 * batch * m * n * k / ms / 1e9:.0f} TFLOP/s")


if __name__ == "__main__":
    test_bmm()
    bench()
