"""Which facts differ between a program before and after an edit, as numbers and as sentences. Nothing is claimed that isn't a fact."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from attrs import frozen

from kernelband.hardware.arithmetic import instructions, special, special_names
from kernelband.hardware.device import Device
from kernelband.hardware.occupancy import needed_in_flight
from kernelband.hardware.units import count, operations, size
from kernelband.hardware.work import Work

Kind = Literal[
    "launches",
    "dram",
    "moved",
    "sectors",
    "width",
    "spills",
    "tensor cores",
    "serialized",
    "filled",
    "occupancy",
    "in flight",
    "programs",
    "flops",
    "instructions",
    "special",
]

#: Smaller changes are not worth a sentence.
CLEAR = 1.1


@frozen
class Change:
    """One fact that moved. ``gain`` is how many times better the number is (below 1: worse); ``sentence`` says what, without a subject."""

    kind: Kind
    before: float
    after: float
    gain: float
    sentence: str

    @property
    def better(self) -> bool:
        return self.gain > 1


def changes(device: Device, before: Sequence[Work], after: Sequence[Work]) -> tuple[Change, ...]:
    """What moved by 10 % or more, the largest first. Facts that one side lacks are left out."""
    found = [
        _less("launches", "launches", float(len(before)), float(len(after)), _count),
        _less("dram", "bytes that memory must move", _total(before, lambda w: w.dram_bytes), _total(after, lambda w: w.dram_bytes), size),
        _less("moved", "bytes loaded and stored", _total(before, lambda w: w.moved_bytes), _total(after, lambda w: w.moved_bytes), size),
        _less("flops", "floating-point operations", _total(before, _operations), _total(after, _operations), operations),
        _instructions(device, before, after),
        _less("special", f"special functions ({_names(device, before)})", *_both(before, after, device, special), count),
        _less("sectors", "memory sectors per access", _mean(before, lambda w: w.sectors), _mean(after, lambda w: w.sectors), _ratio),
        _width(before, after),
        _spills(before, after),
        _tensor_cores(before, after),
        _serialized(before, after),
        _share("filled", device, "of the multiprocessors' slots are filled", before, after),
        _in_flight(device, before, after),
        _programs(device, before, after),
        _share("occupancy", device, "of the warp slots are used", before, after),
    ]
    clear = [c for c in found if c is not None and (c.gain >= CLEAR or c.gain <= 1 / CLEAR)]
    return tuple(sorted(clear, key=lambda c: -abs(math.log(c.gain))))


def _both(
    before: Sequence[Work], after: Sequence[Work], device: Device, of: Callable[[Device, Work], float | None]
) -> tuple[float | None, float | None]:
    return _total(before, lambda w: of(device, w)), _total(after, lambda w: of(device, w))


def _instructions(device: Device, before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    """Unless there are fewer or more operations by the same factor: that says it all."""
    found = _less("instructions", "instructions on floats outside matrix products", *_both(before, after, device, instructions), count)
    old, new = _total(before, lambda w: w.flops), _total(after, lambda w: w.flops)
    same = found is not None and old and new and 1 / CLEAR < found.gain * new / old < CLEAR
    return None if same else found


def _names(device: Device, side: Sequence[Work]) -> str:
    return ", ".join(dict.fromkeys(name for work in side for name in special_names(device, work)))


def _count(count: float) -> str:
    return f"{count:.0f}"


def _ratio(value: float) -> str:
    return f"{value:.2g}× the fewest possible"


def _operations(work: Work) -> float | None:
    return None if work.flops is None else work.flops + (work.dot_flops or 0)


def _total(side: Sequence[Work], of: Callable[[Work], float | None]) -> float | None:
    values = [of(work) for work in side]
    return math.fsum(v for v in values if v is not None) if values and None not in values else None


def _mean(side: Sequence[Work], of: Callable[[Work], float | None]) -> float | None:
    values = [of(work) for work in side]
    known = [v for v in values if v is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(values) else None


def _less(kind: Kind, what: str, before: float | None, after: float | None, show: Callable[[float], str]) -> Change | None:
    """A number of which less is better."""
    if not before or not after:
        return None
    word = "fewer" if after < before else "more"
    return Change(kind, before, after, before / after, f"{word} {what}: {show(before)} before, {show(after)} after")


def _width(before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    old, new = _mean(before, lambda w: w.bits), _mean(after, lambda w: w.bits)
    if not old or not new:
        return None
    word = "wider" if new > old else "narrower"
    return Change(
        "width", old, new, new / old, f"{word} accesses: a thread moves {old / 8:.3g} bytes at a time before, {new / 8:.3g} after"
    )


def _in_flight(device: Device, before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    """As far as it keeps memory busier: what is more than enough gains nothing."""
    enough = needed_in_flight(device)
    old, new = (_mean(side, lambda w: w.in_flight(device)) for side in (before, after))
    busy, busier = (_mean(side, lambda w: min(w.in_flight(device), enough)) for side in (before, after))
    if not old or not new or not busy or not busier:
        return None
    word = "more" if new > old else "fewer"
    told = f"{word} bytes on their way to a multiprocessor: {size(old)} before, {size(new)} after"
    return Change("in flight", old, new, busier / busy, told)


def _programs(device: Device, before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    """As far as starting them takes longer than moving the bytes that there were."""
    moving = math.fsum((work.dram_bytes or 0.0) / device.dram_bytes_per_s for work in before)
    old, new = (math.fsum(work.programs for work in side) for side in (before, after))
    took, takes = (max(math.fsum(work.starting_s(device) for work in side), moving) for side in (before, after))
    if not took or not takes:
        return None
    word = "fewer" if new < old else "more"
    return Change("programs", old, new, took / takes, f"{word} programs to start: {count(old)} before, {count(new)} after")


def _spilled(side: Sequence[Work]) -> float:
    return float(max(((w.facts["spill_store_bytes"] or 0) + (w.facts["spill_load_bytes"] or 0) for w in side), default=0))


def _spills(before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    old, new = _spilled(before), _spilled(after)
    if old == new:
        return None
    what = "no registers spill any more" if new == 0 else "fewer registers spill" if new < old else "registers spill"
    # A handful of spilled bytes is nothing: 64 bytes per thread are added on both sides.
    return Change("spills", old, new, (old + 64) / (new + 64), f"{what}: {old:.0f} bytes per thread before, {new:.0f} after")


_STRENGTH = {None: 0.1, "mma": 0.6, "wgmma": 1.0, "tcgen05": 1.0, "mfma": 1.0}


def _tensor_cores(before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    """Only where products are computed: a kernel without any needs no tensor cores."""
    if not any(w.dot_flops for w in (*before, *after)) and not any(w.facts["tensor_core"] for w in (*before, *after)):
        return None
    old, new = _weakest(before), _weakest(after)
    if old is None or new is None or old == new:
        return None
    names = [next((name or "none" for name, s in _STRENGTH.items() if s == strength)) for strength in (old, new)]
    return Change("tensor cores", old, new, new / old, f"tensor-core instructions: {names[0]} before, {names[1]} after")


def _weakest(side: Sequence[Work]) -> float | None:
    multiplying = [w for w in side if w.dot_flops or w.facts["tensor_core"]] or list(side)
    return min((_STRENGTH.get(w.facts["tensor_core"], 0.6) for w in multiplying), default=None)


def _serialized(before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    old, new = any(w.serialized for w in before), any(w.serialized for w in after)
    if old == new:
        return None
    sentence = "tensor-core instructions no longer wait for each other" if old else "tensor-core instructions wait for each other"
    return Change("serialized", float(old), float(new), 2.0 if old else 0.5, sentence)


def _share(kind: Literal["filled", "occupancy"], device: Device, what: str, before: Sequence[Work], after: Sequence[Work]) -> Change | None:
    def of(work: Work) -> float:
        return work.waves(device).filled if kind == "filled" else work.occupancy(device).fraction

    old, new = _mean(before, of), _mean(after, of)
    if not old or not new:
        return None
    word = "more" if new > old else "less"
    return Change(kind, old, new, new / old, f"{word} {what}: {100 * old:.0f} % before, {100 * new:.0f} % after")
