"""What a profiler saw, as sentences that name it: nothing here is a forecast, and nothing is said that it didn't count."""

from __future__ import annotations

from typing import Literal

from kernelband.hardware.units import duration
from kernelband_worker.wire import KernelProfile

#: Why a warp waits, in words (Nsight Compute, "Warp State Statistics").
_REASONS = {
    "long_scoreboard": "for global memory",
    "short_scoreboard": "for shared memory or special functions",
    "wait": "for fixed latencies of arithmetic",
    "barrier": "at barriers for other warps",
    "math_pipe_throttle": "for a busy arithmetic unit",
    "lg_throttle": "to issue loads and stores: there are too many of them",
    "mio_throttle": "for the queue of shared memory and special functions",
    "gmma": "for tensor cores",
}
_SOURCES = {"ncu": "Nsight Compute", "profiler": "torch's profiler"}
_UNITS: tuple[tuple[Literal["dram", "l2", "sm"], str], ...] = (("dram", "memory"), ("l2", "L2"), ("sm", "multiprocessors"))
CLEAR_STALL = 1.0  # cycles per instruction from which waiting is worth a word
FULL = 4.0  # sectors that a warp's access of 32 consecutive float32 touches


def sentence(profile: KernelProfile) -> str:
    """One sentence: how busy what was, what warps waited for, sectors per request."""
    source, kernel = _SOURCES[profile.get("source", "profiler")], profile.get("kernel", "the kernel")
    used = [f"{name} at {100 * share:.0f} %" for key, name in _UNITS if (share := profile.get(key)) is not None]
    if not used:
        took = f" takes {duration(profile['us'])} by itself" if "us" in profile else " was seen"
        return f"{source}: {kernel}{took}; how busy the units were isn't known without Nsight Compute."
    parts = [f"{source}: {kernel} keeps {', '.join(used)} of the peak"]
    if "occupancy" in profile:
        parts.append(f"{100 * profile['occupancy']:.0f} % of the warp slots filled")
    waiting = _waiting(profile)
    if waiting:
        parts.append(waiting)
    loads = profile.get("sectors", {}).get("load")
    if loads:
        parts.append(f"{loads:.3g} sectors of 32 bytes per load request")
    return "; ".join(parts) + "."


def moved(before: KernelProfile, after: KernelProfile) -> tuple[str, ...]:
    """What both profiles counted and differs by 10 % or more, the largest difference first: sentences without a subject."""
    if before.get("source") != after.get("source"):
        return ()
    out: list[tuple[float, str]] = []
    for key, name in _UNITS:
        old, new = before.get(key), after.get(key)
        if old is not None and new is not None:
            out.append((_times(old, new), f"{name} {100 * old:.0f} % busy before, {100 * new:.0f} % after"))
    if "occupancy" in before and "occupancy" in after:
        old, new = before["occupancy"], after["occupancy"]
        out.append((_times(old, new), f"{100 * old:.0f} % of the warp slots filled before, {100 * new:.0f} % after"))
    old_loads, new_loads = before.get("sectors", {}).get("load"), after.get("sectors", {}).get("load")
    if old_loads and new_loads:
        out.append((_times(old_loads, new_loads), f"{old_loads:.3g} sectors per load request before, {new_loads:.3g} after"))
    clear = sorted(((times, text) for times, text in out if times >= 1.1), reverse=True)
    return tuple(text for _, text in clear)


def _times(old: float, new: float) -> float:
    small, large = sorted((old, new))
    return large / small if small > 0 else float("inf") if large > 0 else 1.0


def _waiting(profile: KernelProfile) -> str:
    stalls = profile.get("stalls", {})
    if not stalls:
        return ""
    name, cycles = max(stalls.items(), key=lambda item: item[1])
    if cycles < CLEAR_STALL:
        return ""
    return f"warps wait mostly {_REASONS.get(name, name.replace('_', ' '))}, {cycles:.3g} cycles for each instruction"
