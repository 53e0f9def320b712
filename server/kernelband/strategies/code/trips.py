"""How often a counted loop runs in the launches of the cases."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.kernel import Loop
from kernelband.strategies.code.launch import LaunchView
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.view import View
from kernelband_worker.wire import LaunchFacts


def trips(view: View, loop: Loop) -> list[int]:
    """Iterations, one number for each launch of the cases, with blocks as the text has them now; empty when a bound isn't known there."""
    bounds = (loop.start or ast.Constant(0), loop.stop, loop.step or ast.Constant(1))
    names = {n.id for bound in bounds for n in all_nodes(bound) if isinstance(n, ast.Name) and not view.kernel.bindings(n.id)}
    found: list[int] = []
    for launched in view.target_launches:
        for launch in view.launches:
            known = passed(launch, launched, names)
            start, stop, step = (_value(view, bound, known) for bound in bounds)
            if start is None or stop is None or not step:
                return []
            found.append(len(range(start, stop, step)))
    return found


def runs_once(view: View, loop: Loop) -> bool:
    """In every launch of the cases: there is no next iteration that anything could overlap with."""
    found = trips(view, loop)
    return bool(found) and max(found) <= 1


def passed(launch: LaunchView, launched: LaunchFacts, names: set[str]) -> dict[str, int]:
    """What those parameters are in a launch: as written now where that is a block, else as it was passed."""
    given = {k: v for k, v in {**launched["scalars"], **launched["constants"]}.items() if type(v) is int}
    known: dict[str, int] = {}
    for name in names:
        knob, size = launch.knob(name), launch.held(name)
        if knob is not None:
            known[name] = knob.value
        elif size is not None and size[0] in given:
            known[name] = min(1 << max(given[size[0]] - 1, 0).bit_length(), size[1])
        elif size is None and name in given:
            known[name] = given[name]
    return known


def _value(view: View, node: ast.expr, known: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Call) and view.kernel.tl(node) == "cdiv" and len(node.args) == 2:
        whole, part = (_value(view, a, known) for a in node.args)
        return -(-whole // part) if whole is not None and part else None
    return integer(node)
