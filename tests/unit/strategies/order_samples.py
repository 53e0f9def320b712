"""Small kernels as people write them, for the moves that choose tiles, pipelines and orders, with the facts that a capture would give.

Each text has a function ``run(device)`` that yields outputs, for sizes that fit the blocks and sizes that don't.
"""

from __future__ import annotations

from typing import Any

from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.strategies.samples import H200, facts, launch

HEAD = """\
import torch
import triton
import triton.language as tl


"""

ATTENTION = (
    HEAD
    + """\
@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, stride_h, stride_n, n_ctx, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    base = head * stride_h
    q = tl.load(q_ptr + base + offs_m[:, None] * stride_n + offs_d[None, :], mask=offs_m[:, None] < n_ctx, other=0.0)
    m_i = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), tl.float32)
    for start_n in range(0, (start_m + 1) * BLOCK_M, BLOCK_N):
        cols = start_n + offs_n
        k = tl.load(k_ptr + base + cols[None, :] * stride_n + offs_d[:, None], mask=cols[None, :] < n_ctx, other=0.0)
        v = tl.load(v_ptr + base + cols[:, None] * stride_n + offs_d[None, :], mask=cols[:, None] < n_ctx, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((offs_m[:, None] >= cols[None, :]) & (cols[None, :] < n_ctx), s, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp(s - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), v)
        m_i = m_new
    acc = acc / l_i[:, None]
    tl.store(o_ptr + base + offs_m[:, None] * stride_n + offs_d[None, :], acc.to(tl.float16), mask=offs_m[:, None] < n_ctx)


def attention(q, k, v):
    heads, n_ctx, dim = q.shape
    o = torch.empty_like(q)
    grid = (triton.cdiv(n_ctx, 64), heads)
    attention_kernel[grid](
        q, k, v, o, q.stride(0), q.stride(1), n_ctx, dim**-0.5,
        BLOCK_M=64, BLOCK_N=32, HEAD_DIM=dim,
    )
    return o


def run(device):
    torch.manual_seed(0)
    for heads, n_ctx in ((2, 256), (3, 100)):
        yield attention(*(torch.randn(heads, n_ctx, 32, device=device).half() for _ in range(3)))
"""
)

BATCHED = (
    HEAD
    + """\
@triton.jit
def bmm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    batch = tl.program_id(2)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K)
    a_ptr += batch * M * K
    b_ptr += batch * K * N
    c_ptr += batch * M * N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + offs_m[:, None] * K + (k + offs_k)[None, :], mask=(offs_m[:, None] < M) & (k + offs_k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (k + offs_k)[:, None] * N + offs_n[None, :], mask=(k + offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def bmm(a, b):
    B, M, K = a.shape
    N = b.shape[2]
    c = torch.empty((B, M, N), device=a.device, dtype=a.dtype)
    bmm_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 64), B)](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32)
    return c


def run(device):
    torch.manual_seed(0)
    for b, m, n, k in ((2, 64, 128, 64), (3, 50, 70, 40)):
        yield bmm(torch.randn(b, m, k, device=device).half(), torch.randn(b, k, n, device=device).half())
"""
)

RMS_NORM = (
    HEAD
    + """\
@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    rms = tl.sqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    # Weights are the same for every row.
    w = tl.load(w_ptr + cols, mask=mask)
    tl.store(y_ptr + row * stride + cols, x / rms * w, mask=mask)


def rms_norm(x, w):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    rms_norm_kernel[(n_rows,)](x, w, y, x.stride(0), n_cols, 1e-6, BLOCK=triton.next_power_of_2(n_cols))
    return y


def run(device):
    torch.manual_seed(0)
    for rows, cols in ((70, 256), (3, 100), (1, 16)):
        yield rms_norm(torch.randn(rows, cols, device=device), torch.rand(cols, device=device))
"""
)

ROW_SUM = (
    HEAD
    + """\
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        acc += x * x
    tl.store(out_ptr + row, tl.sum(acc, axis=0))


def row_sum(x):
    out = torch.empty(x.shape[0], device=x.device)
    row_sum_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=256)
    return out


def run(device):
    torch.manual_seed(0)
    for rows, cols in ((5, 1024), (3, 700), (2, 10)):
        yield row_sum(torch.randn(rows, cols, device=device))
"""
)

SCALE_2D = (
    HEAD
    + """\
BLOCK_ROWS = 16
BLOCK_COLS = 64


@triton.jit
def scale_kernel(x_ptr, s_ptr, y_ptr, rows, cols, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    pid_r = tl.program_id(0)
    pid_c = tl.program_id(1)
    r = pid_r * BLOCK_R + tl.arange(0, BLOCK_R)
    c = pid_c * BLOCK_C + tl.arange(0, BLOCK_C)
    mask = (r[:, None] < rows) & (c[None, :] < cols)
    x = tl.load(x_ptr + r[:, None] * cols + c[None, :], mask=mask)
    s = tl.load(s_ptr + c, mask=c < cols)
    tl.store(y_ptr + r[:, None] * cols + c[None, :], x * s[None, :], mask=mask)


def scale(x, s):
    rows, cols = x.shape
    y = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(rows, meta["BLOCK_R"]), triton.cdiv(cols, meta["BLOCK_C"]))
    scale_kernel[grid](x, s, y, rows, cols, BLOCK_R=BLOCK_ROWS, BLOCK_C=BLOCK_COLS)
    return y


def run(device):
    torch.manual_seed(0)
    for rows, cols in ((64, 256), (50, 70)):
        yield scale(torch.randn(rows, cols, device=device), torch.rand(cols, device=device))
"""
)

PERSISTENT_MATMUL = (
    HEAD
    + """\
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    num_n = tl.cdiv(N, BLOCK_N)
    num_tiles = tl.cdiv(M, BLOCK_M) * num_n
    for tile in tl.range(tl.program_id(0), num_tiles, tl.num_programs(0)):
        pid_m = tile // num_n
        pid_n = tile % num_n
        offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
        offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BLOCK_K)):
            offs_k = k * BLOCK_K + tl.arange(0, BLOCK_K)
            a = tl.load(a_ptr + offs_m[:, None] * K + offs_k[None, :], mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + offs_k[:, None] * N + offs_n[None, :], mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(c_ptr + offs_m[:, None] * N + offs_n[None, :], acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def matmul(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    matmul_kernel[(3,)](a, b, c, M, N, K, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return c


def run(device):
    torch.manual_seed(0)
    for m, n, k in ((128, 96, 64), (40, 70, 50), (16, 16, 16)):
        yield matmul(torch.randn(m, k, device=device).half(), torch.randn(k, n, device=device).half())
"""
)

ROPE = (
    HEAD
    + """\
@triton.jit
def rope_kernel(x_ptr, cos_ptr, y_ptr, row_stride, head_dim, FLIP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    head = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    mask = cols < head_dim
    # All heads of a token turn alike.
    cos = tl.load(cos_ptr + row * head_dim + cols, mask=mask, other=0.0)
    if FLIP:
        cos = -cos
    x = tl.load(x_ptr + row * row_stride + head * head_dim + cols, mask=mask, other=0.0)
    tl.store(y_ptr + row * row_stride + head * head_dim + cols, x * cos, mask=mask)


def rope(x, cos, flip):
    tokens, heads, dim = x.shape
    y = torch.empty_like(x)
    rope_kernel[(tokens, heads)](x, cos, y, x.stride(0), dim, FLIP=flip, BLOCK=triton.next_power_of_2(dim))
    return y


def run(device):
    torch.manual_seed(0)
    for tokens, heads, dim, flip in ((9, 4, 64, False), (3, 1, 20, True)):
        yield rope(torch.randn(tokens, heads, dim, device=device), torch.randn(tokens, dim, device=device), flip)
"""
)

ROPE_3D = (
    HEAD
    + """\
@triton.jit
def rope_kernel(x_ptr, cos_ptr, y_ptr, tokens, heads, head_dim, BLOCK_T: tl.constexpr, BLOCK: tl.constexpr):
    part, batch, head = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.program_id(2)
    t = part * BLOCK_T + tl.arange(0, BLOCK_T)
    cols = tl.arange(0, BLOCK)
    mask = (t < tokens)[:, None] & (cols < head_dim)[None, :]
    # All heads of a token turn alike.
    cos = tl.load(cos_ptr + t[:, None] * head_dim + cols[None, :], mask=mask, other=0.0)
    at = ((batch * tokens + t) * heads + head)[:, None] * head_dim + cols[None, :]
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + at, x * cos, mask=mask)


def rope(x, cos):
    batch, tokens, heads, dim = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(tokens, 16), batch, heads)
    rope_kernel[grid](x, cos, y, tokens, heads, dim, BLOCK_T=16, BLOCK=triton.next_power_of_2(dim))
    return y


def run(device):
    torch.manual_seed(0)
    for batch, tokens, heads, dim in ((2, 40, 3, 32), (1, 16, 1, 20)):
        yield rope(torch.randn(batch, tokens, heads, dim, device=device), torch.randn(tokens, dim, device=device))
"""
)

TEXTS = {
    "attention": ATTENTION,
    "batched": BATCHED,
    "rms_norm": RMS_NORM,
    "row_sum": ROW_SUM,
    "scale_2d": SCALE_2D,
    "persistent_matmul": PERSISTENT_MATMUL,
    "rope": ROPE,
    "rope_3d": ROPE_3D,
}


def captured(name: str, program: Program, **more: Any) -> Facts:
    """What a capture of ``TEXTS[name]`` at everyday sizes gives."""
    given: dict[str, Any] = {
        "attention": (
            [64, 32, 1],
            {"BLOCK_M": 64, "BLOCK_N": 32, "HEAD_DIM": 64},
            {"stride_h": 2**18, "stride_n": 64, "n_ctx": 4096},
            _matrices(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), [32, 4096, 64], "float16"),
        ),
        "batched": (
            [32, 16, 16],
            {"BLOCK_M": 32, "BLOCK_N": 64, "BLOCK_K": 32},
            {"M": 1024, "N": 1024, "K": 512},
            _matrices(("a_ptr", "b_ptr", "c_ptr"), [16, 1024, 1024], "float16"),
        ),
        "rms_norm": (
            [16384, 1, 1],
            {"BLOCK": 2048},
            {"stride": 2048, "n_cols": 2048, "eps": 1e-6},
            _matrices(("x_ptr", "y_ptr"), [16384, 2048], "float32") | {"w_ptr": ([2048], "float32")},
        ),
        "row_sum": ([4096, 1, 1], {"BLOCK": 256}, {"n_cols": 8192}, {"x_ptr": ([4096, 8192], "float32"), "out_ptr": ([4096], "float32")}),
        "scale_2d": (
            [256, 64, 1],
            {"BLOCK_R": 16, "BLOCK_C": 64},
            {"rows": 4096, "cols": 4096},
            _matrices(("x_ptr", "y_ptr"), [4096, 4096], "float32") | {"s_ptr": ([4096], "float32")},
        ),
        "persistent_matmul": (
            [132, 1, 1],
            {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32},
            {"M": 4096, "N": 4096, "K": 4096},
            _matrices(("a_ptr", "b_ptr", "c_ptr"), [4096, 4096], "float16"),
        ),
        "rope": (
            [8192, 32, 1],
            {"FLIP": False, "BLOCK": 128},
            {"row_stride": 4096, "head_dim": 128},
            _matrices(("x_ptr", "y_ptr"), [8192, 32, 128], "float16") | {"cos_ptr": ([8192, 128], "float32")},
        ),
        "rope_3d": (
            [128, 4, 16],
            {"BLOCK_T": 16, "BLOCK": 128},
            {"tokens": 2048, "heads": 16, "head_dim": 128},
            _matrices(("x_ptr", "y_ptr"), [4, 2048, 16, 128], "float16") | {"cos_ptr": ([2048, 128], "float32")},
        ),
    }[name]
    return facts(launch(program, *given), device=more.pop("device", H200), **more)


def _matrices(names: tuple[str, ...], shape: list[int], dtype: str) -> dict[str, tuple[list[int], str]]:
    return dict.fromkeys(names, (shape, dtype))
