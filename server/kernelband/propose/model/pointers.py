"""Which of its parameters a kernel loads from and stores to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from attrs import frozen

from kernelband.propose.model.values import Values
from kernelband.source.syntax import all_nodes

How = Literal["loads", "stores", "hands on"]
_ARITHMETIC = "triton.language."


@frozen
class Access:
    """A place where memory behind a parameter is loaded, stored, or handed to another jit function (``to``)."""

    parameter: str
    how: How
    node: ast.AST
    to: str = ""


def accesses(values: Values, kernels: frozenset[str]) -> tuple[Access, ...]:
    """Every access, in the order of the text. An atomic operation stores; where its result is used, it loads as well."""
    found: list[Access] = []
    calls = [n for n in all_nodes(values.function) if isinstance(n, ast.Call)]
    for node in calls:
        verb = operation(values, node.func)
        pointer = _pointer(values, node, verb)
        if verb.startswith("atomic"):
            used = not isinstance(values.parents.get(id(node)), ast.Expr)
            found += [Access(p, how, node) for p in pointer for how in (("stores", "loads") if used else ("stores",))]
        elif verb:
            how: How = "stores" if verb.startswith(("store", "scatter")) else "loads"
            found += [Access(p, how, node) for p in pointer]
        elif (called := values.full(node.func)) in kernels:
            given = [*node.args, *(k.value for k in node.keywords)]
            found += [Access(p, "hands on", node, called) for a in given for p in sorted(parameters(values, a))]
    return tuple(found)


def operation(values: Values, node: ast.expr) -> str:
    """``load``, ``store``, ``atomic_add`` and so on, where a function or method is one that goes to memory."""
    name = node.attr if isinstance(node, ast.Attribute) else ""
    full = values.full(node)
    if full.startswith(_ARITHMETIC):
        name = full.rpartition(".")[2]
        return name if name.startswith(("load", "store", "atomic_")) else ""
    return name if not full and name.startswith(("load", "store", "atomic_", "gather", "scatter")) else ""


def _pointer(values: Values, node: ast.Call, verb: str) -> list[str]:
    if not verb:
        return []
    if isinstance(node.func, ast.Attribute) and not values.full(node.func):
        return sorted(parameters(values, node.func.value))
    first = node.args[:1] or [k.value for k in node.keywords]
    return sorted(p for a in first for p in parameters(values, a))


def parameters(values: Values, node: ast.expr) -> frozenset[str]:
    """The parameters that an address may be made of; numbers among them are the business of the caller."""
    found: set[str] = set()
    seen: set[str] = set()
    left: list[ast.AST] = [node]
    while left:
        part = left.pop()
        if isinstance(part, ast.Name):
            if part.id not in seen:
                seen.add(part.id)
                found |= {part.id} & values.parameters
                left += values.bound.get(part.id, ())
        else:
            left += _parts(values, part)
    return frozenset(found)


def _parts(values: Values, node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Call):
        verb = operation(values, node.func)
        method = [node.func.value] if isinstance(node.func, ast.Attribute) and not values.full(node.func) else []
        return [] if verb else [*method, *node.args, *(k.value for k in node.keywords)]
    if isinstance(node, (ast.Attribute, ast.Constant, ast.Compare)):
        return []
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    return list(ast.iter_child_nodes(node))


def numbers(values: Values) -> frozenset[str]:
    """Parameters that a kernel calculates with as one does with numbers only: compared, multiplied, bounds of a loop, constexpr."""
    found = set(constexprs(values))
    for node in all_nodes(values.function):
        found |= {n.id for n in _counted(node) if isinstance(n, ast.Name)}
    return frozenset(found & values.parameters)


def _counted(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Compare) and not any(isinstance(o, (ast.Is, ast.IsNot)) for o in node.ops):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.Add, ast.Sub)):
        yield from (node.left, node.right)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("range", "cdiv", "arange", "static_range", "minimum"):
        yield from node.args


def constexprs(values: Values) -> frozenset[str]:
    """Parameters that are annotated as ``tl.constexpr``."""
    arguments = values.function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return frozenset(a.arg for a in every if a.annotation is not None and "constexpr" in ast.unparse(a.annotation))
