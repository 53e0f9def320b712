"""Two sentences about a variant: what limited the original, and what the edit moved. Every clause is a fact; without one it says so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from attrs import field, frozen

from kernelband.explain.bottleneck import Bottleneck, bottleneck, bound
from kernelband.hardware import Device
from kernelband.hardware.changes import Change, changes
from kernelband.hardware.units import duration
from kernelband.hardware.work import Work

MOST_GAINS, MOST_COSTS = 3, 2
EXPLAINED = 50.0  # per cent of the time below which a limit isn't called one
_TIME = re.compile(r", [\d.]+ (?:ns|us|µs|ms|s) at (?:peak|[\d.]+ GB/s)")
#: Which facts speak about which limit: those are named first.
_ABOUT: Mapping[str, tuple[str, ...]] = {
    "memory": ("dram", "moved", "width", "sectors", "occupancy", "filled"),
    "cache": ("moved", "dram", "sectors"),
    "compute": ("tensor cores", "serialized", "special", "instructions", "flops", "occupancy"),
    "spills": ("spills", "occupancy"),
    "idle": ("filled", "occupancy"),
    "launch": ("launches",),
}


@frozen
class Times:
    """Device microseconds of one case before and after, from fresh processes; a prediction has none."""

    before_us: float
    after_us: float


@frozen
class Reason:
    """``limited`` and ``moved`` are the two sentences. ``kinds`` are the limits before and after, None where one isn't known."""

    limited: str
    moved: str
    kinds: tuple[str | None, str | None] = field(default=(None, None))

    def lines(self) -> tuple[str, str]:
        """For a terminal."""
        return self.limited, self.moved


def reason(device: Device, before: Sequence[Work], after: Sequence[Work], what: str, times: Mapping[str, Times]) -> Reason | None:
    """Of a variant against the original, on the case that takes longest.

    Args:
        device: it is for.
        before: the original's launches, of all cases.
        after: the variant's.
        what: the edits in words, as the move says them.
        times: by case, where they were verified; empty in predicted mode, and then no time is said.

    Returns:
        None when the original's launches aren't known.
    """
    case = _longest(device, before, times)
    old, new = [w for w in before if w.case == case], [w for w in after if w.case == case]
    if not old:
        return None
    took = times.get(case)
    first = _limit(device, old, took.before_us if took else None)
    share = _share(device, old, took.before_us if took else None)
    if first is None:
        limited = "What limited the original isn't known: the bytes that it moves weren't counted."
    elif share is not None and share < EXPLAINED:
        took_us = took.before_us if took else 0.0
        limited = f"What is counted explains {share:.0f} % of the original's {duration(took_us)}: {_clause(first, timed=True)}."
    else:
        cases = len({w.case for w in before})
        lead = f"On the longest of {cases} cases the" if cases > 1 else "The"
        who = f"{lead} original" if len(old) == 1 else f"{lead} largest of the original's {len(old)} launches"
        limited = f"{who} was limited by {_clause(first, timed=took is not None)}{_reached(device, old, took.before_us if took else None)}."
    last = _limit(device, new, took.after_us if took else None) if new else None
    moved = _moved(changes(device, old, new), first.kind if first else "", what) if new else f"{_edit(what)}: what it moves isn't known."
    if last is not None and first is not None:
        moved = f"{moved[:-1]}; {_still(device, first, last, new, took)}."
    return Reason(limited, moved, (first.kind if first else None, last.kind if last else None))


def _longest(device: Device, before: Sequence[Work], times: Mapping[str, Times]) -> str:
    """The case with the largest measured time, else with the most bytes."""
    timed = {w.case for w in before} & times.keys()
    if timed:
        return max(sorted(timed), key=lambda c: times[c].before_us)
    weights: dict[str, float] = {}
    for work in before:
        light = bound(device, work)
        weights[work.case] = weights.get(work.case, 0.0) + (light.us if light else 0.0)
    return max(weights, key=lambda c: weights[c]) if weights else ""


def _limit(device: Device, launches: Sequence[Work], took_us: float | None) -> Bottleneck | None:
    found = bottleneck(device, _main(device, launches), took_us if len(launches) == 1 else None)
    return None if found.kind == "unknown" else found


def _main(device: Device, launches: Sequence[Work]) -> Work:
    """The launch with the highest bound."""

    def us(work: Work) -> float:
        light = bound(device, work)
        return light.us if light else 0.0

    return max(launches, key=us)


def _clause(found: Bottleneck, *, timed: bool) -> str:
    """``Memory: it has to move 2 MB, 1 µs at 4800 GB/s. It reaches …`` -> ``memory (it has to move 2 MB, 1 µs at 4800 GB/s)``.

    Not ``timed``: a prediction shows no time beside a variant, the hardware's included.
    """
    text = found.sentence.partition(" It reaches ")[0].partition(". ")[0].rstrip(".")
    if not timed:
        text = "The launch: the work alone takes less than that" if found.kind == "launch" else _TIME.sub("", text)
    head, colon, rest = text.partition(": ")
    head = head if head.isupper() else head[0].lower() + head[1:]
    return f"{head} ({rest})" if colon else head


def _share(device: Device, launches: Sequence[Work], took_us: float | None) -> float | None:
    """Per cent of the time that the limit explains; None where it isn't timed, or launching is the limit."""
    light = bound(device, _main(device, launches)) if len(launches) == 1 else None
    return None if light is None or took_us is None or light.limit == "launch" else light.percent(took_us)


def _reached(device: Device, launches: Sequence[Work], took_us: float | None) -> str:
    light = bound(device, _main(device, launches)) if len(launches) == 1 else None
    if light is None or took_us is None or light.limit == "launch":
        return ""
    return f" and reached {light.percent(took_us):.0f} % of that in {duration(took_us)}"


def _edit(what: str) -> str:
    text = what.strip().rstrip(".")
    return f"The edit ({text})" if text else "The edit"


def _moved(found: Sequence[Change], limit: str, what: str) -> str:
    """What became better, facts about the limit first; then what became worse."""
    about = _ABOUT.get(limit, ())
    ordered = sorted(found, key=lambda c: about.index(c.kind) if c.kind in about else len(about))
    gains, costs = ([c.sentence for c in ordered if c.better is side] for side in (True, False))
    if not gains and not costs:
        return f"{_edit(what)} changed no fact that is read here by 10 % or more, so why it matters isn't known."
    better, worse = "; ".join(gains[:MOST_GAINS]), "; ".join(costs[:MOST_COSTS])
    if not gains:
        return f"{_edit(what)} changed only what speaks against it: {worse}; no fact that is read here explains a gain."
    return f"{_edit(what)} changed this: {better}{f'; against it: {worse}' if worse else ''}."


def _still(device: Device, first: Bottleneck, last: Bottleneck, launches: Sequence[Work], took: Times | None) -> str:
    reached = _reached(device, launches, took.after_us if took else None).removeprefix(" and ")
    if last.kind == first.kind:
        return f"the limit is the same{', and it ' + reached.replace('of that', 'of it') if reached else ''}"
    return f"the limit is now {_clause(last, timed=took is not None)}{', and it ' + reached if reached else ''}"
