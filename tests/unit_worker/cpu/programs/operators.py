"""A kernel behind operators of the program's own, registered in the ways that torch has."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x * factor.to(tl.float32), mask=at < n)


@triton.jit
def add_kernel(x_ptr, out_ptr, much):
    at = tl.arange(0, 64)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + much)


def scale_into(x, out, factor):
    assert x.is_cuda
    assert out.is_cuda
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), factor, BLOCK=64)
    return out


@torch.library.custom_op("kernelband_tests::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return scale_into(x, torch.empty(x.shape, device="cuda"), factor)


scale.register_fake(lambda x, factor: torch.empty_like(x))


def _keep(ctx, inputs, output):
    ctx.factor = inputs[1]


def _backward(ctx, gradient):
    return scale(gradient.contiguous(), ctx.factor), None


scale.register_autograd(_backward, setup_context=_keep)


@torch.library.custom_op("kernelband_tests::scale_inplace", mutates_args=("x",), device_types="cuda")
def scale_inplace(x: torch.Tensor, factor: float) -> None:
    scale_into(x, x, factor)


@torch.library.triton_op("kernelband_tests::scale_traced", mutates_args={})
def scale_traced(x: torch.Tensor, factor: float) -> torch.Tensor:
    out = torch.empty_like(x)
    torch.library.wrap_triton(scale_kernel)[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), factor, BLOCK=64)
    return out


library = torch.library.Library("kernelband_tests_older", "DEF")
library.define("scale(Tensor x, float factor) -> Tensor")
library.impl("scale", lambda x, factor: scale_into(x, torch.empty(x.shape, device="cuda"), factor), "CUDA")
library.impl("scale", lambda x, factor: x * 0 - 1, "CPU")


@torch.compiler.disable
def not_compiled(x):
    return scale(x, 2.0)


@torch._dynamo.disable
def not_traced(x):
    return scale(x, 2.0)


@torch.compile(dynamic=True)
def compiled(x):
    return scale(x, 2.0)
