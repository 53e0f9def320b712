"""``guarded_fast_path``: masks inside loops and over whole rows fold away under a flag that is computed at each launch.

``even_blocks`` does it for the mask over a grid's blocks; this one for what a program walks over (the ``EVEN_K`` of hand-written
products), and for rows that fill their block.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Edit, Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.access_layout.full import always_in, comparisons, holds_row, walk_of
from kernelband.strategies.code import At, View
from kernelband.strategies.code.heuristic import computed_with, heuristic
from kernelband.strategies.code.view import moving


class GuardedFastPath:
    """``mask=(offs_k < K) | EVEN_K`` with ``EVEN_K`` from ``@triton.heuristics``."""

    name = "guarded_fast_path"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("access_layout", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if not view.whole:
        return
    for (size, block, row), found in _masks(view).items():
        sizes, blocks = view.timed(size), view.sizes(block)
        # A row that fills its block has a block of its own size; the blocks of a walk are few.
        even = [n for n in sizes if (n in blocks if row else all(n % b == 0 for b in blocks))]
        if size in view.kernel.constexprs or not blocks or not even or not computed_with(view, size):
            continue
        flag = view.kernel.free_name(f"EVEN_{size.upper()}")
        condition = f'args["{size}"] == args["{block}"]' if row else f'args["{size}"] % args["{block}"] == 0'
        added = heuristic(view, {flag: condition})
        if added is None:
            return
        module = view.kernel.module
        edits: list[Edit] = [*added, *(module.replace(c, f"({module.code(c)}) | {flag}") for c in found)]
        yield at.proposal(
            {"size": size, "block": block},
            [(module.path, e) for e in edits],
            "exact",
            f"The masks over {size} fold away when {'it is' if row else 'it is a multiple of'} {block}; other sizes keep them.",
            f"{len(even)} of {len(sizes)} timed values of {size} ({', '.join(map(str, even[:3]))}) fill their blocks.",
        )


def _masks(view: View) -> dict[tuple[str, str, bool], list[ast.Compare]]:
    """Comparisons by (size, block, whether the block holds the whole row)."""
    kernel = view.kernel
    found: dict[tuple[str, str, bool], list[ast.Compare]] = {}
    for loop in kernel.loops():
        walk = walk_of(kernel, loop)
        if walk is not None:
            for node in comparisons(kernel, loop.node):
                if always_in(kernel, node, walk):
                    found.setdefault((walk.size, walk.block, False), []).append(node)
    for node in comparisons(kernel, kernel.node):
        row = holds_row(kernel, node)
        if row is not None:
            found.setdefault((*row, True), []).append(node)
    return found
