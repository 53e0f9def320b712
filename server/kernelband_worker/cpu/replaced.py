"""Operators of torch that the program replaces for CUDA (``Library("aten", "IMPL")``): its kernels get what torch would give them.

They can't be torch's for the CPU, for everything in this process needs those. So a mode of torch's dispatcher, which sees each operator
below autograd as a kernel of the device does, calls the program's for what a call on the device comes to.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelband_worker.cpu.tensors import DEVICE, DeviceMode

#: Their namespaces.
TORCHS = ("aten", "prims", "prim")


class Replaced:
    """By operator and overload, the library that replaced it and the program's kernel."""

    def __init__(self, mode: DeviceMode, enter: Callable[[Any], None]) -> None:
        """``enter`` keeps a context open; none is before something is replaced, for a dispatcher's mode slows each call."""
        self._mode = mode
        self._enter = enter
        self._kernels: Dict[str, Tuple[Any, Callable[..., Any]]] = {}

    def replace(self, library: Any, operator: Any, kernel: Callable[..., Any]) -> None:
        """From now on, until the library is destroyed."""
        if not self._mode.replaces:
            self._mode.replaces = True
            self._enter(_Dispatching(self))
        name = operator if isinstance(operator, str) else operator.name()
        self._kernels[name.rpartition("::")[2]] = (library, kernel)

    def call(self, operator: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], again: TorchDispatchMode) -> Any:
        """What the device computes for that operator; what its kernel calls is dispatched ``again``, as there."""
        held = self._kernels.get(operator.name().rpartition("::")[2])
        if held is None or held[0].m is None or self._mode.on_host:
            return operator(*args, **kwargs)
        if isinstance(kwargs.get("device"), torch.device):
            kwargs = {**kwargs, "device": DEVICE}
        with again:
            return held[1](*args, **kwargs)


class _Dispatching(TorchDispatchMode):
    def __init__(self, replaced: Replaced) -> None:
        super().__init__()
        self._replaced = replaced

    def __torch_dispatch__(self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        return self._replaced.call(func, args, dict(kwargs or {}), self)
