"""``even_blocks``: a flag that the host side computes drops masks where the size is a multiple of the block."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, LaunchView, View
from kernelband.strategies.code.heuristic import heuristic
from kernelband.strategies.code.linear import definition, flatten, index
from kernelband.strategies.code.quotients import divisor
from kernelband.strategies.code.view import moving


class EvenBlocks:
    """``@triton.heuristics({"EVEN": ...})``, the usual way to say it, and ``mask = ... | EVEN``, which folds to "always"."""

    name = "even_blocks"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    kernel, module = view.kernel, view.kernel.module
    if not view.whole:
        return
    for statement in kernel.node.body:
        found = _mask(view, statement)
        if found is None:
            continue
        mask, size, block = found
        flag = kernel.free_name("EVEN")
        added = heuristic(view, {flag: f'args["{size}"] % args["{block}"] == 0'})
        if added is None:
            return
        edits = [*added, module.replace(mask, f"({module.code(mask)}) | {flag}")]
        even = [n for n, b in zip(view.numbers(size), view.sizes(block) * len(view.numbers(size)), strict=False) if n % b == 0]
        if not even:
            return
        yield at.proposal(
            {"size": size, "block": block},
            [(module.path, e) for e in edits],
            "exact",
            f"The mask over {size} folds away when {size} is a multiple of {block}; other sizes keep it.",
            f"{len(even)} of the sizes in the cases ({', '.join(map(str, even[:3]))}) are multiples of the block.",
        )
        return


def _mask(view: View, statement: ast.stmt) -> tuple[ast.Compare, str, str] | None:
    """``mask = offsets < n`` where the grid is ``cdiv(n, BLOCK)`` and a program's offsets are its own block: (comparison, n, block)."""
    kernel = view.kernel
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    match statement.value:
        case ast.Compare(left=offsets, ops=[ast.Lt()], comparators=[ast.Name(id=size)]) as test:
            pass
        case _:
            return None
    plain = size in kernel.parameters and size not in kernel.constexprs and not kernel.bindings(size)
    if not plain or len(kernel.bindings(statement.targets[0].id)) != 1:
        return None
    block = own_block(kernel, offsets, statement)
    return (test, size, block) if block is not None and all(side_of(x, size, block) for x in view.launches) else None


def own_block(kernel: KernelView, offsets: ast.expr, read: ast.AST, axis: int = 0) -> str | None:
    """BLOCK where the offsets are exactly ``tl.program_id(axis) * BLOCK + tl.arange(0, BLOCK)``, in whichever dimension."""
    found = numbered_block(kernel, offsets, read)
    if found is None:
        return None
    block, value = found
    widened = isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "to"
    call = value.func.value if widened and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else value
    return block if kernel.tl(call) == "program_id" and kernel.tokens(call) == frozenset({f"@{axis}"}) else None


def numbered_block(kernel: KernelView, offsets: ast.expr, read: ast.AST) -> tuple[str, ast.expr] | None:
    """(BLOCK, i) where the offsets are exactly ``i * BLOCK + tl.arange(0, BLOCK)``: what i is bound to, where that is one thing."""
    found = index(kernel, offsets, read)
    if found is None or found.wrap is not None or found.block not in kernel.constexprs:
        return None
    names = frozenset(n.id for n in kernel.nodes if isinstance(n, ast.Name))
    origin = [x for t in found.origin for x in (flatten(kernel, t.factors[0], t.read, names, t.sign) if len(t.factors) == 1 else [t])]
    if len(origin) != 1:
        return None
    (term,) = origin
    factors = [f for f in term.factors if ast.unparse(f) != found.block]
    if term.sign != 1 or len(factors) != 1 or len(term.factors) != 2:
        return None
    number = factors[0]
    bound = definition(kernel, number.id, term.read) if isinstance(number, ast.Name) else None
    return found.block, bound.value if bound is not None else number


def side_of(launch: LaunchView, size: str, block: str, axis: int = 0) -> bool:
    """The grid's side along that axis is ``cdiv(n, BLOCK)`` of what is passed for the size and the block."""
    sides = launch.sides() or [launch.grid]
    pair = divisor(sides[axis]) if axis < len(sides) else None
    if pair is None or size not in launch.parameters_of(pair[0]):
        return False
    by_meta = launch.meta is not None and ast.unparse(pair[1]) in (f"{launch.meta}['{block}']", f'{launch.meta}["{block}"]')
    return by_meta or block in launch.parameters_of(pair[1])
