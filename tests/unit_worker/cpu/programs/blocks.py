"""Block pointers (until Triton 3.6) and tensor descriptors, made by the host and in the kernel."""
# ruff: noqa - written as people write them

import torch
import triton
import triton.language as tl


@triton.jit
def block_pointers(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    x = tl.make_block_ptr(x_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, 64), (1, 0))
    out = tl.make_block_ptr(out_ptr, (M, N), (N, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, 64), (1, 0))
    for _ in range(0, N, 64):
        tl.store(out, tl.load(x, boundary_check=(0, 1)) * 2, boundary_check=(0, 1))
        x = tl.advance(x, (0, 64))
        out = tl.advance(out, (0, 64))


@triton.jit
def host_descriptor(x_desc, out_desc, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    out_desc.store([row, 0], x_desc.load([row, 0]) * 2)


@triton.jit
def device_descriptor(x_ptr, out_ptr, M, N, BLOCK: tl.constexpr):
    x = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK, 64])
    out = tl.make_tensor_descriptor(out_ptr, shape=[M, N], strides=[N, 1], block_shape=[BLOCK, 64])
    row = tl.program_id(0) * BLOCK
    out.store([row, 0], x.load([row, 0]) * 2)
