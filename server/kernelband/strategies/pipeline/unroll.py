"""``unroll`` and ``static_range``: several iterations laid out one after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Loop, View
from kernelband.strategies.code.trips import trips
from kernelband.strategies.code.view import moving
from kernelband.strategies.pipeline.loops import NAME, hints, lines, load_loops

STATIC_TRIPS = 8  # longer loops bloat the code


class Unroll:
    """``tl.range(..., loop_unroll_factor=n)`` on loops without products: several iterations' loads in flight."""

    name = "unroll"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _unroll, program, facts)


class StaticRange:
    """``tl.static_range`` where the bounds are constants and the trips few."""

    name = "static_range"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _static_range, program, facts)


def _unroll(at: At) -> Iterator[Proposal | None]:
    loops = [x for x in load_loops(at.view) if not x.has_dot]
    for factor in (2, 4) if loops else ():
        yield at.proposal(
            {"factor": factor},
            hints(at.view, loops, "loop_unroll_factor", str(factor)),
            "exact",
            f"Unrolled {factor} times: the {lines(loops)}.",
            "Iterations are independent up to an accumulator: unrolled, their loads are issued together.",
        )


def _trips(view: View, loop: Loop) -> int:
    """Most iterations of a loop whose bounds are numbers that every launch writes down; 0 when they aren't.

    A constexpr that a caller passes may be another one the next time, and a loop of hundreds laid out in full compiles for half a minute.
    """
    bounds = [x for x in (loop.start, loop.stop, loop.step) if x is not None]
    names = {n.id for x in bounds for n in all_nodes(x) if isinstance(n, ast.Name)} - {view.kernel.language}
    if not names <= view.kernel.constexprs or (names and not view.whole):
        return 0
    if any(launch.knob(name) is None for launch in view.launches for name in names):
        return 0
    return max(trips(view, loop), default=0)


def _static_range(at: At) -> Iterator[Proposal | None]:
    view = at.view
    for loop in view.kernel.loops():
        count = _trips(view, loop)
        if loop.innermost and loop.kind in ("builtin", "range") and 2 <= count <= STATIC_TRIPS and not loop.call.keywords:
            yield at.proposal(
                {"line": loop.node.lineno - view.kernel.node.lineno},
                [(view.kernel.module.path, view.kernel.module.replace(loop.call.func, f"{view.kernel.language}.static_range"))],
                "exact",
                f"The loop at line {loop.node.lineno} is laid out in full ({count} iterations).",
                f"Its bounds are constants and it runs {count} times at most: no counter, and addresses fold into constants.",
            )
