"""Matrix products, as people write them first: small tiles, no masks or masks everywhere, one program for each element."""

import torch
import triton
import triton.language as tl


@triton.jit
def batched_kernel(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pb = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a = A + pb * M * K + m[:, None] * K + k[None, :]
    b = B + pb * K * N + k[:, None] * N + n[None, :]
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for _ in range(0, K, BK):
        acc += tl.dot(tl.load(a), tl.load(b))
        a += BK
        b += BK * N
    tl.store(C + pb * M * N + m[:, None] * N + n[None, :], acc.to(tl.float16))


def batched(a, b):
    P, M, K = a.shape
    N = b.shape[2]
    c = torch.empty(P, M, N, device=a.device, dtype=a.dtype)
    batched_kernel[(M // 32, N // 32, P)](a, b, c, M, N, K, BM=32, BN=32, BK=32)
    return c


@triton.jit
def pointers_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm = tl.program_id(0)
    pn = tl.program_id(1)
    ap = tl.make_block_ptr(a, shape=(M, K), strides=(sam, sak), offsets=(pm * BM, 0), block_shape=(BM, BK), order=(1, 0))
    bp = tl.make_block_ptr(b, shape=(K, N), strides=(sbk, sbn), offsets=(0, pn * BN), block_shape=(BK, BN), order=(1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(ap, boundary_check=(0, 1))
        y = tl.load(bp, boundary_check=(0, 1))
        acc += tl.dot(x, y)
        ap = tl.advance(ap, (0, BK))
        bp = tl.advance(bp, (BK, 0))
    cp = tl.make_block_ptr(c, shape=(M, N), strides=(scm, scn), offsets=(pm * BM, pn * BN), block_shape=(BM, BN), order=(1, 0))
    tl.store(cp, acc.to(tl.float16), boundary_check=(0, 1))


def pointers(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=a.dtype)
    pointers_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), BM=32, BN=32, BK=32
    )
    return c


@triton.jit
def linear_gelu_kernel(
    A, B, bias, C, M, N, K, sam, sak, sbk, sbn, scm, scn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(A + rm[:, None] * sam + (k + rk)[None, :] * sak, mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        b = tl.load(B + (k + rk)[:, None] * sbk + rn[None, :] * sbn, mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    acc += tl.load(bias + rn, mask=rn < N, other=0.0)[None, :]
    acc = 0.5 * acc * (1.0 + tl.erf(acc * 0.70710678))
    tl.store(C + rm[:, None] * scm + rn[None, :] * scn, acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


class Linear(torch.nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(o, i, device="cuda"))
        self.bias = torch.nn.Parameter(torch.randn(o, device="cuda"))

    def forward(self, x):
        M, K = x.shape
        N = self.weight.shape[0]
        out = torch.empty((M, N), device=x.device, dtype=x.dtype)
        grid = (triton.cdiv(M, 64), triton.cdiv(N, 64))
        linear_gelu_kernel[grid](
            x,
            self.weight,
            self.bias,
            out,
            M,
            N,
            K,
            x.stride(0),
            x.stride(1),
            self.weight.stride(1),
            self.weight.stride(0),
            out.stride(0),
            out.stride(1),
            BLOCK_M=64,
            BLOCK_N=64,
            BLOCK_K=32,
        )
        return out


@triton.jit
def int8_kernel(
    a_ptr,
    b_ptr,
    s_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + (pid % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    offs_am = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_bn = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn
    scale = tl.load(s_ptr + offs_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0)
        acc = tl.dot(a, b.to(tl.float16), acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    c = (acc * scale[None, :]).to(tl.float16)
    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def int8(a, b, s):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    grid = lambda META: (triton.cdiv(M, META["BLOCK_M"]) * triton.cdiv(N, META["BLOCK_N"]),)
    int8_kernel[grid](
        a,
        b,
        s,
        c,
        M,
        N,
        K,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        c.stride(0),
        c.stride(1),
        BLOCK_M=16,
        BLOCK_N=64,
        BLOCK_K=32,
        GROUP_M=8,
    )
    return c


@triton.jit
def elements_kernel(A, B, C, M, N, K):
    row = tl.program_id(0)
    col = tl.program_id(1)
    acc = 0.0
    for k in range(K):
        acc += tl.load(A + row * K + k) * tl.load(B + k * N + col)
    tl.store(C + row * N + col, acc)


def elements(a, b):
    c = torch.empty(a.shape[0], b.shape[1], device=a.device)
    elements_kernel[(a.shape[0], b.shape[1])](a, b, c, a.shape[0], b.shape[1], a.shape[1])
    return c


@triton.jit
def matvec_kernel(A, X, Y, M, N, stride_am, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    acc = 0.0
    for n0 in range(0, N, BLOCK_N):
        n = n0 + tl.arange(0, BLOCK_N)
        a = tl.load(A + row * stride_am + n, mask=n < N, other=0.0).to(tl.float32)
        x = tl.load(X + n, mask=n < N, other=0.0).to(tl.float32)
        acc += tl.sum(a * x)
    tl.store(Y + row, acc)


def matvec(a, x):
    M, N = a.shape
    y = torch.empty(M, device=a.device, dtype=torch.float32)
    matvec_kernel[(M,)](a, x, y, M, N, a.stride(0), BLOCK_N=256)
    return y


@triton.jit
def lora_kernel(X, W, Idx, Y, N, stride_xm, stride_wl, stride_wr, stride_ym, R: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    l = tl.load(Idx + b)
    if l == -1:
        return
    r = tl.arange(0, R)
    acc = tl.zeros([R], dtype=tl.float32)
    for n0 in range(0, N, BLOCK):
        n = n0 + tl.arange(0, BLOCK)
        x = tl.load(X + b * stride_xm + n, mask=n < N, other=0.0).to(tl.float32)
        w = tl.load(W + l * stride_wl + r[:, None] * stride_wr + n[None, :], mask=n[None, :] < N, other=0.0).to(tl.float32)
        acc += tl.sum(x[None, :] * w, 1)
    tl.store(Y + b * stride_ym + r, acc)


def lora(x, w, idx):
    y = torch.zeros(x.shape[0], w.shape[1], device=x.device, dtype=torch.float32)
    lora_kernel[(x.shape[0],)](x, w, idx, y, x.shape[1], x.stride(0), w.stride(0), w.stride(1), y.stride(0), R=16, BLOCK=64)
    return y
