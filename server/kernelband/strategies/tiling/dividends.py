"""What a block without masks has to divide: sizes that the grid divides by it, and ends of loops that go by it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import Knob, LaunchView, View
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.kernel import Loop
from kernelband.strategies.code.linear import definition
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.sizes import from_shapes

DEEP = 4  # variables of variables
Dividend = tuple[ast.expr | None, list[int]]  # code of the host function, None where it isn't seen; its values in the cases


def dividends(view: View, launch: LaunchView, knob: Knob) -> list[Dividend]:
    """All of them, none where the block is dealt out to programs whose number doesn't follow it."""
    grid = [*_in_grid(view, launch, knob)]
    if not grid and _spread(view, knob.name):
        return []
    asked = {launch.module.code(n) for n, _ in grid if n is not None}
    loops = [*_in_loops(view, launch, knob.name)]
    known = [(n, x) if n is not None and (from_shapes(launch, n) or launch.module.code(n) in asked) else (None, x) for n, x in loops]
    return [*grid, *known]


def _spread(view: View, block: str) -> bool:
    """Something that the block goes into is multiplied by a program's id."""
    kernel = view.kernel
    products = [n for n in kernel.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) and block in kernel.tokens(n)]
    return any(t.startswith("@") for n in products for t in kernel.tokens(n))


def _size(node: ast.expr) -> bool:
    """A variable, a number, a tensor's side or what is computed of such: asking for it does nothing else, and calls don't change it."""
    match node:
        case ast.Name():
            return True
        case ast.Constant(value=value):
            return type(value) is int
        case ast.BinOp(left=left, right=right):
            return _size(left) and _size(right)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant() | ast.UnaryOp()):
            return True
        case _:
            return False


def _in_grid(view: View, launch: LaunchView, knob: Knob) -> Iterator[Dividend]:
    """What the grid divides by the block; None where it does something else with it."""
    value, axes = launch.arguments.get(knob.name), view.kernel.dealt(knob.name)
    own = set[ast.expr]() if isinstance(value, ast.Name) else {n for _, n in knob.places}
    words = {f"{launch.meta}['{knob.name}']", value.id if isinstance(value, ast.Name) else ""}
    mentions = [n for n in launch.grid_nodes() if isinstance(n, ast.expr) and (n in own or ast.unparse(n) in words)]
    inside = set[ast.AST]()
    for node in launch.grid_nodes():
        quotient = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
        pair = (divisor(node) if isinstance(node, ast.expr) else None) or (
            (node.left, node.right) if quotient and isinstance(node, ast.BinOp) else None
        )
        if pair is None or pair[1] not in mentions:
            continue
        inside |= set(all_nodes(node))
        sides = _sides(launch, node)
        several = len(launch.sides() or ()) > 1  # the only side may be a product
        grids: list[list[int]] = [x["grid"] for x in view.timed_launches] if several else []
        counts = {grid[a] for grid in grids for a in sides if a < len(grid)}
        parameter = launch.parameter_of(pair[0])
        lengths = view.timed(parameter) if parameter is not None else [n * knob.value for n in counts]
        seen = _size(pair[0]) and not set(mentions) & set(all_nodes(pair[0])) and {f"@{a}" for a in sides} == axes and len(sides) == 1
        yield (pair[0] if seen and _factor(launch, node) else None), lengths
    if any(n not in inside for n in mentions):
        yield None, []


def _sides(launch: LaunchView, node: ast.AST) -> set[int]:
    """The sides of the grid that the code goes into, itself or through variables."""
    found: set[int] = set()
    for i, side in enumerate(launch.sides() or ([launch.grid] if not isinstance(launch.grid, ast.Name) else [])):
        queue, seen = list[ast.AST]([side]), set[str]()
        while queue:
            for inner in all_nodes(queue.pop()):
                if inner is node:
                    found.add(i)
                if isinstance(inner, ast.Name) and inner.id not in seen:
                    seen.add(inner.id)
                    queue += [b.value for b in launch.bindings(inner.id) if isinstance(b, ast.Assign)]
    return found


def _factor(launch: LaunchView, node: ast.AST, deep: int = DEEP) -> bool:
    """The number of programs along a side is the quotient, or a product with it: ``(M // 32) * B``, not ``M // 32 - 1``."""
    inner, outer = node, launch.module.parents.get(node)
    while isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult):
        inner, outer = outer, launch.module.parents.get(outer)
    if inner is launch.grid or inner in (launch.sides() or ()):
        return True
    names = list(bound_names(outer)) if isinstance(outer, ast.Assign) and outer.value is inner else []
    if len(names) != 1 or len(launch.bindings(names[0])) != 1 or not deep:
        return False
    reads = [n for n in launch.grid_nodes() if isinstance(n, ast.Name) and n.id == names[0] and isinstance(n.ctx, ast.Load)]
    return bool(reads) and all(_factor(launch, n, deep - 1) for n in reads)


def _in_loops(view: View, launch: LaunchView, block: str) -> Iterator[Dividend]:
    """What loops in steps of the block end at; None where they don't go from 0 to an argument."""
    kernel = view.kernel
    for loop in kernel.loops():
        end = _end(view, loop, block)
        if end is None:
            continue
        name = end.id if isinstance(end, ast.Name) and end.id in kernel.parameters and not kernel.bindings(end.id) else None
        passed = launch.arguments.get(name) if name is not None else None
        yield (passed if passed is not None and _size(passed) else None), view.timed(name) if name is not None else []


def _end(view: View, loop: Loop, block: str) -> ast.expr | None:
    """N of ``range(0, N, BLOCK)`` and ``range(N // BLOCK)``; a number, which is no argument, where it reads the block in another way."""
    kernel, stop = view.kernel, loop.stop
    bound = definition(kernel, stop.id, loop.node) if isinstance(stop, ast.Name) else None
    stop = stop if bound is None else bound.value
    from_zero = loop.start is None or integer(loop.start) == 0
    if loop.step is not None and ast.unparse(loop.step) == block:
        return loop.stop if from_zero else ast.Constant(0)
    quotient = (stop.left, stop.right) if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.FloorDiv) else divisor(stop)
    if quotient is not None and ast.unparse(quotient[1]) == block and loop.step is None and from_zero:
        return quotient[0]
    bounds = [e for e in (loop.start, loop.stop, loop.step) if e is not None]
    return ast.Constant(0) if any(block in kernel.tokens(e) for e in bounds) else None
