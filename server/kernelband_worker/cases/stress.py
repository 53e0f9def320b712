"""What a finalist is stressed with (JUDGING, section 1): a case with other values, other numbers, None for a pointer, or other sizes.

Each is tried on the original first. Left out, with the reason in a word or two, is what the original refuses, what it makes no finite
numbers of where none but finite ones go in, what it can't do twice alike, and where it leaves unwritten, or reads and writes outside of its
tensors, what it doesn't on the case itself. What remains, a variant is compared on like on any other case, with the same tolerances.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Callable, Dict, FrozenSet, Iterator, List, Optional, Sequence, Set, Tuple

import torch

from kernelband_worker.cases import effects, neighbours, policy, values, zones
from kernelband_worker.cases.expected import Expected, Shelf
from kernelband_worker.cases.faults import others
from kernelband_worker.cases.replay import ReplayCase
from kernelband_worker.cases.store import Store, open_store
from kernelband_worker.cases.stressed import AGAIN, Again, Arguments, Contents, Given, Resized, Stressed, other_numbers
from kernelband_worker.cases.verify import finite
from kernelband_worker.errors import OperationFailed
from kernelband_worker.state import State

_REPLAYS = 6.0  # of a case for each stress: twice the original, twice the variant, a reference, and some left out
_SECONDS = 60.0  # of such replays; what comes after is left out
_ROOM = 64 << 20  # bytes at most that zones are widened to where an original may read too far
_CHANGED = 8  # whole numbers above are sizes
_ZONES = "ordinary values between zones"


@dataclass
class Stress:
    """One stress of a case, tried on the original: ``replay`` is what a variant is compared on, None where it is left out and ``why``."""

    case: str
    name: str
    replay: Optional[ReplayCase]
    why: Optional[str] = None


@dataclass
class _Candidate:
    """A stress before it is tried. ``instead_of``: the name of another one that makes it needless where the original accepts that."""

    name: str
    make: Callable[[], Optional[ReplayCase]]  # None where nothing is to be changed, or it is checked anyhow
    same_sizes: bool = True
    instead_of: Optional[str] = None
    axes: FrozenSet[Tuple[int, int]] = frozenset()  # that are equal by chance, perhaps: those of an accepted one are settled


def smallest(replays: Sequence[ReplayCase]) -> List[ReplayCase]:
    """The smallest recorded case of each function, dtypes and constants that aren't sizes: the values matter, not how many there are."""
    found: Dict[str, ReplayCase] = {}
    for replay in sorted(replays, key=lambda r: int(r.case["memory_bytes"])):
        case = replay.case
        flags = {k: v for k, v in case["constants"].items() if not isinstance(v, int) or isinstance(v, bool) or abs(v) < _CHANGED}
        if case["neighbour_of"] is None:
            found.setdefault(repr((case["function"], [t["dtype"] for t in case["tensors"]], sorted(flags.items(), key=str))), replay)
    return list(found.values())


def stresses(state: State, replay: ReplayCase, among: Sequence[ReplayCase], shelf: Shelf, programs: int) -> Iterator[Stress]:
    """The stresses of a case in turn, each tried on the original, whose results are on the shelf afterwards. ``among``: all cases."""
    store = open_store(state)
    largest = neighbours.largest_size(r.case for r in among if r.case["function"] == replay.case["function"])
    case = str(replay.case["id"])
    base = shelf.get(state, replay, 0, programs)
    zoned: Optional[Stressed] = None
    if state.role == "gpu":  # elsewhere the interpreter sees each access
        ordinary = Stressed(state, store, replay, _ZONES, zone_bytes=zones.LEAST)
        why = _tried(state, ordinary, shelf, programs, base)
        zoned = None if why else ordinary
        yield Stress(case, _ZONES, zoned, why)
    again = Again(state, store, replay)
    why = _tried(state, again, shelf, programs, base)
    yield Stress(case, AGAIN, None if why else again, why)
    if zoned is not None:
        base = shelf.get(state, zoned, 0, programs)
    zone_bytes = 0 if zoned is None else zones.LEAST
    used: Set[str] = set()
    settled: Set[Tuple[int, int]] = set()
    most = max(1, int(_SECONDS / (_REPLAYS * max(1e-3, float(replay.case.get("replay_s", 0.0))))))
    for candidate in _candidates(state, store, replay, zone_bytes, largest):
        if candidate.instead_of in used or settled & candidate.axes:
            continue
        if len(used) >= most:
            yield Stress(case, candidate.name, None, "no time")
            continue
        try:
            made = candidate.make()
        except torch.cuda.OutOfMemoryError:
            yield Stress(case, candidate.name, None, "no memory")
            continue
        if made is None:
            continue
        why = _tried(state, made, shelf, programs, base, same_sizes=candidate.same_sizes)
        if why is None:
            used.add(candidate.name)
            settled |= candidate.axes
            yield Stress(case, candidate.name, made)
        elif not candidate.axes:  # most of those are nonsense, and no loss
            yield Stress(case, candidate.name, None, why)
        if isinstance(made, (Stressed, Resized)):
            made.forget()


def _candidates(state: State, store: Store, replay: ReplayCase, zone_bytes: int, largest: int) -> Iterator[_Candidate]:
    """What can be tried on a case, the likeliest to show something first."""
    case = replay.case

    def stressed(
        name: str, contents: Optional[Contents] = None, arguments: Optional[Arguments] = None, instead_of: Optional[str] = None
    ) -> _Candidate:
        make = partial(Stressed, state, store, replay, name, contents=contents, change=arguments, zone_bytes=zone_bytes)
        return _Candidate(name, make, arguments is None, instead_of)

    def seed(name: str) -> int:
        return policy.seed_of((state.session or {}).get("seed", 0), f"{case['id']} {name}", 0, 0)

    floats = [t for t in case["tensors"] if getattr(torch, t["dtype"]).is_floating_point]
    wide = [t for t in floats if len(t["shape"]) > 1] or floats
    for name, change, instead_of in values.FINITE if floats else ():
        yield stressed(name, _floats(wide, change, seed(name)), instead_of=instead_of)
    plain = [t for t in floats if values.looks_constant(_view(replay.content(0, t["storage"]), t))]
    if plain:
        yield stressed("constant inputs drawn", _floats(plain, values.drawn, seed("constants")))
    for name, contents in _of_integers(state, replay, seed):
        yield stressed(name, contents)
    defaults = _defaults(state, replay)
    if any(type(value) is float for value in (*defaults.values(), *case["constants"].values())):
        yield stressed("other numbers", arguments=other_numbers)
    for name in [t["name"] for t in case["tensors"] if not t["mutated"] and t["name"] in defaults]:
        if defaults[name] is None:
            yield stressed(f"{name} None", arguments=_without(name))
    if neighbours.changeable(replay.stored):
        for name, change, instead_of in neighbours.further_changes(case, gpu=state.role == "gpu", largest=largest):
            axes = change.axes if isinstance(change, neighbours.Unequal) else frozenset()
            yield _Candidate(
                name, partial(_resized, state, store, replay, name, change=change, zone_bytes=zone_bytes), False, instead_of, axes
            )
    for name, change in values.NOT_FINITE if floats else ():
        yield stressed(name, _floats(wide, change, seed(name)))


def _resized(
    state: State, store: Store, replay: ReplayCase, name: str, *, change: neighbours.Change, zone_bytes: int
) -> Optional[ReplayCase]:
    dumped = neighbours.varied(state, store, replay.stored, change)
    if dumped is None:
        return None
    made = neighbours.made_of(store, replay.stored, name, dumped, replay.case["tensors"], keep=False)
    if made.case["id"] in store.ids():  # capture made it
        return None
    if zone_bytes:  # an original without masks reads a tile too far, one that takes a size for another as far as it did before
        largest = max(s.bytes for case in (made, replay.stored) for s in case.sets[0].storages)
        zone_bytes = max(zone_bytes, min(largest, _ROOM))
    return Resized(state, store, made, dumped[1].views, zone_bytes=zone_bytes)


def _of_integers(state: State, replay: ReplayCase, seed: Callable[[str], int]) -> Iterator[Tuple[str, Contents]]:
    """Masks flipped, tables permuted and drawn anew."""
    read = [t for t in replay.case["tensors"] if not t["mutated"] and all(t["stride"]) and t["shape"]]
    masks = [t for t in read if t["dtype"] == "bool"]
    if masks:
        yield "masks flipped", _tables(masks, lambda found, g: [values.flipped(m, g) for m in found], seed("masks"))
    tables = [t for t in read if t["dtype"] in ("int32", "int64")]
    if tables and _safe(state, replay, tables):
        yield "tables permuted", _tables(tables, values.permuted, seed("permuted"))
        yield "tables drawn anew", _tables(tables, values.drawn_anew, seed("drawn"))


def _safe(state: State, replay: ReplayCase, tables: List[Dict[str, Any]]) -> bool:
    """Whether mixing up tables can't lead an original far outside of its tensors, where a GPU would end the process."""
    if state.role != "gpu" or len(tables) == 1:
        return True
    content = [_view(replay.content(0, t["storage"]), t) for t in tables]
    return len({t["shape"][0] for t in tables}) == 1 and all(int(c.min()) >= 0 for c in content if c.numel())


def _view(storage: torch.Tensor, facts: Dict[str, Any]) -> torch.Tensor:
    """The tensor of those facts over a uint8 storage; of what is broadcast, one."""
    shape = [1 if step == 0 and size > 1 else size for size, step in zip(facts["shape"], facts["stride"])]
    empty = torch.empty(0, dtype=getattr(torch, facts["dtype"]), device=storage.device)
    return empty.set_(storage.untyped_storage(), facts["offset"], tuple(shape), tuple(facts["stride"]))


def _floats(tensors: List[Dict[str, Any]], change: values.Values, seed: int) -> Contents:
    def contents(storages: List[torch.Tensor]) -> None:
        generator = torch.Generator().manual_seed(seed)
        for facts in tensors:
            view = _view(storages[facts["storage"]], facts)
            before = view.double()
            new = change(before, view.dtype, generator) if view.dim() and view.numel() > 1 and bool(before.isfinite().all()) else None
            if new is not None:
                view.copy_(new)

    return contents


def _tables(
    tensors: List[Dict[str, Any]],
    change: Callable[[Sequence[torch.Tensor], torch.Generator], Optional[List[torch.Tensor]]],
    seed: int,
) -> Contents:
    def contents(storages: List[torch.Tensor]) -> None:
        views = [_view(storages[facts["storage"]], facts) for facts in tensors]
        new = change(views, torch.Generator().manual_seed(seed))
        for view, fresh in zip(views, new or ()):
            view.copy_(fresh)

    return contents


def _without(name: str) -> Arguments:
    def arguments(function: Callable[..., Any], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Given:
        if name in kwargs:
            return args, {**kwargs, name: None}
        place = list(inspect.signature(function).parameters).index(name)
        return (*args[:place], None, *args[place + 1 :]), kwargs

    return arguments


def _defaults(state: State, replay: ReplayCase) -> Dict[str, Any]:
    """The host function's arguments that have defaults, and those."""
    if replay.case["boundary"] != "host_call" or replay.stored.closure:
        return {}
    parameters = inspect.signature(state.opened.resolve(None, replay.case["function"])).parameters
    return {name: p.default for name, p in parameters.items() if p.default is not inspect.Parameter.empty}


def _tried(state: State, made: ReplayCase, shelf: Shelf, programs: int, base: Expected, *, same_sizes: bool = True) -> Optional[str]:
    """Why the original can't be compared with here, None where it can. ``base``: its results on the case itself.

    ``made`` learns which inputs the original writes here.
    """
    known: Dict[Tuple[str, int], Tuple[Optional[str], List[str]]] = state.kept.setdefault("stress", {})
    key = (str(made.case["id"]), programs)
    if key not in known:
        why = _why(state, made, shelf, programs, base, same_sizes=same_sizes)
        known[key] = why, [t["name"] for t in made.case["tensors"] if t["mutated"]]
    why, written = known[key]
    made.add_written(written)
    return why


def _why(state: State, made: ReplayCase, shelf: Shelf, programs: int, base: Expected, *, same_sizes: bool) -> Optional[str]:
    name = made.name if isinstance(made, Stressed) else ""
    try:
        if isinstance(made, Stressed) and name != _ZONES and not made.changes:
            return "nothing to change"
        found = shelf.get(state, made, 0, programs)
        if found.faults.changed:  # a flag for what isn't finite, a counter of what was left out: here it is a result
            made.add_written(found.faults.changed)
            found = shelf.anew(state, made, 0, programs)
    except torch.cuda.OutOfMemoryError:
        return "no memory"
    except OperationFailed:
        return "raises"
    # What it writes outside of its tensors shows between zones only: it does that on the case itself, too.
    own = replace(base.faults, strays=found.faults.strays) if name == _ZONES else base.faults
    fault = others(found.faults, own, same_sizes=same_sizes)
    if fault is not None:
        return fault
    if not found.deterministic:
        return "not deterministic"
    if name in dict(values.NOT_FINITE):
        lost = name == values.NAN and finite(_counted(found))
        return "not carried" if lost else None
    return "not finite" if (not same_sizes or finite(_counted(base))) and not finite(_counted(found)) else None


def _counted(found: Expected) -> List[Tuple[str, torch.Tensor]]:
    return [(name, effects.pick(t, ~hidden)) for (name, t), hidden in zip(found.outputs, found.hidden)]
