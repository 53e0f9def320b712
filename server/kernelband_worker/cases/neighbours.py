"""Neighbours of a case: the same call at other sizes and with rows that aren't contiguous. For checking only.

Made where few cases were captured, so that a variant that only fits the captured sizes shows. One size of the call is changed
wherever it appears, in tensors and in whole-number arguments. Kept only where the original runs, writes everything, stays
inside of its tensors as far as the interpreter can tell, and replays equal.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from kernelband_worker.cases import arguments, choose, facts, verify
from kernelband_worker.cases.replay import open_case
from kernelband_worker.cases.store import StorageRecord, Store, StoredCase, TreeRecord
from kernelband_worker.cases.tensors import NotReplayable
from kernelband_worker.state import State

_INTERPRETED_BYTES = 64 << 20  # larger cases have no neighbours without a GPU
_SMALLEST = 8  # sizes below are counts of something (batches, heads), not lengths


def neighbours(state: State, store: Store, stored: List[StoredCase], seconds: float, programs: int) -> List[StoredCase]:
    """Up to four neighbours of each of the heaviest replayable cases, made and tried within ``seconds``.

    Without a GPU of the lightest one: it is the sizes that matter to a mask, and interpreting takes its time.
    """
    deadline = time.monotonic() + seconds
    made: List[StoredCase] = []
    usable = [s for s in stored if s.case["replayable"] and not s.closure and _simple(s.case)]
    usable.sort(key=lambda s: -choose.weight(s.case))
    if state.role == "cpu":
        usable = [one for one in usable[-1:] if one.case["memory_bytes"] <= _INTERPRETED_BYTES]
    for one in usable:
        for label, change in _changes(one.case):
            if time.monotonic() > deadline or len(made) >= choose.CHECK_AT_MOST - len(stored):
                return made
            neighbour = _make(state, store, one, label, change=change, programs=programs)
            if neighbour is not None:
                made.append(neighbour)
    return made


def _simple(case: Dict[str, Any]) -> bool:
    """Tensors that are plain arguments of their own memory, and no tables of integers whose values would have to change too."""
    storages = Counter(t["storage"] for t in case["tensors"])
    return bool(case["tensors"]) and all(
        getattr(torch, t["dtype"]).is_floating_point and "." not in t["name"] and storages[t["storage"]] == 1 and t["offset"] == 0
        for t in case["tensors"]
    )


def _changes(case: Dict[str, Any]) -> List[Tuple[str, Callable[[torch.Tensor], torch.Tensor]]]:
    sizes = Counter(size for t in case["tensors"] for size in set(t["shape"]) if size >= _SMALLEST)
    if not sizes:
        return []
    # The size that most tensors share is the length of the problem; the larger of equals.
    size = max(sizes, key=lambda s: (sizes[s], s))
    return [
        ("one more", Resize(size, size + 1)),
        ("one less", Resize(size, size - 1)),
        ("half", Resize(size, size // 2)),
        ("not contiguous", Spread()),
    ]


class Resize:
    """Change a size wherever it appears; content is repeated or cut."""

    def __init__(self, before: int, after: int) -> None:
        self.before, self.after = before, after

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        for dim, size in enumerate(tensor.shape):
            if size == self.before:
                index = torch.arange(self.after) % size
                tensor = tensor.index_select(dim, index)
        return tensor

    def number(self, value: int) -> int:
        """A whole-number argument that names the size."""
        return self.after if value == self.before else value


class Spread:
    """The same values in rows that are eight elements further apart."""

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() < 2:
            return tensor
        wide = torch.zeros(*tensor.shape[:-1], tensor.shape[-1] + 8, dtype=tensor.dtype)
        wide[..., : tensor.shape[-1]] = tensor
        return wide[..., : tensor.shape[-1]]

    def number(self, value: int) -> int:
        return value


def _rewrite(value: Any, change: Any) -> Any:
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            return change(value.detach()).requires_grad_(value.requires_grad)
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple, dict)):
        return value
    if isinstance(value, int):
        return change.number(value)
    if isinstance(value, dict):
        return {k: _rewrite(v, change) for k, v in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*(_rewrite(v, change) for v in value))
    return type(value)(_rewrite(v, change) for v in value)


def _make(state: State, store: Store, origin: StoredCase, label: str, *, change: Any, programs: int) -> Optional[StoredCase]:
    record = origin.sets[0]
    replay = open_case(state, origin.case["id"])
    content = [replay.content(0, number) for number in range(len(record.storages))]
    tree, _ = arguments.load(store.get(record.tree), content, replay.modules(None))
    changed = {**tree, "args": _rewrite(tuple(tree["args"]), change), "kwargs": _rewrite(tree["kwargs"], change)}
    try:
        pickled, storages, tensors = arguments.dump(changed)
    except NotReplayable:  # a grid of a bare launch that names the size, say
        return None
    if [[list(t.shape), list(t.stride())] for t in tensors] == [[f["shape"], f["stride"]] for f in origin.case["tensors"]]:
        return None
    described = facts.tensor_facts([], tensors, storages)
    for mine, theirs in zip(described, origin.case["tensors"]):
        mine.update(name=theirs["name"], device=theirs["device"], mutated=theirs["mutated"])
    records = [StorageRecord(store.put_tensor(view), view.numel(), theirs.device) for view, theirs in zip(storages.views, record.storages)]
    case: Dict[str, Any] = {
        **origin.case,
        "id": facts.digest([origin.case["id"], label])[:16],
        "role": "check",
        "neighbour_of": origin.case["id"],
        "tensors": described,
        "arguments": facts.line(described, []) + f" ({label})",
        "memory_bytes": 2 * sum(r.bytes for r in records),
        "launches": [],
        "calls": 0,
        "share": None,
        "device_us": None,
        "compulsory_bytes": None,
        "input_sets": 1,
    }
    mutated = [d["storage"] for d in described if d["mutated"]]
    made = StoredCase(case, [TreeRecord(store.put(pickled), records, record.rng, record.modes)], mutated, origin.closure, origin.main)
    store.save(made)
    outside = _outside(state)
    known = len(outside)
    verdict = verify.verify(state, store, open_case(state, case["id"]), None, programs)
    strays = len(outside) > known
    del outside[known:]  # found in a call that the program never makes
    if strays or verdict.reason is not None or verdict.unwritten or not verify.finite(verdict.outputs):
        store.forget(case["id"])
        state.cases.pop(case["id"], None)
        return None
    case["noise"], case["replay_s"] = verdict.noise, verdict.seconds / 2
    store.save(made)
    state.cases.pop(case["id"], None)
    return made


def _outside(state: State) -> List[Dict[str, Any]]:
    """The live list of accesses outside of tensors that the interpreter has found (role cpu)."""
    if state.role != "cpu":
        return []
    from kernelband_worker.cpu.machine import machine_of

    return machine_of(state).out_of_bounds
