"""From a name that a person typed, or from what the driver reports, to a Device."""

from __future__ import annotations

import difflib
import re
from functools import cache

from attrs import evolve, frozen

from kernelband.errors import HardwareError
from kernelband.hardware.device import Device
from kernelband.hardware.devices import table
from kernelband_worker.wire import Gpu

_NOISE = ("nvidia", "amd", "geforce", "instinct", "quadro", "tesla", "gpu")
_ALIASES = {
    "h100sxm": "h100",
    "h100sxm5": "h100",
    "h100hbm3": "h100",
    "h200sxm": "h200",
    "a100sxm": "a100",
    "a100sxm4": "a100",
    "rtxa6000": "a6000",
    "3090": "rtx3090",
    "4090": "rtx4090",
    "5090": "rtx5090",
    "mi300": "mi300x",
    "mi355": "mi355x",
}


@frozen
class Ceilings:
    """Rates measured on the GPU itself: bytes/s and FLOP/s by operand dtype."""

    dram_bytes_per_s: float
    tensor_flops: dict[str, float]
    launch_us: float | None = None


DEFAULT_DEVICE = "h100"  # predicted for, where there is no GPU and none is named


def find_device(name: str) -> Device:
    """The device of that name: ``h100``, ``H100 SXM``, ``NVIDIA GeForce RTX 4090``.

    Raises:
        HardwareError: it is unknown; the message names close ones.
    """
    devices = {device.key: device for device in table()}
    key = _key(name)
    if key is not None:
        return devices[key]
    close = difflib.get_close_matches(_plain(name), list(devices), n=3, cutoff=0.4)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    raise HardwareError(f"Unknown GPU {name!r}. {hint}Known are {', '.join(devices)}.")


def find_devices(names: str) -> tuple[Device, ...]:
    """The devices of a comma-separated list, each once, in order.

    Raises:
        HardwareError: one is unknown, or the list is empty.
    """
    found = [find_device(name) for name in names.split(",") if name.strip()]
    if not found:
        raise HardwareError("No GPU is named: give one or more, as in --gpu h100,a100.")
    return tuple({device.key: device for device in found}.values())


def from_gpu(gpu: Gpu, ceilings: Ceilings | None = None) -> Device:
    """The GPU at hand: limits from the driver, rates measured (``ceilings``), else published for that name.

    A GPU that the table doesn't hold gets the rates of the known one of its architecture with the closest number of multiprocessors, in
    proportion, and says so in its name.

    Raises:
        HardwareError: nothing is known of its architecture.
    """
    key = _key(gpu["name"])
    device = find_device(key) if key is not None else _relative(gpu)
    device = evolve(
        device,
        multiprocessors=gpu["multiprocessors"] or device.multiprocessors,
        registers_per_sm=gpu["registers"] or device.registers_per_sm,
        shared_per_program=gpu["shared_limit_bytes"] or device.shared_per_program,
        l2_bytes=gpu["l2_bytes"] or device.l2_bytes,
        memory_bytes=gpu["memory_bytes"] or device.memory_bytes,
    )
    if ceilings is None:
        return device
    return evolve(
        device,
        dram_bytes_per_s=ceilings.dram_bytes_per_s,
        tensor_flops={**device.tensor_flops, **ceilings.tensor_flops},
        launch_us=device.launch_us if ceilings.launch_us is None else ceilings.launch_us,
        measured=True,
    )


def _relative(gpu: Gpu) -> Device:
    major, minor = gpu["capability"][0], gpu["capability"][1]
    arch = 10 * major + minor
    kin = [d for d in table() if d.backend == "cuda" and (d.arch == arch or (arch in (87, 103, 121) and d.arch // 10 == major))]
    if not kin:
        raise HardwareError(
            f"{gpu['name']} (compute capability {major}.{minor}) is not supported: Triton needs 8.0 or higher, "
            f"and the published rates of this one are unknown. Known are {', '.join(d.key for d in table())}."
        )
    near = min(kin, key=lambda d: abs(d.multiprocessors - gpu["multiprocessors"]))
    scale = gpu["multiprocessors"] / near.multiprocessors
    return evolve(
        near,
        key=_plain(gpu["name"]) or "gpu",
        name=f"{gpu['name']} (rates estimated from {near.name})",
        arch=arch,
        dram_bytes_per_s=near.dram_bytes_per_s * scale,
        l2_bytes_per_s=near.l2_bytes_per_s * scale,
        fp32_flops=near.fp32_flops * scale,
        instructions_per_s=near.instructions_per_s * scale,
        special_per_s=near.special_per_s * scale,  # how many programs it starts hangs on its clock only
        tensor_flops={k: v * scale for k, v in near.tensor_flops.items()},
    )


def _plain(name: str) -> str:
    """Lower case, makers and punctuation gone: ``NVIDIA A100-SXM4-80GB`` -> ``a100sxm4``."""
    words = [w for w in re.split(r"[^a-z0-9]+", name.strip().lower()) if w and w not in _NOISE]
    words = [w for w in words if not re.fullmatch(r"\d+(gb|gib|g)|hbm\w*", w)]
    return "".join(words)


def _key(name: str) -> str | None:
    plain = _plain(name)
    return _keys().get(plain) or _ALIASES.get(plain)


@cache
def _keys() -> dict[str, str]:
    """By plain key and plain name."""
    return {_plain(text): device.key for device in table() for text in (device.key, device.name)}


def driver_properties(device: Device) -> dict[str, int]:
    """What the driver would report of ``device``, for SessionParams.device_properties: programs size their grids by it.

    Clocks are those that give the device's rates: kHz, with 2 transfers per memory clock and 128 float32 lanes per multiprocessor.
    """
    bus_bits = 4096
    return {
        "max_shared_mem": device.shared_per_program,
        "max_num_regs": device.registers_per_sm,
        "multiprocessor_count": device.multiprocessors,
        "warpSize": device.warp_size,
        "sm_clock_rate": round(device.fp32_flops / (device.multiprocessors * 2 * 128) / 1000),
        "mem_clock_rate": round(device.dram_bytes_per_s / (2 * bus_bits / 8) / 1000),
        "mem_bus_width": bus_bits,
    }
