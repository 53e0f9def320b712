"""A helper that asks the type it is given, as the compiler passes it."""

import torch
import triton
import triton.language as tl


@triton.jit
def least(dtype):
    kind = dtype.value
    if kind.is_floating():
        value: tl.constexpr = float("-inf")
        return value
    return -(2 ** (kind.int_bitwidth - 1))


@triton.jit
def highest_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * n + cols, mask=cols < n, other=least(x_ptr.type.element_ty))
    tl.store(y_ptr + tl.program_id(0), tl.max(x, axis=0))


def highest(x):
    y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
    highest_kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
