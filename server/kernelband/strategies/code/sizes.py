"""Sizes that a host function has at hand when it launches: what a choice between two sets of launch parameters may ask for.

A size follows from shapes alone, or is a whole number of the caller's that the kernel's indices end at. Strides, addresses, flags and what
was read from a tensor's content are none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import target_names
from kernelband.strategies.code.knob import OPTIONS
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.literals import given
from kernelband.strategies.code.view import View
from kernelband_worker.wire import LaunchSpec

COUNTS = frozenset({"size", "numel", "nelement"})
ARITHMETIC = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv
DEEP = 6  # variables behind variables


@frozen
class Size:
    """``code`` is what the host function calls it; a launch shows it as the kernel's ``parameter``, or along an ``axis`` of the grid."""

    code: str
    parameter: str | None = None
    axis: int | None = None

    def of(self, launches: Iterable[LaunchSpec]) -> int | None:
        """Its value in the launches of one call; None when they don't show it, or show several."""
        found: set[int] = set()
        for launch in launches:
            if self.parameter is not None:
                value = {**launch["scalars"], **launch["constants"]}.get(self.parameter)
            else:
                value = launch["grid"][self.axis] if self.axis is not None and self.axis < len(launch["grid"]) else None
            if type(value) is not int:
                return None
            found.add(value)
        return found.pop() if len(found) == 1 else None


def sizes(view: View, launch: LaunchView) -> tuple[Size, ...]:
    """The sizes at a launch: first those that the indices of the kernel's blocks end at, then other arguments, then sides of the grid."""
    kernel = view.kernel
    ends = frozenset[str]().union(*kernel.ends.values())
    found: list[Size] = []
    for name in sorted((n for n in launch.arguments if n in kernel.parameters), key=lambda n: n not in ends):
        value = launch.arguments[name]
        if name in OPTIONS or launch.knob(name) is not None or not _short(value):
            continue
        if from_shapes(launch, value) or (name in ends and _parameter(launch, value)):
            found.append(Size(launch.module.code(value), parameter=name))
    for axis, side in enumerate(launch.sides() or ()):
        if _short(side) and from_shapes(launch, side):
            found.append(Size(launch.module.code(side), axis=axis))
    codes = [size.code for size in found]
    return tuple(size for i, size in enumerate(found) if codes.index(size.code) == i)


def _short(node: ast.expr) -> bool:
    """One that reads well in a condition: a variable, ``x.shape[1]``, ``x.numel()``; no arithmetic, no literal."""
    return isinstance(node, ast.Name) or (
        isinstance(node, ast.Subscript | ast.Call) and not any(isinstance(n, ast.BinOp) for n in all_nodes(node))
    )


def _parameter(launch: LaunchView, node: ast.expr) -> bool:
    """A parameter of the host function that is what the caller passed."""
    return isinstance(node, ast.Name) and node.id in _parameters(launch) and not launch.bindings(node.id)


def _parameters(launch: LaunchView) -> set[str]:
    given = launch.host.args if launch.host is not None else None
    return set() if given is None else {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def from_shapes(launch: LaunchView, node: ast.expr, left: int = DEEP) -> bool:
    """Whether nothing but shapes of tensors and whole numbers goes into it."""
    if left == 0:
        return False
    match node:
        case ast.Constant():
            return type(node.value) is int
        case ast.UnaryOp(op=ast.USub()):
            return from_shapes(launch, node.operand, left)
        case ast.BinOp():
            return isinstance(node.op, ARITHMETIC) and all(from_shapes(launch, n, left) for n in (node.left, node.right))
        case ast.Subscript():
            return from_shapes(launch, node.value, left) and not any(isinstance(n, ast.Name | ast.Call) for n in all_nodes(node.slice))
        case ast.Attribute(attr="shape"):
            return _dotted(node.value)
        case ast.Call(func=ast.Attribute(value=ast.expr() as tensor, attr=called)) if called in COUNTS and not node.keywords:
            return _dotted(tensor) and all(from_shapes(launch, a, left) for a in node.args)
        case ast.Call(func=ast.Name(id="len"), args=[ast.expr() as tensor], keywords=[]):
            return _dotted(tensor)
        case ast.Call(func=ast.Attribute(attr="prod") | ast.Name(id="prod"), args=[ast.expr() as inside], keywords=[]):
            return from_shapes(launch, inside, left)
        case ast.Name():
            bindings = launch.bindings(node.id)
            walrus = any(isinstance(n, ast.NamedExpr) and n.target.id == node.id for n in all_nodes(launch.host or launch.module.tree))
            if not bindings or walrus or node.id in _parameters(launch):
                return False
            return all((v := _bound(s, node.id)) is not None and from_shapes(launch, v, left - 1) for s in bindings)
        case _:
            return False


def _dotted(node: ast.expr) -> bool:
    """``x``, ``self.weight``."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _bound(statement: ast.stmt, name: str) -> ast.expr | None:
    """What an assignment binds to ``name``: of ``M, K = a.shape`` the whole shape."""
    if isinstance(statement, ast.AnnAssign):
        return statement.value
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return given(statement, name)
    if isinstance(target, ast.Tuple) and any(isinstance(e, ast.Starred) and name in target_names(e) for e in target.elts):
        return None  # ``*rest, n = x.shape``: ``rest`` is several
    return value
