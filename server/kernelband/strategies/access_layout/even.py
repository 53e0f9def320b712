"""``even_blocks``: a flag that the host side computes drops masks where the size is a multiple of the block."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.heuristic import heuristic
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
    """``mask = offsets < n`` over one block that every program starts a multiple of it further on: (comparison, n, block)."""
    kernel = view.kernel
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    test = statement.value
    if (
        not isinstance(test, ast.Compare)
        or len(test.ops) != 1
        or not isinstance(test.ops[0], ast.Lt)
        or not isinstance(test.comparators[0], ast.Name)
    ):
        return None
    size, tokens = test.comparators[0].id, kernel.tokens(test.left)
    blocks = [t[1:] for t in tokens if t.startswith("#")]
    if len(blocks) != 1 or size not in kernel.parameters or size in kernel.constexprs or len(kernel.bindings(statement.targets[0].id)) != 1:
        return None
    allowed = {f"#{blocks[0]}", "@0", blocks[0]}
    # The offsets are made of the program id and the block alone, and the grid is ceil(n / block).
    exact = (
        "@0" in tokens
        and tokens <= allowed
        and len(kernel.calls({"program_id"})) == 1
        and all(x.grid_reads(blocks[0]) for x in view.launches)
    )
    return (test, size, blocks[0]) if exact else None
