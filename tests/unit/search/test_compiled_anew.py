"""A variant that is compiled anew for each size is verified, and the final says how often, of the cases' sizes and of those beside them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kernelband.propose import Draft
from kernelband.search.run import optimize
from kernelband.source import make_patch
from kernelband.source.model import Edit, Program, Span
from kernelband.strategies import Facts, Proposal

from .fake_lab import TEXT
from .sized_lab import SIZES, SizedLab
from .world import World, rows


class Written:
    """Writes one block, and nothing more."""

    name = "written"
    free = True

    def __init__(self, block: str) -> None:
        self.block = block

    def write(self, program: Program, strategy: str, facts: Facts, already: Any, limit: int) -> Draft:
        ((path, text),) = program.texts.items()
        at = TEXT.index("BLOCK=16") + len("BLOCK=")
        if strategy != "tiling" or text != TEXT:
            return Draft((), exhausted=True)
        patch = make_patch(program.texts, {path: [Edit(Span(at, at + 2), self.block)]})
        return Draft((Proposal(strategy, "block", {}, patch, "exact", self.block, "test"),), exhausted=True)


@pytest.mark.parametrize(("block", "compiled"), [("x.numel()", len(SIZES)), ("1024", 1)])
def test_what_a_final_says(world: World, block: str, compiled: int) -> None:
    def start(workspace: Any, **_: Any) -> Any:
        return SizedLab(workspace, want=math.log2)

    ended = optimize(world.options(), world.db, world.events.append, author=Written(block), start_lab=start)
    assert ended.verified == (1,)
    (final,) = rows(world, ended.run)["finals"]
    assert (f"k is compiled {compiled} times for {len(SIZES)} cases, the original's once" in final.result["reason"]) == (compiled > 1)
