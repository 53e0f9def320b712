"""``heuristic_blocks``: another size for a block that ``@triton.heuristics`` computes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import log2

from attrs import frozen

from kernelband.source.model import Edit, Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.guards import unguarded
from kernelband.strategies.code.resizing import resizable
from kernelband.strategies.code.view import moving
from kernelband.strategies.tiling.candidates import covered

TIMES = (2, 4, 8, 16)  # as large, or as small
BEST = 2048  # elements of a program's tile that are tried first
LARGEST = 16384
SMALLEST_PRODUCT = 16  # rows or columns of tl.dot
WAVES = 2  # programs for each multiprocessor that must be left


class HeuristicBlocks:
    """A number in place of what the heuristic says, where the block was the same in all cases."""

    name = "heuristic_blocks"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("tiling", self.name, _propose, program, facts)


@frozen(eq=False)
class Heuristic:
    """Where a constexpr is computed. ``values``: what the decorator is given; ``own``: what it has for this one, where that is written."""

    name: str
    values: ast.expr
    own: ast.expr | None

    def edit(self, view: View, size: int) -> Edit:
        """The edit that makes it that number."""
        module, number = view.kernel.module, f"lambda args: {size}"
        if self.own is not None:
            return module.replace(self.own, number)
        return module.replace(self.values, f'{{**{module.code(self.values)}, "{self.name}": {number}}}')


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if not view.whole:
        return
    dot = bool(view.kernel.calls({"dot", "dot_scaled"}))
    for block in view.kernel.aranges():
        heuristic, sizes = _heuristic(view, block), view.numbers(block)
        if heuristic is None or len(sizes) != 1 or sizes[0] < 1 or any(block not in covered(view, x) for x in view.launches):
            continue
        if not resizable(view, block, parts=True):
            continue
        size, beside = sizes[0], view.beside({block})
        gridded, programs = all(x.grid_reads(block) for x in view.launches), min(view.programs(), default=0)
        if not gridded and any(x.grid_reads(block) for x in view.launches):
            continue
        larger = [size * n for n in TIMES if not gridded or programs // n >= WAVES * view.facts.device.multiprocessors]
        smaller = [size // n for n in TIMES if size % n == 0 and (not dot or size // n >= SMALLEST_PRODUCT)]
        if unguarded(view.kernel, block) or not resizable(view, block):
            larger = []  # only a divisor may replace it
        fitting = [n for n in (*larger, *smaller) if n * beside <= LARGEST]
        for new in sorted(fitting, key=lambda n: (abs(log2(n * beside / BEST)), n)):
            yield at.proposal(
                {block: new},
                [(view.kernel.module.path, heuristic.edit(view, new))],
                view.summation(),
                f"{block} {size}→{new}, where a heuristic computes it.",
                f"A program's tile has {size * beside} elements, and the heuristic gives that size for all cases.",
            )


def _heuristic(view: View, name: str) -> Heuristic | None:
    """What computes a constexpr that no launch passes and no configuration sets."""
    kernel = view.kernel
    tuned = any(name in (x["config"] or {}) for x in view.target_launches)
    if tuned or any(name in x.arguments or x.splat for x in view.launches) or _default(kernel.node, name):
        return None
    given = [v for d in kernel.node.decorator_list if (v := _values(d)) is not None]
    for values in given:
        own = _own(values, name)
        if own is not None:
            return Heuristic(name, values, own)
    unread = [v for v in given if not isinstance(v, ast.Dict) or None in v.keys]
    return Heuristic(name, unread[0], None) if len(unread) == 1 and len(given) == 1 else None


def _values(decorator: ast.expr) -> ast.expr | None:
    """``values`` of ``@triton.heuristics(values)``."""
    if not isinstance(decorator, ast.Call):
        return None
    called = decorator.func.attr if isinstance(decorator.func, ast.Attribute) else getattr(decorator.func, "id", "")
    given = [*decorator.args, *(k.value for k in decorator.keywords if k.arg == "values")]
    return given[0] if called == "heuristics" and len(given) == 1 else None


def _own(values: ast.expr, name: str) -> ast.expr | None:
    pairs = zip(values.keys, values.values, strict=True) if isinstance(values, ast.Dict) else ()
    return next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == name), None)


def _default(node: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    positional = [*node.args.posonlyargs, *node.args.args]
    with_default = {a.arg for a in positional[len(positional) - len(node.args.defaults) :]}
    return name in with_default | {a.arg for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
