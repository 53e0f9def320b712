"""What timed calls get: contents that no call before had, in several buffers, so that neither values nor addresses tell one from another.

Of a storage whose floats are drawn anyway there is twice as much as it holds, and content ``k`` of a turn is a window at a secret place of
it: other values, in another order, for the price of a copy on the device. Of all other floats every so manieth becomes a sixteenth larger
or smaller. It is the same in every process that knows the turn's seed, so another process can say what the result must be. Integers are
changed only where they are the one input, round and round within their range: page tables and offsets that belong to others can't be.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch

from kernelband_worker.cases import modes, policy
from kernelband_worker.cases.replay import Prepared, ReplayCase
from kernelband_worker.cases.store import HIDDEN
from kernelband_worker.measure import bound
from kernelband_worker.measure.inputs import SHARE_OF_FREE_MEMORY
from kernelband_worker.measure.replayed import plain
from kernelband_worker.state import State

MOST_BUFFERS = 16
MOST_SETS = 3
STRIDE = 61  # of the elements in which a bit flips: prime, so that it meets every column of a row
#: The bit of a float that is worth a sixteenth of it, at least, and the integers that it is flipped in.
_BITS = {
    torch.float16: (torch.int16, 1 << 6),
    torch.bfloat16: (torch.int16, 1 << 3),
    torch.float32: (torch.int32, 1 << 19),
    torch.float64: (torch.int64, 1 << 48),
}


class Change(NamedTuple):
    """What happens to a storage of that type: a window "moves" over what there is, bits "flip", or integers of that range "turn"."""

    how: str
    dtype: torch.dtype
    low: int = 0
    span: int = 1


@dataclass(frozen=True)
class Content:
    """Number ``k`` of the turn with that seed, made of an input set."""

    seed: str
    k: int
    input_set: int

    def secret(self, storage: int) -> int:
        """How far it moves that storage, before it is taken modulo a size."""
        return int.from_bytes(hashlib.sha256(f"{self.seed}/{self.k}/{storage}".encode()).digest()[:8], "big")


class Contents:
    """The inputs of one case, for whatever version of the program this process knows.

    Args:
        state: of the executor.
        replay: the case.
        budget_bytes: for contents and buffers together; one of each always fits.
    """

    def __init__(self, state: State, replay: ReplayCase, budget_bytes: int) -> None:
        self._gpu = state.role == "gpu"
        self.replay = replay
        first = replay.inputs(0)
        first.pristine = {}  # contents are written whole
        size = max(1, sum(s.numel() for s in first.storages))
        room = max(3, budget_bytes // size)
        # All sets are called with the arguments of the first, so that buffers are bound once.
        alike = [i for i in range(replay.input_sets) if replay.stored.sets[i].tree == replay.stored.sets[0].tree]
        used = alike[: max(1, min(MOST_SETS, room // 4))]
        self.sets = used
        self.sources: Dict[int, List[Tuple[torch.Tensor, Optional[Change]]]] = {}
        self._keep(0, [bound.clone(s) for s in first.storages])
        for input_set in used[1:]:
            self._keep(input_set, replay.inputs(input_set).storages)
        # Beside each buffer its results live until they are compared: about as much again.
        most = max(1, min(MOST_BUFFERS, (room - 2 * len(used)) // 2))
        self.buffers = [first, *(_another(first) for _ in range(most - 1))]

    def _keep(self, input_set: int, storages: List[torch.Tensor]) -> None:
        self.sources[input_set] = [source(self.replay, input_set, n, s) for n, s in enumerate(storages)]

    def fill(self, buffer: int, content: Content, variant: Optional[str]) -> Prepared:
        """Buffer number ``buffer`` with that content, ready for one call of that version (None: the original)."""
        prepared = self.buffers[buffer]
        if content.input_set not in self.sources:  # of a process that had more room
            self._keep(content.input_set, self.replay.inputs(content.input_set).storages)
        for number, (storage, (whole, change)) in enumerate(zip(prepared.storages, self.sources[content.input_set])):
            put(storage, whole, change, content.secret(number))
        bound = prepared.bound.get(variant)
        if bound is None or not plain(bound.args) or not plain(tuple(bound.kwargs.values())):  # objects such as self may have changed
            self.replay.bind(variant, prepared)
        prepared.last = None
        if prepared.rng:
            modes.restore_generators(prepared.rng, self._gpu)
        return prepared


def _another(prepared: Prepared) -> Prepared:
    return Prepared(prepared.input_set, [torch.empty_like(s) for s in prepared.storages], {}, prepared.rng)


def put(storage: torch.Tensor, whole: torch.Tensor, change: Optional[Change], by: int) -> None:
    """Write a storage (uint8) from what there is of it."""
    size = storage.numel()
    if change is None:
        bound.copy(storage, whole)
        return
    dtype, count = change.dtype, size // change.dtype.itemsize
    if change.how == "flips":
        bound.copy(storage, whole)
        integers, bit = _BITS[dtype]
        storage[: count * dtype.itemsize].view(integers)[by % min(STRIDE, count) :: STRIDE].bitwise_xor_(bit)
        return
    if change.how == "turns":
        bound.copy(storage, whole)
        values = storage[: count * dtype.itemsize].view(dtype)
        values.copy_((values.to(torch.int64) - change.low + by % change.span) % change.span + change.low)
        return
    start = by % ((whole.numel() - size) // dtype.itemsize + 1) * dtype.itemsize
    bound.copy(storage, whole[start : start + size])


def source(replay: ReplayCase, input_set: int, number: int, content: torch.Tensor) -> Tuple[torch.Tensor, Optional[Change]]:
    """All that there is of a storage that holds ``content`` in that input set, and what happens to it; the same in every process on a GPU.

    Booleans, constants, what isn't finite, and integers beside other inputs stay as they are.
    """
    seen = {getattr(torch, t["dtype"]) for t in replay.case["tensors"] if t["storage"] == number}
    if len(seen) != 1 or content.numel() == 0:
        return content, None
    dtype: torch.dtype = seen.pop()
    values = content[: content.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
    if dtype.is_complex or dtype is torch.bool or values.numel() < 2:
        return content, None
    if not dtype.is_floating_point:
        low, high = int(values.min()), int(values.max())
        alone = all(t["storage"] == number or t["mutated"] for t in replay.case["tensors"]) and not replay.case["tensors"][0]["mutated"]
        alone = alone and replay.case["role"] != HIDDEN  # what went with them may have been left out
        return content, Change("turns", dtype, low, high - low + 1) if alone and low < high < 1 << 31 else None
    fit = replay.stored.sets[input_set].storages[number].fit
    if fit:
        seed = policy.seed_of(0, f"window of {replay.case['id']}", input_set, number)
        more = policy.draw(fit, content.numel() // dtype.itemsize * dtype.itemsize, seed, content.device)
        return torch.cat([content, more]), Change("moves", dtype)
    if dtype not in _BITS or not bool(torch.isfinite(values).all()) or bool((values == values[0]).all()):
        return content, None
    return content, Change("flips", dtype)


def contents_of(state: State, replay: ReplayCase) -> Contents:
    """The executor's, made at first use; cases share what the session may fill. Those of a hidden case are made each time."""
    if replay.case["role"] == HIDDEN:  # one call: it isn't worth its memory
        return Contents(state, replay, 0)
    kept: Dict[str, Contents] = state.kept.setdefault("contents", {})
    if replay.case["id"] not in kept:
        kept[replay.case["id"]] = Contents(state, replay, budget(state))
    return kept[replay.case["id"]]


def sources_of(state: State, case_id: str, input_set: int) -> Optional[List[Tuple[torch.Tensor, Optional[Change]]]]:
    """What timed calls of this process have of that input set (``source``, of each storage); None where they have nothing."""
    kept: Dict[str, Contents] = state.kept.get("contents", {})
    return kept[case_id].sources.get(input_set) if case_id in kept else None


def forget(state: State) -> None:
    """Let go of all contents: memory ran out, or others need it."""
    state.kept.pop("contents", None)


def budget(state: State) -> int:
    """Bytes for one case: its share of what the session may fill, as far as that is known (``PrepareParams.share``)."""
    if "room" not in state.kept:
        free = torch.cuda.mem_get_info()[0] if state.role == "gpu" else 1 << 30
        state.kept["room"] = free * state.kept.get("share", SHARE_OF_FREE_MEMORY)
    cases: List[Any] = state.kept.get("timed", [])
    return int(state.kept["room"] / max(1, len(cases)))
