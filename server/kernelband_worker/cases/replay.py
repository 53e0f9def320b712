"""Replay: a case from the store, with fresh tensors that are the same in every process, called with any variant."""

from __future__ import annotations

import importlib
import inspect
import types
from dataclasses import dataclass, field, replace
from typing import Any, Callable, ContextManager, Dict, List, Optional, Sequence, Tuple

import torch

from kernelband_worker.cases import arguments, effects, modes, names, policy
from kernelband_worker.cases.following import followed
from kernelband_worker.cases.store import StorageRecord, Store, StoredCase, open_store
from kernelband_worker.cases.tensors import same_bytes
from kernelband_worker.cases.zones import LEAST, Zones, place
from kernelband_worker.errors import OperationFailed
from kernelband_worker.launches import observe
from kernelband_worker.state import State
from kernelband_worker.tuning import Choices, distance, recorded
from kernelband_worker.wire import Function

#: in ``State.kept``: what was chosen, by variant and timing case
SETTLED = "settled"
#: attribute of a recorder that holds the function it wraps
ORIGINAL = "__kernelband_original__"


@dataclass
class Outside:
    """Which elements of a storage have changed beside the call's tensors: a mask of all of them; and what those hold now, in order."""

    where: torch.Tensor
    values: torch.Tensor


@dataclass
class Bound:
    """The callable of one variant with its own argument tree over the prepared storages."""

    function: Callable[..., Any]
    args: Tuple[Any, ...]
    kwargs: Dict[str, Any]
    tensors: List[torch.Tensor]  # of the tree, numbered as Case.tensors
    enter: Optional[Callable[[], ContextManager[None]]]


@dataclass
class Prepared:
    """Inputs of one input set, live on the device. Variants share the storages; each has a tree of its own over them."""

    input_set: int
    storages: List[torch.Tensor]  # uint8
    pristine: Dict[int, torch.Tensor]  # copies of the storages that the original writes
    rng: Optional[Dict[str, Any]]
    bound: Dict[Optional[str], Bound] = field(default_factory=dict)
    last: Optional[Bound] = None
    contents: Optional[List[torch.Tensor]] = None  # copies of all storages on the device, where they are kept between calls
    zones: Optional[Zones] = None  # around the storages and around what a checked call allocates


class ReplayCase:
    """A case that can be called. ``case`` is the wire's Case. Call ``restore`` between calls on the same Prepared."""

    kept = True  # inputs may stay on the device between calls
    resized = False  # the program was never seen to call it at these sizes: a float64 reference is made only where nothing else will do
    stressed = False  # float32 results may differ by what rounding the inputs once more does, as those of half precision always may

    def __init__(self, state: State, store: Store, stored: StoredCase, *, zone_bytes: int = 0) -> None:
        self._state, self._store, self.stored = state, store, stored
        self.case: Dict[str, Any] = stored.case
        # On either side of each storage; 0: no zones. Results that hang on what lies there show only where it is known.
        self.zone_bytes = zone_bytes or (LEAST if stored.case.get("beside") else 0)
        # Host functions compute with index tables and flags; what floats hold decides nothing about a launch.
        self._read_by_hosts = {t["storage"] for t in stored.case["tensors"] if not t["dtype"].startswith(("float", "bfloat", "complex"))}

    @property
    def input_sets(self) -> int:
        """How many input sets there are; drawn tensors make as many as are asked for."""
        return int(self.case["input_sets"])

    def inputs(self, input_set: int, *, blank: bool = False) -> Prepared:
        """Fresh tensors on the device, the same in every process, and the generators set for the first call.

        ``blank``: nobody will look at results, so floats hold whatever the allocator gives.

        Raises:
            OperationFailed: the case has no such input set, or its record is gone.
        """
        if not 0 <= input_set < self.input_sets:
            raise OperationFailed(f"Case {self.case['id']} has no input set {input_set}.", "bad_request")
        record = self.stored.sets[input_set]
        zones = Zones(self.zone_bytes) if self.zone_bytes else None
        storages = [self._fill(s, input_set, i, blank=blank, zones=zones) for i, s in enumerate(record.storages)]
        pristine = {i: storages[i].clone() for i in self.stored.mutated}
        rng = modes.unpack(self._store.get(record.rng)) if record.rng else None
        prepared = Prepared(input_set, storages, pristine, rng, zones=zones)
        if rng:
            modes.restore_generators(rng, self._state.role == "gpu")
        return prepared

    def content(self, input_set: int, number: int) -> torch.Tensor:
        """What storage ``number`` holds before the call, as a uint8 tensor: recorded in CPU memory, drawn where it was recorded."""
        record = self.stored.sets[input_set].storages[number]
        if record.fit and input_set > 0:
            seed = policy.seed_of((self._state.session or {}).get("seed", 0), self.case["id"], input_set, number)
            # On the GPU itself: drawn by the host, a hundred million numbers take seconds in each of a final's dozens of processes.
            return policy.draw(record.fit, record.bytes, seed, record.device if self._state.role == "gpu" else "cpu")
        return self._store.get_tensor(record.digest, record.bytes)

    def _fill(self, record: StorageRecord, input_set: int, number: int, *, blank: bool, zones: Optional[Zones]) -> torch.Tensor:
        if (blank or self._state.role == "compile") and number not in self._read_by_hosts:
            return torch.empty(record.bytes, dtype=torch.uint8, device=record.device)  # never touched: costs no memory
        content = self.content(input_set, number)
        if zones is None:
            return torch.empty(record.bytes, dtype=torch.uint8, device=record.device).copy_(content)
        name = next((t["name"] for t in self.case["tensors"] if t["storage"] == number), "an input")
        return zones.around(name, record.bytes, record.device, floats=number not in self._read_by_hosts).copy_(content)

    def bind(self, variant: Optional[str], prepared: Prepared, *, double: bool = False) -> Bound:
        """Build the argument tree for a variant and find its callable; ``call`` does it at first use."""
        record = self.stored.sets[prepared.input_set]
        tree, tensors = arguments.load(self._store.get(record.tree), prepared.storages, self.modules(variant), double=double)
        if prepared.zones is not None:
            place(tensors, self.case["tensors"], prepared.storages)
        if self.case["boundary"] == "launch":
            function = tree["kernel"][tree["grid"]]
        elif self.stored.closure:
            function = self._nested(variant, tree)
        else:
            function = self._state.opened.resolve(variant, self.case["function"])
        function = getattr(function, ORIGINAL, function)
        bound = Bound(function, tuple(tree["args"]), dict(tree["kwargs"]), tensors, modes.entering(record.modes))
        prepared.bound[variant] = bound
        return bound

    def call(self, variant: Optional[str], prepared: Prepared) -> Any:
        """Run the host function or launch of the original (None) or of a variant. What it raises is passed on."""
        bound = prepared.bound.get(variant) or self.bind(variant, prepared)
        prepared.last = bound
        if bound.enter is None:
            return bound.function(*bound.args, **bound.kwargs)
        with bound.enter():
            return bound.function(*bound.args, **bound.kwargs)

    def restore(self, prepared: Prepared) -> None:
        """Mutated inputs, objects and generators back to what they were before the call."""
        for number, content in prepared.pristine.items():
            prepared.storages[number].copy_(content)
        for variant in list(prepared.bound):
            self.bind(variant, prepared)  # objects such as self or ctx may have changed: build them anew
        prepared.last = None
        if prepared.rng:
            modes.restore_generators(prepared.rng, self._state.role == "gpu")

    def outputs(self, prepared: Prepared, returned: Any) -> List[Tuple[str, torch.Tensor]]:
        """What the last call made: returned tensors, inputs that the original writes, tensors left in ``ctx`` or ``self``."""
        bound = prepared.last
        if bound is None:
            raise OperationFailed("The outputs of a case were asked for before its call.", "internal")
        found = list(names.walk(returned, "return"))
        inputs = {id(t) for t in bound.tensors}
        taken = {id(t) for _, t in found}
        for facts, tensor in zip(self.case["tensors"], bound.tensors):
            if facts["mutated"] and id(tensor) not in taken:
                found.append((f"{facts['name']} (mutated)", tensor))
        if self.case["boundary"] == "host_call":
            named = names.bind(bound.function, bound.args, bound.kwargs)
            taken = {id(t) for _, t in found} | inputs
            found += [(n, t) for n, t in names.tensors_of(named) if id(t) not in taken]
        return found

    def reference(self, input_set: int, programs: int) -> Optional[List[Tuple[str, torch.Tensor]]]:
        """The outputs of the original on float64 inputs; None where it refuses them or computes in less all the same.

        A configuration that was chosen for 16-bit data needs four times the memory here and may not fit; then the smallest does. Others in
        the order of the list compiled for 27 s before one fitted (a product of 64×256 tiles, H200). Where a sample of the programs is run,
        the configuration is the original's, so that they are the same.
        """
        prepared = self.doubled(input_set)
        if prepared is None:
            return None
        try:
            prepared.last = self.bind(None, prepared, double=True)
            least = self._state.role != "cpu"
            with followed(self._state), observe(self._state, lambda _: None, programs=programs, configs=self.configs, least=least):
                returned = self.call(None, prepared)
        except OperationFailed:
            return None
        except RuntimeError as error:
            if "CUDA" in str(error):
                raise
            return None
        except Exception:  # noqa: BLE001
            return None  # most functions check their dtypes, in their own ways; then there is no reference
        return self.outputs(prepared, returned)

    def doubled(self, input_set: int) -> Optional[Prepared]:
        """``inputs`` with every float as float64, to be bound with ``double``; None where that can't be."""
        record = self.stored.sets[input_set]
        if record.modes.get("autocast") or any(t["dtype"].startswith("float8") for t in self.case["tensors"]):
            return None
        prepared = self.inputs(input_set)
        for number, storage in enumerate(prepared.storages):
            dtypes = {getattr(torch, t["dtype"]) for t in self.case["tensors"] if t["storage"] == number}
            if len(dtypes) == 1 and (dtype := dtypes.pop()).is_floating_point:
                if self._state.role == "compile":  # never touched
                    prepared.storages[number] = torch.empty(storage.numel() // dtype.itemsize * 8, dtype=torch.uint8, device=storage.device)
                else:
                    prepared.storages[number] = storage.view(dtype).double().view(torch.uint8)
            elif any(d.is_floating_point for d in dtypes):
                return None
        return prepared

    def changed(self, prepared: Prepared) -> List[str]:
        """Names of inputs that the original leaves alone and that don't hold their content any more."""
        wrong = []
        for number, storage in enumerate(prepared.storages):
            if number in self.stored.mutated:
                continue
            kept = prepared.contents
            content = kept[number] if kept is not None else self.content(prepared.input_set, number).to(storage.device)
            if not same_bytes(storage, content):
                wrong += [f["name"] for f in self.case["tensors"] if f["storage"] == number]
        return wrong

    def outside(self, prepared: Prepared) -> Dict[str, Outside]:
        """Mutated inputs whose storage changed where none of the call's tensors lies (the rest of a sliced buffer), by name."""
        wrong: Dict[str, Outside] = {}
        for number, pristine in prepared.pristine.items():
            facts = [t for t in self.case["tensors"] if t["storage"] == number]
            covered = torch.zeros(pristine.numel(), dtype=torch.bool, device=pristine.device)
            for fact in facts:
                size = getattr(torch, fact["dtype"]).itemsize
                elements = covered[: pristine.numel() // size * size].view(-1, size)
                for part in range(size):
                    at = fact["offset"] * size + part
                    elements.as_strided(fact["shape"], [s * size for s in fact["stride"]], at).fill_(True)
            changed = (prepared.storages[number] != pristine) & ~covered
            if bool(changed.any()):
                dtype = max((getattr(torch, fact["dtype"]) for fact in facts), key=lambda d: d.itemsize)
                end = (0, -changed.numel() % dtype.itemsize)
                where = torch.nn.functional.pad(changed, end).view(-1, dtype.itemsize).any(1)  # a byte of an element may be what it was
                values = torch.nn.functional.pad(prepared.storages[number], end).view(dtype)
                wrong[facts[0]["name"]] = Outside(where, effects.pick(values, where))
        return wrong

    def add_written(self, names: Sequence[str]) -> None:
        """Count inputs that the recorded call left alone, and the original writes here, among its outputs."""
        written = {t["storage"] for t in self.case["tensors"] if t["name"] in names} | set(self.stored.mutated)
        self.case = {**self.case, "tensors": [{**t, "mutated": t["storage"] in written} for t in self.case["tensors"]]}
        self.stored = replace(self.stored, case=self.case, mutated=sorted(written))

    @property
    def configs(self) -> Choices:
        """What the tuner chose for the original's launches; of a neighbour those of the case that it was made of."""
        origin = self.case["neighbour_of"]
        return recorded(self.case["launches"]) if origin is None else open_case(self._state, origin).configs

    def choices(self, variant: Optional[str]) -> Choices:
        """What a variant's launches run with: its own choice for this case, else for the nearest timing case, else the original's choice.

        Its own are there once it is settled (``tuned``).
        """
        settled: Dict[str, Choices] = self._state.kept.get(SETTLED, {}).get(variant, {})
        return settled.get(self.near(variant), self.configs)

    def near(self, variant: Optional[str]) -> str:
        """The timing case whose choice a variant's launches run with here; this case's own id where it is one, or nothing is settled."""
        settled: Dict[str, Choices] = self._state.kept.get(SETTLED, {}).get(variant, {})
        near: str = self.case["neighbour_of"] if self.case["neighbour_of"] in settled else self.case["id"]
        if near not in settled and variant is not None:
            near = min(settled, key=lambda case: distance(self.case, open_case(self._state, case).case), default=near)
        return near

    def modules(self, variant: Optional[str]) -> Callable[[str], Any]:
        """Modules by name as the variant sees them, for what a tree refers to."""
        loader = self._state.opened

        def module(name: str) -> types.ModuleType:
            if name == "__main__" and self.stored.main is not None:
                name = self.stored.main
            top = name.partition(".")[0]
            if top not in loader.top_level:
                found = importlib.import_module(name)
                if top not in loader.top_level:  # what lies beside the entry is there by now
                    return found
            return loader.variant(variant, name)

        return module

    def _nested(self, variant: Optional[str], tree: Dict[str, Any]) -> Callable[..., Any]:
        """A function defined inside another, from its code in the variant and the recorded cells."""
        place: Function = self.case["function"]
        outer, *inner = place["qualname"].split(".<locals>.")
        function = inspect.unwrap(self._state.opened.resolve(variant, {**place, "qualname": outer}))
        code = function.__code__
        for name in inner:
            code = next((c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == name), None)
            if code is None:
                raise OperationFailed(f"{place['qualname']} isn't in this version of {place['path']}.", "not_replayable")
        missing = [n for n in code.co_freevars if n not in tree["cells"]]
        if missing:
            raise OperationFailed(f"{place['qualname']} now needs {missing[0]} from around it, which was not recorded.", "not_replayable")
        cells = tuple(types.CellType(tree["cells"][n]) for n in code.co_freevars)
        made = types.FunctionType(code, function.__globals__, code.co_name, tree["defaults"], cells)
        made.__kwdefaults__ = tree["kwdefaults"]
        return made


def open_case(state: State, case_id: str) -> ReplayCase:
    """A case of this run from the store; any fresh executor can.

    Raises:
        OperationFailed: the store has no such case.
    """
    if case_id not in state.cases:
        store = open_store(state)
        state.cases[case_id] = ReplayCase(state, store, store.load(case_id))
    return state.cases[case_id]
