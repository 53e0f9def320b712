"""The program ids of a kernel: where they are read, and how many programs there are of them."""

from __future__ import annotations

import ast

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import LaunchView, View
from kernelband.strategies.code.parts import new_axis
from kernelband.strategies.code.wrapped import asks_only, named

NAME = "reordering"


def ids_by_axis(view: View, *, asked: bool = False) -> dict[int, list[ast.Call]] | None:
    """``tl.program_id`` calls by axis; None when an axis is not a number, or a helper or a caller may read ids out of sight. ``asked``: of
    helpers that do nothing but ask for an id, too.
    """
    if view.program.handed_on or (view.kernel.wrapped and not asked):
        return None
    found: dict[int, list[ast.Call]] = {}
    for call in view.kernel.ids:
        token = next(iter(view.kernel.tokens(call)), "")
        if token not in ("@0", "@1", "@2"):
            return None
        found.setdefault(int(token[1:]), []).append(call)
    for helper in view.program.helpers:
        module = view.modules.get(helper.place.path)
        node = module.function(helper.place.qualname) if module is not None else None
        if module is None or node is None or not (asks_only(module, node) or not any(map(_asks, all_nodes(node)))):
            return None
    return found


def _asks(node: ast.AST) -> bool:
    return named(node) in ("program_id", "num_programs")


def one_more_axis(view: View) -> tuple[LaunchView, int] | None:
    """The kernel's only launch and the axis that its grid can get; None where others share either, or a program asks how many there are."""
    ids = ids_by_axis(view, asked=True)
    alone = view.whole and len(view.launches) == 1 and view.launches[0].own_grid and not view.program.kernel.autotuned
    if ids is None or not alone or view.kernel.calls({"num_programs"}):
        return None
    axis = new_axis(view.launches[0], set(ids))
    return None if axis is None else (view.launches[0], axis)


def waits(view: View) -> bool:
    """Programs may wait for each other, in a loop that ends when another one has stored something: then some must start before others."""
    return any(isinstance(n, ast.While) for n in view.kernel.nodes)


def programs(view: View) -> int:
    """Programs of the largest launch that is timed, with the blocks that the text has now. 0 when nothing is known."""
    gridded = {n: v[0] for n in view.kernel.aranges() if (v := view.sizes(n)) and any(x.grid_reads(n) for x in view.launches)}
    return max(view.programs(gridded), default=0)


def assigned(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """(name, value) of ``name = value``."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return None
