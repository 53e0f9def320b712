"""What a kernel calls is imported from the language by name, and the language itself by none."""

import torch
import triton
from triton.language import arange, constexpr, load, program_id, static_range, store, tensor, where, zeros_like
from triton.language import sum as total
from triton.language.math import exp2
from triton.language.math import rsqrt as inverse_root


@triton.jit
def _scaled(x, by):
    return where(x > 0, exp2(x * by), zeros_like(x))


@triton.jit
def norm_kernel(x_ptr, out_ptr, n, TIMES: constexpr, BLOCK: constexpr):
    at = arange(0, BLOCK)
    x = load(x_ptr + program_id(0) * n + at, mask=at < n, other=0.0)
    x: tensor = x * inverse_root(total(x * x, axis=0) / n)
    for _ in static_range(TIMES):
        x = _scaled(x, 0.5)
    store(out_ptr + program_id(0) * n + at, x, mask=at < n)


def norm(x):
    out = torch.empty_like(x)
    norm_kernel[(x.shape[0],)](x, out, x.shape[1], TIMES=2, BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
