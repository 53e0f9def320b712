"""``flatten``: a loop over tiles and the loop inside it as one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.source.model import Program
from kernelband.source.syntax import all_nodes
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Loop
from kernelband.strategies.code.aliasing import apart
from kernelband.strategies.code.view import moving
from kernelband.strategies.pipeline.loops import NAME, has_hint, hint

SINCE = (3, 3)  # Triton that has the hint


class Flatten:
    """``tl.range(..., flatten=True)`` on the loop of a persistent kernel: the next tile's loads start before this one is stored."""

    name = "flatten"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving(NAME, self.name, _flatten, program, facts)


def _flatten(at: At) -> Iterator[Proposal | None]:
    view = at.view
    loops = view.kernel.loops()
    if view.facts.device.backend != "cuda" or view.facts.triton < SINCE:
        return
    for outer in loops:
        inner = [x for x in loops if outer.node in view.kernel.module.around(x.node)]
        loads = [a for a in outer.accesses if not a.store]
        if not _nests(outer, inner) or has_hint(outer, "flatten") or not apart(view, outer, loads):
            continue
        yield at.proposal(
            {"line": outer.node.lineno - view.kernel.node.lineno},
            hint(view, outer, "flatten", "True"),
            "exact",
            f"The loop over tiles at line {outer.node.lineno} and the loop inside it become one (flatten=True).",
            "The inner pipeline fills and drains once for each tile; in one loop the next tile's loads start while this one is stored.",
        )


def _nests(outer: Loop, inner: list[Loop]) -> bool:
    """One loop with a product straight inside, which the pass can fuse with the one around it: no branch or ``while`` between."""
    if outer.innermost or outer.kind not in ("builtin", "range") or len(inner) != 1 or inner[0].kind == "static_range":
        return False
    straight = inner[0].node in outer.node.body
    return straight and inner[0].has_dot and not any(isinstance(n, ast.While | ast.Break) for n in all_nodes(outer.node))
