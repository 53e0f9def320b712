"""``constant_strides``: strides, and sizes that the grid does not depend on, become compile-time constants."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, View
from kernelband.strategies.code.view import moving

#: What the kernel only knows when it runs.
RUN_TIME = frozenset({"arange", "load", "num_programs", "zeros", "full"})
WIDEST = 2**31  # of constants: they take part in arithmetic of 32 bits


class ConstantStrides:
    """``: tl.constexpr`` on run-time integers that describe a layout."""

    name = "constant_strides"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


def constant(view: View, name: str) -> Edit | None:
    """The edit that makes a parameter a constexpr; None where its uses or its annotation stand against it, or the cases show two values."""
    kernel = view.kernel
    argument = next((a for a in kernel.node.args.args if a.arg == name), None)
    if argument is None or argument.annotation is not None or name in kernel.constexprs or kernel.bindings(name) or kernel.model.helpers:
        return None
    if (
        len(view.numbers(name)) != 1
        or abs(view.numbers(name)[0]) >= WIDEST
        or _has_attribute(kernel.node, name)
        or _divides_constant(view, name)
    ):
        return None  # one that varies would compile the kernel anew for each of its values
    end = kernel.module.span(argument).end
    return Edit(Span(end, end), f": {kernel.language}.constexpr")


def _divides_constant(view: View, name: str) -> bool:
    """``1.0 / n``, ``(n - m) // 2``: of constants that is Python's division, which rounds otherwise and knows no division by zero."""
    kernel = view.kernel
    for node in kernel.nodes:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            read = _made_of(kernel, node)
            if read is not None and name in read:
                return True
    return False


def _made_of(kernel: KernelView, node: ast.expr) -> set[str] | None:
    """The names that it is computed from, names in between too; None where it isn't of parameters and numbers alone."""
    names: set[str] = set()
    queue: list[ast.AST] = [node]
    while queue:
        part = queue.pop()
        if kernel.is_id(part) or (isinstance(part, ast.Call) and kernel.tl(part) in RUN_TIME):
            return None
        if isinstance(part, ast.Name) and part.id not in names:
            names.add(part.id)
            bound = kernel.bindings(part.id)
            if any(isinstance(b, ast.For) for b in bound):
                return None
            queue += [b.value for b in bound if isinstance(b, ast.Assign | ast.AugAssign)]
        queue += ast.iter_child_nodes(part)
    return names


def _has_attribute(node: ast.AST, name: str) -> bool:
    """``n.to(...)``: a constant has no such method."""
    return any(isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name for n in all_nodes(node))


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if not view.whole:
        return
    names = [n for n in view.kernel.parameters if n not in view.kernel.constexprs]
    passed = {n: [x.arguments[n] for x in view.launches if n in x.arguments] for n in names}
    strides = [n for n in names if passed[n] and all(_stride(v) for v in passed[n])]
    sizes = [n for n in names if n not in strides and passed[n] and _guards(view, n) and not _in_grid(view, n)]
    module = view.kernel.module
    for kind, group in (("sizes", sizes), ("strides", strides), ("both", strides + sizes if strides and sizes else [])):
        found = {n: edit for n in group if (edit := constant(view, n)) is not None}
        if found:
            listed = ", ".join(found)
            yield at.proposal(
                {"which": kind},
                [(module.path, e) for e in found.values()],
                view.summation(),  # what is known of strides decides how elements lie in threads
                f"Compile-time constants: {listed}. Each new value compiles once more.",
                "In all cases "
                + ", ".join(f"{n} = {view.numbers(n)[0]}" for n in list(found)[:3])
                + ": they fold into addresses, masks and loops.",
            )


def _stride(value: ast.expr) -> bool:
    return any(isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "stride" for n in all_nodes(value))


def _guards(view: View, name: str) -> bool:
    """The parameter bounds a mask or a loop."""
    compared = {n.id for c in all_nodes(view.kernel.node) if isinstance(c, ast.Compare) for n in all_nodes(c) if isinstance(n, ast.Name)}
    looped = {n.id for x in view.kernel.loops() for n in all_nodes(x.call) if isinstance(n, ast.Name)}
    return name in compared | looped


def _in_grid(view: View, name: str) -> bool:
    """The number of programs follows from it: then it is a size of the data, and changes from call to call."""
    for launch in view.launches:
        value = launch.arguments.get(name)
        code = ast.unparse(value) if value is not None else None
        if any(isinstance(n, ast.expr) and ast.unparse(n) == code for n in launch.grid_nodes()):
            return True
    return False
