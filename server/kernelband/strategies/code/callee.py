"""What stands before the grid of a launch: the kernel itself, or something that may be another kernel the next time."""

from __future__ import annotations

import ast

from kernelband.source.launches import WRAPPERS
from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import binding
from kernelband.strategies.code.module import FunctionNode, Module

MAKERS = frozenset({"jit", "heuristics", "autotune"})


def stands_for(module: Module, at: ast.AST, node: ast.expr, kernel: str) -> bool:
    """Whether ``node``, read at ``at``, can be nothing but the kernel: its name, another that is given to it once, ``wrap_triton(...)`` of
    these.

    Args:
        module: whose tree both are in.
        at: where it is read.
        node: what stands before the grid.
        kernel: the kernel's qualname.
    """
    *owner, name = kernel.split(".")
    match node:
        case ast.Attribute(attr="fn"):
            return stands_for(module, at, node.value, kernel)
        case ast.Attribute():
            first = next(n.id for n in all_nodes(node) if isinstance(n, ast.Name)) if _dotted(node) else ""
            return node.attr == name and (bool(owner) or first in module.imported)
        case ast.Call(args=[ast.expr() as inside]) if wraps(node):
            return stands_for(module, at, inside, kernel)
        case ast.Name():
            scope = next((s for s in module.around(at) if isinstance(s, FunctionNode) and _binds(s, node.id)), module.tree)
            bound = [s for s in binding(scope).get(node.id, []) if scope is not module.tree or not _inside(module, s)]
            if isinstance(scope, FunctionNode) and (len(bound) != 1 or node.id in _parameters(scope)):
                return False
            if len(bound) == 1 and isinstance(bound[0], ast.Assign):
                plain = len(bound[0].targets) == 1 and isinstance(bound[0].targets[0], ast.Name)
                return plain and stands_for(module, bound[0], bound[0].value, kernel)
            if bound and not isinstance(bound[0], FunctionNode):
                return False
            return all(_makes(s, node.id) for s in bound[1:]) and module.imported.get(node.id, node.id) == name
        case _:
            return False


def wraps(node: ast.AST) -> bool:
    """Whether it is ``wrap_triton(...)``."""
    if not isinstance(node, ast.Call) or node.keywords:
        return False
    return (node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else "") in WRAPPERS


def _makes(statement: ast.stmt, name: str) -> bool:
    """``name = triton.jit(name)``, or with ``heuristics`` or ``autotune``: the same kernel under the same name."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Call(func=made, args=[ast.Name(id=given)], keywords=[])):
            made = made.func if isinstance(made, ast.Call) else made
            called = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
            return target == given == name and called in MAKERS
        case _:
            return False


def _dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _parameters(function: FunctionNode) -> set[str]:
    given = function.args
    return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg)))}


def _binds(function: FunctionNode, name: str) -> bool:
    return name in _parameters(function) or name in binding(function)


def _inside(module: Module, statement: ast.stmt) -> bool:
    """In a function or class, not the module's own."""
    return any(isinstance(a, FunctionNode | ast.ClassDef) for a in module.around(statement))
