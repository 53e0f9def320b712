"""Pipeline: how loads and arithmetic of a loop overlap."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Card, Facts, Proposal, Strategy
from kernelband.strategies.code import At, Loop, View
from kernelband.strategies.code.launch import Edits, integer
from kernelband.strategies.code.view import moving

NAME = "pipeline"
STATIC_TRIPS = 8  # longer loops bloat the code


class LoopStages:
    """``tl.range(..., num_stages=n)`` on the innermost loops that load. The launch's num_stages reaches only loads that feed a product."""

    name = "loop_stages"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _loop_stages, program, facts)


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


class WarpSpecialize:
    """``tl.range(..., warp_specialize=True)`` on the loop of a simple product; Blackwell, Triton 3.4 and later."""

    name = "warp_specialize"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _warp_specialize, program, facts)


def _load_loops(view: View) -> list[Loop]:
    loops = [x for x in view.kernel.loops() if x.innermost and x.kind in ("builtin", "range")]
    return [x for x in loops if any(not a.store and a.blocks for a in x.accesses)]


def hint(view: View, loop: Loop, name: str, value: str) -> Edits | None:
    """The loop as ``tl.range`` with a hint; None when it has that hint already."""
    module = view.kernel.module
    written = next((k.value for k in loop.call.keywords if k.arg == name), None)
    if written is not None:
        return None if ast.unparse(written) == value else [(module.path, module.replace(written, value))]
    added = module.add_arguments(loop.call, [f"{name}={value}"])
    if added is None:
        return None
    edits = [(module.path, e) for e in added]
    if loop.kind == "builtin":
        edits.append((module.path, module.replace(loop.call.func, f"{view.kernel.language}.range")))
    return edits


def _all(view: View, loops: list[Loop], name: str, value: str) -> Edits:
    return [e for x in loops for e in hint(view, x, name, value) or []]


def _lines(loops: list[Loop]) -> str:
    lines = [str(x.node.lineno) for x in loops]
    return f"loop at line {lines[0]}" if len(lines) == 1 else f"loops at lines {', '.join(lines[:-1])} and {lines[-1]}"


def _loop_stages(at: At) -> Iterator[Proposal | None]:
    view, loops = at.view, _load_loops(at.view)
    for stages in (2, 3, 4, 5) if loops else ():
        dot = any(x.has_dot for x in loops)
        yield at.proposal(
            {"num_stages": stages},
            _all(view, loops, "num_stages", str(stages)),
            "exact",
            f"The loads of the {_lines(loops)} run {stages} stages ahead (tl.range with num_stages={stages}).",
            "Its loads feed a product: the loop's own depth overrides the launch's."
            if dot
            else "Its loads feed no product, so the launch's num_stages leaves them unpipelined: each iteration waits for memory.",
        )


def _unroll(at: At) -> Iterator[Proposal | None]:
    loops = [x for x in _load_loops(at.view) if not x.has_dot]
    for factor in (2, 4) if loops else ():
        yield at.proposal(
            {"factor": factor},
            _all(at.view, loops, "loop_unroll_factor", str(factor)),
            "exact",
            f"Unrolled {factor} times: the {_lines(loops)}.",
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


def _warp_specialize(at: At) -> Iterator[Proposal | None]:
    device, view = at.view.facts.device, at.view
    loops = [x for x in _load_loops(view) if x.has_dot and not any(a.store for a in x.accesses)]
    if device.backend == "cuda" and int(device.arch) // 10 == 10 and view.facts.triton >= (3, 4) and len(loops) == 1:
        yield at.proposal(
            {},
            _all(view, loops, "warp_specialize", "True"),
            "exact",
            f"Loads and products of the {_lines(loops)} get warps of their own.",
            "The loop only loads and multiplies, which Triton can split over warps on Blackwell.",
        )


PIPELINE = Strategy(
    Card(
        name=NAME,
        target="sm",
        what="Changes how a loop's loads and arithmetic overlap: stages, unrolling, fixed trip counts, warp specialisation.",
        when="The kernel walks over memory in a loop.",
        why="While one iteration waits for memory, the next ones' loads can be on their way.",
    ),
    (StaticRange(), Unroll(), LoopStages(), WarpSpecialize()),
)
