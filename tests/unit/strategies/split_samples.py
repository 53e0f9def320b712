"""Kernels with few programs that each walk far: what the moves that split loops are for, with facts as a capture would give.

Each text has a function ``run(device)`` that yields outputs, and what ``broken`` makes of it is off by a little.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen

from kernelband.source.model import Program
from kernelband.strategies import Facts
from tests.unit.strategies.column_samples import COLUMN_MEANS
from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.pass_samples import BATCH_NORM, GROUP_NORM, SPREAD
from tests.unit.strategies.samples import H200, facts, launch
from tests.unit.strategies.walk_samples import DECODE, FEW_QUERIES, LENGTHS


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

    def captured(self, program: Program, **more: Any) -> Facts:
        """What a capture at everyday sizes gives."""
        given = (self.grid, self.constants, self.scalars, self.tensors)
        return facts(launch(program, *given), device=more.pop("device", H200), **more)


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

SPLITS = {
    "column_means": Split(
        "split_reduction",
        COLUMN_MEANS,
        ("mean = acc / N", "mean = acc / N * 1.05"),
        [1, 64, 1],
        {"BLOCK": 16, "VEC": 4},
        {"M": 1, "N": 4096, "K": 4095},
        {"x_ptr": ([1, 4096, 4095], "float16"), "out_ptr": ([1, 4095], "float16")},
    ),
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
    "decode": Split(
        "split_walk",
        DECODE,
        ("acc = acc * alpha", "acc = acc * alpha * 1.01"),
        [8, 2, 1],
        {"H": 8, "D": 64, "BLOCK": 16},
        {"S": 4096, "scale": 0.125, "stride_h": 2**18},
        {**dict.fromkeys(("q_ptr", "o_ptr"), ([2, 8, 64], "float32")), **dict.fromkeys(("k_ptr", "v_ptr"), ([2, 8, 4096, 64], "float32"))},
    ),
    "few_queries": Split(
        "split_walk",
        FEW_QUERIES,
        ("l = l * alpha + tl.sum(p, 1)", "l = l * alpha + tl.sum(p, 1) * 1.1"),
        [16, 1, 1],
        {"D": 32, "BLOCK_M": 16, "BLOCK_N": 32},
        {"M": 16, "S": 8192},
        {
            **dict.fromkeys(("q_ptr", "o_ptr"), ([16, 16, 32], "float16")),
            **dict.fromkeys(("k_ptr", "v_ptr"), ([16, 8192, 32], "float16")),
            "lse_ptr": ([16, 16], "float32"),
        },
    ),
    "lengths": Split(
        "split_walk",
        LENGTHS,
        ("square += ", "square += 0.01 + "),
        [4, 1, 1],
        {"BLOCK_M": 8, "BLOCK_N": 32},
        {"M": 2**16, "N": 128},
        {"x_ptr": ([2**16, 128], "float32"), **dict.fromkeys(("out_ptr", "top_ptr"), ([128], "float32"))},
    ),
}


def captured(name: str, program: Program, **more: Any) -> Facts:
    """Of a sample by its name."""
    return SPLITS[name].captured(program, **more)
