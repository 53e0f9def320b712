"""The speed of light: no launch can be faster than its bytes at full memory rate, or its operations at full rate as they are written.

Williams, Waterman, Patterson: "Roofline: an insightful visual performance model for multicore architectures", CACM 2009.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from attrs import frozen

from kernelband.hardware.device import Device

Limit = Literal["memory", "tensor cores", "arithmetic", "special functions", "launch"]

#: Where a device has no rate for a dtype, the one it is computed in.
_INSTEAD = {"float8": "float16", "tf32": "float32", "bfloat16": "float16", "int8": "float16"}


@frozen
class Roofline:
    """Times in microseconds. ``us`` is the bound; ``limit`` says whose, or ``launch`` when the launch itself takes longer."""

    us: float
    memory_us: float
    tensor_us: float
    arithmetic_us: float
    limit: Limit
    special_us: float = 0.0

    def percent(self, measured_us: float) -> float:
        """How much of the speed of light was reached, in percent."""
        return 100.0 * self.us / measured_us if measured_us > 0 else 0.0


def tensor_rate(device: Device, dtype: str) -> float:
    """FLOP/s of matrix products with operands of ``dtype``."""
    seen: set[str] = set()
    while dtype not in device.tensor_flops and dtype in _INSTEAD and dtype not in seen:
        seen.add(dtype)
        dtype = _INSTEAD[dtype]
    return device.tensor_flops.get(dtype, device.fp32_flops)


def roofline(
    device: Device,
    bytes_moved: float,
    flops: float = 0.0,
    dot_flops: Mapping[str, float] | None = None,
    *,
    instructions: float | None = None,
    special: float = 0.0,
) -> Roofline:
    """The bound of work that moves ``bytes_moved`` to or from memory, does ``flops`` outside and ``dot_flops`` (by operand dtype) inside
    matrix products. ``instructions`` are what the flops take, where that is known, ``special`` those of the special-function units.
    """
    memory = 1e6 * bytes_moved / device.dram_bytes_per_s
    tensor = sum(1e6 * count / tensor_rate(device, dtype) for dtype, count in (dot_flops or {}).items())
    arithmetic = 1e6 * (flops / device.fp32_flops if instructions is None else instructions / device.instructions_per_s)
    special_us = 1e6 * special / device.special_per_s
    sides: dict[Limit, float] = {"memory": memory, "tensor cores": tensor, "arithmetic": arithmetic, "special functions": special_us}
    limit = max(sides, key=lambda side: sides[side])
    bound = sides[limit]
    return Roofline(bound, memory, tensor, arithmetic, "launch" if bound < device.launch_us else limit, special_us)
