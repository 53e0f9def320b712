"""``merged_passes``: neighbouring loops over the same range, neither of which needs the other's result, become one; loads are shared."""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At
from kernelband.strategies.code.view import moving
from kernelband.strategies.fusion.merging import free_of_results, merged, moved_up, one_loop, pairs


class MergedPasses:
    """One pass over memory instead of two."""

    name = "merged_passes"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("fusion", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    kernel = at.view.kernel
    for pair in pairs(at.view):
        if not free_of_results(pair):
            continue
        up = moved_up(kernel, pair)
        body = None if up is None else merged(kernel, pair, {}, set())
        edits = None if up is None or body is None else one_loop(kernel, pair, up, ahead=[], body=body.body)
        if edits is None or body is None:
            continue
        loads = {0: "", 1: " and one load serves both"}.get(body.shared, f" and {body.shared} loads serve both")
        yield at.proposal(
            {"line": pair.first.node.lineno - kernel.node.lineno},
            [(kernel.module.path, e) for e in edits],
            "exact",
            f"The two loops over {pair.first.variable} become one{loads}.",
            "Neither loop needs the other's result: a second pass over the row moves its bytes again for nothing."
            if body.shared
            else "Neither loop needs the other's result: in one loop their loads are in flight together.",
        )
