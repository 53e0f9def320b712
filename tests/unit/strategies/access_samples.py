"""Small kernels for the moves of access layout and vectorization. Each text has ``outputs()``: what its host function gives on the CPU."""

from __future__ import annotations

from tests.unit.strategies.samples import facts, launch

HEAD = """\
import torch
import triton
import triton.language as tl


"""

BATCHED = (
    HEAD
    + """\
@triton.jit
def bmm_kernel(A, B, C, M, N, K, stride_ab, stride_am, stride_ak, stride_bb, stride_bn, stride_bk, stride_cb, stride_cm, stride_cn,
               BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    pid_b = tl.program_id(2)
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        offs_k = start + tl.arange(0, BLOCK_K)
        a = tl.load(
            A + pid_b * stride_ab + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak,
            mask=(offs_m[:, None] < M) & (offs_k[None, :] < K),
            other=0.0,
        )
        b_ptrs = B + pid_b * stride_bb + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    c_ptrs = C + pid_b * stride_cb + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn
    tl.store(c_ptrs, acc.to(tl.float16), mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


def bmm(a, b):
    \"\"\"a of shape (batch, M, K), b of shape (batch, N, K).\"\"\"
    batch, M, K = a.shape
    N = b.shape[1]
    c = torch.empty((batch, M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32), batch)
    bmm_kernel[grid](
        a, b, c, M, N, K,
        a.stride(0), a.stride(1), a.stride(2), b.stride(0), b.stride(1), b.stride(2), c.stride(0), c.stride(1), c.stride(2),
        BLOCK_M=32, BLOCK_N=32, BLOCK_K=16,
    )
    return c


def outputs():
    for batch, m, n, k in ((2, 64, 32, 48), (1, 40, 50, 24), (2, 33, 17, 19)):
        yield bmm(torch.randn(batch, m, k).half(), torch.randn(batch, n, k).half())
    yield bmm(torch.randn(2, 24, 40).half().transpose(1, 2), torch.randn(2, 32, 24).half())
"""
)

FLASH = (
    HEAD
    + """\
@triton.jit
def attention_kernel(Q, K, V, Out, scale, stride_qh, stride_qm, stride_qd, stride_kh, stride_kn, stride_kd,
                     stride_vh, stride_vn, stride_vd, stride_oh, stride_om, stride_od, N_CTX,
                     HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_m = tl.program_id(0)
    head = tl.program_id(1)
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q_ptrs = Q + head * stride_qh + offs_m[:, None] * stride_qm + offs_d[None, :] * stride_qd
    k_ptrs = K + head * stride_kh + offs_n[None, :] * stride_kn + offs_d[:, None] * stride_kd
    v_ptrs = V + head * stride_vh + offs_n[:, None] * stride_vn + offs_d[None, :] * stride_vd
    q = tl.load(q_ptrs, mask=offs_m[:, None] < N_CTX, other=0.0)
    m_i = tl.full((BLOCK_M,), float("-inf"), dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD_DIM), dtype=tl.float32)
    for start_n in range(0, N_CTX, BLOCK_N):
        k = tl.load(k_ptrs + start_n * stride_kn, mask=(start_n + offs_n)[None, :] < N_CTX, other=0.0)
        qk = tl.dot(q, k) * scale
        qk = tl.where((start_n + offs_n)[None, :] < N_CTX, qk, float("-inf"))
        m_new = tl.maximum(m_i, tl.max(qk, axis=1))
        p = tl.exp(qk - m_new[:, None])
        alpha = tl.exp(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptrs + start_n * stride_vn, mask=(start_n + offs_n)[:, None] < N_CTX, other=0.0)
        acc += tl.dot(p.to(v.dtype), v)
        m_i = m_new
    acc = acc / l_i[:, None]
    out_ptrs = Out + head * stride_oh + offs_m[:, None] * stride_om + offs_d[None, :] * stride_od
    tl.store(out_ptrs, acc.to(Out.dtype.element_ty), mask=offs_m[:, None] < N_CTX)


def attention(q, k, v):
    heads, n_ctx, head_dim = q.shape
    out = torch.empty_like(q)
    grid = (triton.cdiv(n_ctx, 32), heads)
    attention_kernel[grid](
        q, k, v, out, head_dim**-0.5,
        q.stride(0), q.stride(1), q.stride(2), k.stride(0), k.stride(1), k.stride(2),
        v.stride(0), v.stride(1), v.stride(2), out.stride(0), out.stride(1), out.stride(2),
        n_ctx, HEAD_DIM=head_dim, BLOCK_M=32, BLOCK_N=32,
    )
    return out


def outputs():
    for heads, n, d in ((2, 64, 32), (1, 50, 16)):
        yield attention(*(torch.randn(heads, n, d).half() for _ in range(3)))
"""
)


def batched_facts(program, n=512):
    """What a capture of ``bmm`` on eight square matrices gives."""
    sizes = {"b": n * n, "m": n, "n": n, "k": 1}
    strides = {f"stride_{t}{d}": sizes[d] for t, dims in (("a", "bmk"), ("b", "bnk"), ("c", "bm")) for d in dims}
    scalars = {"M": n, "N": n, "K": n, "stride_cn": 1, **strides}
    blocks = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 16}
    return facts(launch(program, [n // 32, n // 32, 8], blocks, scalars, {t: ([8, n, n], "float16") for t in "ABC"}))


def flash_facts(program, n=512, d=64):
    """What a capture of ``attention`` on sixteen heads gives."""
    sizes = {"h": n * d, "m": d, "n": d, "d": 1}
    strides = {f"stride_{t}{x}": sizes[x] for t, dims in (("q", "hmd"), ("k", "hnd"), ("v", "hnd"), ("o", "hmd")) for x in dims}
    blocks = {"BLOCK_M": 32, "BLOCK_N": 32, "HEAD_DIM": d}
    tensors = {t: ([16, n, d], "float16") for t in ("Q", "K", "V", "Out")}
    return facts(launch(program, [n // 32, 16, 1], blocks, {"N_CTX": n, "scale": d**-0.5, **strides}, tensors))


#: Rows in blocks, twice, with masks of every kind that the moves know; the second loop's mask has another name for each use.
ROW_WALK = (
    HEAD
    + """\
@triton.jit
def centre_kernel(x_ptr, w_ptr, y_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + row * stride + cols, mask=cols < N, other=0.0)
    mean = tl.sum(total, axis=0) / N
    for i in range(tl.cdiv(N, BLOCK)):
        cols = tl.arange(0, BLOCK)
        mask = cols < N - i * BLOCK
        x = tl.load(x_ptr + row * stride + i * BLOCK + cols, mask=mask)
        w = tl.load(w_ptr + i * BLOCK + cols, mask & (cols < BLOCK))
        centred = w * tl.where(mask, x - mean, 0.0)
        tl.store(y_ptr + row * stride + i * BLOCK + cols, centred, mask=mask)


def centre(x, w):
    y = torch.empty_like(x)
    centre_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], BLOCK=64)
    return y


def outputs():
    for n in (256, 200, 64, 40, 8, 1):
        yield centre(torch.randn(5, n), torch.rand(n))
"""
)


def row_facts(program, n=4096, stride=None):
    """What a capture of ``centre`` gives."""
    tensors = {"x_ptr": ([4096, n], "float32"), "w_ptr": ([n], "float32"), "y_ptr": ([4096, n], "float32")}
    return facts(launch(program, [4096, 1, 1], {"BLOCK": 64}, {"stride": stride or n, "N": n}, tensors))


#: A program takes several rows; the weights are the same for each.
PERSISTENT_ROWS = (
    HEAD
    + """\
@triton.jit
def scale_kernel(x_ptr, w_ptr, b_ptr, y_ptr, stride, n_rows, n_cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    start = tl.program_id(0).to(tl.int64) * ROWS
    for row in range(start, tl.minimum(start + ROWS, n_rows)):
        cols = tl.arange(0, BLOCK)
        mask = cols < n_cols
        w = tl.load(w_ptr + cols, mask=mask)  # weights
        x = tl.load(x_ptr + row * stride + cols, mask=mask)
        b = tl.load(b_ptr + cols, mask=mask).to(tl.float32)
        tl.store(y_ptr + row * stride + cols, x * w + b, mask=mask)


def scale(x, w, b):
    y = torch.empty_like(x)
    rows, cols = x.shape
    scale_kernel[(triton.cdiv(rows, 4),)](x, w, b, y, x.stride(0), rows, cols, ROWS=4, BLOCK=triton.next_power_of_2(cols))
    return y


def outputs():
    for rows, cols in ((9, 40), (4, 64), (1, 3)):
        yield scale(torch.randn(rows, cols), torch.rand(cols), torch.rand(cols))
"""
)


def scale_facts(program, n=4104):
    """What a capture of ``scale`` gives; 4104 is 8 x 513."""
    tensors = {"x_ptr": ([4096, n], "float16"), "w_ptr": ([n], "float16"), "b_ptr": ([n], "float16"), "y_ptr": ([4096, n], "float16")}
    block = 1 << (n - 1).bit_length()
    scalars = {"stride": n, "n_rows": 4096, "n_cols": n}
    return facts(launch(program, [1024, 1, 1], {"ROWS": 4, "BLOCK": block}, scalars, tensors))


#: Offsets of 64 bits, over two dimensions at once.
WIDE = (
    HEAD
    + """\
@triton.jit
def copy_kernel(x_ptr, y_ptr, stride, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs = rows[:, None] * stride + cols[None, :]
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2.0, mask=mask)


def double(x):
    y = torch.empty_like(x)
    M, N = x.shape
    copy_kernel[(triton.cdiv(M, 8), triton.cdiv(N, 32))](x, y, x.stride(0), M, N, BLOCK_M=8, BLOCK_N=32)
    return y


def outputs():
    for m, n in ((19, 40), (8, 32), (1, 1)):
        yield double(torch.randn(m, n))
"""
)


def wide_facts(program, m=4096, n=4096):
    """What a capture of ``double`` gives."""
    tensors = {"x_ptr": ([m, n], "float32"), "y_ptr": ([m, n], "float32")}
    blocks = {"BLOCK_M": 8, "BLOCK_N": 32}
    return facts(launch(program, [m // 8, n // 32, 1], blocks, {"stride": n, "M": m, "N": n}, tensors))
