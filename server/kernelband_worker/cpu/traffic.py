"""What a launch moves and computes, counted while it is interpreted and scaled from the sampled programs to the grid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Dict, List, Optional, Tuple

import numpy as np

#: Bytes that a GPU moves at least: a sector of a cache line.
SECTOR = 32
#: Programs, spread over the grid, whose mean speaks for it even where they differ.
MANY = 16
_SPREAD = 32  # places per element up to which marking them is quicker than sorting
#: Counts whose sum says how much a program did.
_EFFECTS = ("loads", "stores", "flops", "dot_flops")


@dataclass
class Access:
    """One load or store of the source, over all sampled programs."""

    path: str
    line: int
    kind: str  # "load" | "store"
    masked: bool  # the source gives a mask
    mask_always_true: bool  # it never hid an element in the sampled programs
    sectors_ratio: float  # sectors touched over the fewest possible; 1 is fully coalesced
    moved_bytes: int = 0  # by the whole grid


@dataclass
class Traffic:
    """Counts of one launch. Bytes and operations are estimates for the whole grid where ``programs`` < ``total``.

    ``loads_bytes`` and ``stores_bytes`` count every unmasked element of every access (what goes through the caches); the ``unique``
    ones count an element once (what memory must move at least). ``flops`` are floating-point operations outside ``tl.dot``: one per
    element of an addition, multiplication, division, comparison of size, root, exponential and so on, n - 1 for a reduction of n.
    ``dot_flops`` are 2 M N K per ``tl.dot``.

    ``arithmetic`` and ``functions`` are the same work as a compiler writes it. ``arithmetic``: instructions of one lane, one per element
    of an addition, multiplication, comparison, selection or conversion of floats, half of one where two 16-bit results share an
    instruction, none for an addition that is fused with the multiplication or product before it. Work on integers isn't counted: most of
    it makes addresses, of which a thread needs few. ``functions``: evaluations by name (``exp``, ``exp2``, ``div``, ``libdevice.tanh``);
    what one costs is the device's business. A divisor that elements share is inverted once, and each element takes three instructions.
    """

    programs: int  # interpreted
    total: int  # of the grid
    loads_bytes: int = 0
    stores_bytes: int = 0
    unique_loads_bytes: int = 0
    unique_stores_bytes: int = 0
    flops: int = 0
    dot_flops: int = 0
    arithmetic: int = 0
    functions: Dict[str, int] = field(default_factory=dict)
    sectors_per_request: float = 1.0
    atomics: bool = False
    accesses: List[Access] = field(default_factory=list)
    even: bool = True  # few programs were sampled, and they did about the same: else the counts of the grid are a guess

    @property
    def sampled(self) -> bool:
        """Whether programs were left out."""
        return self.programs < self.total


@dataclass
class _Site:
    masked: bool = False
    hid: bool = False
    sectors: int = 0
    fewest: int = 0
    moved: int = 0


class Counter:
    """Counts while programs run. ``detailed`` programs also count sectors and unique bytes, which costs a sort per access."""

    def __init__(self) -> None:
        self.counting = True
        self.detailed = True
        self.loads = self.stores = self.flops = self.dot_flops = 0
        self.arithmetic = 0.0
        self.functions: Dict[str, int] = {}
        self.atomics = False
        self._steps = 0
        self._ends = 0  # programs at the ends of the grid that ran
        self._at_ends: Dict[str, float] = {}  # what they counted
        self._before: Dict[str, float] = {}  # counted until the last program ended
        self._each: List[float] = []  # bytes moved and operations of each program, in the order of running
        self._last: Optional[int] = None  # where in it the last program of the grid is, which may do less at the edge
        self._detailed = {"load": 0, "store": 0}  # bytes moved by detailed programs
        self.sites: Dict[Tuple[str, int, str], _Site] = {}
        self._unique: Dict[Tuple[str, int], int] = {}  # (kind, region): bytes, summed over detailed programs
        self._program: Dict[Tuple[str, int, int], List[np.ndarray]] = {}  # with the size of an element

    @property
    def effort(self) -> float:
        """What interpreting took so far, about in operations on small blocks; the same for the same programs, unlike seconds."""
        return self._steps + (self.loads + self.stores) / 65536 + self.flops / 65536 + self.dot_flops / 4e6

    def operations(self, count: int) -> None:
        """Floating-point operations outside dots."""
        self._steps += 1
        if self.counting:
            self.flops += count

    def instructions(self, count: float) -> None:
        """Arithmetic of one lane, as a compiler writes it."""
        if self.counting:
            self.arithmetic += count

    def evaluated(self, function: str, count: int) -> None:
        """Evaluations of a function that takes more than an instruction."""
        if self.counting:
            self.functions[function] = self.functions.get(function, 0) + count

    def moved(self, kind: str, count: int, size: int) -> None:
        """``count`` elements of ``size`` bytes."""
        self._steps += 2
        if kind == "load":
            self.loads += count * size
        else:
            self.stores += count * size
        if self.detailed:
            self._detailed[kind] += count * size

    def hid(self, kind: str, site: Tuple[str, int]) -> None:
        """The mask of that place hid an element; told by every program."""
        self.sites.setdefault((*site, kind), _Site()).hid = True

    def access(self, kind: str, region: int, addresses: np.ndarray, size: int, site: Tuple[str, int], *, masked: bool) -> None:
        """One access of a detailed program: the addresses of its unmasked elements."""
        entry = self.sites.setdefault((*site, kind), _Site())
        entry.masked |= masked
        entry.moved += addresses.size * size
        if addresses.size == 0:
            return
        unique = addresses if _ascending(addresses) else np.unique(addresses)
        first, last = unique // np.uint64(SECTOR), (unique + np.uint64(size - 1)) // np.uint64(SECTOR)
        if np.array_equal(first, last):
            entry.sectors += 1 + int(np.count_nonzero(first[1:] != first[:-1]))
        else:
            entry.sectors += np.unique(np.concatenate([first, last])).size
        entry.fewest += -(-unique.size * size // SECTOR)
        self._program.setdefault((kind, region, size), []).append(unique)

    def program_done(self, *, end: bool = False) -> None:
        """Add up what a detailed program touched, each element once. ``end``: it was the first or the last of the grid."""
        counts = self._counts()
        mine = {name: count - self._before.get(name, 0) for name, count in counts.items()}
        self._each.append(sum(mine[name] for name in _EFFECTS))
        if end and self._ends:
            self._last = len(self._each) - 1
        if end:
            self._at_ends = {name: self._at_ends.get(name, 0) + count for name, count in mine.items()}
            self._ends += 1
        self._before = counts
        if not self.detailed:
            return
        for (kind, region, size), parts in self._program.items():
            touched = parts[0].size if len(parts) == 1 else _distinct(np.concatenate(parts), size)
            self._unique[kind, region] = self._unique.get((kind, region), 0) + touched * size
        self._program.clear()

    def ends_agree(self) -> bool:
        """Whether the first and the last program of the grid did about the same."""
        return self._last is None or _about(self._each[0], self._each[self._last])

    def _even(self, programs: int, total: int) -> bool:
        """Whether the programs that ran speak for the others: many did, or all but the last one of the grid did about the same."""
        if programs >= min(total, MANY):
            return True
        others = [count for at, count in enumerate(self._each) if at != self._last]
        if len(others) < 2:
            return self.ends_agree()
        return _about(min(others), max(others))

    def _counts(self) -> Dict[str, float]:
        """Everything that is scaled to the grid; functions by ``()`` and their name."""
        own = {name: float(getattr(self, name)) for name in (*_EFFECTS, "arithmetic")}
        return {**own, **{f"(){name}": float(count) for name, count in self.functions.items()}}

    def _of_grid(self, programs: int, total: int) -> Dict[str, float]:
        """The counts of the whole grid.

        The first and the last program count as themselves: the last one of many is the one that does less.
        """
        between = programs - self._ends
        if between <= 0:
            return {name: count * total / programs if programs else 0.0 for name, count in self._counts().items()}
        ends = self._at_ends
        return {
            name: ends.get(name, 0) + (count - ends.get(name, 0)) * (total - self._ends) / between for name, count in self._counts().items()
        }

    def result(self, programs: int, total: int, region_bytes: List[int]) -> Traffic:
        """Scaled to the grid. A region's unique bytes never exceed the region: programs that share it load the same elements."""
        grid = self._of_grid(programs, total)
        loads, stores = grid["loads"], grid["stores"]
        unique = {"load": 0, "store": 0}
        for (kind, region), count in self._unique.items():
            # By bytes, not by programs: a program at the edge moves less than the others.
            moved = loads if kind == "load" else stores
            whole = round(count * moved / max(1, self._detailed[kind]))
            unique[kind] += min(whole, region_bytes[region]) if region >= 0 else whole
        sectors = sum(site.sectors for site in self.sites.values())
        fewest = sum(site.fewest for site in self.sites.values())
        return Traffic(
            programs,
            total,
            round(loads),
            round(stores),
            unique["load"],
            unique["store"],
            round(grid["flops"]),
            round(grid["dot_flops"]),
            round(grid["arithmetic"]),
            {name[2:]: round(count) for name, count in sorted(grid.items()) if name.startswith("()")},
            sectors / fewest if fewest else 1.0,
            self.atomics,
            [
                Access(
                    path,
                    line,
                    kind,
                    site.masked,
                    site.masked and not site.hid,
                    site.sectors / site.fewest if site.fewest else 1.0,
                    # By bytes again: what the detailed programs moved there, scaled like all that was moved.
                    round(site.moved * (loads if kind == "load" else stores) / max(1, self._detailed[kind])),
                )
                for (path, line, kind), site in sorted(self.sites.items())
            ],
            self._even(programs, total),
        )


def _about(one: float, other: float) -> bool:
    """Within a tenth of each other."""
    return abs(one - other) <= 0.1 * max(abs(one), abs(other))


def _ascending(addresses: np.ndarray) -> bool:
    """Whether they are sorted and differ, as those of a block of rows are: then there is nothing to sort."""
    return bool((addresses[1:] > addresses[:-1]).all())


def _distinct(addresses: np.ndarray, size: int) -> int:
    """How many different ones there are, of elements of ``size`` bytes. By marks in their range where it is narrow: sorting takes long."""
    if _ascending(addresses):
        return int(addresses.size)
    low = addresses.min()
    offsets = addresses - low
    places = int(offsets.max()) // size + 1
    if places > _SPREAD * addresses.size or (offsets % np.uint64(size)).any():
        return int(np.unique(addresses).size)
    marks = np.zeros(places, dtype=bool)
    marks[(offsets // np.uint64(size)).astype(np.int64)] = True
    return int(np.count_nonzero(marks))
