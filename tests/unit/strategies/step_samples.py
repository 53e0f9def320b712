"""Kernels whose loops go step by step: recurrences, totals, rows, and numbers one by one; with what a capture of them tells."""

from __future__ import annotations

from tests.unit.strategies.samples import facts, launch, made_by, program_of

GATES = """
import torch
import triton
import triton.language as tl


@triton.jit
def gates_kernel(x_ptr, g_ptr, y_ptr, last_ptr, T, D, BLOCK: tl.constexpr):
    batch = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < D
    x = x_ptr + batch * T * D + cols
    g = g_ptr + batch * T * D + cols
    y = y_ptr + batch * T * D + cols
    h = tl.zeros([BLOCK], dtype=tl.float32)
    for t in range(0, T):
        gate = tl.sigmoid(tl.load(g, mask=mask, other=0.0).to(tl.float32))
        value = tl.load(x, mask=mask, other=0.0)
        h = gate * h + (1 - gate) * value  # the state
        tl.store(y, h.to(y.dtype.element_ty), mask=mask)

        # on to the next step
        x += D
        g += D
        y += D
    tl.store(last_ptr + batch * D + cols, h, mask=mask)


def gates(x, g):
    B, T, D = x.shape
    y, last = torch.empty_like(x), torch.empty(B, D)
    gates_kernel[(triton.cdiv(D, 32), B)](x, g, y, last, T, D, BLOCK=32)
    return torch.cat([y, last[:, None]], 1)


def outputs():
    for B, T, D in ((1, 70, 40), (1, 16, 32), (3, 1, 5), (2, 33, 7)):
        yield gates(torch.randn(B, T, D), torch.randn(B, T, D))
    for odd in (float("inf"), -float("inf"), float("nan")):
        x, g = torch.randn(1, 40, 8), torch.randn(1, 40, 8) * 40
        for values in (x, g):
            values.view(-1)[torch.randperm(320)[:6]] = odd
        yield gates(x, g)
"""
GROWING = """
import torch
import triton
import triton.language as tl


@triton.jit
def growing_kernel(x_ptr, f_ptr, y_ptr, T, D, BLOCK: tl.constexpr):
    batch = tl.program_id(1)
    cols = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = cols < D
    h = tl.zeros([BLOCK], dtype=tl.float32)
    for t in range(0, T):
        at = (batch * T + t) * D + cols
        h = tl.load(f_ptr + at, mask=mask, other=0.0) * h + tl.load(x_ptr + at, mask=mask, other=0.0)
        tl.store(y_ptr + at, h, mask=mask)


def grown(x, f):
    B, T, D = x.shape
    y = torch.empty_like(x)
    growing_kernel[(triton.cdiv(D, 32), B)](x, f, y, T, D, BLOCK=32)
    return y


def outputs():
    '''Factors of any size and sign, 0 and infinity among them; much of x is 0.'''
    for odd in (0.0, float("inf")):
        x, f = torch.randn(2, 70, 8), torch.randn(2, 70, 8)
        x[0, :60, :4] = 0.0
        f[0, :, :2] *= 1e3
        f[1] *= 1e-9
        f[1, 60:, :4] *= -1e18
        for values in (x, f):
            values.view(-1)[torch.randperm(1120)[:6]] = odd
        yield grown(x, f)
"""
SUMS = """
import torch
import triton
import triton.language as tl


@triton.jit
def decay_kernel(x_ptr, w_ptr, y_ptr, n, decay):
    row = tl.program_id(0)
    total = 0.0
    for t in tl.range(n):
        x = tl.load(x_ptr + row * n + t)
        w = tl.load(w_ptr + t)
        total = total * decay + tl.exp(x) * w
        tl.store(y_ptr + row * n + t, total * 2.0 + x)


def decayed(x, w):
    y = torch.empty_like(x)
    decay_kernel[(x.shape[0],)](x, w, y, x.shape[1], 0.5)
    return y


def outputs():
    for rows, n in ((1, 1200), (2, 512), (1, 1), (2, 300)):
        yield decayed(torch.randn(rows, n), torch.rand(n))
"""
NAIVE = """
import torch
import triton
import triton.language as tl


@triton.jit
def naive_kernel(x_ptr, y_ptr, n):
    row = tl.program_id(0)
    m = -float("inf")
    for i in range(n):
        m = tl.maximum(m, tl.load(x_ptr + row * n + i))
    s = 0.0
    for j in range(n):
        s += tl.exp(tl.load(x_ptr + row * n + j) - m)
    for k in range(n):
        tl.store(y_ptr + row * n + k, tl.exp(tl.load(x_ptr + row * n + k) - m) / s)


def naive(x):
    y = torch.empty_like(x)
    naive_kernel[(x.shape[0],)](x, y, x.shape[1])
    return y


def outputs():
    for rows, n in ((3, 600), (2, 256), (1, 1), (4, 333)):
        yield naive(torch.randn(rows, n))
"""
ROWS = """
import torch
import triton
import triton.language as tl


@triton.jit
def backward_kernel(x_ptr, dy_ptr, w_ptr, dx_ptr, dw_ptr, most_ptr, M, N, each, BIASED: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    dw = tl.zeros([BLOCK], dtype=tl.float32)
    most = -1e30
    count = 0.0
    x_ptr += pid * each * N
    for row in range(pid * each, min((pid + 1) * each, M)):
        # one row
        x = tl.load(x_ptr + cols, mask=mask, other=0.0)
        dy = tl.load(dy_ptr + row * N + cols, mask=mask, other=0.0)
        r = tl.rsqrt(tl.sum(x * x, axis=0) / N + 1e-5)
        g = dy * w
        tl.store(dx_ptr + row * N + cols, r * g - r * r * r * tl.sum(g * x) / N * x, mask=mask)
        if BIASED:
            dw += dy * x * r + 1.0
        else:
            dw += dy * x * r
        most = tl.maximum(most, r)
        count += 1.0
        x_ptr += N
    tl.store(dw_ptr + pid * N + cols, dw * count, mask=mask)
    tl.store(most_ptr + pid, most)


def backward(x, dy, w):
    M, N = x.shape
    dx, dw, most = torch.empty_like(x), torch.empty(4, N), torch.empty(4)
    backward_kernel[(4,)](x, dy, w, dx, dw, most, M, N, triton.cdiv(M, 4), BIASED=M % 2 == 0, BLOCK=triton.next_power_of_2(N))
    dx = dx.view(M, N)
    return torch.cat([dx.flatten(), dw.flatten(), most])


def outputs():
    for M, N in ((37, 64), (50, 100), (3, 16), (16, 33)):
        yield backward(torch.randn(M, N), torch.randn(M, N), torch.rand(N))
"""
TEXTS = {
    "gates": GATES,
    "growing": GROWING,
    "sums": SUMS,
    "running": SUMS.replace("total * decay + ", "total + "),
    "naive": NAIVE,
    "rows": ROWS,
}


def given(name, tmp_path, text=None):
    program = program_of(text or TEXTS[name], tmp_path, f"{name}.py")
    if name == "gates":
        tensors = {**dict.fromkeys(("x_ptr", "g_ptr", "y_ptr"), ([2, 2048, 1024], "float32")), "last_ptr": ([2, 1024], "float32")}
        return program, facts(launch(program, [32, 2, 1], {"BLOCK": 32}, {"T": 2048, "D": 1024}, tensors))
    if name == "growing":
        tensors = dict.fromkeys(("x_ptr", "f_ptr", "y_ptr"), ([2, 2048, 1024], "float32"))
        return program, facts(launch(program, [32, 2, 1], {"BLOCK": 32}, {"T": 2048, "D": 1024}, tensors))
    if name == "rows":
        tensors = {**dict.fromkeys(("x_ptr", "dy_ptr", "dx_ptr"), ([4096, 512], "float32")), "w_ptr": ([512], "float32")}
        tensors |= {"dw_ptr": ([4, 512], "float32"), "most_ptr": ([4], "float32")}
        return program, facts(launch(program, [4, 1, 1], {"BLOCK": 512, "BIASED": True}, {"M": 4096, "N": 512, "each": 1024}, tensors))
    tensors = {"x_ptr": ([64, 8192], "float32"), "w_ptr": ([8192], "float32"), "y_ptr": ([64, 8192], "float32")}
    return program, facts(launch(program, [64, 1, 1], {}, {"n": 8192, "decay": 0.5}, tensors))


def made(name, tmp_path, text=None):
    program, facts_of = given(name, tmp_path, text)
    return program, made_by("steps_at_once", program, facts_of)
