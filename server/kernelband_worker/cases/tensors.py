"""Tensors and their storages: raw bytes, records of views, and rebuilding them. Aliasing is kept by sharing storages."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import torch


class NotReplayable(Exception):
    """This call can't be recorded and replayed. The message completes "NAME can't be replayed: ...", without a full stop."""


#: persistent id of a tensor inside a pickled argument tree
TensorId = Tuple[str, int, int, int, Tuple[int, ...], Tuple[int, ...], torch.dtype, bool, bool]


def storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage of ``tensor`` as a uint8 view, on the device that the tensor says it is on."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage, 0, (storage.nbytes(),), (1,))


def check_plain(tensor: torch.Tensor) -> None:
    """Refuse tensors whose content isn't a strided piece of memory.

    Raises:
        NotReplayable: with what kind of tensor it is.
    """
    name = type(tensor).__name__
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) and not isinstance(tensor, torch.nn.Parameter):
        raise NotReplayable(f"a tensor is a {type(tensor).__module__}.{name}, not a plain torch.Tensor")
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
        raise NotReplayable("a tensor is sparse, nested or quantized")
    if tensor.device.type == "meta" or tensor.is_conj() or tensor.is_neg():
        raise NotReplayable("a tensor has no memory of its own (meta, conjugate or negative view)")


class Storages:
    """Numbers the storages of a tree in order of first sight; equal numbers alias."""

    def __init__(self) -> None:
        self.views: List[torch.Tensor] = []  # uint8 views of the live storages; they keep them alive
        self.dtypes: List[torch.dtype] = []  # of the first tensor seen on each
        self._numbers: Dict[Tuple[str, int], int] = {}

    def number(self, tensor: torch.Tensor) -> int:
        """The number of this tensor's storage, given now if it is new."""
        storage = tensor.untyped_storage()
        key = (str(storage.device), storage._cdata)
        if key not in self._numbers:
            self._numbers[key] = len(self.views)
            self.views.append(storage_bytes(tensor))
            self.dtypes.append(tensor.dtype)
        return self._numbers[key]

    def find(self, tensor: torch.Tensor) -> Optional[int]:
        """The number of this tensor's storage, or None when it isn't one of these."""
        storage = tensor.untyped_storage()
        return self._numbers.get((str(storage.device), storage._cdata))

    def identify(self, tensor: torch.Tensor, index: int) -> TensorId:
        """What a pickle holds in place of the tree's tensor number ``index``; equal numbers are one object."""
        check_plain(tensor)
        return (
            "tensor",
            index,
            self.number(tensor),
            int(tensor.storage_offset()),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            tensor.dtype,
            tensor.requires_grad,
            isinstance(tensor, torch.nn.Parameter),
        )


def rebuild(pid: TensorId, storages: List[torch.Tensor]) -> torch.Tensor:
    """The tensor of a persistent id, over live uint8 storages."""
    _, _, number, offset, shape, stride, dtype, requires_grad, parameter = pid
    storage = storages[number]
    with torch.no_grad():
        tensor = torch.empty(0, dtype=dtype, device=storage.device).set_(storage.untyped_storage(), offset, shape, stride)
    if parameter:
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    return tensor.requires_grad_(requires_grad) if requires_grad else tensor


def as_double(pid: TensorId) -> TensorId:
    """The same tensor in float64, if it is a float."""
    kind, index, number, offset, shape, stride, dtype, requires_grad, parameter = pid
    return kind, index, number, offset, shape, stride, torch.float64 if dtype.is_floating_point else dtype, requires_grad, parameter


def same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two uint8 storages hold the same bytes; NaNs compare by their bits."""
    if a.numel() != b.numel():
        return False
    size = a.numel()
    wide = size // 8 * 8  # eight bytes at a time is much faster
    if wide and not torch.equal(a[:wide].view(torch.int64), b[:wide].view(torch.int64)):
        return False
    return torch.equal(a[wide:], b[wide:])


def elements(tensor: torch.Tensor) -> torch.Tensor:
    """What a tensor holds in the order of its indices, as bytes on its device."""
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def dtype_name(dtype: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).rpartition(".")[2]


def describe(tensor: torch.Tensor) -> Dict[str, Any]:
    """Shape, stride, dtype and device, as JSON."""
    return {
        "shape": list(tensor.shape),
        "stride": list(tensor.stride()),
        "dtype": dtype_name(tensor.dtype),
        "device": tensor.device.type,
    }
