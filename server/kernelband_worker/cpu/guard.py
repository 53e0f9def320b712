"""One launch under interpretation: every access is checked against the storages of the launch's tensors before it touches memory.

An access outside becomes a diagnostic of its source line; a load gives 0 there, a store is dropped.
"""

from __future__ import annotations

import gc
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Set, Tuple

import numpy as np
import torch

from kernelband_worker.cpu.memory import Memory, Region, locate
from kernelband_worker.cpu.traffic import Counter
from kernelband_worker.errors import OperationFailed
from kernelband_worker.sources import real_path

#: Atomic operations of one program after which it is taken to wait for another one, which never gets its turn.
_SPINS = 200_000


class Outside(NamedTuple):
    """Elements of one access that lie outside of every tensor of the launch."""

    path: str
    line: int
    kind: str  # "load" | "store"
    message: str
    start: int  # address of the memory that was meant; 0: the launch has none
    before: int  # bytes that it reaches before that
    past: int  # and past its end


class Launch:
    """What the interpreter's builder asks about memory while the programs of one launch run."""

    def __init__(
        self,
        regions: List[Region],
        memory: Memory,
        *,
        sampled: bool,
        kernel: str,
        site_of: Callable[[Any], Tuple[str, int]],
        found: Callable[[Outside], None],
    ) -> None:
        self.regions = regions
        self.counter = Counter()
        self.sampled = sampled
        self.program = (0, 0, 0)
        self.made_pointers = False  # from integers or objects: they may lie in tensors that aren't arguments
        self._kernel = kernel
        self._memory = memory
        self._site_of = site_of
        self._found = found
        self._tainted = False
        self._atomics = 0
        self._writes: List[Tuple[int, np.ndarray, int, bool]] = []
        self._homes: Dict[Tuple[str, int, str], Set[int]] = {}  # where a line's accesses were that lay in one region

    def start(self, program: Tuple[int, int, int], *, detailed: bool) -> None:
        """The next program runs."""
        self.program = program
        self.counter.detailed = detailed
        self._tainted = False
        self._atomics = 0

    def access(self, kind: str, addresses: np.ndarray, mask: np.ndarray, size: int, *, masked: bool) -> np.ndarray:
        """Which elements of an access may go ahead.

        Args:
            kind: ``load`` or ``store``.
            addresses: of each element, uint64.
            mask: of each element; where false, nothing is accessed anyhow.
            size: bytes of an element.
            masked: whether the source gives a mask.
        """
        wanted = addresses[mask]
        self.counter.moved(kind, wanted.size, size)
        region = self._one_region(wanted, size)
        allowed = mask
        if wanted.size and region < 0:
            index, inside = locate(wanted, size, self.regions)
            if not inside.all() and self.made_pointers and self._adopt(wanted[~inside], size):
                index, inside = locate(wanted, size, self.regions)
            if not inside.all():
                self._report(kind, wanted[~inside], size, index[inside])
                allowed = mask.copy()
                allowed[mask] = inside
            for each in np.unique(index[inside]):
                self._touched(kind, int(each), wanted[index == each], size)
        elif wanted.size:
            self._touched(kind, region, wanted, size)
        if self.counter.detailed:
            site = self._site_of(sys._getframe(1))
            self.counter.access(kind, region, wanted, size, site, masked=masked)
            if region >= 0:
                self._homes.setdefault((*site, kind), set()).add(region)
        if masked and wanted.size < mask.size:
            self.counter.hid(kind, self._site_of(sys._getframe(1)))
        return allowed

    def atomic(self) -> None:
        """An atomic operation: the programs of this kernel work together, so none may be left out.

        Raises:
            OperationFailed: the program waits for another one.
        """
        self.counter.atomics = True
        self._atomics += 1
        if self._atomics > _SPINS:
            raise OperationFailed(
                f"{self._kernel} waits in program {self.program} for another program. Without a GPU programs are interpreted one after "
                "another, so it would wait for ever: this kernel needs a GPU.",
                "unsupported",
            )

    def finish(self, executed: int, total: int) -> None:
        """Say what is known of the launch's outputs, now that it is known how many programs ran."""
        if executed < total:
            for region in sorted({write[0] for write in self._writes}):
                size = min(write[2] for write in self._writes if write[0] == region)
                self._memory.forget(self.regions[region], size)
        # A sum that some programs didn't add to is no sum.
        whole = executed == total or not self.counter.atomics
        for region, offsets, size, known in self._writes:
            self._memory.set(self.regions[region], offsets, size, known and whole)

    # ------------------------------------------------------------ inside

    def _one_region(self, wanted: np.ndarray, size: int) -> int:
        """The region that holds all of them: the usual case, found without looking at each."""
        if wanted.size:
            low, high = int(wanted.min()), int(wanted.max()) + size
            for index, region in enumerate(self.regions):
                if region.start <= low and high <= region.end:
                    return index
        return -1

    def _touched(self, kind: str, region: int, addresses: np.ndarray, size: int) -> None:
        start = self.regions[region].start
        if kind == "load":
            if self._memory and not self._memory.all_known(start, (addresses - np.uint64(start)).astype(np.int64), size):
                self._tainted = True
        elif self.sampled or self._tainted or self._memory:
            self._writes.append((region, (addresses - np.uint64(start)).astype(np.int64), size, not self._tainted))

    def _adopt(self, addresses: np.ndarray, size: int) -> bool:
        """Look for live tensors that hold addresses which the kernel made from integers (a table of pointers)."""
        before = len(self.regions)
        for thing in gc.get_objects():
            if not issubclass(type(thing), torch.Tensor) or thing.layout != torch.strided or thing.device.type != "cpu":
                continue
            storage = thing.untyped_storage()
            start, end = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
            holds = (addresses >= start) & (addresses + np.uint64(size) <= end)
            # At the end: the positions of the others are in use.
            if bool(holds.any()) and all(region.start != start for region in self.regions):
                self.regions.append(Region("a tensor behind a pointer", start, end, storage))
        return len(self.regions) > before

    def _report(self, kind: str, outside: np.ndarray, size: int, others: np.ndarray) -> None:
        """``others``: the regions of the elements of the same access that lie inside of one."""
        path, line = self._site_of(sys._getframe(2))
        message, start, before, past = f"{kind} outside every tensor of this launch", 0, 0, 0
        if self.regions:
            near = self._meant(self._homes.get((path, line, kind), set()), others, outside)
            start, low, high = near.start, int(outside.min()), int(outside.max()) + size
            before, past = max(0, near.start - low), max(0, high - near.end)
            place = f"{past} bytes past the end" if past else f"{before} bytes before the start"
            message = f"{kind} up to {place} of {near.name} ({near.end - near.start} bytes)"
        said = f"{message}: {outside.size} elements of {size} bytes in program {self.program} of {self._kernel}"
        self._found(Outside(path, line, kind, said, start, before, past))

    def _meant(self, homes: Set[int], others: np.ndarray, outside: np.ndarray) -> Region:
        """The region that an access meant: that of most of its elements, of those where its line is elsewhere, else the nearest.

        What is nearest alone says little: memory lies otherwise in each call.
        """
        among = others[np.isin(others, list(homes))] if homes else others
        if others.size:
            return self.regions[int(np.bincount(among if among.size else others).argmax())]
        if len(homes) == 1:
            return self.regions[next(iter(homes))]
        address = int(outside.min()) if outside.size == 1 else int(outside.max())
        return min(self.regions, key=lambda region: max(region.start - address, address - region.end, 0))


def sites(own: str) -> Callable[[Any], Tuple[str, int]]:
    """A function that gives the innermost place in the program's own files, from a frame; ``own`` is Triton's folder, passed over."""
    known: Dict[str, str] = {}  # file name of code: its path, or nothing for code that isn't the program's

    def site_of(frame: Any) -> Tuple[str, int]:
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename not in known:
                passed = filename.startswith(own) or "kernelband_worker" in filename or "numpy" in filename
                known[filename] = "" if passed else real_path(filename)
            if known[filename]:
                return known[filename], frame.f_lineno
            frame = frame.f_back
        return "", 0

    return site_of
