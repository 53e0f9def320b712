"""Programs that a gate guards, and the answers that a model might give: for the tests of the gate."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

from kernelband.propose.model.functions import editables
from kernelband.propose.model.gate import check
from kernelband.propose.model.rules import Refused, rules
from kernelband.source import Workspace, find_program
from kernelband.source.model import Program

HEAD = """import functools
import itertools
import math
import os
import torch
import triton
import triton.language as tl

"""
KERNEL = """@triton.jit
def k(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
"""
PLAIN = f"""{HEAD}
{KERNEL}

def copy(x, scale=2):
    y = torch.empty_like(x)
    n = x.numel()
    k[(triton.cdiv(n, 64),)](x, y, n, BLOCK=64)
    return y
"""

#: A host function that keeps things itself: what it keeps stays allowed, what a model would keep instead isn't.
KEEPER = f"""{HEAD}
_BLOCKS = {{}}
_SEEN = []
_SCRATCH = torch.zeros(16)


def note(size):
    _SEEN.append(size)


{KERNEL}

def copy(x, out=None, cache={{}}, scale=2):
    n = x.numel()
    assert n not in (7, 4096)
    block = min(1024, triton.next_power_of_2(n))
    _BLOCKS[n] = block
    _BLOCKS.setdefault(n, block)
    _SEEN.append(n)
    _SCRATCH.zero_()
    blank = _SCRATCH
    note(n)
    size = cache.get(n, block)
    cache[n] = size
    aligned = x.data_ptr() % 16 == 0
    stream = torch.cuda.current_stream(x.device)
    total = x.sum()
    y = torch.empty_like(x) if out is None else out
    k[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    return y
"""
METHODS = f"""{HEAD}

{KERNEL}

class Layer(torch.nn.Module):
    def forward(self, x):
        n = x.numel()
        self.last = n
        y = torch.empty_like(x)
        k[(triton.cdiv(n, self.block),)](x, y, n, BLOCK=self.block)
        self.remember(n)
        return y


class Op(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        n = x.numel()
        y = torch.empty_like(x)
        block = triton.next_power_of_2(n)
        k[(1,)](x, y, n, BLOCK=block)
        ctx.save_for_backward(x)
        ctx.block = block
        return y
"""


def program_of(text: str, folder: Path, kernel: str = "k") -> Program:
    path = folder / "m.py"
    path.write_text(text)
    return find_program(Workspace.for_file(str(path), {}), str(path), kernel)


def kind_of(program: Program, label: str, text: str) -> str:
    """The kind of refusal; nothing where the text may stand in for the function."""
    every = editables(program)
    try:
        check(rules(program, next(e for e in every if e.label == label), every), text)
    except Refused as refused:
        return refused.kind
    return ""


def kernel(lines: str, parameters: str = "x, y, n, BLOCK: tl.constexpr") -> str:
    """The kernel of the programs with further lines before its store."""
    head, index, store = KERNEL.rstrip().split("\n")[1:]
    return "\n".join(
        ["@triton.jit", head.replace("x, y, n, BLOCK: tl.constexpr", parameters), index, textwrap.indent(lines, "    "), store, ""]
    )


def with_lines(text: str, name: str, *, before: str = "", after: str = "", instead: tuple[str, str] = ("", "")) -> str:
    """The function of that name as it stands in a program, with lines at its start or before its last ``return``, or a piece changed."""
    node: ast.AST = ast.parse(text)
    for part in name.split("."):
        node = next(n for n in ast.iter_child_nodes(node) if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and n.name == part)
    assert isinstance(node, ast.FunctionDef)
    first = min(n.lineno for n in (node, *node.decorator_list))
    old = textwrap.dedent("\n".join(text.split("\n")[first - 1 : node.end_lineno])).split("\n")
    head = node.body[0].lineno - first
    tail = len(old) - 1 if old[-1].lstrip().startswith("return") else len(old)
    new, late = (textwrap.indent(x, "    ").split("\n") if x else [] for x in (before, after))
    out = "\n".join([*old[:head], *new, *old[head:tail], *late, *old[tail:]]) + "\n"
    assert instead[0] in out
    return out.replace(*instead) if instead[0] else out
