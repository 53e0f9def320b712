"""Flash attention, forward only, with a flag for causal masks."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda"


@triton.jit
def flash_attention_kernel(
    Q, K, V, Out,
    sm_scale,
    stride_qz, stride_qh, stride_qm, stride_qk,
    stride_kz, stride_kh, stride_kn, stride_kk,
    stride_vz, stride_vh, stride_vn, stride_vk,
    stride_oz, stride_oh, stride_om, stride_ok,
    H, N_CTX,
    HEAD_DIM: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
):  # fmt: skip
    # One program: BLOCK_M queries of one head against all keys.
    start_m = tl.program_id(0)
    off_hz = tl.program_id(1)
    off_z = off_hz // H
    off_h = off_hz % H

    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q_ptrs = Q + off_z * stride_qz + off_h * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qk
    k_ptrs = K + off_z * stride_kz + off_h * stride_kh + offs_n[None, :] * stride_kn + offs_d[:, None] * stride_kk
    v_ptrs = V + off_z * stride_vz + off_h * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vk

    # Running maximum and sum of each query's row, and the output so far
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)

    q = tl.load(q_ptrs, mask=offs_m[:, None] < N_CTX, other=0.0)

    # A causal query sees no key after itself.
    end_n = tl.minimum((start_m + 1) * BLOCK_M, N_CTX) if IS_CAUSAL else N_CTX

    for start_n in range(0, end_n, BLOCK_N):
        cols = start_n + offs_n
        k = tl.load(k_ptrs + start_n * stride_kn, mask=cols[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k) * sm_scale
        qk = tl.where(cols[None, :] < N_CTX, qk, float("-inf"))
        if IS_CAUSAL:
            qk = tl.where(offs_m[:, None] >= cols[None, :], qk, float("-inf"))

        # Rescale what was summed up so far to the new maximum.
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.exp(qk - m_ij[:, None])
        alpha = tl.exp(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]

        v = tl.load(v_ptrs + start_n * stride_vn, mask=cols[:, None] < N_CTX, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        m_i = m_ij

    acc = acc / l_i[:, None]
    o_ptrs = Out + off_z * stride_oz + off_h * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :] * stride_ok
    tl.store(o_ptrs, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < N_CTX)


def flash_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    """q, k and v are (batch, heads, sequence, head_dim)."""
    Z, H, N_CTX, HEAD_DIM = q.shape
    assert HEAD_DIM in {16, 32, 64, 128}
    out = torch.empty_like(q)
    BLOCK_M = 64
    BLOCK_N = 64
    grid = (triton.cdiv(N_CTX, BLOCK_M), Z * H, 1)
    flash_attention_kernel[grid](
        q, k, v, out,
        HEAD_DIM**-0.5,
        q.stride(0), q.stride(1), q.stride(2), q.stride(3),
        k.stride(0), k.stride(1), k.stride(2), k.stride(3),
        v.stride(0), v.stride(1), v.stride(2), v.stride(3),
        out.stride(0), out.stride(1), out.stride(2), out.stride(3),
        H, N_CTX,
        HEAD_DIM=HEAD_DIM,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        IS_CAUSAL=causal,
    )  # fmt: skip
    return out


def test_flash_attention():
    torch.manual_seed(0)
    for z, h, n_ctx, head_dim, causal in ((1, 2, 128, 64, True), (1, 1, 200, 32, False), (2, 1, 96, 128, True)):
        q, k, v = (torch.randn(z, h, n_ctx, head_dim, device=DEVICE, dtype=torch.float16) for _ in range(3))
        expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        torch.testing.assert_close(flash_attention(q, k, v, causal), expected, atol=1e-2, rtol=1e-2)


def bench():
    for z, h, n_ctx, head_dim, causal in ((4, 16, 2048, 64, False), (4, 16, 2048, 64, True), (2, 16, 2048, 128, True)):
        q, k, v = (torch.randn(z, h, n_ctx, head_dim, device=DEVICE, dtype=torch.float16) for _ in range(3))
        ms = triton.testing.do_bench(lambda q=q, k=k, v=v, causal=causal: flash_attention(q, k, v, causal))
        flops = 4 * z * h * n_ctx * n_ctx * head_dim * (0.5 if causal else 1)
        print(f"flash_attention {z}x{h}x{n_ctx}x{head_dim} causal={causal}: {ms * 1e3:.1f} us, {flops / ms / 1e9:.0f} TFLOP/s")


if __name__ == "__main__":
    test_flash_attention()
    bench()
