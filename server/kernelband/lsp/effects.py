"""What a hunk does to a program: the statements that it touches, what it binds, reads and calls otherwise, what it passes to functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from attrs import frozen

from kernelband.lsp.hunks import Hunk
from kernelband.lsp.items import DECORATOR, GRID, PARAMETER, Item, Name
from kernelband.lsp.sides import ANY, GRID_KEY, Flow, Side


@frozen
class Effects:
    """Of one hunk. ``old`` and ``new``: its lines, and ``blocks`` those of the blocks that it opens or closes. Units are numbered.

    Only what is said otherwise before and after counts. ``binds`` goes on through what is made from those names; ``moved``: names that it
    binds only before or only after. ``passed``: the parameters that something else is passed for, ``GRID_KEY`` for a grid.
    """

    old: range
    new: range
    old_units: frozenset[int]
    new_units: frozenset[int]
    old_blocks: tuple[range, ...]
    new_blocks: tuple[range, ...]
    binds: frozenset[Name]
    moved: frozenset[Name]
    reads: frozenset[Name]
    signatures: frozenset[str]
    calls: frozenset[str]
    passed: frozenset[Flow]
    parameters: tuple[str, ...]  # that are declared otherwise; these and what follows are names for people, in order
    variables: tuple[str, ...]
    is_decorated: bool  # otherwise than before
    hints: tuple[str, ...]
    launches: tuple[str, ...]  # functions of the program
    functions: tuple[str, ...]  # around its statements, "" for a module

    @property
    def is_silent(self) -> bool:
        """Whether no statement is on its lines."""
        return not self.old_units and not self.new_units

    def touches(self, other: Effects) -> bool:
        """Whether the two are about one statement, or one is about a block in which the other is. Both are of one file."""
        if self.old_units & other.old_units or self.new_units & other.new_units:
            return True
        return any(_meet(b, e.old) for s, e in ((self, other), (other, self)) for b in s.old_blocks) or any(
            _meet(b, e.new) for s, e in ((self, other), (other, self)) for b in s.new_blocks
        )

    def leads_to(self, other: Effects) -> bool:
        """Whether the other hunk may need this one, or the other way round."""
        if self.binds & other.reads or self.moved & other.binds:
            return True
        if self.signatures & (other.signatures | other.calls) or (self.signatures and ANY in other.calls):
            return True
        if any(_is_read(flow, other.reads) for flow in self.passed):
            return True
        return bool({f for f, key in self.passed if key == GRID_KEY} & {f for f, _ in other.passed})


def _meet(block: range, lines: range) -> bool:
    """An empty range is between two lines."""
    return block.start < max(lines.stop, lines.start + 1) and lines.start < block.stop


def _is_read(flow: Flow, reads: frozenset[Name]) -> bool:
    function, parameter = flow
    if parameter == GRID_KEY:
        return GRID in reads
    return any(
        parameter in (name, ANY) and scope and function in (scope.rpartition(".")[2], ANY) and scope != GRID[0] for scope, name in reads
    )


@frozen
class _Half:
    """One side of a hunk. ``said``: what the statements that it touches say, each with the function around it."""

    side: Side
    lines: range
    units: tuple[int, ...]
    said: Counter[tuple[str, Item]]

    @classmethod
    def of(cls, side: Side, lines: range, *, more: bool) -> _Half:
        units = tuple(side.touched(range(lines.start, lines.stop + 1) if more else lines))
        return cls(side, lines, units, Counter((side.units[n].function, i) for n in units for i in side.units[n].items))

    @property
    def opened(self) -> list[int]:
        """The units on its lines that have a block."""
        return [n for n in self.units if self.side.units[n].opens is not None and self.side.units[n].first in self.lines]

    def blocks(self) -> tuple[range, ...]:
        """The lines of those."""
        return tuple(range(self.side.units[n].first, self.side.units[n].end + 1) for n in self.opened)

    def kinds(self) -> list[tuple[str, int] | None]:
        """Of those."""
        return [self.side.units[n].opens for n in self.opened]

    def hints(self) -> Counter[tuple[str, str]]:
        """Of its statements."""
        return Counter(h for _, item in self.said.elements() for h in item.hints)

    def functions(self) -> Iterator[str]:
        """That it is in, or about, by bare name."""
        for unit in (self.side.units[n] for n in self.units):
            heads = [i.of for i in unit.items if i.part == "signature"]
            yield heads[0] if heads else unit.function.rpartition(".")[2]

    def only(self, other: _Half) -> _Only:
        """What is said on this side alone."""
        said = self.said - other.said
        items = tuple(item for _, item in said.elements())
        known = Counter((function, item.code) for function, item in other.said.elements())
        left = Counter((function, item.code) for function, item in self.said.elements()) - known
        return _Only(self, said, items, tuple(item for function, item in said.elements() if (function, item.code) in left))


@frozen
class _Only:
    """What one side says and the other doesn't."""

    half: _Half
    said: Counter[tuple[str, Item]]
    items: tuple[Item, ...]
    changed: tuple[Item, ...]  # those that don't only say the same by other names, as ``tl.range`` for ``range``

    def binds(self) -> frozenset[Name]:
        """By any statement."""
        return frozenset(name for item in self.changed for name in item.binds)

    def made(self) -> frozenset[Name]:
        """All that is made from what it binds. A parameter is what it was: only who reads it sees that it's declared otherwise."""
        return self.half.side.reached(name for item in self.changed if item.part != "signature" for name in item.binds)

    def reads(self) -> frozenset[Name]:
        """By any statement."""
        found = frozenset(name for item in self.items for name in item.reads)
        return found | {GRID} if found & self.half.side.places else found

    def calls(self) -> Iterator[str]:
        """The functions that are called otherwise."""
        return (f for item in self.items for call in item.calls for f in self.half.side.callees(call))

    def passes(self) -> Counter[tuple[str, str, str]]:
        """Function, parameter and what is passed."""
        return Counter((f, key, a.code) for item in self.items for c in item.calls for f, key, a in self.half.side.passes(c))

    def launches(self) -> Iterator[str]:
        """The functions that are launched otherwise."""
        return (f for item in self.items for call in item.calls if call.grid is not None for f in self.half.side.callees(call))

    def feeds(self) -> Iterator[Flow]:
        """What launches elsewhere pass otherwise for it."""
        side = self.half.side
        changed = {n for n in self.half.units if any((side.units[n].function, item) in self.said for item in side.units[n].items)}
        for functions, feeds in side.launches:
            yield from ((f, key) for key, decide in feeds.items() if decide & changed for f in functions)


def effects(hunk: Hunk, old: Side, new: Side) -> Effects:
    """Of a hunk between two texts of a file."""
    before, after = _halves(old, range(hunk.start, hunk.end), new, range(hunk.at, hunk.until))
    only = (before.only(after), after.only(before))
    nested = before.kinds() == after.kinds()
    lost, gained = (side.binds() for side in only)
    feeds = {flow for side in only for flow in side.feeds()}
    one, other = (side.passes() for side in only)
    return Effects(
        old=before.lines,
        new=after.lines,
        old_units=frozenset(before.units),
        new_units=frozenset(after.units),
        old_blocks=() if nested else before.blocks(),
        new_blocks=() if nested else after.blocks(),
        binds=frozenset[Name]().union(lost, gained, *(side.made() for side in only)),
        moved=lost ^ gained,
        reads=only[0].reads() | only[1].reads(),
        signatures=frozenset(item.of for side in only for item in side.changed if item.part),
        calls=frozenset(f for side in only for f in side.calls()) | {f for f, _ in feeds},
        passed=frozenset((f, key) for f, key, _ in (one - other) + (other - one)) | feeds,
        parameters=_names(item for side in only for item in side.changed if item.part == "signature" and item.code.startswith(PARAMETER)),
        variables=_names(item for side in only for item in side.changed if not item.part),
        is_decorated=any(item.code.startswith(DECORATOR) for side in only for item in side.changed),
        hints=tuple(dict.fromkeys(name for name, _ in (before.hints() - after.hints()) + (after.hints() - before.hints()))),
        launches=tuple(dict.fromkeys(f for side in only for f in side.launches() if f in old.parameters)),
        functions=tuple(dict.fromkeys((*before.functions(), *after.functions()))),
    )


def _halves(old: Side, lines: range, new: Side, other: range) -> tuple[_Half, _Half]:
    """A decorator that comes or goes is a line beside the others of its statement."""
    over = [
        any(side.units[n].first in at and side.units[n].last >= at.stop for n in side.touched(at))
        for side, at in ((new, other), (old, lines))
    ]
    return _Half.of(old, lines, more=over[0]), _Half.of(new, other, more=over[1])


def _names(items: Iterable[Item]) -> tuple[str, ...]:
    """That items bind, in order."""
    return tuple(dict.fromkeys(name for item in items for scope, name in sorted(item.binds) if scope != GRID[0]))
