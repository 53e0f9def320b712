"""How the content of a recorded tensor is made for another input set: recorded, rederived, or drawn afresh."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Dict, Optional

import torch

_LOOKED_AT = 1 << 22  # elements, evenly spread
_AT_ONCE = 1 << 24  # elements that are drawn at once, in float32


def fit(values: torch.Tensor) -> Optional[Dict[str, Any]]:
    """The distribution that a float tensor looks drawn from, or None when it can't be redrawn (constant, empty, not finite).

    Uniform when the spread fits the range as a uniform's does (standard deviation = range / sqrt(12), within 5 %) and normal
    otherwise. Values of one sign keep it.
    """
    flat = values.detach().reshape(-1)
    flat = flat[:: -(-flat.numel() // _LOOKED_AT)].double() if flat.numel() else flat.double()
    if flat.numel() < 2 or not bool(torch.isfinite(flat).all()):
        return None
    low, high, mean, spread = (float(v) for v in (flat.min(), flat.max(), flat.mean(), flat.std()))
    if spread == 0 or not math.isfinite(spread):
        return None
    uniform = abs(spread * math.sqrt(12) / (high - low) - 1) < 0.05
    return {
        "kind": "uniform" if uniform else "normal",
        "low": low,
        "high": high,
        "mean": mean,
        "spread": spread,
        "zeros": float((flat == 0).double().mean()),
        "dtype": str(values.dtype).rpartition(".")[2],
    }


def seed_of(session_seed: int, case_id: str, input_set: int, storage: int) -> int:
    """A seed that every process of a run derives alike."""
    text = f"{session_seed}/{case_id}/{input_set}/{storage}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big")


def draw(how: Dict[str, Any], size: int, seed: int, device: Any = "cpu") -> torch.Tensor:
    """A uint8 storage of ``size`` bytes filled from a fit, on that device: every process that draws on the same kind of device agrees.

    Drawn values stay within the recorded range: a tensor of probabilities or of variances stays one.
    """
    dtype = getattr(torch, how["dtype"])
    count = size // dtype.itemsize
    generator = torch.Generator(device=device).manual_seed(seed)
    storage = torch.zeros(size, dtype=torch.uint8, device=device)
    drawn = storage[: count * dtype.itemsize].view(dtype)
    for begin in range(0, count, _AT_ONCE):  # a large tensor is drawn in pieces: many processes do it at once, and share the memory
        piece = drawn[begin : begin + _AT_ONCE]
        values = torch.empty(piece.numel(), device=device)
        if how["kind"] == "uniform":
            torch.rand(piece.numel(), generator=generator, out=values)
            values.mul_(how["high"] - how["low"]).add_(how["low"])
        else:
            torch.randn(piece.numel(), generator=generator, out=values)
            values.mul_(how["spread"]).add_(how["mean"])
        values.clamp_(how["low"], how["high"])
        if how["zeros"] > 0.01:  # a sparse or masked tensor stays as sparse
            values.masked_fill_(torch.rand(piece.numel(), generator=generator, device=device) < how["zeros"], 0)
        piece.copy_(values)
    return storage
