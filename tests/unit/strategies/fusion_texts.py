"""Small kernels as people write them, one for each fusion move.

Each text has a function ``results()`` that calls the host function on sizes that are multiples of the block and sizes that are not.
"""

HEAD = """\
import torch
import triton
import triton.language as tl


"""

RMS_NORM = (
    HEAD
    + """@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride

    # Mean of the squares
    total = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        total += tl.sum(x * x, axis=0)
    rms = 1 / tl.sqrt(total / n_cols + eps)

    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=mask)
        tl.store(y_ptr + cols, x * rms * w, mask=mask)


def rms_norm(x, w):
    y = torch.empty_like(x)
    rms_norm_kernel[(x.shape[0],)](x, w, y, x.stride(0), x.shape[1], 1e-6, BLOCK=256)
    return y


def results():
    return [rms_norm(torch.randn(m, n), torch.rand(n)) for m, n in ((3, 1000), (2, 512), (1, 7))]
"""
)

#: The largest and the mean absolute value of a row: two passes that don't need each other.
ROW_STATS = (
    HEAD
    + """@triton.jit
def row_stats_kernel(x_ptr, amax_ptr, mean_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # Largest absolute value
    amax = 0.0
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=0.0)
        amax = tl.maximum(amax, tl.max(tl.abs(x), axis=0))
    scale = 127.0 / amax

    # Mean
    acc = tl.zeros([BLOCK], dtype=tl.float32)
    for k in range(0, n_cols, BLOCK):
        idx = k + tl.arange(0, BLOCK)
        value = tl.load(x_ptr + row * stride + idx, mask=idx < n_cols, other=0.0)
        value = tl.abs(value)
        acc += value
    tl.store(amax_ptr + row, scale)
    tl.store(mean_ptr + row, tl.sum(acc, axis=0) / n_cols)


def row_stats(x):
    amax, mean = torch.empty(x.shape[0]), torch.empty(x.shape[0])
    row_stats_kernel[(x.shape[0],)](x, amax, mean, x.stride(0), x.shape[1], BLOCK=128)
    return amax, mean


def results():
    return [r for m, n in ((3, 1000), (2, 512), (1, 7)) for r in row_stats(torch.randn(m, n))]
"""
)


LAYER_NORM = (
    HEAD
    + """@triton.jit
def moments_kernel(x_ptr, y_ptr, var_ptr, stride, n_cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    mean = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        mean += tl.sum(a, axis=0)
    mu = mean / n_cols

    # Spread about the mean
    var = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n_cols
        x = tl.load(x_ptr + offs, mask=offs < n_cols, other=0.0).to(tl.float32)
        diff = x - mu
        var += tl.where(mask, diff * diff, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(var, axis=0) / n_cols + eps)
    tl.store(var_ptr + row, rstd)

    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n_cols).to(tl.float32)
        tl.store(y_ptr + row * stride + cols, (x - mu) * rstd, mask=cols < n_cols)


def normalise(x):
    y, rstd = torch.empty_like(x), torch.empty(x.shape[0])
    moments_kernel[(x.shape[0],)](x, y, rstd, x.stride(0), x.shape[1], 1e-5, BLOCK=128)
    return y, rstd


def results():
    rows = [torch.randn(m, n) + mean for m, n, mean in ((3, 1000, 0.0), (2, 512, 100.0), (1, 7, -3.0), (2, 1, 5.0))]
    far_first = torch.randn(2, 700)
    far_first[:, 0] = 1e4
    return [r for x in (*rows, far_first) for r in normalise(x)]
"""
)

CROSS_ENTROPY = (
    HEAD
    + """@triton.jit
def lse_kernel(x_ptr, out_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    # The maximum first
    m = float("-inf")
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        m = tl.maximum(m, tl.max(x, axis=0))
    total = 0.0
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        y = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols, other=-float("inf"))
        p = tl.exp(y - m)
        total += tl.sum(p, axis=0)
    tl.store(out_ptr + row, m + tl.log(total))


def log_sum_exp(x):
    out = torch.empty(x.shape[0])
    lse_kernel[(x.shape[0],)](x, out, x.stride(0), x.shape[1], BLOCK=128)
    return out


def results():
    begins_masked = torch.randn(2, 512)
    begins_masked[:, :300] = -float("inf")
    lowest, nothing = torch.full((2, 300), torch.finfo(torch.float32).min), torch.full((2, 300), -float("inf"))
    rows = (5 * torch.randn(3, 1000) + 50, torch.randn(2, 512), torch.randn(1, 7), begins_masked, lowest, nothing)
    return [log_sum_exp(x) for x in rows]
"""
)

#: Two outputs, one of them in half precision with a cast of its own, and the mean instead of the sum.
COLUMN_SUMS = (
    HEAD
    + """@triton.jit
def column_sums_kernel(x_ptr, sum_ptr, mean_ptr, M, N, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    squares = tl.zeros((BLOCK_N,), dtype=tl.float32)
    for i in range(0, M, BLOCK_M):
        rows = i + tl.arange(0, BLOCK_M)
        x = tl.load(x_ptr + rows[:, None] * stride + cols[None, :], mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
        acc += x
        squares += tl.sum(x * x, axis=0)
    total = tl.sum(acc, axis=0)
    mean = (squares / M).to(tl.float16)
    tl.store(sum_ptr + cols, total, mask=cols < N)
    tl.store(mean_ptr + cols, mean, mask=cols < N)


def column_sums(x):
    M, N = x.shape
    total = torch.empty(N, dtype=torch.float32)
    mean = torch.empty(N, dtype=torch.float16)
    grid = lambda meta: (triton.cdiv(N, meta["BLOCK_N"]),)
    column_sums_kernel[grid](x, total, mean, M, N, x.stride(0), BLOCK_M=16, BLOCK_N=32)
    return total, mean


def results():
    return [r for m, n in ((200, 70), (64, 32), (3, 7)) for r in column_sums(torch.randn(m, n))]
"""
)


#: A product with tiles in groups, pointers that walk along K, and a half-precision result.
PRODUCT = (
    HEAD
    + """@triton.jit
def product_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_M)
    num_pid_n = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP_M * num_pid_n)
    rows = min(num_pid_m - group * GROUP_M, GROUP_M)
    pid_m = group * GROUP_M + (pid % (GROUP_M * num_pid_n)) % rows
    pid_n = (pid % (GROUP_M * num_pid_n)) // rows

    offs_m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    offs_n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    offs_k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn

    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    # Along K
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs = b_ptrs + BLOCK_K * stride_bk
    c = acc.to(tl.float16)

    offs_cm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_cn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    tl.store(c_ptrs, c, mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))


def product(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    BLOCK_M, BLOCK_N, BLOCK_K = 32, 32, 32
    grid = (triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)
    product_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, GROUP_M=8,
    )
    return c


def results():
    sizes = ((40, 50, 290), (32, 64, 256), (33, 17, 90))
    return [product(torch.randn(m, k).half(), torch.randn(k, n).half()) for m, n, k in sizes]
"""
)

#: A batch of products: indices that are computed anew in each step, what is left of K counted down, a factor behind the sum.
SCALED_PRODUCTS = (
    HEAD
    + """@triton.jit
def scaled_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, alpha,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr = 32,
):
    tiles_n = tl.cdiv(N, BLOCK_N)
    rows = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    batch = tl.program_id(1).to(tl.int64)
    c_ptrs = c_ptr + batch * M * N + rows[:, None] * N + cols[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    left = K
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        inside = tl.arange(0, BLOCK_K) < left
        a = tl.load(a_ptr + batch * M * K + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & inside[None, :], other=0.0)
        b = tl.load(b_ptr + batch * K * N + k[:, None] * N + cols[None, :], mask=inside[:, None] & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        left -= BLOCK_K
    tl.store(c_ptrs, acc * alpha, mask=(rows[:, None] < M) & (cols[None, :] < N))


def scaled_products(a, b, alpha):
    batch, M, K = a.shape
    N = b.shape[2]
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), batch)
    c = torch.zeros(batch, M, N, device=a.device, dtype=torch.float32)
    if c.numel():
        scaled_kernel[grid](
            a, b, c, M, N, K, alpha,
            BLOCK_M=32, BLOCK_N=32, BLOCK_K=32,
        )
    return c


def results():
    sizes = ((2, 40, 50, 290), (1, 32, 64, 256), (2, 33, 17, 90))
    return [scaled_products(torch.randn(n, i, k).half() / 8, torch.randn(n, k, j).half() / 8, 0.25) for n, i, j, k in sizes]
"""
)

ZEROS = (
    HEAD
    + """@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    start = pid * BLOCK
    offs = start + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=mask) * 2.0, mask=mask)


def double(x):
    y = torch.zeros_like(x)
    grid = lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)
    double_kernel[grid](x, y, y.numel(), BLOCK=64)
    return y


def results():
    return [double(torch.randn(n)) for n in (1000, 128, 1)]
"""
)

ZERO_ROWS = (
    HEAD
    + """@triton.jit
def scale_kernel(x_ptr, y_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + cols, mask=cols < n_cols)
    tl.store(y_ptr + row * n_cols + cols, x / 3.0, mask=cols < n_cols)


def scale(x):
    M, N = x.shape
    y = torch.zeros((M, N), device=x.device, dtype=x.dtype)
    scale_kernel[(M,)](x, y, x.stride(0), N, BLOCK=triton.next_power_of_2(N))
    return y


def results():
    return [scale(torch.randn(m, n)) for m, n in ((3, 100), (2, 64))]
"""
)


COPIED = (
    HEAD
    + """@triton.jit
def negate_kernel(x_ptr, y_ptr, M, N, stride_m, stride_n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_m + cols * stride_n, mask=cols < N)
    tl.store(y_ptr + row * N + cols, -x, mask=cols < N)


def negate(x):
    # The kernel wants rows.
    x = x.contiguous()
    M, N = x.shape
    y = torch.empty((M, N), device=x.device, dtype=x.dtype)
    negate_kernel[(M, triton.cdiv(N, 64))](x, y, M, N, x.stride(0), x.stride(1), BLOCK=64)
    return y


def results():
    return [negate(torch.randn(m, n).t()) for m, n in ((30, 100), (5, 64))]
"""
)
