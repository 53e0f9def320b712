"""What limits a launch, in a sentence, from facts: bytes, operations, occupancy, grid, spills."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from kernelband.hardware import Device
from kernelband.hardware.arithmetic import instructions, special, special_names
from kernelband.hardware.forecast import MARGIN, estimate, waits_us
from kernelband.hardware.occupancy import needed_in_flight
from kernelband.hardware.roofline import Roofline, roofline, tensor_rate
from kernelband.hardware.units import count, duration, operations, size
from kernelband.hardware.work import Work

Kind = Literal["unusable", "unknown", "launch", "programs", "memory", "cache", "compute", "spills", "idle"]

IDLE = 0.5  # share of the multiprocessors' slots filled, below which the grid is the first thing to say
MOST_NAMES = 3  # of functions
LOCAL = 2.0  # sectors touched over the fewest, from which coalescing is worth saying


@frozen
class Bottleneck:
    """``sentence`` names the limit with its numbers; ``also`` are further facts that hold it back."""

    kind: Kind
    sentence: str
    also: tuple[str, ...] = ()


def bound(device: Device, work: Work) -> Roofline | None:
    """The speed of light of a launch; None where its bytes aren't known."""
    if work.dram_bytes is None:
        return None
    products = {work.dtype or "float16": work.dot_flops} if work.dot_flops else {}
    counted, functions = instructions(device, work), special(device, work) or 0.0
    return roofline(device, work.dram_bytes, work.flops or 0.0, products, instructions=counted, special=functions)


def flops_of(work: Work) -> float:
    """Floating-point operations of a launch; 0 where none were counted."""
    return (work.flops or 0.0) + (work.dot_flops or 0.0)


def peak_of(device: Device, work: Work) -> float:
    """FLOP/s of the units that do most of the arithmetic."""
    products = (work.dot_flops or 0.0) >= (work.flops or 0.0) and work.facts["tensor_core"] is not None
    return tensor_rate(device, work.dtype or "float16") if products else device.fp32_flops


def bottleneck(device: Device, work: Work, measured_us: float | None = None) -> Bottleneck:
    """Of one launch. ``measured_us`` adds how much of the speed of light was reached."""
    refused = work.facts.get("unusable")
    if refused:
        return Bottleneck("unusable", refused)
    light = bound(device, work)
    if light is None:
        return Bottleneck("unknown", "What it moves is not known: run it once under capture.", _also(device, work))
    reached = f" It reaches {light.percent(measured_us):.0f} % of that." if measured_us else ""
    spilled = (work.facts["spill_store_bytes"] or 0) + (work.facts["spill_load_bytes"] or 0)
    also = _also(device, work)
    if spilled >= 64:
        text = f"Registers: {spilled} bytes per thread go to memory and back, with {work.facts['registers']} registers in use."
        return Bottleneck("spills", text, also)
    filled = work.waves(device).filled
    estimated = estimate(device, work)
    limit = estimated.limit
    waits = waits_us(device, work)
    if limit == "launch" and waits < device.launch_us:
        text = f"The launch: the work alone would take {duration(light.us)}, a launch takes about {duration(device.launch_us)}."
        return Bottleneck("launch", text, also)
    if filled < IDLE:
        text = (
            f"An idle GPU: {work.programs} programs fill {100 * filled:.0f} % of what {device.multiprocessors} multiprocessors could run."
        )
        return Bottleneck("idle", text, also)
    if limit == "programs":
        starting = duration(estimated.terms["programs"])
        text = f"Starting programs: {work.programs:,} take about {starting}, where the work alone would take {duration(light.us)}."
        return Bottleneck("programs", text, also)
    if limit == "cache":
        moved = size(work.moved_bytes or 0)
        text = f"The caches: {moved} pass through them where memory must move only {size(work.dram_bytes or 0)}."
        worth = estimated.terms["cache"] >= MARGIN * estimated.terms["compute"]
        return Bottleneck("cache", f"{text} {'Larger blocks reuse more.' if worth else 'Computing takes nearly as long.'}", also)
    if limit == "compute":
        return Bottleneck("compute", _compute(device, work, light) + reached, also)
    if limit == "launch":
        alone = f"where the work alone would take {duration(light.us)}"
        text = f"Waiting for memory: each thread fetches one thing after the other, about {duration(waits)}, {alone}."
        return Bottleneck("memory", text, also)
    rate = f"{device.dram_bytes_per_s / 1e9:.0f} GB/s"
    text = f"Memory: it has to move {size(work.dram_bytes or 0)}, {duration(light.memory_us)} at {rate}.{reached}"
    return Bottleneck("memory", text, also)


def _compute(device: Device, work: Work, light: Roofline) -> str:
    if work.dot_flops and work.facts["tensor_core"] is None:
        return f"Arithmetic: {operations(work.dot_flops or 0)} of matrix products without tensor cores."
    if light.tensor_us >= max(light.arithmetic_us, light.special_us):
        return f"Tensor cores: {operations(work.dot_flops or 0)} in {work.dtype or 'float16'}, {duration(light.tensor_us)} at peak."
    if light.special_us > light.arithmetic_us:
        names = ", ".join(special_names(device, work)[:MOST_NAMES])
        return f"Special functions ({names}): {count(special(device, work) or 0)} of them, {duration(light.special_us)} at peak."
    counted = instructions(device, work)
    what = operations(work.flops or 0) if counted is None else f"{count(counted)} instructions on floats"
    return f"Arithmetic: {what} outside matrix products, {duration(light.arithmetic_us)} at peak."


def _also(device: Device, work: Work) -> tuple[str, ...]:
    out: list[str] = []
    held = work.occupancy(device)
    if work.serialized:
        out.append("Tensor-core instructions wait for each other.")
    if work.sectors is not None and work.sectors >= LOCAL:
        out.append(f"Accesses touch {work.sectors:.2g} times the memory sectors that they need.")
    if work.bits is not None and not work.facts["tensor_core"]:
        in_flight, needed = work.in_flight(device), needed_in_flight(device)
        if in_flight < 0.7 * needed:
            few, warps = work.programs / device.multiprocessors, work.facts["num_warps"]
            held_back = (
                f"the grid has {few:.2g} programs of {warps} warp{'s' * (warps > 1)} for each"
                if few < held.programs
                else f"occupancy is {100 * held.fraction:.0f} % (limited by {held.limiter})"
            )
            out.append(
                f"About {size(in_flight)} can be on their way to a multiprocessor at once and {size(needed)} would keep memory busy: "
                f"{held_back}, accesses are {work.bits / 8:.3g} bytes wide."
            )
    return tuple(out)
