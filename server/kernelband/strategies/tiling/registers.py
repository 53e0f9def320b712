"""``register_cap``: fewer registers a thread, so that one more program fits on a multiprocessor."""

from __future__ import annotations

from collections.abc import Iterator

from kernelband.hardware import Device
from kernelband.hardware.occupancy import occupancy
from kernelband.source.model import Program
from kernelband.strategies._base import Facts, Proposal
from kernelband.strategies.code import At
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.view import moving
from kernelband_worker.wire import CompileFacts

SINCE = (3, 2)  # Triton that takes ``maxnreg`` at a launch
UNIT = 8  # registers are handed out to a warp in units of 8 a thread
LEAST = 0.75  # of the present registers: with fewer, spills cost more than another program brings
STEPS = 2  # caps to propose: for one and two programs more


class RegisterCap:
    """``maxnreg=`` at the launch, where registers are what keeps more programs from running and none are spilled yet."""

    name = "register_cap"

    def propose(self, program: Program, facts: Facts) -> Iterator[Proposal]:
        yield from moving("tiling", self.name, _propose, program, facts)


def _propose(at: At) -> Iterator[Proposal | None]:
    view, device = at.view, at.view.facts.device
    if device.backend != "cuda" or view.facts.triton < SINCE or not view.called or view.program.kernel.autotuned:
        return
    if any("maxnreg" in x.arguments for x in view.called):
        return
    qualname = view.program.kernel.place.qualname
    own = [x for x in view.facts.compiled if x["kernel"]["qualname"] == qualname and x["registers"] is not None]
    for compiled in sorted(own, key=lambda x: x["registers"] or 0, reverse=True)[:1]:
        for cap, programs, before in _caps(device, compiled):
            edits: Edits = []
            for launch in view.called:
                edits += launch.set_options({"maxnreg": cap}) or []
            if len({path for path, _ in edits}) < len({x.module.path for x in view.called}):
                return  # a launch with ``**kwargs`` may pass it already
            yield at.proposal(
                {"maxnreg": cap},
                edits,
                "exact",
                f"A thread gets {cap} registers at most (maxnreg).",
                f"{compiled['registers']} registers a thread leave room for {before} programs on a multiprocessor; {cap} for {programs}.",
            )


def _caps(device: Device, compiled: CompileFacts) -> Iterator[tuple[int, int, int]]:
    """(registers, programs that fit with them, programs that fit now), the mildest cap first."""
    registers, shared, warps = compiled["registers"] or 0, compiled["shared_bytes"], compiled["num_warps"]
    if compiled["spill_store_bytes"] or registers > device.max_registers_per_thread or shared > device.shared_per_program:
        return
    now = occupancy(device, registers, shared, warps)
    if now.limiter != "registers" or not now.programs:
        return
    best, found = now.programs, 0
    for cap in range(registers // UNIT * UNIT, UNIT, -UNIT):
        then = occupancy(device, cap, shared, warps).programs
        if cap >= registers or then <= best:
            continue
        if cap < LEAST * registers or found == STEPS:
            return
        best, found = then, found + 1
        yield cap, then, now.programs
