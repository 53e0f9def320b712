"""A small causal flash attention, in float16 and bfloat16, with a helper and static_range."""
# ruff: noqa - written as people write them

import torch
import triton
import triton.language as tl


@triton.jit
def _rescale(acc, m_old, m_new):
    return acc * tl.math.exp2(m_old - m_new)[:, None]


@triton.jit
def _attention(Q, K, V, O, scale, L, stride_h, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    start_m = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * stride_h
    rows = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.arange(0, BLOCK_N)
    d = tl.arange(0, HEAD)
    q = tl.load(Q + base + rows[:, None] * HEAD + d[None, :])
    m_i = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], dtype=tl.float32)
    end = (start_m + 1) * BLOCK_M if CAUSAL else L
    for start in range(0, end, BLOCK_N):
        start = tl.multiple_of(start, BLOCK_N)
        k = tl.load(K + base + (start + cols)[None, :] * HEAD + d[:, None])
        qk = tl.dot(q, k) * (scale * 1.44269504)
        if CAUSAL:
            qk = tl.where(rows[:, None] >= (start + cols)[None, :], qk, -1.0e6)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_new[:, None])
        l_i = l_i * tl.math.exp2(m_i - m_new) + tl.sum(p, 1)
        acc = _rescale(acc, m_i, m_new)
        v = tl.load(V + base + (start + cols)[:, None] * HEAD + d[None, :])
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new
    acc = acc / l_i[:, None]
    tl.store(O + base + rows[:, None] * HEAD + d[None, :], acc.to(O.type.element_ty))


def attention(q, k, v, causal=True):
    B, H, L, D = q.shape
    o = torch.empty_like(q)
    _attention[(triton.cdiv(L, 32), B * H)](q, k, v, o, D**-0.5, L, q.stride(1), HEAD=D, BLOCK_M=32, BLOCK_N=32, CAUSAL=causal)
    return o


def test_attention(dtype=torch.float16, causal=True):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, 2, 64, 32, dtype=dtype, device="cuda") for _ in range(3))
    ref = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    torch.testing.assert_close(attention(q, k, v, causal).float(), ref, atol=2e-2, rtol=2e-2)
