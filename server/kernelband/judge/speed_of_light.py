"""Faster than the hardware allows is a reason to look again, not to celebrate."""

from __future__ import annotations

from attrs import frozen

from kernelband.hardware import Device
from kernelband_worker.wire import Case

SLACK = 0.9  # flagged below 90 % of the floor: compulsory bytes are counted, not measured


@frozen
class Floor:
    """The least time in microseconds that the device can need for a case, and what it is made of."""

    us: float
    why: str


def floor_of(case: Case, device: Device) -> Floor | None:
    """The speed of light of a case; None when its accesses depend on data, so that its compulsory bytes are unknown.

    Bytes: every input read once from memory (the flush saw to that), every output written once, of which the last L2-full may still sit in
    the cache when the clock stops. FLOPs: those of matrix products only, at the device's fastest rate for the operand types: other
    arithmetic may be saved by a better algorithm. Data-sheet peaks are upper bounds of measured ceilings: no floor is too high with them.
    """
    compulsory = case["compulsory_bytes"]
    if compulsory is None:
        return None
    stores = [x["stores_bytes"] for x in case["launches"] if x["stores_bytes"] is not None]
    cached = min(device.l2_bytes, sum(stores)) if stores and len(stores) == len(case["launches"]) else device.l2_bytes
    moved = max(0, compulsory - min(cached, compulsory))
    memory_us = moved / device.dram_bytes_per_s * 1e6
    dots = sum(x["dot_flops"] or 0 for x in case["launches"])
    compute_us = dots / _tensor_rate(case, device) * 1e6
    if memory_us >= compute_us:
        return Floor(
            memory_us, f"{moved / 1e6:.1f} MB that must be moved take {memory_us:.1f} µs at {device.dram_bytes_per_s / 1e12:.2f} TB/s"
        )
    return Floor(compute_us, f"{dots / 1e9:.1f} GFLOP of matrix products take {compute_us:.1f} µs at the fastest rate of {device.name}")


def _tensor_rate(case: Case, device: Device) -> float:
    names = {"float32": "tf32", "int8": "int8"}
    rates = [device.tensor_flops[n] for n in (names.get(t["dtype"], t["dtype"]) for t in case["tensors"]) if n in device.tensor_flops]
    return max(rates) if rates else max([device.fp32_flops, *device.tensor_flops.values()])


def too_fast(case: Case, device: Device, variant_us: float, original_us: float) -> str | None:
    """The evidence, in one sentence, that a device time can't be right. None where the original, which nobody doubts, takes less than the
    floor as well: then its kernel doesn't touch all that it gets.
    """
    floor = floor_of(case, device)
    if floor is None or variant_us >= SLACK * floor.us or original_us < SLACK * floor.us:
        return None
    return f"{variant_us:.1f} µs on case {case['id'][:8]} is faster than the hardware: {floor.why}."
