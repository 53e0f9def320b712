"""``split_loop``: the iterations of a loop that have nothing to do with each other go to more programs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, KernelView, Loop, View
from kernelband.strategies.code.affine import counts
from kernelband.strategies.code.aliasing import apart
from kernelband.strategies.code.anywhere import own_places
from kernelband.strategies.code.blocks import exposed, memory, names_bound, plain
from kernelband.strategies.code.kernel import ATOMICS
from kernelband.strategies.code.parts import in_parts, part_counts, with_side
from kernelband.strategies.code.view import moving
from kernelband.strategies.reordering.ids import NAME, one_more_axis

FILLS = (4, 16, 64)  # programs for each multiprocessor
ENOUGH = 8  # programs for each multiprocessor that need no more
MOST_SIDE = 65535  # programs along the second and third axis of a grid


class SplitLoop:
    """``for t in range(T)`` becomes ``for t in range(part, T, num_programs(1))``, and the grid gets a side."""

    name = "split_loop"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view, multiprocessors = at.view, at.view.facts.device.multiprocessors
    found, loop = one_more_axis(view), _walk(view)
    if found is None or loop is None or not own_places(view, loop):
        return
    launch, axis = found
    programs, steps = min(view.programs(), default=0), min(counts(view, loop), default=0)
    if not programs or programs >= ENOUGH * multiprocessors:
        return
    for parts in part_counts(multiprocessors, programs, min(steps, MOST_SIDE), fills=FILLS, least=1):
        edits = in_parts(view.kernel, loop, axis, view.kernel.free_name("part"))
        if edits is None:
            return
        module = view.kernel.module
        yield at.proposal(
            {"parts": parts},
            [*((module.path, e) for e in edits), (launch.module.path, with_side(launch, str(parts)))],
            "exact",
            f"The iterations over {loop.variable} are split among {parts} programs (grid axis {axis}).",
            f"{programs} programs walk {steps} steps each, one after the other: {multiprocessors} multiprocessors are not filled.",
        )


def _walk(view: View) -> Loop | None:
    """The loop that ends the kernel, where nothing else stores and no iteration needs what another has made."""
    kernel = view.kernel
    body = kernel.node.body[1:] if ast.get_docstring(kernel.node) is not None else kernel.node.body
    loop = next((x for x in kernel.loops() if body and x.node is body[-1]), None)
    if loop is None or loop.node.orelse or loop.kind == "static_range" or not plain(body):
        return None
    first = memory(kernel, body[:-1])
    calls = kernel.calls({"load", "store", *ATOMICS})
    walked = any(isinstance(n, ast.For | ast.While) for s in body[:-1] for n in all_nodes(s))
    if first.stores or first.opaque or walked or len(calls) != len(kernel.accesses()):
        return None
    return loop if _independent(view, kernel, loop) else None


def _independent(view: View, kernel: KernelView, loop: Loop) -> bool:
    """Nothing is handed from one iteration to the next, in a name or in memory."""
    within = memory(kernel, loop.node.body)
    if within.opaque or exposed(loop.node.body) & names_bound(loop.node.body):
        return False
    return apart(view, loop, [a for a in loop.accesses if not a.store])
