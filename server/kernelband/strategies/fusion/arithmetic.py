"""``exp2`` and ``reciprocal``: cheaper arithmetic for each element, paid for once a row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.shapes import shape_of, shapes
from kernelband.strategies.code.view import moving

LOG2E = "1.4426950408889634"


class Exp2:
    """``exp(x)`` as ``exp2(x * log2(e))``.

    The hardware has only exp2, so the product is there in any case; but ``tl.exp`` keeps subnormal results, for which it compares and
    multiplies twice more for each element (sm_90, Triton 3.6 and 3.9: FSETP and two FMUL). The product comes after any difference:
    of ``a * log2(e) - b * log2(e)`` the rounding grows with a and b, to twice the original's error and more.
    """

    name = "exp2"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _exp2, program, facts)


class Reciprocal:
    """``x / total`` as ``x * (1.0 / total)`` where the total is one number a row, and ``x / n`` of a whole number."""

    name = "reciprocal"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _reciprocal, program, facts)


def _exp2(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    edits: Edits = []
    calls = kernel.calls({"exp"})
    if not calls or any(t["dtype"] == "float64" for x in view.target_launches for t in x["tensors"].values()):
        return  # the constant is a float32
    factor = LOG2E if len(calls) == 1 else kernel.free_name("log2e")
    for call in calls:
        if len(call.args) != 1 or call.keywords or not isinstance(call.func, ast.Attribute | ast.Name) or kernel.tl(call) != "exp":
            return  # all or none: a kernel with both is hard to read
        inner = [n for n in all_nodes(call.args[0]) if n in calls]
        if inner:
            return
        edits += [
            (module.path, module.replace(call.func, f"{kernel.language}.exp2")),
            (module.path, module.replace(call.args[0], f"{_operand(view, call.args[0])} * {factor}")),
        ]
    first = next(s for s in kernel.node.body if any(n in calls for n in all_nodes(s)))
    if len(calls) > 1:
        named = module.before(first, [f"{factor} = {LOG2E}  # exp(x) = exp2(x * {factor})"])
        if named is None:
            return
        edits.append((module.path, named))
    else:
        statement = next(n for n in module.around(calls[0]) if isinstance(n, ast.stmt))
        note = module.after(statement, [])
        if note is not None and module.span(statement).end == note.span.start:
            edits.append((module.path, Edit(note.span, "  # exp(x) = exp2(x * log2(e))")))
    yield at.proposal(
        {},
        edits,
        "reassociates",
        "exp(x) becomes exp2(x * log2(e)).",
        "exp is exp2 of a product on the GPU, with a comparison and two products more for each element to keep subnormal results.",
    )


def _operand(view: View, node: ast.expr) -> str:
    code = view.kernel.module.code(node)
    return code if isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Attribute | ast.Constant) else f"({code})"


def _reciprocal(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    known = shapes(kernel)
    edits: Edits = []
    for node in all_nodes(kernel.node):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and isinstance(node.right, ast.Name):
            each = shape_of(kernel, node.left, known) != ()  # a number is divided once in any case
            if each and (_per_row(view, node.right) or _counts(view, node.right.id)):
                edits.append((module.path, module.replace(node, f"{_operand(view, node.left)} * (1.0 / {node.right.id})")))
    yield at.proposal(
        {},
        edits,
        "reassociates",
        "Elements are multiplied by the reciprocal of what is the same for the whole row instead of divided by it.",
        "A division takes several instructions for each element; the reciprocal takes them once a row.",
    )


def _counts(view: View, name: str) -> bool:
    """The name is a whole number that the kernel is called with: its reciprocal is infinite only where each quotient is, too.

    Of float64 elements it would be a float32.
    """
    kernel, launches = view.kernel, view.target_launches
    wide = any(t["dtype"] == "float64" for x in launches for t in x["tensors"].values())
    whole = bool(launches) and all(type(x["scalars"].get(name)) is int for x in launches)
    return whole and not wide and name in kernel.parameters and not kernel.bindings(name)


def _per_row(view: View, name: ast.Name) -> bool:
    """The name is a sum of exponentials that a maximum was taken from: at least 1, and at most the length of the row.

    The reciprocal of any other sum may be infinite, or nothing, where the quotient is neither.
    """
    kernel = view.kernel
    total = _bound(kernel, name.id)
    return _sum_below_maximum(kernel, total) if total is not None else _running(kernel, name)


def _running(kernel: KernelView, name: ast.Name) -> bool:
    """``total = total * tl.exp(old - new) + tl.sum(tl.exp(x - new))`` in a loop above, and a number before it."""
    bindings = [b for b in kernel.bindings(name.id) if isinstance(b, ast.Assign)]
    if len(bindings) != 2 or len(kernel.bindings(name.id)) != 2 or not isinstance(bindings[0].value, ast.Constant):
        return False
    step = bindings[1]
    loop = next((n for n in kernel.module.around(step) if isinstance(n, ast.For | ast.While)), None)
    if loop is None or not isinstance(loop, ast.For) or name.lineno <= (loop.end_lineno or 0) or bindings[0].lineno >= loop.lineno:
        return False
    value = step.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return False
    for scaled, added in ((value.left, value.right), (value.right, value.left)):
        product = isinstance(scaled, ast.BinOp) and isinstance(scaled.op, ast.Mult)
        factors = [scaled.left, scaled.right] if isinstance(scaled, ast.BinOp) and product else []
        others = [f for f in factors if not (isinstance(f, ast.Name) and f.id == name.id)]
        if len(factors) == 2 and len(others) == 1 and isinstance(others[0], ast.Call) and kernel.tl(others[0]) in ("exp", "exp2"):
            return _sum_below_maximum(kernel, added)
    return False


def _sum_below_maximum(kernel: KernelView, total: ast.expr) -> bool:
    """``tl.sum(tl.exp(x - largest))``."""
    if kernel.tl(total) != "sum" or not isinstance(total, ast.Call) or not total.args:
        return False
    terms = total.args[0]
    terms = _bound(kernel, terms.id) if isinstance(terms, ast.Name) else terms
    if isinstance(terms, ast.Call) and kernel.tl(terms) == "where" and len(terms.args) == 3:
        terms = terms.args[1]
    if not isinstance(terms, ast.Call) or kernel.tl(terms) not in ("exp", "exp2") or len(terms.args) != 1:
        return False
    return any(_below_maximum(kernel, n) for n in all_nodes(terms.args[0]))


def _bound(kernel: KernelView, name: str) -> ast.expr | None:
    """What the name is bound to, once."""
    bindings = kernel.bindings(name)
    return bindings[0].value if len(bindings) == 1 and isinstance(bindings[0], ast.Assign) else None


def _below_maximum(kernel: KernelView, node: ast.AST) -> bool:
    """``x - tl.max(x)``, or a name for it."""
    if isinstance(node, ast.Name):
        bound = _bound(kernel, node.id)
        return bound is not None and any(_below_maximum(kernel, n) for n in all_nodes(bound) if isinstance(n, ast.BinOp))
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    right = node.right.value if isinstance(node.right, ast.Subscript) else node.right
    return _is_maximum(kernel, right, ast.unparse(node.left))


def _is_maximum(kernel: KernelView, node: ast.expr, of: str) -> bool:
    """``tl.max`` of that code, or of it and what was largest before, ``tl.maximum(old, tl.max(x))``; or a name for it."""
    made = _bound(kernel, node.id) if isinstance(node, ast.Name) else node
    if not isinstance(made, ast.Call) or not made.args:
        return False
    if kernel.tl(made) == "maximum":
        return any(_is_maximum(kernel, a, of) for a in made.args)
    return kernel.tl(made) == "max" and ast.unparse(made.args[0]) == of
