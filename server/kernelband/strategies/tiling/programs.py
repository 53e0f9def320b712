"""``more_programs``: smaller blocks along the grid, where there are fewer programs than multiprocessors."""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Knob, LaunchView, View
from kernelband.strategies.code.resizing import resizable
from kernelband.strategies.code.view import moving
from kernelband.strategies.tiling.candidates import covered, written
from kernelband.strategies.tiling.settled import block_knob

SMALLEST = 32  # elements along an axis: one warp
SMALLEST_PRODUCT = 16  # rows or columns of tl.dot
SHRINKS = (2, 4, 8)


class MorePrograms:
    """Halves, quarters the blocks that the grid counts, and the warps with them, until each multiprocessor has a program."""

    name = "more_programs"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("tiling", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view, multiprocessors = at.view, at.view.facts.device.multiprocessors
    if len(view.called) != 1 or view.program.kernel.autotuned:
        return
    launch = view.called[0]
    knobs = [k for n in covered(view, launch) if (k := _gridded(view, launch, n)) is not None]
    counts = view.programs({k.name: k.value for k in knobs})
    programs = max(counts, default=multiprocessors)
    least = SMALLEST_PRODUCT if view.kernel.calls({"dot", "dot_scaled"}) else SMALLEST
    warps = written(launch, "num_warps", view.option("num_warps", 4))
    if programs >= multiprocessors:
        return
    for knob in (k for k in knobs if resizable(view, k.name)):
        for shrink in SHRINKS:
            size = knob.value // shrink
            # More than four programs for each multiprocessor fill it anyway; smaller tiles would only read more.
            if size < least or knob.value % shrink or programs * shrink > 4 * multiprocessors:
                continue
            fewer = max(1, warps // shrink)
            options = launch.set_options({"num_warps": fewer}) if fewer != warps else []
            also = f" and num_warps {warps}→{fewer}" if fewer != warps else ""
            yield at.proposal(
                {knob.name: size, "num_warps": fewer},
                None if options is None else knob.edit(size) + options,
                view.summation(),
                f"{knob.name} {knob.value}→{size}{also}, with the grid.",
                f"{programs} programs leave {multiprocessors - programs} of {multiprocessors} multiprocessors idle; "
                f"there are {programs * shrink} with blocks of {size}.",
            )


def _gridded(view: View, launch: LaunchView, name: str) -> Knob | None:
    """The block's knob if the number of programs follows from it."""
    knob = block_knob(view, launch, name)
    return knob if knob is not None and knob.in_grid and knob.value > 0 and not knob.passed else None
