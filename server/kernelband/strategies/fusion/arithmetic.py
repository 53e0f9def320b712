"""``exp2`` and ``reciprocal``: cheaper arithmetic for each element, paid for once a row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import reads
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.reaching import masks_of
from kernelband.strategies.code.shapes import axis_of, shape_of, shapes
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
            if each and (_per_row(view, node.right) or _counts(view, node)):
                edits.append((module.path, module.replace(node, f"{_operand(view, node.left)} * (1.0 / {node.right.id})")))
    yield at.proposal(
        {},
        edits,
        "reassociates",
        "Elements are multiplied by the reciprocal of what is the same for the whole row instead of divided by it.",
        "A division takes several instructions for each element; the reciprocal takes them once a row.",
    )


def _counts(view: View, node: ast.BinOp) -> bool:
    """Elements that were loaded are divided by a whole number that the kernel is called with, and stay numbers: its reciprocal is infinite
    only where each quotient is, too. Of float64 elements it would be a float32.
    """
    kernel, launches, right = view.kernel, view.target_launches, node.right
    if not isinstance(right, ast.Name) or right.id not in kernel.parameters or kernel.bindings(right.id):
        return False
    whole = bool(launches) and all(type(x["scalars"].get(right.id)) is int for x in launches)
    read = {t["dtype"] for x in launches for name, t in x["tensors"].items() if name in kernel.tokens(node.left)}
    floats = bool(read) and all(dtype.startswith(("float", "bfloat")) and dtype != "float64" for dtype in read)
    wide = any(isinstance(n, ast.Attribute) and n.attr == "float64" for n in kernel.nodes)
    return whole and floats and not wide and not _jumps(kernel, node)


def _jumps(kernel: KernelView, quotient: ast.BinOp) -> bool:
    """Whether another last digit of the quotient may become another whole number, or another way: what is made of it is compared or
    rounded.
    """
    statement = next((n for n in kernel.module.around(quotient) if isinstance(n, ast.stmt)), None)
    names = frozenset(bound_names(statement)) if statement is not None else frozenset[str]()
    while True:
        more = {n for s in kernel.nodes if isinstance(s, ast.stmt) and reads(s, names) for n in bound_names(s)}
        if more <= names:
            break
        names |= more
    for node in kernel.nodes:
        sharp = isinstance(node, ast.Compare) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod))
        sharp = sharp or (isinstance(node, ast.Call) and _rounds(kernel, node))
        if sharp and any(n is quotient or (isinstance(n, ast.Name) and n.id in names) for n in all_nodes(node)):
            return True
    return False


def _rounds(kernel: KernelView, call: ast.Call) -> bool:
    """``tl.floor(x)``, ``x.to(tl.int32)``."""
    method = call.func.attr if isinstance(call.func, ast.Attribute) and kernel.tl(call) is None else ""
    to = [ast.unparse(a) for a in (*call.args, *(k.value for k in call.keywords))] if method in ("to", "cast") else []
    return kernel.tl(call) in ("floor", "ceil", "cast") or any("int" in t.rpartition(".")[2] for t in to)


def _per_row(view: View, name: ast.Name) -> bool:
    """The name is a sum of exponentials that a maximum was taken from: at least 1, and at most the length of the row.

    The reciprocal of any other sum may be infinite, or nothing, where the quotient is neither.
    """
    kernel = view.kernel
    total = _bound(kernel, name.id)
    return _sum_below_maximum(kernel, total, None) if total is not None else _running(kernel, name)


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
        exponent = _exponent(kernel, others[0]) if len(factors) == 2 and len(others) == 1 else None
        if exponent is not None and isinstance(exponent.left, ast.Name) and isinstance(exponent.right, ast.Name):
            old, new = exponent.left.id, exponent.right.id
            return _begins_lowest(kernel, old, new) and _sum_below_maximum(kernel, added, (old, new))
    return False


def _begins_lowest(kernel: KernelView, old: str, new: str) -> bool:
    """``old = float("-inf")``, and ``old = new`` once."""
    values = [ast.unparse(b.value) if isinstance(b, ast.Assign) else "" for b in kernel.bindings(old)]
    return len(values) == 2 and values[0] in ("float('-inf')", "-float('inf')") and values[1] == new


def _exponent(kernel: KernelView, node: ast.expr) -> ast.BinOp | None:
    """The difference that an exponential is of, times a constant of the module's or none."""
    if not isinstance(node, ast.Call) or kernel.tl(node) not in ("exp", "exp2") or len(node.args) != 1:
        return None
    inside = node.args[0]
    if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Mult):
        positive = isinstance(inside.right, ast.Constant) and isinstance(inside.right.value, float) and inside.right.value > 0
        outside = isinstance(inside.right, ast.Name) and not kernel.bindings(inside.right.id) and inside.right.id not in kernel.parameters
        inside = inside.left if positive or outside else inside
    inside = _bound(kernel, inside.id) if isinstance(inside, ast.Name) else inside
    return inside if isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.Sub) else None


def _sum_below_maximum(kernel: KernelView, total: ast.expr, running: tuple[str, str] | None) -> bool:
    """``tl.sum(tl.exp(x - largest))``; ``running``: the names of the largest so far and of the new one."""
    if kernel.tl(total) != "sum" or not isinstance(total, ast.Call) or not total.args:
        return False
    terms = total.args[0]
    terms = _bound(kernel, terms.id) if isinstance(terms, ast.Name) else terms
    if isinstance(terms, ast.Call) and kernel.tl(terms) == "where" and len(terms.args) == 3:
        inside = _exponent(kernel, terms.args[1])
        if inside is None or ast.unparse(terms.args[0]) not in masks_of(kernel, inside.left):
            return False  # it may leave the largest out
        terms = terms.args[1]
    exponent = _exponent(kernel, terms) if terms is not None else None
    if exponent is None:
        return False
    right = exponent.right.value if isinstance(exponent.right, ast.Subscript) else exponent.right
    if running is not None and not (isinstance(right, ast.Name) and right.id == running[1]):
        return False
    largest = _bound(kernel, right.id) if isinstance(right, ast.Name) else right
    if running is not None and isinstance(largest, ast.Call) and kernel.tl(largest) == "maximum":
        given = [_bound(kernel, a.id) if isinstance(a, ast.Name) and a.id != running[0] else a for a in largest.args]
        old = [a for a in given if isinstance(a, ast.Name) and a.id == running[0]]
        largest = next((a for a in given if a not in old), None) if len(given) == 2 and len(old) == 1 else None
    if not isinstance(largest, ast.Call) or kernel.tl(largest) != "max" or not largest.args:
        return False
    low, high = sorted((largest.lineno, exponent.lineno))
    between = {n for n in kernel.nodes if isinstance(n, ast.stmt) and low < n.lineno < high}
    same = ast.unparse(largest.args[0]) == ast.unparse(exponent.left) and not any(reads(exponent.left, bound_names(n)) for n in between)
    axes = {axis_of(c, kept=True) for c in (largest, total)}
    return same and len(axes) == 1 and "?" not in axes


def _bound(kernel: KernelView, name: str) -> ast.expr | None:
    """What the name is bound to, once."""
    bindings = kernel.bindings(name)
    return bindings[0].value if len(bindings) == 1 and isinstance(bindings[0], ast.Assign) else None
