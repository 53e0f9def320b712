"""``unroll`` and ``static_range``: several iterations laid out one after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Loop, View
from kernelband.strategies.code.launch import integer
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


def _trips(view: View, loop: Loop) -> int | None:
    """Most iterations of a loop whose bounds are constants at compile time."""
    values: list[list[int]] = []
    for bound, default in ((loop.start, 0), (loop.stop, None), (loop.step, 1)):
        literal = integer(bound)
        if bound is None:
            values.append([default] if default is not None else [])
        elif literal is not None:
            values.append([literal])
        elif isinstance(bound, ast.Name) and bound.id in view.kernel.constexprs:
            values.append(view.sizes(bound.id))
        else:
            return None
    counts = [len(range(a, b, c)) for a in values[0] for b in values[1] for c in values[2] if c]
    return max(counts) if counts else None


def _static_range(at: At) -> Iterator[Proposal | None]:
    view = at.view
    for loop in view.kernel.loops():
        trips = _trips(view, loop)
        if (
            loop.innermost
            and loop.kind in ("builtin", "range")
            and trips is not None
            and 2 <= trips <= STATIC_TRIPS
            and not loop.call.keywords
        ):
            yield at.proposal(
                {"line": loop.node.lineno - view.kernel.node.lineno},
                [(view.kernel.module.path, view.kernel.module.replace(loop.call.func, f"{view.kernel.language}.static_range"))],
                "exact",
                f"The loop at line {loop.node.lineno} is laid out in full ({trips} iterations).",
                f"Its bounds are constants and it runs {trips} times at most: no counter, and addresses fold into constants.",
            )
