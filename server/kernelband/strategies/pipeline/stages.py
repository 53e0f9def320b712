"""``loop_stages``: how many iterations ahead a loop's loads run."""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Loop, View
from kernelband.strategies.code.aliasing import apart
from kernelband.strategies.code.view import moving
from kernelband.strategies.pipeline.loops import NAME, hints, lines, load_loops

SHALLOW = (2, 3, 4, 5)
DEEP = (8, 16)  # for a loop whose few bytes are waited for at each iteration, one recurrence step after the other
DEEP_BYTES = 65536  # of shared memory that all stages may take


class LoopStages:
    """``tl.range(..., num_stages=n)`` on the innermost loops that load. The launch's num_stages reaches only loads that feed a product."""

    name = "loop_stages"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _loop_stages, program, facts)


def _loop_stages(at: At) -> Iterator[Proposal | None]:
    view = at.view
    # What is loaded ahead must not be what an iteration before stores; one that stores where it loads is left as it is.
    loops = [x for x in load_loops(view) if _plain(view, x) and apart(view, x, [a for a in x.accesses if not a.store])]
    for stages in (*SHALLOW, *(n for n in DEEP if n * _stage_bytes(view, loops) <= DEEP_BYTES)) if loops else ():
        dot = any(x.has_dot for x in loops)
        ahead = "1 iteration" if stages == 2 else f"{stages - 1} iterations"
        yield at.proposal(
            {"num_stages": stages},
            hints(view, loops, "num_stages", str(stages)),
            "exact",
            f"The loads of the {lines(loops)} are issued {ahead} ahead (tl.range with num_stages={stages}).",
            "Its loads feed a product: the loop's own depth overrides the launch's."
            if dot
            else "Its loads feed no product, so the launch's num_stages leaves them unpipelined: each iteration waits for memory.",
        )


def _stage_bytes(view: View, loops: list[Loop]) -> int:
    """What the loads of one iteration take; so much that no deep pipeline holds it where a loop feeds a product or a size is unknown."""
    loads = max(sum(not a.store for a in x.accesses) for x in loops)
    known = view.widest and not any(x.has_dot for x in loops)
    return view.widest * view.itemsize * loads if known else DEEP_BYTES


def _plain(view: View, loop: Loop) -> bool:
    """Every load of the loop is through a pointer: what block pointers and descriptors reach isn't followed."""
    loads = sum(view.kernel.tl(n) == "load" for s in loop.node.body for n in all_nodes(s))
    return loads == sum(not a.store for a in loop.accesses) or not any(a.store for a in loop.accesses)
