"""Whether a block that a host function keeps in a variable is read there for anything else than blocks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.knob import OPTIONS
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.quotients import called

DEEP = 4  # variables made of variables


def spreads(launch: LaunchView, name: str) -> bool:
    """What the constexpr ``name`` is passed in is more than how large a block is, and another number would change more: a factor, a size
    of a tensor, another argument of the kernel. Numbers of blocks, conditions and launch options follow it.
    """
    value = launch.arguments.get(name)
    if not isinstance(value, ast.Name) or launch.host is None:
        return False
    if sum(isinstance(v, ast.Name) and v.id == value.id for v in launch.arguments.values()) > 1:
        return True
    return _spreads(launch, value.id, {*_grid(launch)}, DEEP)


def _grid(launch: LaunchView) -> Iterator[ast.AST]:
    """The grid and the numbers that it is made of; not the tensors whose shapes it has."""
    queue, seen = [launch.grid], set[str]()
    while queue:
        for node in all_nodes(queue.pop()):
            yield node
            if isinstance(node, ast.Name) and node.id not in seen and not isinstance(launch.module.parents.get(node), ast.Attribute):
                seen.add(node.id)
                queue += [b.value for b in launch.bindings(node.id) if isinstance(b, ast.Assign)]


def _spreads(launch: LaunchView, variable: str, grid: Set[ast.AST], deep: int) -> bool:
    reads = [n for n in all_nodes(launch.host or launch.module.tree) if isinstance(n, ast.Name) and n.id == variable]
    return any(isinstance(n.ctx, ast.Load) and n not in grid and not _follows(launch, n, grid, deep) for n in reads)


def _follows(launch: LaunchView, read: ast.Name, grid: Set[ast.AST], deep: int) -> bool:
    """What is made there is right for a block of any size."""
    inner: ast.AST = read
    for around in launch.module.around(read):
        match around:
            case ast.Call(func=ast.Subscript()) if inner is read or isinstance(inner, ast.keyword):
                return deep == DEEP  # passed to a kernel; what is made of it isn't
            case ast.Call(args=[_, *rest]) if called(around) == "cdiv" and inner in rest:
                return True
            case ast.BinOp(op=ast.FloorDiv() | ast.Mod(), right=right) if inner is right or _reads(right, read.id):
                return True
            case ast.Assert() | ast.Raise():
                return True
            case ast.If(test=test) if inner is test:
                return all(_minor(launch, n) for n in all_nodes(around) if isinstance(n, ast.stmt) and n is not around)
            case ast.Assign() if deep:
                names = bound_names(around)
                return all(not _spreads(launch, name, grid, deep - 1) or _only_option(launch, name) for name in names)
            case ast.stmt():
                return False
            case _:
                inner = around
    return False


def _minor(launch: LaunchView, statement: ast.stmt) -> bool:
    """Results don't hang on whether it is done: a refusal, or warps and stages."""
    match statement:
        case ast.Raise() | ast.Assert() | ast.Pass() | ast.If():
            return True
        case ast.Assign():
            return all(_only_option(launch, name) for name in bound_names(statement))
        case _:
            return False


def _only_option(launch: LaunchView, name: str) -> bool:
    """The launch takes the variable as its warps or stages, and nothing else reads it."""
    reads = [n for n in all_nodes(launch.host or launch.module.tree) if isinstance(n, ast.Name) and n.id == name]
    taken = [k.value for k in launch.keywords if k.arg in OPTIONS]
    return all(n in taken for n in reads if isinstance(n.ctx, ast.Load))


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in all_nodes(node))
