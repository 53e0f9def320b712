"""Which addresses a launch may touch, and which elements of the program's tensors have a value that can be relied on.

When only some programs of a grid are interpreted, the rest of what the launch writes holds whatever was there. Those elements are
*unknown*, and so is all that is computed from them later, by kernels (here) or by torch (``device``). A check compares the elements
that are known in both runs.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy as np
import torch
from torch.multiprocessing.reductions import StorageWeakRef


@dataclass
class Region:
    """The storage of a tensor argument."""

    name: str  # of the first argument that lies in it
    start: int
    end: int
    storage: Any


def regions_of(arguments: Dict[str, Any]) -> List[Region]:
    """The storages behind a launch's arguments, by address; tuples and tensor descriptors are looked into."""
    found: Dict[int, Region] = {}
    for name, value in arguments.items():
        for tensor in _tensors(value):
            storage = tensor.untyped_storage()
            start = storage.data_ptr()
            if storage.nbytes() and start not in found:
                found[start] = Region(name, start, start + storage.nbytes(), storage)
    return [found[start] for start in sorted(found)]


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(getattr(value, "base", None), torch.Tensor):  # TensorDescriptor, TensorWrapper
        yield value.base
    elif hasattr(value, "data_ptr"):  # an object of the program's, which Triton takes for a pointer
        yield from (held for held in getattr(value, "__dict__", {}).values() if isinstance(held, torch.Tensor))


def has_bare_pointers(arguments: Dict[str, Any]) -> bool:
    """Whether one of a launch's arguments is a pointer of the program's making, into whatever tensor it likes."""
    return any(map(_is_bare, arguments.values()))


def _is_bare(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_is_bare, value))
    described = isinstance(getattr(value, "base", None), torch.Tensor)  # TensorDescriptor, TensorWrapper
    return hasattr(value, "data_ptr") and not isinstance(value, torch.Tensor) and not described


@dataclass
class _Mask:
    """``known[i]`` is about the bytes from ``i * size`` on of a storage that still lives."""

    alive: StorageWeakRef
    known: np.ndarray
    size: int


class Memory:
    """The unknown elements of all storages that have any."""

    def __init__(self) -> None:
        self._masks: Dict[int, _Mask] = {}
        self.following = True  # whether what torch computes is followed
        self.missing: Optional[str] = None  # why the last tensor that was too large wasn't made

    @contextlib.contextmanager
    def follow(self, yes: bool) -> Iterator[None]:
        """Whether torch's work inside is followed; not for copies and comparisons of ours, which make nothing that the program sees."""
        before, self.following = self.following, yes
        try:
            yield
        finally:
            self.following = before

    def __bool__(self) -> bool:
        """Whether there may be unknown elements anywhere."""
        return bool(self._masks)

    def _mask(self, start: int) -> Optional[_Mask]:
        mask = self._masks.get(start)
        if mask is not None and mask.alive.expired():  # the address was given to another storage
            del self._masks[start]
            return None
        return mask

    def all_known(self, start: int, offsets: np.ndarray, size: int) -> bool:
        """Whether every element of ``size`` bytes at those offsets (bytes) of a storage is known."""
        mask = self._mask(start)
        if mask is None:
            return True
        if size <= mask.size:
            return bool(mask.known[offsets // mask.size].all())
        return all(bool(mask.known[(offsets + step) // mask.size].all()) for step in range(0, size, mask.size))

    def set(self, region: Region, offsets: np.ndarray, size: int, known: bool) -> None:
        """Elements of ``size`` bytes at those offsets (bytes) become known or unknown."""
        mask = self._mask(region.start)
        if mask is None:
            if known:
                return
            mask = self._new(region.storage, size, known=True)
        mask = self._fine(region.start, mask, size)
        for step in range(0, size, mask.size):
            mask.known[(offsets + step) // mask.size] = known

    def forget(self, region: Region, size: int) -> None:
        """Nothing of the storage is known any more."""
        self._new(region.storage, size, known=False)

    def _new(self, storage: Any, size: int, *, known: bool) -> _Mask:
        mask = _Mask(StorageWeakRef(storage), np.full(-(-storage.nbytes() // size), known), size)
        self._masks[storage.data_ptr()] = mask
        return mask

    def _fine(self, start: int, mask: _Mask, size: int) -> _Mask:
        if size < mask.size:
            mask = self._masks[start] = _Mask(mask.alive, np.repeat(mask.known, mask.size // size), size)
        return mask

    # ------------------------------------------------------------ tensors

    def unknown(self, tensor: torch.Tensor) -> Optional[torch.Tensor]:
        """Which elements of a tensor are unknown, as booleans of its shape; None when all are known."""
        if not self._masks or tensor.layout != torch.strided or tensor.device.type == "meta":
            return None
        mask = self._mask(tensor.untyped_storage().data_ptr())
        if mask is None:
            return None
        flat = torch.from_numpy(~mask.known)
        size = tensor.element_size()
        if mask.size < size:
            whole = flat.numel() // (size // mask.size) * (size // mask.size)
            flat = flat[:whole].reshape(-1, size // mask.size).any(1)
        elif mask.size > size:
            flat = flat.repeat_interleave(mask.size // size)
        seen = flat.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
        return seen.clone() if bool(seen.any()) else None

    def mark(self, tensor: torch.Tensor, unknown: Optional[torch.Tensor]) -> None:
        """Say which elements of a tensor are unknown (booleans that broadcast to its shape); None: all are known."""
        storage = tensor.untyped_storage()
        if not storage.nbytes() or tensor.layout != torch.strided:
            return
        mask = self._mask(storage.data_ptr())
        if mask is None:
            if unknown is None or not bool(unknown.any()):
                return
            mask = self._new(storage, tensor.element_size(), known=True)
        mask = self._fine(storage.data_ptr(), mask, tensor.element_size())
        each = max(1, tensor.element_size() // mask.size)
        flat = torch.from_numpy(mask.known)
        whole = flat[: flat.numel() // each * each].reshape(-1, each)
        value = torch.ones(()) if unknown is None else ~unknown
        for part in range(each):
            column = whole[:, part]
            target = column.as_strided(tensor.size(), [step * each for step in tensor.stride()], tensor.storage_offset() * each + part)
            target.copy_(value.broadcast_to(tensor.size()))


def locate(addresses: np.ndarray, size: int, regions: Sequence[Region]) -> Tuple[np.ndarray, np.ndarray]:
    """Index of the region that holds each address (-1: none), for accesses of ``size`` bytes."""
    if not regions:
        return np.full(addresses.shape, -1), np.zeros(addresses.shape, dtype=bool)
    order = sorted(range(len(regions)), key=lambda index: regions[index].start)
    starts = np.array([regions[index].start for index in order], dtype=np.uint64)
    ends = np.array([regions[index].end for index in order], dtype=np.uint64)
    at = np.searchsorted(starts, addresses, side="right") - 1
    inside = at >= 0
    inside &= addresses + np.uint64(size) <= ends[np.maximum(at, 0)]
    return np.where(inside, np.array(order)[np.maximum(at, 0)], -1), inside
