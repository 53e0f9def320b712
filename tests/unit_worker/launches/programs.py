"""Texts of a small workspace: kernels in one file, launchers in another."""

KERNELS = """
import triton
import triton.language as tl

SCALE = tl.constexpr(2)


@triton.jit
def helper(x, N: tl.constexpr):
    return x * N


@triton.jit
def plain(x_ptr, out_ptr, n, s, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, helper(x, SCALE) + s, mask=offs < n)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 128}, num_warps=8)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def tuned(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out_ptr + offs, tl.load(x_ptr + offs))
    else:
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)


@triton.jit
def takes_function(x_ptr, FN: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(x_ptr + offs, FN(tl.load(x_ptr + offs), 3))
"""

LAUNCHER = """
import torch
import triton
from .kernels import helper, plain, takes_function, tuned


class Op:
    @staticmethod
    def run(x, s):
        return launch(x, s)


def launch(x, s=1.5, block=128):
    out = torch.empty_like(x)
    plain[(triton.cdiv(x.numel(), block),)](x, out, x.numel(), s, BLOCK=block, num_warps=4)
    return out


def launch_tuned(x):
    out = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out


def launch_list(x):
    out = torch.empty_like(x)
    plain[[triton.cdiv(x.numel(), 64), 1]](x, out, x.numel(), s=0.0, BLOCK=64)
    return out


def launch_run(x):
    plain.run(x, x, x.numel(), 1.0, BLOCK=64, grid=(1,), warmup=False)


def launch_compiled(x):
    out = torch.empty_like(x)
    compiled = plain.warmup(x, out, x.numel(), 1.0, BLOCK=256, num_warps=8, grid=(1,))
    compiled[(triton.cdiv(x.numel(), 256), 1, 1)](x, out, x.numel(), 1.0, 256)
    return out


def launch_function(x):
    takes_function[(1,)](x, helper, BLOCK=64)
"""

FILES = {"lw/__init__.py": "", "lw/kernels.py": KERNELS, "lw/launcher.py": LAUNCHER}
