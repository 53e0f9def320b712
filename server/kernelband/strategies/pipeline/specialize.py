"""``warp_specialize``: warps of their own for loads and for products."""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, View
from kernelband.strategies.code.view import moving
from kernelband.strategies.pipeline.loops import NAME, hints, lines, load_loops

ROWS = 64  # of a product that the tensor cores read from tensor memory; Triton 3.6 fails on smaller ones


class WarpSpecialize:
    """``tl.range(..., warp_specialize=True)`` on the loop of a simple product; Blackwell, Triton 3.4 and later."""

    name = "warp_specialize"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _warp_specialize, program, facts)


def _rows(view: View) -> list[int]:
    """Rows of the left operands of the kernel's products, as far as they are known."""
    dots = view.kernel.calls({"dot"})
    blocks = [sorted(view.kernel.tokens(d.args[0]) - view.kernel.tokens(d.args[1])) for d in dots if len(d.args) > 1]
    return [n for names in blocks for name in names if name.startswith("#") for n in view.sizes(name[1:])]


def _warp_specialize(at: At) -> Iterator[Proposal | None]:
    device, view = at.view.facts.device, at.view
    loops = [x for x in load_loops(view) if x.has_dot and not any(a.store for a in x.accesses)]
    if any(r < ROWS for r in _rows(view)):
        return
    if device.backend == "cuda" and int(device.arch) // 10 == 10 and view.facts.triton >= (3, 4) and len(loops) == 1:
        yield at.proposal(
            {},
            hints(view, loops, "warp_specialize", "True"),
            "exact",
            f"Loads and products of the {lines(loops)} get warps of their own.",
            "The loop only loads and multiplies, which Triton can split over warps on Blackwell.",
        )
