"""Sums over a loop as sums over parts of it: which names a loop adds up, what may follow it, and how torch adds the parts."""

from __future__ import annotations

import ast

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import KernelView, LaunchView, Loop
from kernelband.strategies.code.blocks import memory, names_read, plain, siblings
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.names import module_alias
from kernelband.strategies.fusion.accumulate_late import is_zero, reduction

#: Where the language's products take their accumulator, counted from 0.
ACCUMULATORS = {"dot": 2, "dot_scaled": 6}


def only_loop(kernel: KernelView) -> Loop | None:
    """The kernel's only loop, where it stands in the kernel's own block and stores nothing; nothing else goes round or leaves early."""
    loops = kernel.loops()
    statements = [n for n in all_nodes(kernel.node) if isinstance(n, ast.For | ast.While)]
    if len(loops) != 1 or len(statements) != 1 or not isinstance(kernel.module.parents.get(statements[0]), ast.FunctionDef):
        return None
    loop = loops[0]
    touched = memory(kernel, loop.node.body)
    body = kernel.node.body[1:] if ast.get_docstring(kernel.node) is not None else kernel.node.body
    if touched.stores or touched.opaque or not plain(body) or kernel.calls({"num_programs", *ATOMICS}):
        return None
    return None if loop.kind == "static_range" or loop.node.orelse else loop


def behind(kernel: KernelView, loop: Loop) -> list[ast.stmt]:
    """The statements of the loop's block that follow it."""
    block = siblings(kernel.module, loop.node)
    return block[block.index(loop.node) + 1 :]


def sums(kernel: KernelView, loop: Loop, *, of_any_type: bool = False) -> list[str]:
    """Names that the loop only adds to, beginning with zeros before it: of float32, or ``of_any_type`` that an argument's elements have."""
    found: list[str] = []
    block = siblings(kernel.module, loop.node)
    for statement in loop.node.body:
        name = added_to(kernel, statement)
        if name is None:
            continue
        reads = sum(isinstance(n, ast.Name) and n.id == name for n in all_nodes(loop.node))
        begins = [s for s in kernel.bindings(name) if s is not statement]
        first = begins[0] if len(begins) == 1 else None
        own = 1 if isinstance(statement, ast.AugAssign) else 2
        begin = first.value if isinstance(first, ast.Assign) else None
        zero = begin is not None and (is_zero(kernel, begin) or (of_any_type and types_of(kernel, begin) is not None))
        if zero and first in block and reads == own:
            found.append(name)
    return found


def types_of(kernel: KernelView, zeros: ast.expr) -> set[str] | None:
    """Pointers whose elements' type ``tl.zeros(shape, dtype=kind)`` may have, if not float32; None where it may be another."""
    if kernel.tl(zeros) != "zeros" or not isinstance(zeros, ast.Call):
        return None
    kinds = [*zeros.args[1:2], *(k.value for k in zeros.keywords if k.arg == "dtype")]
    return _pointers(kernel, kinds[0], frozenset()) if len(kinds) == 1 else None


def _pointers(kernel: KernelView, kind: ast.expr, seen: frozenset[str]) -> set[str] | None:
    match kind:
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id=name), attr="dtype"), attr="element_ty"):
            return {name} if name in kernel.parameters and name not in kernel.constexprs else None
        case ast.Name(id=name) if name not in seen and (bound := kernel.bindings(name)) and name not in kernel.parameters:
            found = [_pointers(kernel, b.value, seen | {name}) if isinstance(b, ast.Assign) else None for b in bound]
        case ast.IfExp(body=body, orelse=orelse):
            found = [_pointers(kernel, k, seen) for k in (body, orelse)]
        case _:
            return set() if kernel.tl(kind) == "float32" or ast.unparse(kind) == f"{kernel.language}.float32" else None
    return None if None in found else {n for one in found for n in one or ()}


def added_to(kernel: KernelView, statement: ast.stmt) -> str | None:
    """``acc`` of ``acc += x``, ``acc = acc + tl.sum(x)``, ``acc = tl.dot(a, b, acc)`` and the like."""
    total = reduction(kernel, statement)
    if total is not None:
        return total.name if total.combined == "sum" else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    name, value = statement.targets[0].id, statement.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        operands = [value.left, value.right]
    elif isinstance(value, ast.Call) and (place := ACCUMULATORS.get(kernel.tl(value) or "")) is not None:
        operands = [*value.args[place : place + 1], *(k.value for k in value.keywords if k.arg == "acc")]
    else:
        return None
    return name if any(isinstance(o, ast.Name) and o.id == name for o in operands) else None


def linear(kernel: KernelView, node: ast.expr, names: set[str], following: list[ast.stmt], casts: list[ast.Call]) -> bool:
    """The parts' values of the expression add up to the whole's: ``names``, their sums over an axis, multiples by what is the same in all.

    ``casts`` gets the casts on the way to another type than float32: each would round a part.
    """
    if isinstance(node, ast.Name):
        if node.id in names:
            return True
        bound = kernel.bindings(node.id)
        whole = len(bound) == 1 and bound[0] in following and isinstance(bound[0], ast.Assign) and len(bound[0].targets) == 1
        return whole and isinstance(bound[0], ast.Assign) and linear(kernel, bound[0].value, names, following, casts)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return all(linear(kernel, x, names, following, casts) for x in (node.left, node.right))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        constant = node.right
        value = node.left
        if isinstance(node.op, ast.Mult) and _constant(kernel, value):
            value, constant = constant, value
        return _constant(kernel, constant) and linear(kernel, value, names, following, casts)
    if isinstance(node, ast.Call) and kernel.tl(node) == "sum" and node.args:
        return linear(kernel, node.args[0], names, following, casts)
    cast = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to"
    if cast and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1 and not node.keywords:
        if ast.unparse(node.args[0]) != f"{kernel.language}.float32":
            casts.append(node)
        return linear(kernel, node.func.value, names, following, casts)
    return False


def _constant(kernel: KernelView, node: ast.expr) -> bool:
    """A number or a parameter."""
    return all(n in kernel.parameters and not kernel.bindings(n) for n in names_read(node)) and not any(
        isinstance(n, ast.Call) for n in all_nodes(node)
    )


def added_up(launch: LaunchView, parts: str, out: str, torch: str) -> str:
    """The host's line that adds float32 parts, along their first dimension, into ``out``: in one kernel where that is float32 too."""
    bound = launch.bindings(out)
    value = ast.unparse(bound[0].value) if len(bound) == 1 and isinstance(bound[0], ast.Assign) else ""
    single = value.startswith(f"{torch}.") and f"dtype={torch}.float32" in value
    return f"{torch}.sum({parts}, dim=0, out={out})" if single else f"{out}.copy_({parts}.sum(0))"


def torch_name(launch: LaunchView) -> str | None:
    """What the host's module calls torch."""
    return module_alias(launch.module.tree, "torch")
