"""Which numbers in a grid are copies of the one that a launch passes for a block."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Protocol

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.knob import OPTIONS
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.quotients import called, divisor, rounding


class Launched(Protocol):
    """What is asked of a launch."""

    @property
    def kernel(self) -> KernelView: ...

    @property
    def grid(self) -> ast.expr: ...

    @property
    def arguments(self) -> Mapping[str, ast.expr]: ...

    def sides(self) -> list[ast.expr] | None: ...

    def parameters_of(self, expression: ast.expr) -> list[str]: ...


def own_copies(launch: Launched, name: str, value: int) -> list[ast.expr] | None:
    """The grid's copies of the number passed for ``name``; None when it may as well be that of another constexpr of the same value.

    ``cdiv(M, 32)`` with BLOCK_M = BLOCK_K = 32 is about the one whose indices end at what the kernel calls M, and in ``(M // 32, N // 32)``
    the first is about the one that ``tl.program_id(0)`` is multiplied by.
    """
    copies = list(_copies(launch.grid, value))
    rivals = [k for k, v in launch.arguments.items() if k not in OPTIONS and k != name and integer(v) == value]
    if not copies or not rivals:
        return [c for _, places in copies for c in places]
    own: list[ast.expr] = []
    for n, places in copies:
        mine = _ends(launch, n, name)
        if mine == any(_ends(launch, n, k) for k in rivals):
            axis = {f"@{_axis(launch, places[0])}"}
            mine = launch.kernel.dealt(name) == axis
            if mine == any(launch.kernel.dealt(k) == axis for k in rivals):
                return None
        own += places if mine else []
    return own


def _ends(launch: Launched, n: ast.expr | None, block: str) -> bool:
    """The block's indices end at ``n``."""
    passed = frozenset(() if n is None else launch.parameters_of(n))
    return bool(passed & launch.kernel.ends.get(block, frozenset()))


def _axis(launch: Launched, place: ast.expr) -> int | None:
    """The side of the grid that the code stands in."""
    return next((i for i, side in enumerate(launch.sides() or ()) if place in set(all_nodes(side))), None)


def _copies(grid: ast.expr, value: int) -> Iterator[tuple[ast.expr | None, list[ast.expr]]]:
    """What the grid divides by ``value`` written as a number, and where: ``cdiv(n, 1024)``, ``(n + 1024 - 1) // 1024``."""
    for node in all_nodes(grid):
        if isinstance(node, ast.Call) and called(node) == "cdiv" and len(node.args) == 2 and integer(node.args[1]) == value:
            yield node.args[0], [node.args[1]]
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and integer(node.right) == value:
            inner: list[ast.expr] = [n for n in all_nodes(node.left) if isinstance(n, ast.Constant) and integer(n) == value]
            added = rounding(node.left, value)
            inner += [] if added is None else [added[1]]
            pair = divisor(node)
            yield pair[0] if pair is not None else node.left, [node.right, *inner]
