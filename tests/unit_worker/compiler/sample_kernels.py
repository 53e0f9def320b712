"""Kernels as people write them, with the specialisations of a typical launch; used by the compiler's tests."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(x + offsets, mask=mask)
    b = tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, a + b, mask=mask)


@triton.jit
def softmax(out, x, out_stride, x_stride, n, BLOCK: tl.constexpr):  # noqa: PLR0917
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * x_stride + columns, mask=columns < n, other=-float("inf"))
    shifted = values - tl.max(values, axis=0)
    top = tl.exp(shifted)
    tl.store(out + row * out_stride + columns, top / tl.sum(top, axis=0), mask=columns < n)


@triton.jit
def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ACTIVATION: tl.constexpr):  # noqa: PLR0917
    pid = tl.program_id(0)
    pid_m = pid // tl.cdiv(N, BN)
    pid_n = pid % tl.cdiv(N, BN)
    rm = (pid_m * BM + tl.arange(0, BM)) % M
    rn = (pid_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a_at = a + rm[:, None] * sam + rk[None, :] * sak
    b_at = b + rk[:, None] * sbk + rn[None, :] * sbn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(b_at, mask=rk[:, None] < K - k * BK, other=0.0)
        total = tl.dot(x, y, total)
        a_at += BK * sak
        b_at += BK * sbk
    if ACTIVATION is not None:
        total = ACTIVATION(total)
    cm = pid_m * BM + tl.arange(0, BM)
    cn = pid_n * BN + tl.arange(0, BN)
    tl.store(c + cm[:, None] * scm + cn[None, :] * scn, total.to(tl.float16), mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def relu(x):
    return tl.where(x > 0, x, 0.0)


@triton.jit
def broken_helper(x):
    return tl.no_such_function(x)


@triton.jit
def broken(x, BLOCK: tl.constexpr):
    at = x + tl.arange(0, BLOCK)
    value = tl.load(at)
    tl.store(at, broken_helper(value))


from triton.language.extra import libdevice  # noqa: E402 - lines above have numbers in tests


@triton.jit
def evaluate(x, y, out, BLOCK: tl.constexpr, NAME: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(y + at)
    if NAME == "exp":
        a = tl.exp(a)
    elif NAME == "exp2":
        a = tl.exp2(a)
    elif NAME == "log":
        a = tl.log(a)
    elif NAME == "log2":
        a = tl.log2(a)
    elif NAME == "sqrt":
        a = tl.sqrt(a)
    elif NAME == "rsqrt":
        a = tl.rsqrt(a)
    elif NAME == "div":
        a = a / b
    elif NAME == "erf":
        a = tl.erf(a)
    elif NAME == "libdevice.exp":
        a = libdevice.exp(a)
    elif NAME == "libdevice.fast_expf":
        a = libdevice.fast_expf(a)
    elif NAME == "libdevice.fast_dividef":
        a = libdevice.fast_dividef(a, b)
    elif NAME == "libdevice.rsqrt":
        a = libdevice.rsqrt(a)
    elif NAME == "libdevice.sqrt":
        a = libdevice.sqrt(a)
    elif NAME == "libdevice.log":
        a = libdevice.log(a)
    tl.store(out + at, a + b)
