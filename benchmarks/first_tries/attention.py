"""Attention and its relatives, as people write them first: one token or one block of queries for each program, a state in a loop."""

import math

import torch
import triton
import triton.language as tl


@triton.jit
def decode_kernel(
    Q,
    K,
    V,
    O,
    sm_scale,
    S,
    stride_qb,
    stride_qh,
    stride_kb,
    stride_kh,
    stride_ks,
    stride_ob,
    stride_oh,
    H: tl.constexpr,
    G: tl.constexpr,
    D: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    b = tl.program_id(0)
    h = tl.program_id(1)
    kvh = h // G
    offs_d = tl.arange(0, D)
    offs_n = tl.arange(0, BLOCK_N)
    q = tl.load(Q + b * stride_qb + h * stride_qh + offs_d).to(tl.float32)
    m_i = -float("inf")
    l_i = 0.0
    acc = tl.zeros([D], dtype=tl.float32)
    for start in range(0, S, BLOCK_N):
        n = start + offs_n
        k = tl.load(K + b * stride_kb + kvh * stride_kh + n[:, None] * stride_ks + offs_d[None, :], mask=n[:, None] < S, other=0.0).to(
            tl.float32
        )
        s = tl.sum(q[None, :] * k, 1) * sm_scale
        s = tl.where(n < S, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, 0))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new)
        l_i = l_i * alpha + tl.sum(p, 0)
        v = tl.load(V + b * stride_kb + kvh * stride_kh + n[:, None] * stride_ks + offs_d[None, :], mask=n[:, None] < S, other=0.0).to(
            tl.float32
        )
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        m_i = m_new
    tl.store(O + b * stride_ob + h * stride_oh + offs_d, (acc / l_i).to(O.dtype.element_ty))


def decode(q, k, v):
    B, H, D = q.shape
    S = k.shape[2]
    o = torch.empty_like(q)
    decode_kernel[(B, H)](
        q,
        k,
        v,
        o,
        1.0 / math.sqrt(D),
        S,
        q.stride(0),
        q.stride(1),
        k.stride(0),
        k.stride(1),
        k.stride(2),
        o.stride(0),
        o.stride(1),
        H=H,
        G=H // k.shape[1],
        D=D,
        BLOCK_N=64,
        num_warps=4,
    )
    return o


@triton.jit
def prefill_kernel(Q, K, V, O, Start, Len, sm_scale, stride_t, stride_h, BLOCK: tl.constexpr, D: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    sm = tl.program_id(2)
    n_len = tl.load(Len + b)
    begin = tl.load(Start + b)
    lo = BLOCK * sm
    d = tl.arange(0, D)
    m = lo + tl.arange(0, BLOCK)
    n = tl.arange(0, BLOCK)
    q = tl.load(Q + (begin + m[:, None]) * stride_t + h * stride_h + d[None, :], mask=m[:, None] < n_len, other=0.0)
    m_i = tl.zeros([BLOCK], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK], dtype=tl.float32)
    acc = tl.zeros([BLOCK, D], dtype=tl.float32)
    mask = tl.where(lo < n_len, 1, 0)
    for s in range(0, mask * (sm + 1) * BLOCK, BLOCK):
        s = tl.multiple_of(s, BLOCK)
        k = tl.load(K + (begin + s + n[None, :]) * stride_t + h * stride_h + d[:, None], mask=(s + n[None, :]) < n_len, other=0.0)
        qk = tl.zeros([BLOCK, BLOCK], dtype=tl.float32)
        qk += tl.dot(q, k)
        qk *= sm_scale
        qk = tl.where(m[:, None] >= (s + n[None, :]), qk, float("-inf"))
        m_ij = tl.max(qk, 1)
        p = tl.exp(qk - m_ij[:, None])
        l_ij = tl.sum(p, 1)
        m_new = tl.maximum(m_i, m_ij)
        alpha = tl.exp(m_i - m_new)
        beta = tl.exp(m_ij - m_new)
        l_new = alpha * l_i + beta * l_ij
        p = p * (beta / l_new)[:, None]
        acc = acc * (l_i / l_new * alpha)[:, None]
        v = tl.load(V + (begin + s + n[:, None]) * stride_t + h * stride_h + d[None, :], mask=(s + n[:, None]) < n_len, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        l_i = l_new
        m_i = m_new
    tl.store(O + (begin + m[:, None]) * stride_t + h * stride_h + d[None, :], acc.to(O.dtype.element_ty), mask=m[:, None] < n_len)


def prefill(q, k, v, start, length, longest):
    o = torch.empty_like(q)
    prefill_kernel[(length.shape[0], q.shape[1], triton.cdiv(longest, 32))](
        q, k, v, o, start, length, 0.125, q.stride(0), q.stride(1), BLOCK=32, D=64
    )
    return o


@triton.jit
def linear_attention_kernel(Q, K, V, O, S, sb, D: tl.constexpr, E: tl.constexpr, BE: tl.constexpr):
    b = tl.program_id(0)
    e = tl.program_id(1) * BE + tl.arange(0, BE)
    d = tl.arange(0, D)
    state = tl.zeros([D, BE], dtype=tl.float32)
    for t in range(S):
        q = tl.load(Q + b * sb + t * D + d).to(tl.float32)
        k = tl.load(K + b * sb + t * D + d).to(tl.float32)
        v = tl.load(V + b * sb + t * E + e).to(tl.float32)
        state += k[:, None] * v[None, :]
        o = tl.sum(q[:, None] * state, 0)
        tl.store(O + b * sb + t * E + e, o.to(O.dtype.element_ty))


def linear_attention(q, k, v):
    o = torch.empty_like(v)
    B, S, D = q.shape
    linear_attention_kernel[(B, D // 32)](q, k, v, o, S, q.stride(0), D=D, E=D, BE=32)
    return o


@triton.jit
def rotary_kernel(Q, Cos, Sin, sq_t, sq_h, sc, H: tl.constexpr, D: tl.constexpr):
    t = tl.program_id(0)
    h = tl.program_id(1)
    d = tl.arange(0, D // 2)
    c = tl.load(Cos + t * sc + d)
    s = tl.load(Sin + t * sc + d)
    p = Q + t * sq_t + h * sq_h
    q0 = tl.load(p + d)
    q1 = tl.load(p + D // 2 + d)
    tl.store(p + d, q0 * c - q1 * s)
    tl.store(p + D // 2 + d, q1 * c + q0 * s)


def rotary(q, c, s):
    rotary_kernel[(q.shape[0], q.shape[1])](q, c, s, q.stride(0), q.stride(1), c.stride(0), H=q.shape[1], D=q.shape[2])
    return q
