"""Which hunks of a variant belong together: whoever keeps some groups and undoes the others still has a program that hangs together.

Two hunks depend on each other when

- they change one statement, or one is about a block in which the other is;
- one binds a name that the other reads or binds, in the scope of that name;
- one changes a function's signature or what it returns, the other a call or launch of it, or what such a launch is made from;
- one changes what a call or launch passes, the other reads that parameter; a grid is read by program ids.

It is rather too many than too few. Hunks without a statement go with the nearest one. Where a text can't be parsed, all hunks are one
group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from attrs import field, frozen

from kernelband.lsp.effects import Effects, effects
from kernelband.lsp.hunks import Hunk, lines_of
from kernelband.lsp.labels import WHOLE, labels
from kernelband.lsp.sides import Side, parameters_of
from kernelband.lsp.units import parsed, read_units

EVERY_CHOICE = 6  # groups, up to which each choice of them is parsed; of more each one and all but each


@frozen
class Change:
    """A file of a variant, before and after, with its hunks."""

    before: str = field(repr=False)
    after: str = field(repr=False)
    hunks: tuple[Hunk, ...]


@frozen
class Group:
    """Hunks by their numbers, in order, and what they are called."""

    hunks: tuple[int, ...]
    label: str


def grouped(changes: Sequence[Change]) -> list[Group]:
    """The hunks of all files, numbered through, as groups in the order of their first hunks."""
    every = tuple(range(sum(len(c.hunks) for c in changes)))
    read = [units for c in changes for text in (c.before, c.after) if (units := read_units(text)) is not None]
    if len(read) < 2 * len(changes):
        return [Group(every, WHOLE)]
    parameters = parameters_of(read)
    sides = [Side(units.units, parameters) for units in read]
    found = [(at, effects(h, sides[2 * at], sides[2 * at + 1])) for at, c in enumerate(changes) for h in c.hunks]
    of = list(every)
    for a, b in (*_dependent(found), *_beside(found)):
        of = [of[a] if g == of[b] else g for g in of]
    groups: dict[int, tuple[int, ...]] = {}
    for number, group in enumerate(of):
        groups[group] = (*groups.get(group, ()), number)
    out = list(groups.values())
    if not all(_parses(changes, kept) for kept in _choices(out)):
        out = [every]
    return [Group(hunks, said) for hunks, said in zip(out, labels([found[n][1] for n in g] for g in out), strict=True)]


def _dependent(found: Sequence[tuple[int, Effects]]) -> Iterator[tuple[int, int]]:
    for (a, (file, one)), (b, (other_file, other)) in combinations(enumerate(found), 2):
        if one.leads_to(other) or other.leads_to(one) or (file == other_file and one.touches(other)):
            yield a, b


def _beside(found: Sequence[tuple[int, Effects]]) -> Iterator[tuple[int, int]]:
    """Hunks of blank lines and comments alone go with the nearest one."""
    for number, (file, one) in enumerate(found):
        near = [(abs(other.old.start - one.old.start), n) for n, (f, other) in enumerate(found) if f == file and n != number]
        if one.is_silent and near:
            yield number, min(near)[1]


def put(before: str, hunks: Iterable[Hunk]) -> list[str]:
    """The lines of a text with some of its hunks."""
    lines = lines_of(before)
    for hunk in sorted(hunks, key=lambda h: (h.start, h.end), reverse=True):
        lines[hunk.start : hunk.end] = hunk.lines
    return lines


def _choices(groups: Sequence[Sequence[int]]) -> Iterator[set[int]]:
    """Hunks that a person may keep."""
    if len(groups) <= EVERY_CHOICE:
        for kept in product((False, True), repeat=len(groups)):
            yield {n for group, is_kept in zip(groups, kept, strict=True) if is_kept for n in group}
        return
    every = {n for group in groups for n in group}
    for group in groups:
        yield set(group)
        yield every - set(group)


def _parses(changes: Sequence[Change], kept: set[int]) -> bool:
    at = 0
    for change in changes:
        chosen = [h for number, h in enumerate(change.hunks, at) if number in kept]
        at += len(change.hunks)
        if parsed("\n".join(put(change.before, chosen))) is None:
            return False
    return True
