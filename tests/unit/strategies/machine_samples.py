"""Kernels whose programs follow the machine, or hold a row each: as ``split_samples``, for the moves that deal those out anew."""

from __future__ import annotations

from tests.unit.strategies.order_samples import HEAD
from tests.unit.strategies.split_samples import SPLITS, Split

NORM_BACKWARD = (
    HEAD
    + """\
def get_sm_count(x):
    return torch.cuda.get_device_properties(x.device).multi_processor_count if x.is_cuda else 3


@triton.jit
def norm_backward_kernel(dy_ptr, x_ptr, w_ptr, dx_ptr, dw_ptr, rows, cols, each, BLOCK: tl.constexpr):
    first = tl.program_id(0) * each
    c = tl.arange(0, BLOCK)
    mask = c < cols
    w = tl.load(w_ptr + c, mask=mask, other=0.0)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(first, min(first + each, rows)):
        x = tl.load(x_ptr + row * cols + c, mask=mask, other=0.0)
        dy = tl.load(dy_ptr + row * cols + c, mask=mask, other=0.0)
        rstd = 1 / tl.sqrt(tl.sum(x * x, axis=0) / cols + 1e-5)
        g = dy * w
        tl.store(dx_ptr + row * cols + c, rstd * (g - x * rstd * rstd * tl.sum(g * x, axis=0) / cols), mask=mask)
        dw += dy * x * rstd
    tl.store(dw_ptr + tl.program_id(0) * cols + c, dw, mask=mask)


def norm_backward(dy, x, w):
    rows, cols = x.shape
    programs = get_sm_count(x)
    dx, dw = torch.empty_like(x), torch.empty((programs, cols), device=x.device)
    grid = (programs,)
    norm_backward_kernel[grid](dy, x, w, dx, dw, rows, cols, triton.cdiv(rows, programs), BLOCK=triton.next_power_of_2(cols), num_warps=8)
    return dx, dw.sum(0)


def run(device):
    torch.manual_seed(0)
    for rows, cols in ((20, 200), (2, 64)):
        yield from norm_backward(*(torch.randn(*s, device=device) for s in ((rows, cols), (rows, cols), (cols,))))
"""
)

GELU = (
    HEAD
    + """\
@triton.jit
def gelu_kernel(a_ptr, b_ptr, c_ptr, stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    a_ptr += row * stride
    b_ptr += row * stride
    c_ptr += row * stride
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    a = tl.load(a_ptr + cols, mask=mask, other=0).to(tl.float32)
    b = tl.load(b_ptr + cols, mask=mask, other=0)
    tl.store(c_ptr + cols, (a / (1 + tl.exp(-1.702 * a))).to(b.dtype) * b, mask=mask)


def gelu(a, b):
    n_rows, n_cols = a.shape
    c = torch.empty_like(a)
    size = triton.next_power_of_2(n_cols)
    gelu_kernel[(n_rows,)](a, b, c, c.stride(0), n_cols, BLOCK=size, num_warps=16)
    return c


def run(device):
    torch.manual_seed(0)
    for rows, cols in ((3, 5000), (2, 1024), (2, 3), (1, 1025)):
        yield gelu(*(torch.randn(rows, cols, device=device) for _ in range(2)))
"""
)

TUNED_ROWS = (
    HEAD
    + """\
@triton.jit
def exponential(x):
    return tl.exp(x.to(tl.float32))


@triton.jit
def number(axis):
    return tl.program_id(axis).to(tl.int64)


@triton.autotune(configs=[triton.Config({}, num_warps=n) for n in (1, 2, 4)], key=["D"])
@triton.jit
def softmax_kernel(x, p, D: tl.constexpr, B: tl.constexpr):
    row = number(0)
    cols = tl.arange(0, B)
    mask = cols < D
    b_x = tl.load(x + row * D + cols, mask=mask, other=-float("inf"))
    b_x = exponential(b_x - tl.max(b_x, 0))
    tl.store(p + row * D + cols, b_x / tl.sum(b_x, 0), mask=mask)


def softmax(x):
    N, D = x.shape
    p = torch.empty_like(x)
    softmax_kernel[(N,)](x=x, p=p, D=D, B=triton.next_power_of_2(D))
    return p


def run(device):
    torch.manual_seed(0)
    for rows, cols in ((37, 100), (16, 64), (1, 5)):
        yield softmax(torch.randn(rows, cols, device=device))
"""
)

MACHINES = {
    "norm_backward": Split(
        "resident_programs",
        NORM_BACKWARD,
        ("dw += dy * x * rstd", "dw += dy * x * rstd * 1.01"),
        [132, 1, 1],
        {"BLOCK": 4096},
        {"rows": 8192, "cols": 4096, "each": 63},
        {
            **dict.fromkeys(("dy_ptr", "x_ptr", "dx_ptr"), ([8192, 4096], "float32")),
            "w_ptr": ([4096], "float32"),
            "dw_ptr": ([132, 4096], "float32"),
        },
    ),
    "gelu": Split(
        "row_blocks",
        GELU,
        ("-1.702", "-1.8"),
        [8192, 1, 1],
        {"BLOCK": 16384},
        {"stride": 11008, "n_cols": 11008},
        dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), ([8192, 11008], "bfloat16")),
    ),
    "tuned_rows": Split(
        "rows_per_program",
        TUNED_ROWS,
        ("tl.sum(b_x, 0)", "tl.sum(b_x, 0) * 1.01"),
        [131072, 1, 1],
        {"B": 128, "D": 128},
        {},
        dict.fromkeys(("x", "p"), ([131072, 128], "float32")),
    ),
}
SAMPLES = {**SPLITS, **MACHINES}
