"""What the driver says of the GPU around a block: clocks, throttling, other processes. Read only, through NVML with ctypes.

Where NVML can't be loaded (ROCm, some containers) nothing is known and nothing is claimed.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import asdict, dataclass
from typing import Any, Callable, Dict, Optional, Tuple

SM_CLOCK, MEMORY_CLOCK = 1, 2
GRAPHICS_TEMPERATURE = 0
CLOCK_CHANGE = 0.05
#: nvmlClocksEventReasons that mean trouble. A power cap is not among them: it is how a large matmul runs, and shows as a clock.
TROUBLE = {0x08: "a hardware slowdown", 0x20: "a thermal slowdown", 0x40: "a hardware thermal slowdown", 0x80: "a power brake"}


@dataclass(frozen=True)
class Snapshot:
    """None where the driver doesn't say. ``processes`` are ids as the driver's host sees them."""

    sm_mhz: Optional[int] = None
    memory_mhz: Optional[int] = None
    celsius: Optional[int] = None
    reasons: Optional[int] = None
    processes: Optional[Tuple[int, ...]] = None

    def as_json(self) -> Dict[str, Any]:
        found = asdict(self)
        found["processes"] = None if self.processes is None else len(self.processes)
        return found


def disturbed(before: Snapshot, after: Snapshot) -> Optional[str]:
    """One sentence when the GPU changed between two snapshots, or was in trouble at either."""
    for bit, name in TROUBLE.items():
        if any((s.reasons or 0) & bit for s in (before, after)):
            return f"The GPU reported {name} while this was measured."
    for what, first, last in (("SM", before.sm_mhz, after.sm_mhz), ("memory", before.memory_mhz, after.memory_mhz)):
        if first and last and abs(last - first) > CLOCK_CHANGE * max(first, last):
            return f"The {what} clock of the GPU went from {first} to {last} MHz while this was measured."
    if before.processes is not None and after.processes is not None and set(before.processes) != set(after.processes):
        came, went = len(set(after.processes) - set(before.processes)), len(set(before.processes) - set(after.processes))
        return f"Other processes came to the GPU ({came}) or left it ({went}) while this was measured."
    return None


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class Nvml:
    """The driver's library, opened for one GPU."""

    def __init__(self, library: Any, handle: Any) -> None:
        self._library = library
        self._handle = handle

    def _number(self, function: str, *selector: int, kind: Any = ctypes.c_uint) -> Optional[int]:
        call = getattr(self._library, function, None)
        if call is None:
            return None
        value = kind()
        return int(value.value) if call(self._handle, *(ctypes.c_uint(x) for x in selector), ctypes.byref(value)) == 0 else None

    def _processes(self) -> Optional[Tuple[int, ...]]:
        call = getattr(self._library, "nvmlDeviceGetComputeRunningProcesses_v3", None)
        if call is None:
            return None
        count = ctypes.c_uint(128)
        found = (_Process * 128)()
        if call(self._handle, ctypes.byref(count), found) != 0:
            return None
        return tuple(sorted(int(found[i].pid) for i in range(min(128, count.value))))

    def snapshot(self) -> Snapshot:
        return Snapshot(
            sm_mhz=self._number("nvmlDeviceGetClockInfo", SM_CLOCK),
            memory_mhz=self._number("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
            celsius=self._number("nvmlDeviceGetTemperature", GRAPHICS_TEMPERATURE),
            reasons=self._number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong),
            processes=self._processes(),
        )


def watch(uuid: Optional[str]) -> Callable[[], Snapshot]:
    """A function that takes snapshots of the GPU with this UUID ("GPU-..."); of unknowns where NVML or the GPU can't be found."""
    library = _load() if uuid else None
    if library is None or library.nvmlInit_v2() != 0:
        return Snapshot
    handle = ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByUUID(ctypes.c_char_p((uuid or "").encode()), ctypes.byref(handle)) != 0:
        return Snapshot
    return Nvml(library, handle).snapshot


def _load() -> Any:
    try:
        return ctypes.CDLL("nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1")
    except OSError:
        return None
