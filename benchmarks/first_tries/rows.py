"""Rows, images and totals, as people write them first: one program for a row, a pixel, a block."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    mx = -float("inf")
    for i in range(0, N, BLOCK):
        o = i + tl.arange(0, BLOCK)
        v = tl.load(x + row * N + o, mask=o < N, other=-float("inf"))
        mx = tl.maximum(mx, tl.max(v, axis=0))
    s = 0.0
    for i in range(0, N, BLOCK):
        o = i + tl.arange(0, BLOCK)
        v = tl.load(x + row * N + o, mask=o < N, other=-float("inf"))
        s += tl.sum(tl.exp(v - mx), axis=0)
    for i in range(0, N, BLOCK):
        o = i + tl.arange(0, BLOCK)
        v = tl.load(x + row * N + o, mask=o < N, other=-float("inf"))
        tl.store(y + row * N + o, tl.exp(v - mx) / s, mask=o < N)


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)
    return y


@triton.jit
def argmax_kernel(X, I, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    best = -float("inf")
    at = 0
    for i in range(0, N, BLOCK):
        o = i + tl.arange(0, BLOCK)
        x = tl.load(X + row * N + o, mask=o < N, other=-float("inf"))
        m = tl.max(x, 0)
        j = tl.argmax(x, 0) + i
        at = tl.where(m > best, j, at)
        best = tl.maximum(m, best)
    tl.store(I + row, at)


def argmax(x):
    i = torch.empty(x.shape[0], device=x.device, dtype=torch.int64)
    argmax_kernel[(x.shape[0],)](x, i, x.shape[1], BLOCK=256)
    return i


@triton.jit
def cumsum_kernel(X, Y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    carry = 0.0
    for i in range(0, N, BLOCK):
        o = i + tl.arange(0, BLOCK)
        x = tl.load(X + row * N + o, mask=o < N, other=0.0)
        c = tl.cumsum(x, 0) + carry
        carry += tl.sum(x, 0)
        tl.store(Y + row * N + o, c, mask=o < N)


def cumsum(x):
    y = torch.empty_like(x)
    cumsum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=256)
    return y


@triton.jit
def channels_kernel(x, w, b, y, C, HW, eps, BLOCK_C: tl.constexpr):
    pid = tl.program_id(0)
    n = pid // HW
    p = pid % HW
    c = tl.arange(0, BLOCK_C)
    m = c < C
    v = tl.load(x + n * C * HW + c * HW + p, mask=m, other=0.0)
    mean = tl.sum(v, 0) / C
    d = tl.where(m, v - mean, 0.0)
    r = 1.0 / tl.sqrt(tl.sum(d * d, 0) / C + eps)
    tl.store(y + n * C * HW + c * HW + p, d * r * tl.load(w + c, mask=m) + tl.load(b + c, mask=m), mask=m)


def channels(x, w, b):
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    channels_kernel[(N * H * W,)](x, w, b, y, C, H * W, 1e-5, BLOCK_C=triton.next_power_of_2(C))
    return y


@triton.jit
def pool_kernel(x, y, HW, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    acc = 0.0
    for i in range(0, HW, BLOCK):
        o = i + tl.arange(0, BLOCK)
        acc += tl.sum(tl.load(x + pid * HW + o, mask=o < HW, other=0.0), axis=0)
    tl.store(y + pid, acc / HW)


def pool(x):
    N, C, H, W = x.shape
    y = torch.empty(N, C, device=x.device)
    pool_kernel[(N * C,)](x, y, H * W, BLOCK=1024)
    return y


@triton.jit
def mse_kernel(x, y, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    o = pid * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    d = tl.load(x + o, mask=m, other=0.0) - tl.load(y + o, mask=m, other=0.0)
    tl.atomic_add(out, tl.sum(d * d) / n)


def mse(x, y):
    out = torch.zeros(1, device=x.device)
    mse_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out
