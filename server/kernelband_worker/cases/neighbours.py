"""Neighbours of a case: the same call at other sizes and with rows that aren't contiguous. For checking only.

Made where few cases were captured, so that a variant that only fits the captured sizes shows. One size of the call is changed
wherever it appears, in tensors and in whole-number arguments. Kept where the original takes them (``accept``). More of them are made
under stress (``stress``), when a finalist is checked: no search has seen those.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import prod
from typing import Any, Dict, FrozenSet, Iterable, List, Optional, Protocol, Set, Tuple

import torch

from kernelband_worker.cases import arguments, facts
from kernelband_worker.cases.replay import open_case
from kernelband_worker.cases.store import StorageRecord, Store, StoredCase, TreeRecord
from kernelband_worker.cases.tensors import NotReplayable, Storages
from kernelband_worker.state import State

INTERPRETED_BYTES = 64 << 20  # larger cases have no neighbours without a GPU
_SMALLEST = 8  # sizes below are counts of something (batches, heads), not lengths
_FAR = 1024  # a prime size lies beyond: blocks that are written down are rarely larger
_MOST_BYTES = 256 << 20  # of a neighbour that is made under stress, with a GPU
_AXES_AT_MOST = 8  # of square tensors; their pairs are tried, too


def changeable(stored: StoredCase) -> bool:
    """Whether its tensors are plain arguments of their own memory, without tables of integers whose values would have to change too."""
    case = stored.case
    if stored.closure:
        return False
    storages = Counter(t["storage"] for t in case["tensors"])
    return bool(case["tensors"]) and all(
        getattr(torch, t["dtype"]).is_floating_point and "." not in t["name"] and storages[t["storage"]] == 1 and t["offset"] == 0
        for t in case["tensors"]
    )


class Change(Protocol):
    """What a neighbour's tensors and whole numbers are made of the case's."""

    def __call__(self, tensor: torch.Tensor, index: int) -> torch.Tensor:
        """Another tensor in place of the one of that number in the case, in memory of its own."""
        ...

    def number(self, value: int) -> int:
        """A whole number in place of another."""
        ...


def changes(case: Dict[str, Any]) -> List[Tuple[str, Change]]:
    sizes = _sizes(case)
    if not sizes:
        return []
    size = sizes[0]
    return [
        ("one more", Resize.of(case, size, size + 1)),
        ("one less", Resize.of(case, size, size - 1)),
        ("half", Resize.of(case, size, size // 2)),
        ("not contiguous", Spread()),
    ]


def largest_size(cases: Iterable[Dict[str, Any]]) -> int:
    """Of the problems' lengths, the largest; 0 where there is none."""
    return max((size for case in cases for size in _sizes(case)[:1]), default=0)


def _sizes(case: Dict[str, Any]) -> List[int]:
    """Lengths of the problem: first the size that most tensors share, the larger of equals."""
    sizes = Counter(size for t in case["tensors"] for size in set(t["shape"]) if size >= _SMALLEST)
    return sorted(sizes, key=lambda s: (-sizes[s], -s))


def further_changes(case: Dict[str, Any], *, gpu: bool, largest: int = 0) -> List[Tuple[str, Change, Optional[str]]]:
    """Those that only finalists meet, and what capture makes where cases are few; with the name of what makes one needless where the
    original accepts that. ``largest``: of the sizes in place of this one in all cases, beyond which the prime lies, if it isn't too large.
    """
    most = _MOST_BYTES if gpu else INTERPRETED_BYTES
    made: List[Tuple[str, Change, Optional[str]]] = []
    for size in _sizes(case)[:1]:
        far = max(_FAR, 4 * size)
        beyond = Resize.of(case, size, _prime(max(far, 2 * largest)))
        made += [
            ("a prime size", beyond if beyond.bytes(case) <= most else Resize.of(case, size, _prime(far)), None),
            ("the next prime size", Resize.of(case, size, _prime(size + 1)), "a prime size"),
            ("twice the size and one", Resize.of(case, size, 2 * size + 1), None),
            ("twice the size", Resize.of(case, size, 2 * size), None),
            ("size one", Resize.of(case, size, 1), None),
        ]
    made += [("twice the other size and one", Resize.of(case, size, 2 * size + 1), None) for size in _sizes(case)[1:2]]
    made += [(label, change, None) for label, change in changes(case)]
    made = [one for one in made if not isinstance(one[1], Resize) or one[1].bytes(case) <= most]
    made.append(("an offset view", Shift(), None))
    return made + [(f"unequal sizes, {label}", Unequal(axes), None) for label, axes in _by_chance(case)]


def _by_chance(case: Dict[str, Any]) -> List[Tuple[str, FrozenSet[Tuple[int, int]]]]:
    """Axes that are equal to another axis of their tensor, perhaps by chance, alone and with one of another tensor."""
    tensors = case["tensors"]
    square = {size for t in tensors for size, times in Counter(t["shape"]).items() if times > 1 and size >= _SMALLEST}
    axes = [(number, dim) for number, t in enumerate(tensors) for dim, size in enumerate(t["shape"]) if size in square][:_AXES_AT_MOST]
    pairs = [(a, b) for a, b in combinations(axes, 2) if a[0] != b[0] and tensors[a[0]]["shape"][a[1]] == tensors[b[0]]["shape"][b[1]]]
    groups = [frozenset([axis]) for axis in axes] + [frozenset(pair) for pair in pairs]
    return [(", ".join(f"{tensors[n]['name']} along {dim}" for n, dim in sorted(group)), group) for group in groups]


def _prime(least: int) -> int:
    number = least + 1 - least % 2
    while any(number % divisor == 0 for divisor in range(3, int(number**0.5) + 1, 2)):
        number += 2
    return number


class Resize:
    """Change a size wherever it appears; content is repeated or cut.

    ``products``: whole numbers that are products of sizes, by what they become.
    """

    def __init__(self, before: int, after: int, products: Optional[Dict[int, int]] = None) -> None:
        self.before, self.after = before, after
        self.products = products or {}

    @classmethod
    def of(cls, case: Dict[str, Any], before: int, after: int) -> Resize:
        """Where the call passes the number of elements of some of a tensor's axes (of all, of rows times columns), that follows."""
        meant: Dict[int, Set[int]] = {}  # a size is a length of its own, and a number that may mean two products means neither
        for shape in (t["shape"] for t in case["tensors"]):
            for first, last in combinations(range(len(shape) + 1), 2):
                axes = shape[first:last]
                after_it = prod(after if size == before and len(axes) > 1 else size for size in axes)
                meant.setdefault(prod(axes), set()).add(after_it)
        return cls(before, after, {product: min(images) for product, images in meant.items() if len(images) == 1})

    def __call__(self, tensor: torch.Tensor, index: int) -> torch.Tensor:  # noqa: ARG002
        for dim, size in enumerate(tensor.shape):
            if size == self.before:
                tensor = tensor.index_select(dim, torch.arange(self.after, device=tensor.device) % size)
        return tensor

    def bytes(self, case: Dict[str, Any]) -> int:
        """What the case's tensors need afterwards."""
        sizes = ((t, [self.after if size == self.before else size for size in t["shape"]]) for t in case["tensors"])
        return sum(prod(shape) * getattr(torch, t["dtype"]).itemsize for t, shape in sizes)

    def number(self, value: int) -> int:
        """A whole-number argument that names the size, or a product of it."""
        return self.after if value == self.before else self.products.get(value, value)


class Spread:
    """The same values in rows that are eight elements further apart."""

    def __call__(self, tensor: torch.Tensor, index: int) -> torch.Tensor:  # noqa: ARG002
        if tensor.dim() < 2:
            return tensor
        wide = torch.zeros(*tensor.shape[:-1], tensor.shape[-1] + 8, dtype=tensor.dtype, device=tensor.device)
        wide[..., : tensor.shape[-1]] = tensor
        return wide[..., : tensor.shape[-1]]

    def number(self, value: int) -> int:
        return value


class Shift:
    """The same values one element further into their memory, so that no address is a multiple of 16 bytes."""

    def __call__(self, tensor: torch.Tensor, index: int) -> torch.Tensor:  # noqa: ARG002
        if tensor.numel() == 0 or not all(tensor.stride()):
            return tensor
        length = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride()))
        memory = torch.zeros(length + 1, dtype=tensor.dtype, device=tensor.device)
        return memory.as_strided(tensor.shape, tensor.stride(), 1).copy_(tensor)

    def number(self, value: int) -> int:
        return value


class Unequal:
    """Some axes alone become shorter: whole numbers stay, so only functions that take sizes from shapes accept it."""

    def __init__(self, axes: FrozenSet[Tuple[int, int]]) -> None:
        self.axes = axes

    def __call__(self, tensor: torch.Tensor, index: int) -> torch.Tensor:
        for dim, size in enumerate(tensor.shape):
            if (index, dim) in self.axes:
                tensor = tensor.narrow(dim, 0, size // 2 + 1)
        return tensor.contiguous()

    def number(self, value: int) -> int:
        return value


def _rewrite(value: Any, change: Change, numbers: Dict[int, int]) -> Any:
    """``numbers``: of the tensors in the case, by identity."""
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            return change(value.detach(), numbers[id(value)]).requires_grad_(value.requires_grad)
    if isinstance(value, bool) or not isinstance(value, (int, list, tuple, dict)):
        return value
    if isinstance(value, int):
        return change.number(value)
    if isinstance(value, dict):
        return {k: _rewrite(v, change, numbers) for k, v in value.items()}
    if hasattr(value, "_fields"):
        return type(value)(*(_rewrite(v, change, numbers) for v in value))
    return type(value)(_rewrite(v, change, numbers) for v in value)


#: A tree as ``arguments.dump`` gives it.
Dumped = Tuple[bytes, Storages, List[torch.Tensor]]


def varied(state: State, store: Store, origin: StoredCase, change: Change) -> Optional[Dumped]:
    """The tree of a case with other tensors and whole numbers, on the GPU where there is one: the host takes seconds for what is large.
    None where nothing changes or it can't be changed.
    """
    record = origin.sets[0]
    replay = open_case(state, origin.case["id"])
    content = [replay.content(0, number) for number in range(len(record.storages))]
    if state.role == "gpu":
        content = [storage.to(known.device) for storage, known in zip(content, record.storages)]
    tree, given = arguments.load(store.get(record.tree), content, replay.modules(None))
    numbers = {id(tensor): number for number, tensor in enumerate(given)}
    changed = {
        **tree,
        "args": _rewrite(tuple(tree["args"]), change, numbers),
        "kwargs": _rewrite(tree["kwargs"], change, numbers),
    }
    try:
        dumped = arguments.dump(changed)
    except NotReplayable:  # a grid of a bare launch that names the size, say
        return None
    after = [[list(t.shape), list(t.stride()), t.storage_offset()] for t in dumped[2]]
    return None if after == [[f["shape"], f["stride"], f["offset"]] for f in origin.case["tensors"]] else dumped


def made_of(store: Store, origin: StoredCase, label: str, dumped: Dumped, named: List[Dict[str, Any]], *, keep: bool = True) -> StoredCase:
    """A case like another one with that tree, its record not in the store; its contents are, if they are to be kept. ``named``: what the
    other case says of each of the tree's tensors.
    """
    pickled, storages, tensors = dumped
    record = origin.sets[0]
    described = facts.tensor_facts([], tensors, storages)
    for mine, theirs in zip(described, named):
        mine.update(name=theirs["name"], device=theirs["device"], mutated=theirs["mutated"])
    devices = {mine["storage"]: mine["device"] for mine in described}
    records = [
        StorageRecord(store.put_tensor(view) if keep else "", view.numel(), devices[number]) for number, view in enumerate(storages.views)
    ]
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
    mutated = sorted({d["storage"] for d in described if d["mutated"]})
    return StoredCase(case, [TreeRecord(store.put(pickled), records, record.rng, record.modes)], mutated, origin.closure, origin.main)
