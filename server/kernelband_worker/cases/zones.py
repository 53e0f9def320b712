"""Zones of a known pattern before and after the memory of a check, looked at after each call: who writes there wrote outside of a tensor.

On a GPU nothing else tells: a store past the end lands in memory that the allocator holds for somebody else. A tensor is a view at an
offset of a larger storage, still aligned to 256 bytes as the allocator would have it. Around floats the pattern is NaN in the first run and
zero in the second, like the poison of fresh memory (``effects``), so that results that depend on what lies there differ. Around integers it
is zero in both: an index that is read there by an original must not lead anywhere.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, Tuple

import torch

from kernelband_worker.cases.tensors import storage_bytes

LEAST = 4096  # bytes on either side
_ALIGNED = 256
_WIDEST = 8  # bytes of an element
#: The name of memory that isn't an input's.
ALLOCATED = "what it allocates"
_NAN, _ZERO = 0xFF, 0x00  # bytes


class Zones:
    """Storages with zones around them, and where the zones were found written."""

    def __init__(self, size: int = LEAST) -> None:
        self.size = -(-size // _ALIGNED) * _ALIGNED
        self.first = True
        self.written: Dict[str, Tuple[int, int]] = {}  # by name of memory, how many bytes before and past it something was written
        self._inputs: List[Tuple[str, torch.Tensor, int, bool]] = []  # name, whole storage, bytes inside, whether it holds floats
        self._fresh: List[Tuple[str, torch.Tensor, int, bool]] = []

    def around(self, name: str, size: int, device: Any, *, floats: bool) -> torch.Tensor:
        """Uninitialised uint8 memory of ``size`` bytes for an input, between zones that last as long as this object."""
        return self._make(self._inputs, name, size, device, floats=floats)

    def fresh(self, made: torch.Tensor) -> torch.Tensor:
        """A tensor like ``made``, which the program has just allocated, with its content, between zones that last until ``look``."""
        plain = made.layout == torch.strided and type(made) is torch.Tensor and not (made.device.type == "cpu" and made.is_pinned())
        size = made.untyped_storage().nbytes() if plain else 0
        if size == 0:
            return made
        floats = made.dtype.is_floating_point or made.dtype.is_complex
        inside = self._make(self._fresh, ALLOCATED, size, made.device, floats=floats)
        inside.copy_(storage_bytes(made))
        start = self.size // made.element_size() + made.storage_offset()
        return torch.empty(0, dtype=made.dtype, device=made.device).set_(inside.untyped_storage(), start, made.shape, made.stride())

    def begin(self, first: bool) -> None:
        """Before a call: the zones of the inputs get the pattern of the first or of the second run. With the first all starts anew."""
        self.first = first
        if first:
            self.written = {}
        self._fresh.clear()
        for _, whole, size, floats in self._inputs:
            self._fill(whole, size, floats=floats)

    def look(self) -> None:
        """After a call: note beside what something was written, and how far away."""
        for name, whole, size, floats in self._inputs + self._fresh:
            byte = self._byte(floats)
            before, past = _farthest((whole[: self.size] != byte).flip(0)), _farthest(whole[self.size + size :] != byte)
            if before or past:
                known = self.written.get(name, (0, 0))
                self.written[name] = (max(known[0], before), max(known[1], past))
        self._fresh.clear()

    def _make(self, kept: List[Tuple[str, torch.Tensor, int, bool]], name: str, size: int, device: Any, *, floats: bool) -> torch.Tensor:
        whole = torch.empty(size + 2 * self.size, dtype=torch.uint8, device=device)
        self._fill(whole, size, floats=floats)
        kept.append((name, whole, size, floats))
        return whole[self.size : self.size + size]

    def _fill(self, whole: torch.Tensor, size: int, *, floats: bool) -> None:
        whole[: self.size] = self._byte(floats)
        whole[self.size + size :] = self._byte(floats)

    def _byte(self, floats: bool) -> int:
        return _NAN if floats and self.first else _ZERO


def _farthest(written: torch.Tensor) -> int:
    """How many bytes from its start on the last written one lies, in whole elements; a byte of one may be what it was."""
    places = written.nonzero()
    return -(-(int(places.max()) + 1) // _WIDEST) * _WIDEST if places.numel() else 0


def place(tensors: Sequence[torch.Tensor], described: Sequence[Dict[str, Any]], storages: Sequence[torch.Tensor]) -> None:
    """Move tensors that were built over the whole of their storages to where the storages' own memory begins, in place.

    Args:
        tensors: of an argument tree.
        described: what is known of each, with the number of its storage.
        storages: uint8 views, between zones or not.
    """
    for tensor, facts in zip(tensors, described):
        storage = storages[facts["storage"]]
        if storage.storage_offset():
            offset = tensor.storage_offset() + storage.storage_offset() // tensor.element_size()
            moved = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            tensor.data = moved.set_(storage.untyped_storage(), offset, tensor.shape, tensor.stride())
