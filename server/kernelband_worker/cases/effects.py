"""What a call did: outputs and their aliases, writes, globals that changed, and memory that nobody wrote.

Uninitialised memory is made visible by running a call twice with fresh allocations filled differently (``Poison``): NaN in the
first run, a plain number in the second. What is NaN in the first and isn't in the second was not written, or was computed from
what was not written. Filling freed cache memory would be unreliable, and torch's own
``fill_uninitialized_memory`` works only with deterministic algorithms, which changes what the user's code runs.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelband_worker.cases.tensors import storage_bytes
from kernelband_worker.cases.zones import Zones

_EMPTY = {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided"}
_FILLED = {f"aten::{name}" for made in ("zeros", "ones", "full") for name in (made, f"{made}_like", f"new_{made}")}
_INTEGERS = (0x5A, 0x25)  # byte patterns of the first and of the second run
_NUMBER = 0.5
#: Largest difference of two runs of an original, over its output's RMS, that still counts as rounding (atomics in any order).
_ROUNDING = {"float64": 1e-6, "complex128": 1e-6, "float32": 1e-3, "complex64": 1e-3, "float16": 5e-2, "bfloat16": 5e-2}
_ROUNDING_8_BIT = 0.3


class Poison(TorchDispatchMode):
    """Fill what torch.empty and its kin allocate. ``first`` fills with NaN, else with a plain number. With ``zones``, what is allocated,
    filled with zeros and the like too, lies between zones.
    """

    def __init__(self, first: bool, zones: Optional[Zones] = None) -> None:
        super().__init__()
        self.first, self.zones = first, zones

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or torch imports its compiler, seconds of work, at the first call

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        """Run the operation; fill its result when it is a fresh allocation."""
        made = func(*args, **(kwargs or {}))
        name = func._schema.name
        if (name not in _EMPTY and name not in _FILLED) or not isinstance(made, torch.Tensor) or made.device.type == "meta":
            return made
        if name in _EMPTY:
            fill(made, self.first)
        return made if self.zones is None else self.zones.fresh(made)


def fill(tensor: torch.Tensor, first: bool) -> None:
    """Fill one fresh tensor with the poison of the first or of the second run."""
    if tensor.untyped_storage().nbytes() == 0:
        return
    if (tensor.dtype.is_floating_point and tensor.dtype.itemsize > 1) or tensor.dtype.is_complex:
        tensor.fill_(float("nan") if first else _NUMBER)
    elif tensor.dtype.is_floating_point:  # float8: all ones but the sign is NaN
        storage_bytes(tensor).fill_(0x7F if first else 0x30)
    elif tensor.dtype is torch.bool:
        tensor.fill_(first)
    else:
        storage_bytes(tensor).fill_(_INTEGERS[0] if first else _INTEGERS[1])


def widen(tensor: torch.Tensor) -> torch.Tensor:
    """Float types narrower than two bytes as float32, so that they can be compared."""
    return tensor.float() if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1 else tensor


def unwritten(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Mask of the elements of an output that hold the poisons of the two runs, or what was computed from them."""
    first, second = widen(first.detach()), widen(second.detach())
    if first.dtype.is_floating_point or first.dtype.is_complex:
        return torch.isnan(first) & ~torch.isnan(second)
    if first.dtype is torch.bool:
        return first & ~second
    poisons = [int.from_bytes(bytes([b]) * first.dtype.itemsize, "little", signed=first.dtype.is_signed) for b in _INTEGERS]
    return (first == poisons[0]) & (second == poisons[1])


def aliases(outputs: Sequence[Tuple[str, torch.Tensor]], inputs: Sequence[Tuple[str, torch.Tensor]]) -> Dict[str, Optional[str]]:
    """For each output the first input or earlier output whose storage it shares, None for memory of its own."""
    known: Dict[Tuple[str, int], str] = {}
    for name, tensor in inputs:
        known.setdefault(_storage(tensor), name)
    found: Dict[str, Optional[str]] = {}
    for name, tensor in outputs:
        key = _storage(tensor)
        found[name] = known.get(key)
        known.setdefault(key, name)
    return found


def _storage(tensor: torch.Tensor) -> Tuple[str, int]:
    return str(tensor.untyped_storage().device), tensor.untyped_storage()._cdata


def globals_print(function: Any) -> Dict[str, Any]:
    """A cheap picture of the module state that a function can see: numbers, sizes of containers, versions of tensors."""
    picture: Dict[str, Any] = {}
    for name, value in getattr(function, "__globals__", {}).items():
        if name.startswith("__"):
            continue
        if value is None or isinstance(value, (bool, int, float, str)):
            picture[name] = value
        elif isinstance(value, torch.Tensor):
            picture[name] = (id(value), value._version)
        elif isinstance(value, (list, dict, set)):
            picture[name] = (id(value), len(value), repr(value) if len(value) <= 8 and _small(value) else None)
    return picture


def _small(value: Any) -> bool:
    items = list(value.values()) if isinstance(value, dict) else list(value)
    return all(x is None or isinstance(x, (bool, int, float, str)) for x in items)


def globals_changed(before: Dict[str, Any], after: Dict[str, Any]) -> List[str]:
    """Names whose value changed."""
    return sorted(n for n in set(before) | set(after) if before.get(n) != after.get(n))


def difference(a: torch.Tensor, b: torch.Tensor, ignore: Optional[torch.Tensor] = None) -> float:
    """Largest absolute difference over the root mean square of ``a``; 0 when equal, infinite where one is finite and the other not."""
    a, b = widen(a.detach()), widen(b.detach())
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if ignore is not None and few(ignore):
        a, b, ignore = pick(a, ~ignore), pick(b, ~ignore), None
    if a.numel() == 0:
        return 0.0
    equal = (a == b) | (torch.isnan(a) & torch.isnan(b)) if a.dtype.is_floating_point or a.dtype.is_complex else a == b
    if ignore is not None:
        equal = equal | ignore
    if bool(equal.all()):
        return 0.0
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        return float("inf")
    apart = (a[~equal].to(torch.complex128 if a.dtype.is_complex else torch.float64) - b[~equal]).abs()
    if not bool(torch.isfinite(apart).all()):
        return float("inf")
    return float(apart.max()) / max(rms(a, ignore), 1e-30)


def apart(a: torch.Tensor, b: torch.Tensor, ignore: torch.Tensor, by: float) -> torch.Tensor:
    """Mask of the elements that differ by more than ``by`` times the root mean square of ``a``, as ``difference`` measures it."""
    a, b = widen(a.detach()), widen(b.detach())
    if not (a.dtype.is_floating_point or a.dtype.is_complex):
        return (a != b) & ~ignore
    wide = torch.complex128 if a.dtype.is_complex else torch.float64
    near = (a == b) | (torch.isnan(a) & torch.isnan(b)) | ((a.to(wide) - b.to(wide)).abs() <= by * rms(a, ignore))
    return ~near & ~ignore


def rounding(dtype: torch.dtype) -> float:
    """How far two runs of an original may be apart, over the RMS."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    return _ROUNDING.get(str(dtype).rpartition(".")[2], _ROUNDING_8_BIT)


def few(ignore: torch.Tensor) -> bool:
    """Whether so little is left that it is worth picking out: after sampled programs, a thousandth of an output may be all that counts."""
    return ignore.numel() > 4096 and int(ignore.count_nonzero()) > ignore.numel() // 2


def pick(tensor: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """The elements that count, in one dimension."""
    if tensor.dtype.is_floating_point and tensor.dtype.itemsize == 1:  # torch doesn't index float8
        return tensor.view(torch.uint8)[counted].view(tensor.dtype)
    return tensor[counted]


def rms(tensor: torch.Tensor, ignore: Optional[torch.Tensor] = None) -> float:
    """Root mean square of the finite elements, 0 when there are none."""
    values = widen(tensor.detach())
    values = values.reshape(-1) if ignore is None else values[~ignore]
    values = (values if values.dtype is torch.bool else values.abs()).double()
    values = values[torch.isfinite(values)]
    return float(values.square().mean().sqrt()) if values.numel() else 0.0
