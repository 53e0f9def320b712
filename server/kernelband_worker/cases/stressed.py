"""What a finalist is stressed with, made of a case of the program: other sizes, other contents or arguments, a second call."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from kernelband_worker.cases import arguments, facts, neighbours, values
from kernelband_worker.cases.replay import Bound, Prepared, ReplayCase
from kernelband_worker.cases.store import StorageRecord, Store, StoredCase
from kernelband_worker.cases.tensors import same_bytes
from kernelband_worker.state import State

AGAIN = "a second call on the same objects"

#: Changes the bytes of a case's storages in place.
Contents = Callable[[List[torch.Tensor]], None]
#: Other arguments in place of those of a function.
Given = Tuple[Tuple[Any, ...], Dict[str, Any]]
Arguments = Callable[[Callable[..., Any], Tuple[Any, ...], Dict[str, Any]], Given]


def other_numbers(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Given:
    """Other numbers in place of those with a fraction, given and by default."""

    def other(value: Any) -> Any:
        if type(value) is tuple:
            return tuple(other(v) for v in value)
        if type(value) is dict:
            return {name: other(v) for name, v in value.items()}
        return values.other_number(value) if type(value) is float else value

    # What was given stays where it was given, and defaults go by name: a variant may have other arguments at other places.
    signature = inspect.signature(function)
    given = signature.bind(*args, **kwargs).arguments
    left = {name: p.default for name, p in signature.parameters.items() if name not in given}
    more = {name: other(value) for name, value in left.items() if type(value) in (float, tuple, dict)}
    return other(args), {**other(kwargs), **more}


class Resized(ReplayCase):
    """A neighbour of a case that only finalists meet."""

    kept, stressed, resized = False, True, True

    def __init__(self, state: State, store: Store, stored: StoredCase, made: List[torch.Tensor], *, zone_bytes: int = 0) -> None:
        """``made``: the contents (uint8), which are in no store."""
        super().__init__(state, store, stored, zone_bytes=zone_bytes)
        self._made = made

    def content(self, input_set: int, number: int) -> torch.Tensor:  # noqa: ARG002
        """As ``ReplayCase.content``, until they are forgotten."""
        return self._made[number]

    def as_case(self, label: str) -> StoredCase:
        """As ``Stressed.as_case``."""
        return _stored(self, self._store, self.case["neighbour_of"], label)

    def forget(self) -> None:
        """Drop the contents: it can't be called any more."""
        self._made = []


class Stressed(ReplayCase):
    """A case with other contents or other arguments over the same storages, on its first input set."""

    kept, stressed = False, True

    def __init__(
        self,
        state: State,
        store: Store,
        origin: ReplayCase,
        name: str,
        *,
        contents: Optional[Contents] = None,
        change: Optional[Arguments] = None,
        zone_bytes: int = 0,
    ) -> None:
        case = {**origin.case, "id": f"{origin.case['id']} {name}", "neighbour_of": origin.case["id"], "input_sets": 1}
        super().__init__(state, store, replace(origin.stored, case=case), zone_bytes=zone_bytes)
        self.name = name
        self._origin, self._contents, self._arguments = origin, contents, change
        self._made: Optional[List[torch.Tensor]] = None

    def content(self, input_set: int, number: int) -> torch.Tensor:
        """As ``ReplayCase.content``, changed."""
        if self._contents is None:
            return self._origin.content(input_set, number)
        if self._made is None:  # on the device, where that is quick
            records = self.stored.sets[0].storages
            made = [torch.empty(r.bytes, dtype=torch.uint8, device=r.device) for r in records]
            for i, storage in enumerate(made):
                storage.copy_(self._origin.content(input_set, i))
            self._contents(made)
            self._made = made
        return self._made[number]

    def bind(self, variant: Optional[str], prepared: Prepared, *, double: bool = False) -> Bound:
        """As ``ReplayCase.bind``, with changed arguments."""
        bound = super().bind(variant, prepared, double=double)
        if self._arguments is not None:
            args, kwargs = self._arguments(bound.function, bound.args, bound.kwargs)
            bound = prepared.bound[variant] = replace(bound, args=args, kwargs=kwargs)
        return bound

    def as_case(self, label: str) -> StoredCase:
        """What any process of the run can replay without knowing how it was made; its contents are in the store, its record isn't.

        Raises:
            NotReplayable: the changed arguments can't be pickled.
        """
        if self._arguments is not None:
            content = [self.content(0, number) for number in range(len(self.stored.sets[0].storages))]
            tree, given = arguments.load(self._store.get(self.stored.sets[0].tree), content, self.modules(None))
            function = super().bind(None, self.inputs(0)).function
            args, kwargs = self._arguments(function, tuple(tree["args"]), dict(tree["kwargs"]))
            dumped = arguments.dump({**tree, "args": args, "kwargs": kwargs})
            numbers = {id(tensor): number for number, tensor in enumerate(given)}
            named = [self.case["tensors"][numbers[id(tensor)]] for tensor in dumped[2]]
            return neighbours.made_of(self._store, self._origin.stored, label, dumped, named)
        return _stored(self, self._store, self._origin.case["id"], label)

    @property
    def differs(self) -> bool:
        """Whether it is more than the case itself between zones."""
        return self._contents is not None or self._arguments is not None

    @property
    def changes(self) -> bool:
        """Whether anything is changed: a change may mean nothing for these tensors."""
        if self._contents is None:
            return True
        both = ((self.content(0, i), self._origin.content(0, i)) for i in range(len(self.stored.sets[0].storages)))
        return any(not same_bytes(mine, origin.to(mine.device)) for mine, origin in both)

    def forget(self) -> None:
        """Drop the contents; they are made again when they are asked for."""
        self._made = None


def _stored(replay: ReplayCase, store: Store, origin: str, label: str) -> StoredCase:
    """The case with its contents in the store."""
    record = replay.stored.sets[0]
    records = [StorageRecord(store.put_tensor(replay.content(0, i)), r.bytes, r.device) for i, r in enumerate(record.storages)]
    case = {**replay.case, "id": facts.digest([origin, label])[:16]}
    return replace(replay.stored, case=case, sets=[replace(record, storages=records)])


class Again(ReplayCase):
    """A case whose result is that of a second call on the same objects, after one on other values: nothing of the first may be in it."""

    kept = False

    def __init__(self, state: State, store: Store, origin: ReplayCase) -> None:
        case = {**origin.case, "id": f"{origin.case['id']} {AGAIN}", "neighbour_of": origin.case["id"], "input_sets": 1}
        super().__init__(state, store, replace(origin.stored, case=case))

    def call(self, variant: Optional[str], prepared: Prepared) -> Any:
        """As ``ReplayCase.call``, twice."""
        right = [storage.clone() for storage in prepared.storages]
        for number, storage in enumerate(prepared.storages):
            dtypes = {getattr(torch, t["dtype"]) for t in self.case["tensors"] if t["storage"] == number}
            if len(dtypes) == 1 and (dtype := dtypes.pop()).is_floating_point and storage.numel() >= 2 * dtype.itemsize:
                values = storage[: storage.numel() // dtype.itemsize * dtype.itemsize].view(dtype)
                values.copy_(values.roll(values.numel() // 2))
        super().call(variant, prepared)
        for storage, content in zip(prepared.storages, right):
            storage.copy_(content)
        return super().call(variant, prepared)
