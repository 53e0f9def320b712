"""``keep_in_loop``: values that do not change stay inside the loop, where registers are what is short."""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.hardware.occupancy import occupancy
from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At
from kernelband.strategies.code.view import moving
from kernelband.strategies.pipeline.loops import NAME, has_hint, hints, lines, load_loops

SINCE = (3, 5)  # Triton that has the hint


class KeepInLoop:
    """``tl.range(..., disable_licm=True)``: loop-invariant values are computed again instead of held in registers all along."""

    name = "keep_in_loop"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _keep_in_loop, program, facts)


def _keep_in_loop(at: At) -> Iterator[Proposal | None]:
    view, device = at.view, at.view.facts.device
    if device.backend != "cuda" or view.facts.triton < SINCE:
        return
    loops = [x for x in load_loops(view) if not has_hint(x, "disable_licm")]
    for compiled in view.facts.compiled:
        registers, spilled = compiled["registers"], compiled["spill_store_bytes"] or 0
        if registers is None or compiled["kernel"]["qualname"] != view.program.kernel.place.qualname:
            continue
        try:
            limited = occupancy(device, registers, compiled["shared_bytes"], compiled["num_warps"]).limiter == "registers"
        except ValueError:
            continue
        if loops and (spilled or limited):
            yield at.proposal(
                {},
                hints(view, loops, "disable_licm", "True"),
                "exact",
                f"What does not change in the {lines(loops)} is computed there again instead of kept in registers.",
                f"A thread has {registers} registers"
                + (f" and spills {spilled} bytes." if spilled else ", which is what limits programs per multiprocessor."),
            )
            return
