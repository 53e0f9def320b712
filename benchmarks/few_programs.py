"""Three kernels as people write them first, with few programs that each walk far; docs/measured.md has what a search gains on each.

kernelband optimize benchmarks/few_programs.py::conv1d_kernel --entry bench_conv1d --seconds 45
"""

import torch
import triton
import triton.language as tl

DEV = "cuda"


@triton.jit
def bn_kernel(x, out, mean_out, w, b, N, C, HW, eps, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    s = tl.zeros([BLOCK], dtype=tl.float32)
    q = tl.zeros([BLOCK], dtype=tl.float32)
    for n in range(N):
        for off in range(0, HW, BLOCK):
            idx = off + tl.arange(0, BLOCK)
            m = idx < HW
            v = tl.load(x + n * C * HW + c * HW + idx, mask=m, other=0.0).to(tl.float32)
            s += v
            q += v * v
    mean = tl.sum(s) / (N * HW)
    var = tl.sum(q) / (N * HW) - mean * mean
    rstd = 1.0 / tl.sqrt(var + eps)
    tl.store(mean_out + c, mean)
    ww = tl.load(w + c)
    bb = tl.load(b + c)
    for n in range(N):
        for off in range(0, HW, BLOCK):
            idx = off + tl.arange(0, BLOCK)
            m = idx < HW
            v = tl.load(x + n * C * HW + c * HW + idx, mask=m, other=0.0).to(tl.float32)
            tl.store(out + n * C * HW + c * HW + idx, (v - mean) * rstd * ww + bb, mask=m)


def bn(x, w, b, eps=1e-5):
    N, C, H, W = x.shape
    out = torch.empty_like(x)
    mean = torch.empty(C, device=x.device, dtype=torch.float32)
    bn_kernel[(C,)](x, out, mean, w, b, N, C, H * W, eps, BLOCK=1024)
    return out


def bench_bn():
    return bn(torch.randn(64, 64, 56, 56, device=DEV), torch.ones(64, device=DEV), torch.zeros(64, device=DEV))


@triton.jit
def conv1d_kernel(x, w, y, T, D, K: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    m = d < D
    for t in range(T):
        acc = tl.zeros([BLOCK], dtype=tl.float32)
        for k in range(K):
            s = t - k
            v = tl.load(x + (b * T + s) * D + d, mask=m & (s >= 0), other=0.0)
            acc += v * tl.load(w + d * K + k, mask=m, other=0.0)
        tl.store(y + (b * T + t) * D + d, acc, mask=m)


def conv1d(x, w):
    B, T, D = x.shape
    y = torch.empty_like(x)
    conv1d_kernel[(B, triton.cdiv(D, 128))](x, w, y, T, D, K=w.shape[1], BLOCK=128)
    return y


def bench_conv1d():
    return conv1d(torch.randn(4, 2048, 1024, device=DEV), torch.randn(1024, 4, device=DEV))


@triton.jit
def decode_kernel(q, k, v, o, S, scale, sb, sh, ss, D: tl.constexpr, BLOCK: tl.constexpr, H: tl.constexpr):
    pid = tl.program_id(0)
    b = pid // H
    h = pid % H
    d = tl.arange(0, D)
    qv = tl.load(q + (b * H + h) * D + d).to(tl.float32)
    mi = -float("inf")
    li = 0.0
    acc = tl.zeros([D], dtype=tl.float32)
    for s in range(0, S, BLOCK):
        n = s + tl.arange(0, BLOCK)
        kk = tl.load(k + b * sb + h * sh + n[:, None] * ss + d[None, :], mask=n[:, None] < S, other=0.0).to(tl.float32)
        sc = tl.sum(qv[None, :] * kk, 1) * scale
        sc = tl.where(n < S, sc, -float("inf"))
        m_new = tl.maximum(mi, tl.max(sc, 0))
        alpha = tl.exp(mi - m_new)
        p = tl.exp(sc - m_new)
        vv = tl.load(v + b * sb + h * sh + n[:, None] * ss + d[None, :], mask=n[:, None] < S, other=0.0).to(tl.float32)
        acc = acc * alpha + tl.sum(p[:, None] * vv, 0)
        li = li * alpha + tl.sum(p, 0)
        mi = m_new
    tl.store(o + (b * H + h) * D + d, (acc / li).to(tl.float16))


def decode(q, k, v):
    B, H, D = q.shape
    S = k.shape[2]
    o = torch.empty_like(q)
    decode_kernel[(B * H,)](q, k, v, o, S, D**-0.5, k.stride(0), k.stride(1), k.stride(2), D=D, BLOCK=64, H=H)
    return o


def bench_decode():
    q = torch.randn(4, 16, 128, device=DEV, dtype=torch.float16)
    k = torch.randn(4, 16, 16384, 128, device=DEV, dtype=torch.float16)
    v = torch.randn(4, 16, 16384, 128, device=DEV, dtype=torch.float16)
    return decode(q, k, v)
