"""``tiles``: the joint space of blocks, warps and stages, wherever the user wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At
from kernelband.strategies.code.launch import Edits
from kernelband.strategies.code.view import moving
from kernelband.strategies.tiling.candidates import candidates, covered, make, options_of, written
from kernelband.strategies.tiling.configs import configured
from kernelband.strategies.tiling.settled import block_knob
from kernelband.strategies.tiling.space import LIMIT


class Tiles:
    """Blocks x warps x stages of one launch, or of the chosen configuration of an autotune list."""

    name = "tiles"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("tiling", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    if view.program.kernel.autotuned or view.kernel.model.configs:
        yield from configured(at)
        return
    for launch in view.called:
        where = (
            {} if len(view.called) == 1 else {"launch": f"{launch.model.host.qualname if launch.model.host else ''}:{launch.model.line}"}
        )
        knobs = {name: knob for name in covered(view, launch) if (knob := block_knob(view, launch, name)) is not None and knob.value > 0}
        warps, stages = (
            written(launch, "num_warps", view.option("num_warps", 4)),
            written(launch, "num_stages", view.option("num_stages", 3)),
        )
        present = {n: k.value for n, k in knobs.items()}
        for tile in islice(candidates(view, present, warps, stages), LIMIT):
            edits: Edits = [e for n, k in knobs.items() if n in tile.blocks for e in k.edit(tile.blocks[n])]
            options = options_of(tile, warps, stages)
            passed = [f"{n}={size}" for n, size in tile.blocks.items() if n in knobs and knobs[n].passed and size != present[n]]
            set_options = launch.set_options(options, passed) if options or passed else []
            if set_options is not None and (edits or set_options):
                in_grid = any(knobs[n].in_grid for n in tile.blocks if tile.blocks[n] != present[n])
                yield make(at, tile, edits + set_options, where=where, present=present, options=(warps, stages), in_grid=in_grid)
