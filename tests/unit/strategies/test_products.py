"""Grids whose number of elements is a product by another name than the mask's: the block is free where both are the same product."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelband.strategies.code import View
from kernelband.strategies.code.resizing import why_kept
from tests.unit.strategies.samples import facts, launch, program_of

TEXT = """\
import torch
import triton
import triton.language as tl


@triton.jit
def swap_kernel(x_ptr, y_ptr, A, B, C, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < A * B * C
    a, r = i // (B * C), i % (B * C)
    tl.store(y_ptr + a * B * C + (r % C) * B + r // C, tl.load(x_ptr + i, mask=inside), mask=inside)


def swap(x):
    A, B, C = x.shape
    y = torch.empty(A, C, B, device=x.device)
    swap_kernel[(triton.cdiv(x.numel(), 64),)](x, y, A, B, C, BLOCK=64)
    return y
"""
GRID = "x.numel()"
CALL = "(x, y, A, B, C, "


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ([], True),
        ([(GRID, "C * A * B")], True),
        ([(GRID, "y.numel()")], True),
        ([("torch.empty(A, C, B,", "torch.empty((A, C, B),"), (GRID, "y.numel()")], True),
        ([("torch.empty(A, C, B, device=x.device)", "torch.empty_like(x)"), (GRID, "y.numel()")], True),
        ([("    swap_kernel", "    n = x.numel()\n    swap_kernel"), (GRID, "n", 1)], True),
        ([(CALL, "(x, y, A, 2 * B, 2 * C, "), (GRID, "4 * x.numel()")], True),
        ([("    inside", "    n = A * B * C\n    inside"), ("i < A * B * C", "i < n")], True),
        ([(CALL, "(x, y, A, 2 * B, 2 * C, ")], False),
        ([(CALL, "(x, y, A, 2 * B, C, "), (GRID, "4 * x.numel()")], False),
        ([("A, B, C = x.shape", "A, B, *C = x.shape")], False),
        ([("A, B, C = x.shape", "A, B, C = x.shape[:3]")], False),
        ([("A, B, C = x.shape", "A, B, C = x.shape\n    x = x[0]")], False),
        ([("A, B, C = x.shape", "A, B, C = x.shape\n    B += 1")], False),
        ([("torch.empty(A, C, B,", "torch.empty(A, C, B + 1,"), (GRID, "y.numel()")], False),
        ([("torch.empty(A, C, B,", "torch.empty(*x.shape,"), (GRID, "y.numel()")], False),
        ([("i < A * B * C", "i < A * B * C - 1")], False),
        ([("i < A * B * C", "i - 1 < A * B * C")], False),
        ([("i < A * B * C", "i <= A * B * C")], False),
        ([("mask=inside)\n", "mask=~inside)\n")], False),
        ([("program_id(0) * BLOCK", "program_id(0) * BLOCK - 1")], False),
        ([("swap(x)", "swap(x, A=None, B=None, C=None)"), ("A, B, C = x", "if A is None:\n        A, B, C = x")], False),
        ([("swap(x)", "swap(x, n=None)"), ("    y =", "    if n is None:\n        n = x.numel()\n    y ="), (GRID, "n")], False),
        ([("swap(x)", "swap(x, y=None)"), ("    y =", "    if y is None:\n        y ="), (GRID, "y.numel()")], False),
        ([("swap(x)", "swap(x, A, B, C)"), ("    A, B, C = x.shape\n", ""), ("return y", "A, B, C = x.shape\n    return y")], False),
        ([("    swap_kernel", "    print(B := B + 1)\n    swap_kernel")], False),
        ([("    swap_kernel", "    x.resize_(A + 9, B, C)\n    swap_kernel")], False),
        ([("torch.empty(A, C, B,", "pool.empty(A, C, B,"), (GRID, "y.numel()")], False),
        ([("triton.cdiv(x.numel(), 64)", "triton.cdiv(x.numel(), 64) // 2")], False),
        ([("triton.cdiv(x.numel(), 64)", "min(triton.cdiv(x.numel(), 64), 8)")], False),
        ([("mask=inside)\n", "mask=inside & (i < A))\n")], False),
    ],
)
def test_a_grid_of_as_many_elements_as_the_mask_says(changes: list[tuple[str, ...]], same: bool, tmp_path: Path) -> None:
    text = TEXT
    for old, new, *_ in changes:
        at = text.rindex(old)
        text = text[:at] + new + text[at + len(old) :]
    program = program_of(text, tmp_path)
    tensors = dict.fromkeys(("x_ptr", "y_ptr"), ([64, 32, 16], "float32"))
    view = View.read(program, facts(launch(program, [512, 1, 1], {"BLOCK": 64}, {"A": 64, "B": 32, "C": 16}, tensors)))
    assert view is not None
    assert (not why_kept(view, "BLOCK")) == same
