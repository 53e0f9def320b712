"""Kernels with few programs that each walk far: what the moves that split loops are for, with facts as a capture would give.

Each text has a function ``run(device)`` that yields outputs, and what ``broken`` makes of it is off by a little.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.samples import H200, facts, launch


@frozen
class Split:
    """``move`` must fire on the text, in a launch of that grid with those arguments."""

    move: str
    text: str
    broken: tuple[str, str]
    grid: list[int]
    constants: dict[str, Any]
    scalars: dict[str, Any]
    tensors: dict[str, tuple[list[int], str]]


CONVOLUTION = (
    HEAD
    + """\
@triton.jit
def conv_kernel(x_ptr, w_ptr, y_ptr, T, D, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = d < D
    for t in range(T):
        acc = tl.zeros((BLOCK,), dtype=tl.float32)
        for k in range(TAPS):
            x = tl.load(x_ptr + (batch * T + t - k) * D + d, mask=mask & (t >= k), other=0.0)
            acc += x * tl.load(w_ptr + d * TAPS + k, mask=mask, other=0.0)
        tl.store(y_ptr + (batch * T + t) * D + d, acc, mask=mask)


def conv(x, w):
    B, T, D = x.shape
    y = torch.empty_like(x)
    conv_kernel[(B, triton.cdiv(D, 64))](x, w, y, T, D, TAPS=w.shape[1], BLOCK=64)
    return y


def run(device):
    torch.manual_seed(0)
    for b, t, d in ((2, 9, 100), (1, 5, 64)):
        yield conv(torch.randn(b, t, d, device=device), torch.randn(d, 3, device=device))
"""
)

MEAN = (
    HEAD
    + """\
@triton.jit
def mean_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for start in range(0, n, BLOCK):
        offs = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + offs, mask=offs < n, other=0.0))
    tl.store(out_ptr, total / n)


def mean(x):
    out = torch.empty((), device=x.device)
    mean_kernel[(1,)](x, out, x.numel(), BLOCK=64)
    return out


def run(device):
    torch.manual_seed(0)
    for n in (1000, 64, 5):
        yield mean(torch.rand(n, device=device))
"""
)

FEW_ROWS = (
    HEAD
    + """\
@triton.jit
def row_dots_kernel(a_ptr, b_ptr, out_ptr, n_rows, n_cols, BLOCK: tl.constexpr):
    batch = tl.program_id(1)
    row = tl.program_id(0) + batch * n_rows
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        b = tl.load(b_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0)
        acc += a * b
    tl.store(out_ptr + row, tl.sum(acc, axis=0).to(tl.float16))


def row_dots(a, b):
    out = torch.empty(a.shape[:2], device=a.device, dtype=torch.float16)
    row_dots_kernel[(a.shape[1], a.shape[0])](a, b, out, a.shape[1], a.shape[2], BLOCK=64)
    return out


def run(device):
    torch.manual_seed(0)
    for batch, rows, cols in ((2, 3, 500), (1, 1, 10)):
        yield row_dots(*(torch.randn(batch, rows, cols, device=device) for _ in range(2)))
"""
)

GRAM = (
    HEAD
    + """\
@triton.jit
def gram_kernel(x_ptr, out_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    j = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_N, BLOCK_N), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        left = tl.load(x_ptr + rows[None, :] * N + i[:, None], mask=(rows[None, :] < M) & (i[:, None] < N), other=0.0)
        right = tl.load(x_ptr + rows[:, None] * N + j[None, :], mask=(rows[:, None] < M) & (j[None, :] < N), other=0.0)
        acc += tl.dot(left, right)
    tl.store(out_ptr + i[:, None] * N + j[None, :], acc, mask=(i[:, None] < N) & (j[None, :] < N))


def gram(x):
    M, N = x.shape
    out = torch.empty((N, N), device=x.device)
    gram_kernel[(triton.cdiv(N, 32), triton.cdiv(N, 32))](x, out, M, N, BLOCK_M=16, BLOCK_N=32)
    return out


def run(device):
    torch.manual_seed(0)
    for m, n in ((100, 40), (5, 32)):
        yield gram(torch.randn(m, n, device=device).half())
"""
)

BATCH_NORM = (
    HEAD
    + """\
@triton.jit
def batch_norm_kernel(x_ptr, w_ptr, out_ptr, mean_ptr, N, C, HW, eps, BLOCK: tl.constexpr):
    c = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    square = tl.zeros((BLOCK,), dtype=tl.float32)
    for n in range(N):
        for start in range(0, HW, BLOCK):
            i = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + (n * C + c) * HW + i, mask=i < HW, other=0.0)
            total += x
            square += x * x
    # The channel's mean, which the caller gets too.
    mean = tl.sum(total, axis=0) / (N * HW)
    rstd = 1.0 / tl.sqrt(tl.sum(square) / (N * HW) - mean * mean + eps)
    tl.store(mean_ptr + c, mean)

    w = tl.load(w_ptr + c)
    for n in range(N):
        for start in range(0, HW, BLOCK):
            i = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + (n * C + c) * HW + i, mask=i < HW, other=0.0)
            tl.store(out_ptr + (n * C + c) * HW + i, (x - mean) * rstd * w, mask=i < HW)


def batch_norm(x, w):
    N, C, HW = x.shape
    out, mean = torch.empty_like(x), torch.empty(C, device=x.device)
    batch_norm_kernel[(C,)](x, w, out, mean, N, C, HW, 1e-5, BLOCK=64)
    return out, mean


def run(device):
    torch.manual_seed(0)
    for n, c, hw in ((5, 3, 100), (1, 2, 64)):
        yield from batch_norm(torch.randn(n, c, hw, device=device), torch.rand(c, device=device))
"""
)

GROUP_NORM = (
    HEAD
    + """\
@triton.jit
def group_norm_kernel(x_ptr, w_ptr, out_ptr, C, HW, groups, eps, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    batch = tl.program_id(1)
    size = C // groups * HW
    base = (batch * groups + group) * size
    total = 0.0
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x_ptr + base + i, mask=i < size, other=0.0).to(tl.float32))
    mean = total / size
    square = 0.0
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i, mask=i < size, other=0.0).to(tl.float32)
        square += tl.sum(tl.where(i < size, (x - mean) * (x - mean), 0.0))
    rstd = 1.0 / tl.sqrt(square / size + eps)
    for start in range(0, size, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + base + i, mask=i < size, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + group * (C // groups) + i // HW, mask=i < size, other=0.0)
        tl.store(out_ptr + base + i, (x - mean) * rstd * w, mask=i < size)


def group_norm(x, w, groups):
    N, C, HW = x.shape
    out = torch.empty_like(x)
    group_norm_kernel[(groups, N)](
        x, w, out,
        C, HW, groups, 1e-5,
        BLOCK=64,
    )
    return out


def run(device):
    torch.manual_seed(0)
    for n, c, hw, groups in ((2, 6, 50, 3), (1, 4, 64, 2)):
        yield group_norm(torch.randn(n, c, hw, device=device).half(), torch.rand(c, device=device), groups)
"""
)

SPREAD = (
    HEAD
    + """\
@triton.jit
def spread_kernel(x_ptr, out_ptr, length, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    low = float("inf")
    high = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * length + i, mask=i < length, other=float("-inf"))
        high = tl.maximum(high, x)
        low = tl.minimum(low, tl.min(tl.where(i < length, x, float("inf")), axis=0))
    scale = tl.max(high, axis=0) - low
    for start in range(0, length, BLOCK):
        i = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * length + i, mask=i < length, other=0.0)
        tl.store(out_ptr + row * length + i, (x - low) / scale, mask=i < length)


def spread(x):
    out = torch.empty_like(x)
    spread_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=64)
    return out


def run(device):
    torch.manual_seed(0)
    for rows, length in ((2, 1000), (1, 64), (3, 10)):
        yield spread(torch.randn(rows, length, device=device))
"""
).replace(
    '    low, high = float("inf"), tl.full((BLOCK,), float("-inf"), dtype=tl.float32)\n',
    '    low = float("inf")\n    high = tl.full((BLOCK,), float("-inf"), dtype=tl.float32)\n',
)

SPLITS = {
    "convolution": Split(
        "split_loop",
        CONVOLUTION,
        ("acc += x *", "acc += 1.01 * x *"),
        [2, 8, 1],
        {"TAPS": 4, "BLOCK": 64},
        {"T": 2048, "D": 512},
        {"x_ptr": ([2, 2048, 512], "float32"), "w_ptr": ([512, 4], "float32"), "y_ptr": ([2, 2048, 512], "float32")},
    ),
    "mean": Split(
        "split_reduction",
        MEAN,
        ("total / n", "total / n * 1.01"),
        [1, 1, 1],
        {"BLOCK": 64},
        {"n": 2**20},
        {"x_ptr": ([2**20], "float32"), "out_ptr": ([], "float32")},
    ),
    "few_rows": Split(
        "split_reduction",
        FEW_ROWS,
        ("acc += a * b", "acc += a * b * 1.05"),
        [8, 4, 1],
        {"BLOCK": 64},
        {"n_rows": 8, "n_cols": 2**16},
        {"a_ptr": ([4, 8, 2**16], "float32"), "b_ptr": ([4, 8, 2**16], "float32"), "out_ptr": ([4, 8], "float16")},
    ),
    "gram": Split(
        "split_reduction",
        GRAM,
        ("acc += tl.dot(left, right)", "acc += tl.dot(left, right) * 1.05"),
        [4, 4, 1],
        {"BLOCK_M": 16, "BLOCK_N": 32},
        {"M": 2**16, "N": 128},
        {"x_ptr": ([2**16, 128], "float16"), "out_ptr": ([128, 128], "float32")},
    ),
    "batch_norm": Split(
        "split_passes",
        BATCH_NORM,
        ("square += x * x", "square += x * x * 1.1"),
        [32, 1, 1],
        {"BLOCK": 64},
        {"N": 64, "C": 32, "HW": 3136},
        {
            **dict.fromkeys(("x_ptr", "out_ptr"), ([64, 32, 3136], "float32")),
            **dict.fromkeys(("w_ptr", "mean_ptr"), ([32], "float32")),
        },
    ),
    "group_norm": Split(
        "split_passes",
        GROUP_NORM,
        ("mean = total / size", "mean = total / size * 1.5"),
        [8, 4, 1],
        {"BLOCK": 64},
        {"C": 64, "HW": 3136, "groups": 8},
        {**dict.fromkeys(("x_ptr", "out_ptr"), ([4, 64, 3136], "float16")), "w_ptr": ([64], "float32")},
    ),
    "spread": Split(
        "split_passes",
        SPREAD,
        ("(x - low) / scale", "(x - low) / scale + 0.01"),
        [16, 1, 1],
        {"BLOCK": 64},
        {"length": 2**16},
        dict.fromkeys(("x_ptr", "out_ptr"), ([16, 2**16], "float32")),
    ),
}


def captured(name: str, program: Program, **more: Any) -> Facts:
    """What a capture at everyday sizes gives."""
    split = SPLITS[name]
    given = (split.grid, split.constants, split.scalars, split.tensors)
    return facts(launch(program, *given), device=more.pop("device", H200), **more)
