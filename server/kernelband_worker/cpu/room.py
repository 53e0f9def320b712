"""Whether what a program wants to make on the device fits into this machine's memory, which stands for the device's."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

import torch

_LARGE = 256 << 20  # bytes; below nobody looks
_SHARE = 0.5  # of what is free: a reference and the results want some, too
_SIZED = ("empty", "zeros", "ones", "full", "rand", "randn", "randint", "empty_strided")


def missing(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Optional[str]:
    """Of a call of torch's that makes a tensor of a given size: why it isn't made, where it would take more than half of what is free."""
    if getattr(function, "__name__", "") not in _SIZED or kwargs.get("out") is not None:
        return None
    try:
        wanted = _on_meta(function, args, {n: v for n, v in kwargs.items() if n not in ("generator", "device", "pin_memory")})
    except Exception:  # noqa: BLE001 - whatever is wrong, the call itself will say
        return None
    if wanted.layout != torch.strided:
        return None
    bytes_ = wanted.untyped_storage().nbytes()
    free = _free() if bytes_ > _LARGE else None
    if free is None or bytes_ <= _SHARE * free:
        return None
    there = f"of which {free / 1e9:.1f} GB are free, and one of {bytes_ / 1e9:.1f} GB isn't made"
    return f"without a GPU tensors lie in this machine's memory, {there}"


def _on_meta(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> torch.Tensor:
    """What the call makes, without its memory. Random numbers as an empty tensor: their own meta form imports sympy, 0.3 s."""
    if function.__name__ == "randint":  # (high, size) or (low, high, size)
        size = kwargs.pop("size", None)
        bounds = ("low", "high")
        kwargs = {"dtype": torch.int64, **{name: value for name, value in kwargs.items() if name not in bounds}}
        return torch.empty(args[-1] if size is None else size, **kwargs, device="meta")
    return (torch.empty if function.__name__ in ("rand", "randn") else function)(*args, **kwargs, device="meta")


def _free() -> Optional[int]:
    """Bytes; None where the system doesn't tell."""
    try:
        with open("/proc/meminfo") as lines:
            return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)
    except OSError:
        return None
