"""Operators that the program registers with torch: what it writes for CUDA gets the device's tensors, which lie on the CPU here."""

from __future__ import annotations

import functools
import weakref
from typing import Any, Callable, Dict, List, Tuple

from torch.library import fallthrough_kernel

from kernelband_worker.cpu.replaced import TORCHS, Replaced, stands
from kernelband_worker.cpu.tensors import DeviceMode, tensors_of

#: Where a kernel for one of CUDA's places is wanted here.
_HERE = {"CUDA": "CPU", "AutogradCUDA": "AutogradCPU", "AutocastCUDA": "AutocastCPU"}
#: Places whose kernels are the program's and compute; at others torch looks at a call or passes it on.
_COMPUTING = ("", "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd", *_HERE, *_HERE.values())


class Operators:
    """For each operator and place, the program's kernels: that for the host's tensors and that for the device's."""

    def __init__(self, mode: DeviceMode, replaced: Replaced) -> None:
        self._mode = mode
        self._replaced = replaced
        self._kernels: Dict[str, Dict[str, Tuple[weakref.ref[Any], Callable[..., Any]]]] = {}

    def registering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """In place of ``torch.library.Library.impl``."""

        @functools.wraps(original)
        def impl(library: Any, op_name: Any, fn: Any, dispatch_key: str = "", **options: Any) -> Any:
            place = dispatch_key or library.dispatch_key
            if place not in _COMPUTING or not callable(fn) or fn is fallthrough_kernel:
                return original(library, op_name, fn, dispatch_key, **options)
            if library.ns in TORCHS:
                result = original(library, op_name, fn, dispatch_key, **options)
                if place == "CUDA":
                    self._replaced.replace(library, op_name, self._mode.inside(fn), with_keyset=options.get("with_keyset", False))
                return result
            here = _HERE.get(place, place)
            inside = self._mode.inside(fn)
            self._mode.namespaces.add(library.ns)
            if here != place:
                original(library, op_name, inside, place, **options)
            kernels = self._kernels.setdefault(f"{library.ns}::{_plain(op_name)}/{here}", {})
            first = not _alive(kernels)
            kernels[place] = (weakref.ref(library), inside)
            if first:  # of the operator's, or of a new one of the same name: torch takes the old one's kernels away
                return original(library, op_name, self._choosing(kernels, here), here, **options)
            return None

        return impl

    def _choosing(self, kernels: Dict[str, Tuple[Any, Callable[..., Any]]], here: str) -> Callable[..., Any]:
        """The kernel for that place: the host's for tensors that are all the host's, where there is one, else the device's."""

        def kernel(*args: Any, **kwargs: Any) -> Any:
            alive = _alive(kernels)
            tensors = [*tensors_of(args), *tensors_of(list(kwargs.values()))]
            host = bool(tensors) and all(map(self._mode.is_host, tensors))
            device = next((place for place in alive if place != here), here)
            chosen = here if here in alive and host else device
            return kernels[chosen][1](*args, **kwargs)

        return kernel


def _alive(kernels: Dict[str, Tuple[Any, Any]]) -> List[str]:
    """The places whose library still stands."""
    return [place for place, (library, _) in kernels.items() if stands(library)]


def _plain(operator: Any) -> str:
    """An operator's name without its namespace, given as text or as torch's object."""
    return str(operator if isinstance(operator, str) else operator._schema.name).rpartition("::")[2]
