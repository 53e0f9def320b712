"""Sizes as products: of which lengths a number of elements is made, whatever the host calls it.

``x.numel()`` is the product of x's sides, ``2 * H * 2 * W`` four times that of H and W.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from math import prod

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.blocks import names_read, suites
from kernelband.strategies.code.launch import LaunchView

MADE = frozenset({"empty", "zeros", "ones", "full"})
ALIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like"})
RESHAPING = frozenset(
    ["resize_", "resize_as_", "set_", "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "as_strided_"]  # in place
)
_SIDE = re.compile(r"(\w+)\.shape\[-?\d+\]")
_DEPTH = 8  # of names by other names


@frozen
class Size:
    """A number times lengths, each as the host says it in one way."""

    times: int
    lengths: tuple[str, ...]

    def by(self, other: Size) -> Size:
        """The product of both."""
        return Size(self.times * other.times, tuple(sorted([*self.lengths, *other.lengths])))


def _bound(launch: LaunchView, name: str) -> ast.Assign | None:
    """The one statement that gives the name its value before the launch, of names that are the same from there on."""
    bound = launch.bindings(name)
    statement = bound[0] if len(bound) == 1 else None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not _always(launch, statement):
        return None
    return None if any(b.lineno > statement.lineno for n in names_read(statement.value) for b in launch.bindings(n)) else statement


def alone(launch: LaunchView, name: ast.Name) -> ast.expr | None:
    """What the one statement that binds the name, and no other with it, gives it."""
    statement = _bound(launch, name.id)
    return statement.value if statement is not None and isinstance(statement.targets[0], ast.Name) else None


def spelled(launch: LaunchView, node: ast.expr) -> str:
    """The code of a size in one way: ``x.shape[0]`` for ``x.size(0)`` and ``len(x)``, and for M after ``M, N = x.shape``."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[ast.Constant(value=int() as axis)], keywords=[]):
            return f"{ast.unparse(tensor)}.shape[{axis}]"
        case ast.Call(func=ast.Name(id="len"), args=[tensor], keywords=[]):
            return f"{ast.unparse(tensor)}.shape[0]"
        case ast.Name():
            statement = _bound(launch, node.id)
            if statement is None:
                return node.id
            target, tensor = statement.targets[0], ast.unparse(statement.value).removesuffix(".size()").removesuffix(".shape")
            if isinstance(target, ast.Tuple) and tensor != ast.unparse(statement.value):
                plain = all(isinstance(t, ast.Name) for t in target.elts)
                axes = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == node.id]
                return f"{tensor}.shape[{axes[0]}]" if plain and len(axes) == 1 else node.id
            single = isinstance(target, ast.Name) and not isinstance(statement.value, ast.Name)
            return spelled(launch, statement.value) if single else node.id
        case _:
            return ast.unparse(node)


def size_of(launch: LaunchView, node: ast.expr) -> Size | None:
    """What an expression of the host function is the product of; None for what is bound in several ways."""
    factors = _factors(launch, node, _DEPTH)
    if factors is None or _hidden(launch):
        return None
    return Size(prod(f for f in factors if isinstance(f, int)), tuple(sorted(f for f in factors if isinstance(f, str))))


def _factors(launch: LaunchView, node: ast.expr, depth: int) -> list[int | str] | None:
    match node:
        case _ if depth == 0:
            return None
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _all([_factors(launch, n, depth) for n in (left, right)])
        case ast.Constant(value=int() as value):
            return [value]
        case ast.Call(func=ast.Attribute(value=ast.Name() as tensor, attr="numel"), args=[], keywords=[]):
            return _sides(launch, tensor, depth - 1)
        case ast.Name():
            value = alone(launch, node)
            if value is not None:
                return _factors(launch, value, depth - 1)
            return [spelled(launch, node)] if len(launch.bindings(node.id)) < 2 else None
        case _:
            found = _SIDE.fullmatch(spelled(launch, node))
            return [found[0]] if found is not None and _one_tensor(launch, found[1]) else None


def _all(parts: Sequence[list[int | str] | None]) -> list[int | str] | None:
    return None if any(p is None for p in parts) else [f for p in parts if p is not None for f in p]


def _sides(launch: LaunchView, tensor: ast.Name, depth: int) -> list[int | str] | None:
    """The sides of a tensor, where its shape is unpacked or it is made."""
    if depth <= 0 or len(launch.bindings(tensor.id)) > 1:
        return None
    match alone(launch, tensor):
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=made), args=[ast.Name() as other, *_]) if made in ALIKE:
            return _sides(launch, other, depth - 1)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=made), args=[ast.Tuple(elts=sides), *_]) if made in MADE:
            return _all([_factors(launch, s, depth) for s in sides])
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=made), args=sides) if made in MADE - {"full"} and len(sides) > 1:
            return _all([_factors(launch, s, depth) for s in sides])
        case _:
            counts = {len(found.elts) for found in _unpacked(launch, tensor.id)}
            return [f"{tensor.id}.shape[{i}]" for i in range(counts.pop())] if len(counts) == 1 else None


def _unpacked(launch: LaunchView, tensor: str) -> Iterator[ast.Tuple]:
    """The names in ``A, B, C = x.shape``: they say how many sides there are. Not where another tensor had the name."""
    last = max((b.lineno for b in launch.bindings(tensor)), default=0)
    for node in all_nodes(launch.host or launch.module.tree):
        match node:
            case ast.Assign(targets=[ast.Tuple() as names], value=value) if ast.unparse(value) in (f"{tensor}.shape", f"{tensor}.size()"):
                if names.lineno > last and _always(launch, node) and not any(isinstance(e, ast.Starred) for e in names.elts):
                    yield names
            case _:
                pass


def _one_tensor(launch: LaunchView, name: str) -> bool:
    bound = launch.bindings(name)
    return not bound or (len(bound) == 1 and (isinstance(bound[0], ast.For) or _always(launch, bound[0])))


def _always(launch: LaunchView, statement: ast.stmt) -> bool:
    """Whether the statement has been run whenever the launch is: it stands above it, in the same suite or in one around it."""
    inner: ast.AST = launch.call
    for outer in launch.module.around(launch.call):
        for suite in suites(outer):
            above = suite[: [s is inner for s in suite].index(True)] if inner in suite else []
            if statement in above:
                return True
        inner = outer
    return False


def _hidden(launch: LaunchView) -> bool:
    """Whether the host function binds names in ways that aren't looked at, or gives a tensor another shape in place."""
    for node in all_nodes(launch.host or launch.module.tree):
        if isinstance(node, ast.NamedExpr | ast.Match) or (isinstance(node, ast.ExceptHandler) and node.name):
            return True
        if isinstance(node, ast.Attribute) and (node.attr in RESHAPING or (node.attr == "data" and isinstance(node.ctx, ast.Store))):
            return True
    return False
