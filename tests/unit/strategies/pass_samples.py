"""Kernels that walk along a row twice or three times: what ``split_passes`` is for, in the manner of ``split_samples``."""

from __future__ import annotations

from tests.unit.strategies.order_samples import HEAD

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
