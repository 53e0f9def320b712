"""What a version of the program does besides giving results: it reads or writes outside of its tensors, leaves elements unwritten, changes
inputs, gives something else each time.

The original's own are told once, when it is captured, and make no variant wrong. What a variant does more than the original does: further
outside, beside another tensor, elsewhere in a buffer. What it leaves unwritten is compared element by element, with the results.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from kernelband_worker.cases import effects
from kernelband_worker.cases.replay import Outside, Prepared, ReplayCase
from kernelband_worker.cases.zones import ALLOCATED
from kernelband_worker.state import State

#: Bytes before and past some memory.
Reach = Tuple[int, int]

_MOST_TOLD = 6
_VERBS = {"load": "reads", "store": "writes"}


@dataclass
class Faults:
    """On one input set, in two calls."""

    out_of_bounds: List[Dict[str, Any]] = field(default_factory=list)  # role cpu: ``Machine.out_of_bounds``, beside memory by its name
    outside: Dict[str, Outside] = field(default_factory=dict)  # inputs around which it writes into their buffer
    strays: Dict[str, Reach] = field(default_factory=dict)  # between zones: memory beside which it writes
    changed: List[str] = field(default_factory=list)  # inputs that the case says are left alone
    unwritten: Dict[str, Tuple[int, int]] = field(default_factory=dict)  # outputs: elements left as they were allocated, of how many
    hanging: Dict[str, Tuple[int, int]] = field(default_factory=dict)  # outputs: elements that hang on what lies beside
    overwrites: bool = False  # the second call changes the results of the first
    noise: float = 0.0  # largest difference of the two results over the RMS


@contextlib.contextmanager
def finding(state: State) -> Iterator[List[Dict[str, Any]]]:
    """A list that gets the accesses outside of tensors that the interpreter sees meanwhile (role cpu); nobody else hears of them."""
    if state.role != "cpu":
        yield []
        return
    from kernelband_worker.cpu.machine import machine_of

    machine = machine_of(state)
    found: List[Dict[str, Any]] = []
    before, machine.out_of_bounds = machine.out_of_bounds, found
    try:
        yield found
    finally:
        machine.out_of_bounds = before


def placed(found: Sequence[Dict[str, Any]], replay: ReplayCase, prepared: Prepared) -> List[Dict[str, Any]]:
    """Those accesses beside memory by its name instead of its address, which is another one in each process and call."""
    names: Dict[int, str] = {}
    for tensor in replay.case["tensors"]:
        names.setdefault(prepared.storages[tensor["storage"]].untyped_storage().data_ptr(), tensor["name"])
    made: List[Dict[str, Any]] = []
    for access in found:
        beside: Dict[str, Reach] = {}
        for address, reach in access["beside"].items():
            name = names.get(address, ALLOCATED)
            beside[name] = _wider(beside.get(name, (0, 0)), reach)
        made.append({**access, "beside": beside})
    return made


def more(mine: Faults, own: Faults) -> Optional[str]:
    """What a variant does that the original doesn't, or less of, in a sentence; None where there is nothing."""
    if mine.changed:
        return f"it writes the input {mine.changed[0]}, which the original leaves alone"
    further = beyond(mine.out_of_bounds, own.out_of_bounds)
    if further:
        first = further[0]
        return f"it accesses memory outside of a tensor ({first['path']}, line {first['line']}): {first['message']}"
    for name, found in mine.outside.items():
        known = own.outside.get(name)
        if known is None or bool((found.where & ~known.where).any()):
            return f"it writes outside of {name}, into the rest of its buffer"
        of_both = effects.pick(known.values, found.where[known.where])
        if effects.difference(of_both, found.values) > effects.rounding(found.values.dtype):
            return f"it writes other values than the original into the rest of the buffer of {name}"
    for name, reach in mine.strays.items():
        if not _within(reach, own.strays.get(name)):
            return f"it writes outside of every tensor, beside {name}"
    if mine.overwrites and not own.overwrites:
        return "its second call overwrites the result of the first: it keeps a buffer that reached the caller"
    return None


def beyond(mine: Sequence[Dict[str, Any]], own: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """Of accesses outside of tensors those that reach further than the original's of their kind beside the same memory."""
    widest: Dict[Tuple[str, str], Reach] = {}
    for access in own:
        for name, reach in access["beside"].items():
            key = (access["kind"], name)
            widest[key] = _wider(widest.get(key, (0, 0)), reach)
    return [a for a in mine if not all(_within(reach, widest.get((a["kind"], name))) for name, reach in a["beside"].items())]


def others(found: Faults, own: Faults, *, same_sizes: bool) -> Optional[str]:
    """In a word or two, what the original does wrong here that it doesn't do on the case itself; None where there is nothing.

    At other sizes it may do more of the same: it reads another rest of a tile, and leaves another tail unwritten.
    """
    if same_sizes:
        accesses = bool(beyond(found.out_of_bounds, own.out_of_bounds))
    else:
        accesses = bool({_place(a) for a in found.out_of_bounds} - {_place(a) for a in own.out_of_bounds})
    if accesses or set(found.outside) - set(own.outside) or set(found.strays) - set(own.strays):
        return "out of bounds"
    if any(name not in own.unwritten or (same_sizes and n > own.unwritten[name][0]) for name, (n, _) in found.unwritten.items()):
        return "unwritten"
    return "writes an input" if found.changed else None


def told(every: Sequence[Faults]) -> Optional[str]:
    """The one sentence about what the original does on its cases; None where there is nothing to tell."""
    said: Dict[str, str] = {}  # of what the cases have in common, the first one's
    for own in every:
        for access in own.out_of_bounds:
            file, line = os.path.basename(access["path"]), access["line"]
            for name in access["beside"]:
                what = f"{_VERBS[access['kind']]} outside of {name} ({file}, line {line})"
                said.setdefault(what, what)
        for name in own.outside:
            said.setdefault(f"outside {name}", f"writes outside of {name}, into the rest of its buffer")
        for name in own.strays:
            said.setdefault(f"beside {name}", f"writes outside of every tensor, beside {name}")
        for name, (count, total) in own.unwritten.items():
            said.setdefault(f"unwritten {name}", f"leaves {count} of {total} elements of {name} unwritten")
        for name, (count, total) in own.hanging.items():
            said.setdefault(f"hanging {name}", f"reads outside of its tensors, on which {count} of {total} elements of {name} depend")
    noise = max((own.noise for own in every), default=0.0)
    parts = list(said.values())
    if len(parts) > _MOST_TOLD:
        parts[_MOST_TOLD:] = [f"does {len(parts) - _MOST_TOLD} more faults like these"]
    if noise:
        parts.append(f"gives results that differ by up to {noise:.1e} of their RMS from call to call")
    if not parts:
        return None
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"The original itself {listed}: a variant is wrong only where it goes beyond that."


def _place(access: Dict[str, Any]) -> Tuple[str, int, str]:
    return access["path"], access["line"], access["kind"]


def _wider(a: Reach, b: Reach) -> Reach:
    return max(a[0], b[0]), max(a[1], b[1])


def _within(reach: Reach, widest: Optional[Reach]) -> bool:
    return widest is not None and reach[0] <= widest[0] and reach[1] <= widest[1]
