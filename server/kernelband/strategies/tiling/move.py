"""``tiles``: the joint space of blocks, warps and stages, wherever the user wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from attrs import evolve

from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At, Knob, LaunchView
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving
from kernelband.strategies.tiling.candidates import candidates, covered, make, options_of, written
from kernelband.strategies.tiling.configs import configured
from kernelband.strategies.tiling.multiples import Whole
from kernelband.strategies.tiling.settled import block_knob
from kernelband.strategies.tiling.space import LIMIT, Tile


class Tiles:
    """Blocks x warps x stages of one launch, or of the chosen configuration of an autotune list."""

    name = "tiles"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("tiling", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view = at.view
    tuned = view.program.kernel.autotuned or bool(view.kernel.model.configs)
    if tuned:
        yield from configured(at)
    for launch in view.called:
        yield from _launched(at, launch, tuned=tuned)


def _launched(at: At, launch: LaunchView, *, tuned: bool) -> Iterator[Proposal | None]:
    """Tiles that the launch itself says. Where the kernel is ``tuned``, warps and stages are the tuner's, and blocks that it sets, too."""
    view = at.view
    several = {"launch": f"{launch.model.host.qualname if launch.model.host else ''}:{launch.model.line}"}
    where = {} if len(view.called) == 1 else several
    theirs = {n for x in view.target_launches for n in x["config"] or {}} | {n for c in view.kernel.model.configs for n in c.constants}
    own = [n for n in covered(view, launch) if n not in theirs]
    knobs = {name: knob for name in own if (knob := block_knob(view, launch, name)) is not None and knob.value > 0}
    warps, stages = (
        written(launch, "num_warps", view.option("num_warps", 4)),
        written(launch, "num_stages", view.option("num_stages", 3)),
    )
    present = {n: k.value for n, k in knobs.items()}
    if tuned and not present:
        return
    whole = Whole.read(view, launch, knobs)
    found = candidates(view, present, warps, stages, whole)
    for tile in islice(_blocks_only(found, present, warps) if tuned else found, LIMIT):
        options = {} if tuned else options_of(tile, warps, stages)
        in_grid = ", with the grid" if any(knobs[n].in_grid for n in tile.blocks if tile.blocks[n] != present[n]) else ""
        if grown := whole.grown(tile.blocks):
            made, beside = whole.edits(tile.blocks, options, {"num_warps": warps, "num_stages": stages}), f"{in_grid}{whole.told(grown)}"
        else:
            made, beside = _edits(launch, knobs, tile, options), in_grid
        if made:
            yield make(at, tile, made, where=where, present=present, options=(warps, stages), beside=beside)


def _edits(launch: LaunchView, knobs: Mapping[str, Knob], tile: Tile, options: dict[str, int | str]) -> Edits | None:
    edits: Edits = [e for n, k in knobs.items() if n in tile.blocks for e in k.edit(tile.blocks[n])]
    passed = [f"{n}={size}" for n, size in tile.blocks.items() if n in knobs and knobs[n].passed and size != knobs[n].value]
    set_options = launch.set_options(options, passed) if options or passed else []
    return None if set_options is None else edits + set_options


def _blocks_only(tiles: Iterator[Tile], present: Mapping[str, int], warps: int) -> Iterator[Tile]:
    """Those with other blocks, each once."""
    seen = [dict(present)]
    for tile in tiles:
        if tile.blocks not in seen:
            seen.append(tile.blocks)
            yield evolve(tile, num_warps=warps, num_stages=None)
