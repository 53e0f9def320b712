"""``exp2`` and ``reciprocal``: cheaper arithmetic for each element, paid for once a row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.kernel import REDUCTIONS
from kernelband.strategies.code.launch import Edits
from kernelband.strategies.code.view import moving

LOG2E = "1.4426950408889634"


class Exp2:
    """``exp(a - b)`` as ``exp2(a * log2(e) - b * log2(e))``: the hardware has only exp2, and the product joins the subtraction."""

    name = "exp2"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _exp2, program, facts)


class Reciprocal:
    """``x / total`` as ``x * (1.0 / total)`` where the total is one number a row."""

    name = "reciprocal"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _reciprocal, program, facts)


def _exp2(at: At) -> Iterator[Proposal | None]:
    view = at.view
    module, tl = view.kernel.module, view.kernel.language
    edits: Edits = []
    calls = view.kernel.calls({"exp"})
    for call in calls:
        difference = _difference(view, call)
        if difference is None or not isinstance(call.func, ast.Attribute):
            return  # all or none: a kernel with both is hard to read
        left, right = _operand(view, difference.left), _operand(view, difference.right)
        edits += [
            (module.path, module.replace(call.func, f"{tl}.exp2")),
            (module.path, module.replace(difference, f"{left} * {LOG2E} - {right} * {LOG2E}")),
        ]
    if calls:
        yield at.proposal(
            {},
            edits,
            "reassociates",
            "exp(a - b) becomes exp2(a * log2(e) - b * log2(e)).",
            "exp is exp2 after a product on the GPU; folded into the subtraction the product is free.",
        )


def _difference(view: View, call: ast.Call) -> ast.BinOp | None:
    """The ``a - b`` that is exponentiated: in place, or behind a name that nothing else reads."""
    if len(call.args) != 1 or call.keywords:
        return None
    value: ast.expr = call.args[0]
    if isinstance(value, ast.Name):
        bindings = view.kernel.bindings(value.id)
        reads = [n for n in ast.walk(view.kernel.node) if isinstance(n, ast.Name) and n.id == value.id and isinstance(n.ctx, ast.Load)]
        if len(bindings) != 1 or len(reads) != 1 or not isinstance(bindings[0], ast.Assign) or len(bindings[0].targets) != 1:
            return None
        value = bindings[0].value
    return value if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub) else None


def _operand(view: View, node: ast.expr) -> str:
    code = view.kernel.module.code(node)
    return code if isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Attribute | ast.Constant) else f"({code})"


def _reciprocal(at: At) -> Iterator[Proposal | None]:
    view = at.view
    module = view.kernel.module
    edits: Edits = []
    for node in ast.walk(view.kernel.node):
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Div)
            and isinstance(node.right, ast.Name)
            and _per_row(view, node.right.id)
        ):
            left = _operand(view, node.left)
            edits.append((module.path, module.replace(node, f"{left} * (1.0 / {node.right.id})")))
    yield at.proposal(
        {},
        edits,
        "reassociates",
        "Elements are multiplied by the reciprocal of the row's total instead of divided by the total.",
        "A division takes several instructions for each element; the reciprocal takes them once a row.",
    )


def _per_row(view: View, name: str) -> bool:
    """The name is a sum over a block, bound once."""
    bindings = view.kernel.bindings(name)
    if len(bindings) != 1 or not isinstance(bindings[0], ast.Assign):
        return False
    return view.kernel.tl(bindings[0].value) in REDUCTIONS - {"dot", "dot_scaled", "cumsum", "cumprod", "associative_scan", "sort"}
