"""``single_accumulator``: one accumulator in tensor memory where Triton would alternate between two."""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At
from kernelband.strategies.code.view import moving
from kernelband.strategies.pipeline.loops import NAME, has_hint, hints, lines

SINCE = (3, 3)  # Triton that has the hint


class SingleAccumulator:
    """``tl.range(..., disallow_acc_multi_buffer=True)`` on loops with a product; Blackwell, whose accumulators are in tensor memory."""

    name = "single_accumulator"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _single_accumulator, program, facts)


def _single_accumulator(at: At) -> Iterator[Proposal | None]:
    view, device = at.view, at.view.facts.device
    loops = [x for x in view.kernel.loops() if x.has_dot and x.kind in ("builtin", "range")]
    loops = [x for x in loops if x.innermost and not has_hint(x, "disallow_acc_multi_buffer")]
    if device.backend == "cuda" and int(device.arch) // 10 == 10 and view.facts.triton >= SINCE:
        yield at.proposal(
            {},
            hints(view, loops, "disallow_acc_multi_buffer", "True"),
            "exact",
            f"The product of the {lines(loops)} keeps one accumulator." if loops else "",
            "Two accumulators in turn take twice the tensor memory, which limits how many programs share a multiprocessor.",
        )
