"""A row-wise kernel as projects write it: modes as globals, functions imported in one of two places, helpers, casts, more options."""

from __future__ import annotations

NORM = '''\
import torch
import triton
import triton.language as tl

try:
    from triton.language.math import rsqrt
except ImportError:
    from triton.language.extra.libdevice import rsqrt

_PLAIN: tl.constexpr = tl.constexpr(0)
_WIDE: tl.constexpr = tl.constexpr(1)


@triton.jit
def silu(x):
    """Of a block."""
    gate = tl.sigmoid(x)
    return x * gate


@triton.jit
def norm_kernel(y_ptr, y_stride, x_ptr, x_stride, w_ptr, gate_ptr, scale_ptr, n_cols, eps, MODE: tl.constexpr, GATED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).cast(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    y_base = y_ptr + row * y_stride
    x_base = x_ptr + row * x_stride
    x = tl.load(x_base + cols, mask=mask, other=0)
    kept = x.dtype
    if MODE == _WIDE:
        x = x.to(tl.float32)
    root = rsqrt(tl.sum(x * x, axis=0) / n_cols + eps)
    tl.store(scale_ptr + row, root)
    x = x * root
    if MODE == _PLAIN or not GATED:
        x = x.to(kept)
    if w_ptr is not None:
        x = x * tl.load(w_ptr + cols, mask=mask, other=0)
    if GATED:
        gate = tl.load(gate_ptr + row * x_stride + cols, mask=mask, other=0).to(tl.float32)
        x = silu(gate).cast(kept) * x
    tl.store(y_base + cols, x, mask=mask)


def norm(x, w, gate, extra=None):
    n_rows, n_cols = x.shape
    y, scale = torch.empty_like(x), torch.empty(n_rows, dtype=torch.float32)
    options = dict(extra or {})
    norm_kernel[(n_rows,)](
        y,
        y.stride(0),
        x,
        x.stride(0),
        w,
        gate,
        scale,
        n_cols,
        1e-6,
        MODE=_WIDE.value,
        GATED=True,
        BLOCK=triton.next_power_of_2(n_cols),
        num_warps=4,
        **options,
    )
    return torch.cat([y, scale[:, None]], 1)


def outputs():
    for rows in (1, 50):
        yield norm(torch.randn(rows, 96), torch.rand(96), torch.randn(rows, 96))
        yield norm(torch.randn(rows, 96), None, torch.randn(rows, 96))
'''  # noqa: E501
SCALARS = {"y_stride": 96, "x_stride": 96, "n_cols": 96, "eps": 1e-6}
CONSTANTS = {"MODE": 1, "GATED": True, "BLOCK": 128}
TENSORS = {"x_ptr": ([5000, 96], "float32"), "y_ptr": ([5000, 96], "float32"), "gate_ptr": ([5000, 96], "float32")}


#: A row's numbers go from turn to turn: a sum, a maximum, and a sum that follows it.
RUNNING = """\
import torch
import triton
import triton.language as tl


@triton.jit
def running_kernel(x_ptr, out_ptr, sum_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    highest = -float("inf")
    total = 0.0
    plain = 0.0
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=float("-inf"))
        now = tl.maximum(highest, tl.max(x, axis=0))
        total = total * tl.exp(highest - now) + tl.sum(tl.exp(x - now), axis=0)
        highest = now
        plain += tl.sum(tl.where(cols < n_cols, x, 0.0))
    tl.store(out_ptr + row, highest + tl.log(total))
    tl.store(sum_ptr + row, plain)


def running(x):
    n_rows, n_cols = x.shape
    out, total = torch.empty(n_rows, device=x.device), torch.empty(n_rows, device=x.device)
    running_kernel[(n_rows,)](x, out, total, n_cols, BLOCK=32)
    return out, total


def outputs():
    for shape in ((1, 32), (50, 100), (7, 5)):
        yield from running(torch.randn(shape))
"""


#: Parts of attention, put together: numbers and a block that are bound anew in each turn; rows along one axis are counted by the other.
GATHERED = """\
import torch
import triton
import triton.language as tl


@triton.jit
def gathered_kernel(mid_ptr, lse_ptr, out_ptr, n_parts, D: tl.constexpr):
    b = tl.program_id(0)
    h = tl.program_id(1)
    heads = tl.num_programs(1)
    d = tl.arange(0, D)
    highest = -float("inf")
    total = 0.0
    acc = tl.zeros([D], dtype=tl.float32)
    for part in range(0, n_parts):
        at = (b * heads + h) * n_parts + part
        x = tl.load(mid_ptr + at * D + d)
        lse = tl.load(lse_ptr + at)
        now = tl.maximum(highest, lse)
        old = tl.exp(highest - now)
        new = tl.exp(lse - now)
        acc = acc * old + new * x
        total = total * old + new
        highest = now
    tl.store(out_ptr + (b * heads + h) * D + d, acc / total)


def gathered(mid, lse):
    n, heads, parts, depth = mid.shape
    out = torch.empty(n, heads, depth, device=mid.device)
    gathered_kernel[(n, heads)](mid, lse, out, parts, D=depth)
    return out


def outputs():
    for shape in ((1, 3, 2, 16), (37, 2, 5, 16), (8, 1, 1, 32)):
        yield gathered(torch.randn(shape), torch.randn(shape[:3]))
"""
