"""Operators of torch that the program replaces for CUDA (``Library("aten", "IMPL")``): its kernels get what torch would give them.

They can't be torch's for the CPU, for everything in this process needs those. So a mode of torch's dispatcher, which sees each operator
below autograd as a kernel of the device does, calls the program's for what a call on the device comes to.
"""

from __future__ import annotations

import weakref
from typing import Any, Callable, Dict, List, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelband_worker.cpu.tensors import DEVICE, DeviceMode, tensors_of

#: Their namespaces.
TORCHS = ("aten", "prims", "prim")
_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


class Replaced:
    """By operator and overload, the library that replaced it, the program's kernel, and whether that wants to know torch's keys."""

    def __init__(self, mode: DeviceMode, enter: Callable[[Any], None]) -> None:
        """``enter`` keeps a context open; none is before something is replaced, for a dispatcher's mode slows each call."""
        self._mode = mode
        self._enter = enter
        self._kernels: Dict[str, Tuple[weakref.ref[Any], Callable[..., Any], bool]] = {}

    def replace(self, library: Any, operator: Any, kernel: Callable[..., Any], *, with_keyset: bool) -> None:
        """From now on, until the library is destroyed or forgotten."""
        if not self._mode.replaces:
            self._mode.replaces = True
            self._enter(_Dispatching(self))
        name = operator if isinstance(operator, str) else operator.name()
        self._kernels[name.rpartition("::")[2]] = (weakref.ref(library), kernel, with_keyset)

    def call(self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], again: TorchDispatchMode) -> Any:
        """What the device computes for that operator; what its kernel calls is dispatched ``again``, as there."""
        held = self._kernels.get(operator.name().rpartition("::")[2])
        if held is None or not stands(held[0]) or not self._mode.on_device or not _lie_here([*args, *kwargs.values()]):
            return operator(*args, **kwargs)
        if isinstance(kwargs.get("device"), torch.device):
            kwargs = {**kwargs, "device": DEVICE}
        keys = (_KEYS,) if held[2] else ()
        with again:
            return held[1](*keys, *args, **kwargs)


def stands(library: weakref.ref[Any]) -> bool:
    """Whether what a library has registered is still in force."""
    return getattr(library(), "m", None) is not None


def _lie_here(values: List[Any]) -> bool:
    """Whether no tensor is sparse or without elements: for those torch looks elsewhere than among CUDA's kernels."""
    return all(tensor.device.type == "cpu" and tensor.layout == torch.strided for tensor in tensors_of(values))


class _Dispatching(TorchDispatchMode):
    def __init__(self, replaced: Replaced) -> None:
        super().__init__()
        self._replaced = replaced

    def __torch_dispatch__(self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        return self._replaced.call(func, args, dict(kwargs or {}), self)
