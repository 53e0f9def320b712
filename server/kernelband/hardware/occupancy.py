"""How many programs fit on a multiprocessor at once, and what keeps more from fitting.

NVIDIA: the rules of NVIDIA's ``cuda_occupancy.h`` (CUDA toolkit) for compute capability 8.0 and up: registers are handed out per warp in
units of 256, from four partitions of the register file; shared memory in units of 128 bytes, with 1 KiB per program reserved.
AMD: the rules of LLVM's AMDGPU backend (``AMDGPUBaseInfo.cpp``) for gfx90a and up: vector registers per wave in units of 8 out of 512 per
SIMD, four SIMDs per compute unit; LDS in units of 512 bytes (gfx950: 1280).
"""

from __future__ import annotations

import math
from typing import Literal

from attrs import frozen

from kernelband.hardware.device import Device

Limiter = Literal["registers", "shared memory", "warps", "programs"]

LATENCY_S = 0.8e-6  # of loaded DRAM: microbenchmarks of Ampere and Hopper agree within 0.6-1 us

_PARTITIONS = 4
_NVIDIA_REGISTER_UNIT = 256
_NVIDIA_SHARED_UNIT = 128
_NVIDIA_SHARED_RESERVED = 1024
_AMD_REGISTER_UNIT = 8
_AMD_WAVES_PER_SIMD = 8


@frozen
class Occupancy:
    """``fraction`` of the warps that a multiprocessor can hold; 0 when not even one program fits."""

    fraction: float
    programs: int  # per multiprocessor
    warps: int  # per multiprocessor
    limiter: Limiter


def occupancy(device: Device, registers: int, shared: int, warps: int) -> Occupancy:
    """Of a kernel with ``registers`` per thread, ``shared`` bytes and ``warps`` per program.

    Among limits that are equally tight the first of registers, shared memory, warps, programs is named.

    Raises:
        ValueError: a number is out of range.
    """
    if registers < 0 or shared < 0 or warps < 1:
        raise ValueError(f"no kernel has {registers} registers, {shared} bytes of shared memory and {warps} warps")
    by: dict[Limiter, int] = {
        "registers": _by_registers(device, registers, warps),
        "shared memory": _by_shared(device, shared),
        "warps": device.max_warps_per_sm // warps,
        "programs": device.max_programs_per_sm,
    }
    programs = min(by.values())
    # With every warp slot taken nothing limits: that is what "warps" says.
    full = programs * warps == device.max_warps_per_sm
    limiter: Limiter = "warps" if full else next(name for name, count in by.items() if count == programs)
    return Occupancy(programs * warps / device.max_warps_per_sm, programs, programs * warps, limiter)


def _by_registers(device: Device, registers: int, warps: int) -> int:
    if registers > device.max_registers_per_thread:
        return 0
    if device.backend == "hip":
        each = _up(max(registers, 1), _AMD_REGISTER_UNIT)
        lanes = device.registers_per_sm // (_PARTITIONS * device.warp_size)
        return min(_AMD_WAVES_PER_SIMD, lanes // each) * _PARTITIONS // warps
    each = _up(max(registers, 1) * device.warp_size, _NVIDIA_REGISTER_UNIT)
    return device.registers_per_sm // _PARTITIONS // each * _PARTITIONS // warps


def _by_shared(device: Device, shared: int) -> int:
    if shared > device.shared_per_program:
        return 0
    if device.backend == "hip":
        unit = 1280 if device.arch == "gfx950" else 512
        return device.shared_per_sm // _up(shared, unit) if shared else device.max_programs_per_sm
    return device.shared_per_sm // _up(shared + _NVIDIA_SHARED_RESERVED, _NVIDIA_SHARED_UNIT)


def _up(value: int, unit: int) -> int:
    return math.ceil(value / unit) * unit


@frozen
class Waves:
    """How the programs of a launch fill the device. ``count`` = programs over those that run at once; ``filled`` = share of slots used."""

    count: float
    filled: float


def waves(device: Device, programs: int, per_multiprocessor: int) -> Waves:
    """Of ``programs`` with ``per_multiprocessor`` at once on each. In the last wave some slots stay empty; a launch of fewer programs than
    multiprocessors leaves whole multiprocessors idle.
    """
    slots = device.multiprocessors * max(per_multiprocessor, 1)
    if programs <= 0:
        return Waves(0.0, 0.0)
    count = programs / slots
    if count <= 1:
        return Waves(count, min(1.0, programs / device.multiprocessors))
    return Waves(count, count / math.ceil(count))


def needed_in_flight(device: Device) -> float:
    """Bytes that must be on their way to a multiprocessor to keep memory busy: Little's law."""
    return device.dram_bytes_per_s * LATENCY_S / device.multiprocessors
