"""Programs for the tests of stress: each a kernel, its host function and a call, with edits that are wrong and edits that are right."""

from __future__ import annotations

HEAD = """
import torch
import triton
import triton.language as tl

"""

SOFTMAX = (
    HEAD
    + """
@triton.jit
def softmax_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=-float("inf"))
    m = tl.max(x, axis=0)
    p = tl.exp(x - m)
    total = tl.sum(p, axis=0)
    tl.store(y_ptr + row * n + cols, p / total, mask=mask)


def softmax(x):
    y = torch.empty_like(x)
    softmax_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


def test_it():
    torch.manual_seed(0)
    softmax(torch.randn(2, 100, device="cuda"))
"""
)

ONLINE = """
    m = -float("inf")
    total = 0.0
    for start in range(0, n, 256):
        at = start + tl.arange(0, 256)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=-float("inf"))
        new = tl.maximum(m, tl.max(x, axis=0))
        total = total * tl.exp(m - new) + tl.sum(tl.exp(x - new), axis=0)
        m = new
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=-float("inf"))
    p = tl.exp(x - m)
"""

LAYER_NORM = (
    HEAD
    + """
@triton.jit
def layer_norm_kernel(x_ptr, w_ptr, b_ptr, y_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    x = tl.load(x_ptr + row * n + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / n
    d = tl.where(mask, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / n
    rstd = 1 / tl.sqrt(var + eps)
    w = tl.load(w_ptr + cols, mask=mask)
    b = tl.load(b_ptr + cols, mask=mask)
    tl.store(y_ptr + row * n + cols, (x - mean) * rstd * w + b, mask=mask)


def layer_norm(x, weight, bias, eps=1e-5):
    y = torch.empty_like(x)
    layer_norm_kernel[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, BLOCK=triton.next_power_of_2(x.shape[1]))
    return y


def test_it():
    torch.manual_seed(0)
    layer_norm(torch.randn(2, 100, device="cuda"), torch.ones(100, device="cuda"), torch.zeros(100, device="cuda"))
"""
)

MOMENTS = """    mean = tl.sum(x, axis=0) / n
    d = tl.where(mask, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / n
"""
ONE_PASS = """    mean = tl.sum(x, axis=0) / n
    var = tl.sum(x * x, axis=0) / n - mean * mean
"""
SHIFTED = """    x0 = tl.load(x_ptr + row * n).to(tl.float32)
    s = tl.where(mask, x - x0, 0.0)
    low = tl.sum(s, axis=0) / n
    mean = x0 + low
    var = tl.sum(s * s, axis=0) / n - low * low
"""
CHAN = """    count = 0.0
    mean = 0.0
    m2 = 0.0
    for start in range(0, n, 256):
        at = start + tl.arange(0, 256)
        inside = at < n
        part = tl.load(x_ptr + row * n + at, mask=inside, other=0.0).to(tl.float32)
        k = tl.sum(inside.to(tl.float32), axis=0)
        mine = tl.sum(part, axis=0) / k
        d = tl.where(inside, part - mine, 0.0)
        delta = mine - mean
        both = count + k
        m2 += tl.sum(d * d, axis=0) + delta * delta * count * k / both
        mean += delta * k / both
        count = both
    var = m2 / n
"""

#: bfloat16 in and out, one pass over blocks of a row.
RMS_NORM = (
    HEAD
    + """
@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
        acc += x * x
    rstd = 1 / tl.sqrt(tl.sum(acc, axis=0) / n + 1e-6)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + at, mask=at < n).to(tl.float32)
        tl.store(y_ptr + row * n + at, x * rstd * w, mask=at < n)


def rms_norm(x, w):
    y = torch.empty_like(x)
    rms_norm_kernel[(x.shape[0],)](x, w, y, x.shape[1], BLOCK=1024)
    return y


def test_it():
    torch.manual_seed(0)
    x = torch.rand(2, 2048, device="cuda").to(torch.bfloat16)
    rms_norm(x, torch.rand(2048, device="cuda").to(torch.bfloat16) + 0.5)
"""
)
RMS_SUM = "tl.sum(acc, axis=0) / n"
RMS_EIGHTH = "tl.sum(tl.where(tl.arange(0, BLOCK) < BLOCK // 8 * 7, acc, 0.0), axis=0) / (n // 8 * 7)"

#: float16 in and out over a long sum.
ROW_SUM = (
    HEAD
    + """
@triton.jit
def row_sum_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        acc += tl.load(x_ptr + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(acc, axis=0))


def row_sum(x):
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    row_sum_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
    return y


def test_it():
    torch.manual_seed(0)
    row_sum(torch.randn(4, 4096, device="cuda", dtype=torch.float16))
"""
)

MATMUL = (
    HEAD
    + """
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(b_ptr + k[:, None] * N + cols[None, :], mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc += tl.dot(a, b)
    c = acc.to(tl.float16)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], c, mask=(rows[:, None] < M) & (cols[None, :] < N))


def matmul(a, b):
    assert a.shape[1] == b.shape[0]
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty(M, N, device=a.device, dtype=torch.float16)
    matmul_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, BLOCK=32, BLOCK_K=32)
    return c


def test_it():
    torch.manual_seed(0)
    matmul(torch.randn(SHAPE_A, device="cuda", dtype=torch.float16), torch.randn(SHAPE_B, device="cuda", dtype=torch.float16))
"""
)
LONG_MATMUL = MATMUL.replace("SHAPE_A", "16, 1024").replace("SHAPE_B", "1024, 16").replace("BLOCK_K=32", "BLOCK_K=128")
SQUARE_MATMUL = MATMUL.replace("SHAPE_A", "24, 24").replace("SHAPE_B", "24, 24")

GATHER = (
    HEAD
    + """
@triton.jit
def gather_kernel(pages_ptr, table_ptr, out_ptr, n, BLOCK: tl.constexpr):
    slot = tl.program_id(0)
    page = tl.load(table_ptr + slot)
    cols = tl.arange(0, BLOCK)
    mask = cols < n
    tl.store(out_ptr + slot * n + cols, tl.load(pages_ptr + page * n + cols, mask=mask), mask=mask)


def gather(pages, table):
    out = torch.empty(table.numel(), pages.shape[1], device=pages.device, dtype=pages.dtype)
    gather_kernel[(table.numel(),)](pages, table, out, pages.shape[1], BLOCK=triton.next_power_of_2(pages.shape[1]))
    return out


def test_it():
    gather(torch.randn(24, 48, device="cuda"), torch.arange(5, device="cuda", dtype=torch.int32))
"""
)

#: An optional pointer, a mask, and a scale that is one.
MASKED = (
    HEAD
    + """
@triton.jit
def masked_kernel(x_ptr, keep_ptr, bias_ptr, y_ptr, scale, n, BIASED: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    keep = tl.load(keep_ptr + at, mask=at < n, other=0)
    x = tl.where(keep, x * scale, 0.0)
    if BIASED:
        x += tl.load(bias_ptr + at, mask=at < n, other=0.0)
    tl.store(y_ptr + at, x, mask=at < n)


def masked(x, keep, bias=None, scale=1.0):
    y = torch.empty_like(x)
    n = x.numel()
    masked_kernel[(triton.cdiv(n, 64),)](x, keep, bias, y, scale, n, BIASED=bias is not None, BLOCK=64)
    return y


def test_it():
    torch.manual_seed(0)
    masked(torch.randn(300, device="cuda"), torch.ones(300, device="cuda", dtype=torch.bool), torch.randn(300, device="cuda"), 1.0)
"""
)

#: By name: program, kernel, host function.
UNSCALE = (
    HEAD
    + """
@triton.jit
def unscale_kernel(grad_ptr, y_ptr, found_ptr, scale, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    grad = tl.load(grad_ptr + at, mask=mask, other=0.0)
    tl.store(y_ptr + at, grad * scale, mask=mask)
    if tl.max((tl.abs(grad) < float("inf")).to(tl.int32) == 0, axis=0):
        tl.store(found_ptr, 1.0)


def unscale(grad, found):
    y = torch.empty_like(grad)
    n = grad.numel()
    unscale_kernel[(triton.cdiv(n, 64),)](grad, y, found, 0.5, n, BLOCK=64)
    return y


def test_it():
    torch.manual_seed(0)
    unscale(torch.randn(3, 50, device="cuda"), torch.zeros(1, device="cuda"))
"""
)

PROGRAMS = {
    "softmax": (SOFTMAX, "softmax_kernel", "softmax"),
    "layer_norm": (LAYER_NORM, "layer_norm_kernel", "layer_norm"),
    "one_pass": (LAYER_NORM.replace(MOMENTS, ONE_PASS), "layer_norm_kernel", "layer_norm"),
    "rms_norm": (RMS_NORM, "rms_norm_kernel", "rms_norm"),
    "row_sum": (ROW_SUM, "row_sum_kernel", "row_sum"),
    "long_matmul": (LONG_MATMUL, "matmul_kernel", "matmul"),
    "square_matmul": (SQUARE_MATMUL, "matmul_kernel", "matmul"),
    "gather": (GATHER, "gather_kernel", "gather"),
    "masked": (MASKED, "masked_kernel", "masked"),
    "unscale": (UNSCALE, "unscale_kernel", "unscale"),
}
HALF_SUMS = [("tl.float32)\n    for", "tl.float16)\n    for")]
#: Wrong: program, what, edits, and the stress that shows it; nothing where a check without stress does.
WRONG = [
    ("softmax", "no maximum", [("tl.exp(x - m)", "tl.exp(x)")], "large values"),
    ("softmax", "a block written down", [("BLOCK=triton.next_power_of_2(x.shape[1])", "BLOCK=512")], "a prime size"),
    ("softmax", "shifted by the first", [("m = tl.max(x, axis=0)", "m = tl.load(x_ptr + row * n)")], "large values"),
    ("softmax", "no NaN", [("    p = tl.exp", "    x = tl.where(x == x, x, -float('inf'))\n    p = tl.exp")], "NaN at a few places"),
    ("softmax", "no infinity", [("    m = tl.max", "    x = tl.where(x > 1e30, 1e30, x)\n    m = tl.max")], "infinity at a few places"),
    ("layer_norm", "no weights", [("* rstd * w", "* rstd")], "constant inputs drawn"),
    ("layer_norm", "no biases", [(" * w + b", " * w")], "constant inputs drawn"),
    ("layer_norm", "one pass", [(MOMENTS, ONE_PASS)], "values far from zero"),
    ("layer_norm", "one pass, shifted by the first", [(MOMENTS, SHIFTED)], "an outlier in the first element"),
    ("layer_norm", "eps written down", [("var + eps", "var + 1e-5")], "other numbers"),
    ("rms_norm", "no eps", [("n + 1e-6", "n")], "tiny values"),
    ("rms_norm", "an eighth of the columns left out", [(RMS_SUM, RMS_EIGHTH)], None),
    ("row_sum", "sums in half precision", [*HALF_SUMS, (".to(tl.float32)", "")], None),
    ("long_matmul", "sums in half precision", [*HALF_SUMS, ("tl.dot(a, b)", "tl.dot(a, b).to(tl.float16)"), ("K=128", "K=32")], None),
    ("square_matmul", "rows taken for columns", [("c, mask=(rows[:, None] < M)", "c, mask=(rows[:, None] < N)")], "unequal sizes"),
    ("square_matmul", "a stride of another size", [("rows[:, None] * K", "rows[:, None] * N")], "unequal sizes"),
    ("gather", "no table", [("tl.load(table_ptr + slot)", "slot")], "tables permuted"),
    ("masked", "no mask", [("tl.where(keep, x * scale, 0.0)", "x * scale")], "masks flipped"),
    ("masked", "no scale", [("x * scale", "x")], "other numbers"),
    ("masked", "the pointer always there", [("BIASED=bias is not None", "BIASED=True")], "bias None"),
    ("unscale", "no flag for what isn't finite", [("found_ptr, 1.0", "found_ptr, 1.0, mask=False")], "NaN at a few places"),
    ("unscale", "no flag for infinity", [('(tl.abs(grad) < float("inf"))', "(grad == grad)")], "infinity at a few places"),
    ("softmax", "aligned addresses only", [("    y = torch", "    assert x.data_ptr() % 16 == 0\n    y = torch")], "an offset view"),
]
EXP2 = "tl.exp2((x - m) * 1.4426950408889634)"
RIGHT = [
    ("softmax", "the original", []),
    ("softmax", "online", [("    m = tl.max(x, axis=0)\n    p = tl.exp(x - m)\n", ONLINE[1:])]),
    ("softmax", "powers of two", [("tl.exp(x - m)", EXP2)]),
    ("softmax", "powers of two, scaled first", [("tl.exp(x - m)", "tl.exp2(x * 1.4426950408889634 - m * 1.4426950408889634)")]),
    ("softmax", "a larger block", [("BLOCK=triton.next_power_of_2(x.shape[1])", "BLOCK=2 * triton.next_power_of_2(x.shape[1])")]),
    ("softmax", "a reciprocal", [("p / total", "p * (1 / total)")]),
    ("layer_norm", "merged moments", [(MOMENTS, CHAN)]),
    ("layer_norm", "rsqrt", [("1 / tl.sqrt(var + eps)", "tl.rsqrt(var + eps)")]),
    (
        "layer_norm",
        "a sum in two parts",
        [
            (
                "tl.sum(d * d, axis=0)",
                "(tl.sum(tl.where(cols % 2 == 0, d * d, 0.0), axis=0) + tl.sum(tl.where(cols % 2 == 1, d * d, 0.0), axis=0))",
            )
        ],
    ),
    ("one_pass", "two passes, which is better", [(ONE_PASS, MOMENTS)]),
    ("one_pass", "merged moments, which is better", [(ONE_PASS, CHAN)]),
    ("rms_norm", "another block", [("BLOCK=1024", "BLOCK=512")]),
    ("long_matmul", "another block", [("BLOCK_K=128", "BLOCK_K=64")]),
    ("square_matmul", "another block", [("BLOCK_K=32", "BLOCK_K=16")]),
    ("gather", "a larger block", [("BLOCK=triton", "BLOCK=2 * triton")]),
    ("unscale", "another block", [("BLOCK=64", "BLOCK=128"), ("n, 64", "n, 128")]),
    ("masked", "another block", [("BLOCK=64", "BLOCK=128"), ("n, 64", "n, 128")]),
]
