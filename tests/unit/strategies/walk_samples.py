"""Kernels whose results are made of what a loop has carried: what ``split_walk`` is for, in the manner of ``split_samples``."""

from __future__ import annotations

from tests.unit.strategies.order_samples import HEAD

DECODE = (
    HEAD
    + """\
@triton.jit
def decode_kernel(q_ptr, k_ptr, v_ptr, o_ptr, S, scale, stride_h, H: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(0) + tl.program_id(1) * H
    d = tl.arange(0, D)
    q = tl.load(q_ptr + head * D + d)
    m = -float("inf")
    l = 0.0
    acc = tl.zeros([D], dtype=tl.float32)
    for start in range(0, S, BLOCK):
        n = start + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + head * stride_h + n[:, None] * D + d[None, :], mask=n[:, None] < S, other=0.0)
        s = tl.where(n < S, tl.sum(q[None, :] * k, 1) * scale, -float("inf"))
        new = tl.maximum(m, tl.max(s, 0))
        alpha = tl.exp(m - new)
        p = tl.exp(s - new)
        v = tl.load(v_ptr + head * stride_h + n[:, None] * D + d[None, :], mask=n[:, None] < S, other=0.0)
        acc = acc * alpha + tl.sum(p[:, None] * v, 0)
        l = l * alpha + tl.sum(p, 0)
        m = new
    # The weights add up to one.
    tl.store(o_ptr + head * D + d, acc / l)


def decode(q, k, v):
    B, H, D = q.shape
    o = torch.empty_like(q)
    decode_kernel[(H, B)](q, k, v, o, k.shape[2], D**-0.5, k.stride(1), H=H, D=D, BLOCK=16)
    return o


def run(device):
    torch.manual_seed(0)
    for b, h, s, d in ((2, 3, 100, 16), (1, 2, 16, 32), (1, 1, 5, 16)):
        yield decode(torch.randn(b, h, d, device=device), *(torch.randn(b, h, s, d, device=device) for _ in range(2)))
"""
)

FEW_QUERIES = (
    HEAD
    + """\
@triton.jit
def few_queries_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, M, S, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    head = tl.program_id(0)
    rows, d, cols = tl.arange(0, BLOCK_M), tl.arange(0, D), tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + (head * M + rows[:, None]) * D + d[None, :], mask=rows[:, None] < M, other=0.0)
    m = tl.full([BLOCK_M], float("-inf"), dtype=tl.float32)
    l = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)
    for start in range(0, S, BLOCK_N):
        n = start + cols
        k = tl.load(k_ptr + (head * S + n[None, :]) * D + d[:, None], mask=n[None, :] < S, other=0.0)
        s = tl.where(n[None, :] < S, tl.dot(q, k), float("-inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        acc *= alpha[:, None]
        v = tl.load(v_ptr + (head * S + n[:, None]) * D + d[None, :], mask=n[:, None] < S, other=0.0)
        acc += tl.dot(p.to(tl.float16), v)
        m = new
    tl.store(lse_ptr + head * M + rows, m + tl.log2(l), mask=rows < M)
    tl.store(o_ptr + (head * M + rows[:, None]) * D + d[None, :], (acc / l[:, None]).to(tl.float16), mask=rows[:, None] < M)


def few_queries(q, k, v):
    H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty((H, M), device=q.device)
    few_queries_kernel[(H,)](q, k, v, o, lse, M, k.shape[1], D=D, BLOCK_M=16, BLOCK_N=32)
    return o, lse


def run(device):
    torch.manual_seed(0)
    for h, m, s in ((2, 16, 150), (1, 3, 32)):
        q, k, v = (torch.randn(h, n, 32, device=device).half() for n in (m, s, s))
        yield from few_queries(q, k, v)
"""
)

LENGTHS = (
    HEAD
    + """\
@triton.jit
def lengths_kernel(x_ptr, out_ptr, top_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    square = tl.zeros((BLOCK_N,), dtype=tl.float32)
    top = tl.full((BLOCK_N,), float("-inf"), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        x = tl.load(x_ptr + rows[:, None] * N + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
        square += tl.sum(x * x, axis=0)
        top = tl.maximum(top, tl.max(x, axis=0))
    tl.store(out_ptr + cols, tl.sqrt(square), mask=cols < N)
    tl.store(top_ptr + cols, top, mask=cols < N)


def lengths(x):
    M, N = x.shape
    out, top = torch.empty(N, device=x.device), torch.empty(N, device=x.device)
    lengths_kernel[(triton.cdiv(N, 32),)](x, out, top, M, N, BLOCK_M=8, BLOCK_N=32)
    return out, top


def run(device):
    torch.manual_seed(0)
    for m, n in ((100, 70), (3, 32)):
        yield from lengths(torch.rand(m, n, device=device))
"""
)
