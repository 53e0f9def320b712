"""``rsqrt``: ``1 / tl.sqrt(x)`` as ``tl.rsqrt(x)``.

Triton 3.6 and 3.9 compile the first to ``sqrt.approx.ftz.f32`` and ``div.full.f32`` and the second to one ``rsqrt.approx.ftz.f32``. By the
PTX manual their largest relative errors are 2^-23, 2 ulp (2^-22), and 2^-22.9: the one instruction is no less precise than the two, it
only rounds elsewhere. ``tl.sqrt_rn`` rounds correctly and is left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving


class Rsqrt:
    """One instruction for an inverse root; ``y / tl.sqrt(x)`` becomes ``y * tl.rsqrt(x)``."""

    name = "rsqrt"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    kernel, module = at.view.kernel, at.view.kernel.module
    if any(t["dtype"] == "float64" for x in at.view.target_launches for t in x["tensors"].values()):
        return
    edits: Edits = []
    for node in all_nodes(kernel.node):
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            continue
        argument = _root(kernel, node.right)
        if argument is None:
            continue
        root = f"{kernel.language}.rsqrt({module.code(argument)})"
        one = isinstance(node.left, ast.Constant) and node.left.value in (1, 1.0)
        simple = isinstance(node.left, ast.Name | ast.Call | ast.Subscript | ast.Attribute | ast.Constant)
        left = module.code(node.left) if simple else f"({module.code(node.left)})"
        edits.append((module.path, module.replace(node, root if one else f"{left} * {root}")))
    yield at.proposal(
        {},
        edits,
        "reassociates",
        "The division by a square root becomes a product with tl.rsqrt.",
        "rsqrt is one instruction; a root and a division are a dozen, in the path that every element of the row waits for.",
    )


def _root(kernel: KernelView, node: ast.expr) -> ast.expr | None:
    """What the root is taken of: ``tl.sqrt(x)``, ``tl.math.sqrt(x)``."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    return node.args[0] if kernel.tl(node) == "sqrt" else None
