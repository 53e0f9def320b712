"""What a loop makes of a row, number by number: sums, maxima and minima that can as well be made of its parts."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import KernelView, Loop
from kernelband.strategies.code.shapes import axis_of, shape_of, shapes
from kernelband.strategies.reordering.carried import carried


@frozen(eq=False)
class Running:
    """``name`` is a number, or a block that is read as its reduction only: at ``reduced``."""

    name: str
    combined: str  # "sum" | "max" | "min"
    pointer: str  # the kernel's parameter for the parts' numbers
    reduced: list[ast.Call]
    block: bool

    def stored(self, tl: str) -> str:
        """A part's number."""
        return f"{tl}.{self.combined}({self.name}, axis=0)" if self.block else self.name


def running(kernel: KernelView, loop: Loop, following: Sequence[ast.stmt]) -> list[Running] | None:
    """All that the loop, or a loop in it, carries on; None where some of it isn't such a number of float32. ``following`` may read it."""
    found: list[Running] = []
    everything = carried(kernel, loop)
    for carry in everything.carries if everything is not None else []:
        reduced = _reductions(kernel, carry.name, carry.how, following) if carry.shape else []
        if carry.how in ("highest", "below") or len(carry.shape) > 1 or reduced is None:
            return None
        found.append(Running(carry.name, carry.how, carry.pointer, reduced, bool(carry.shape)))
    return found or None


def _reductions(kernel: KernelView, name: str, how: str, following: Sequence[ast.stmt]) -> list[ast.Call] | None:
    """The calls that reduce the block behind the loop; None where something else reads it."""
    found: list[ast.Call] = []
    known = shapes(kernel)
    for node in (n for s in following for n in all_nodes(s)):
        if isinstance(node, ast.Name) and node.id == name:
            call = kernel.module.parents.get(node)
            whole = isinstance(call, ast.Call) and kernel.tl(call) == how and call.args[:1] == [node] and axis_of(call) in (0, None)
            if not whole or not isinstance(call, ast.Call) or shape_of(kernel, call, known) != ():
                return None
            found.append(call)
    return found
