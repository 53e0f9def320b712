"""Edits of a text: kept so long that answers from memory can follow them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from attrs import define, field, frozen

MOST_KEPT = 1000  # of a document: whoever changes more before it is read gets one edit around them all


@frozen
class Edit:
    """The characters ``start`` to ``end`` of a text became ``size`` others."""

    start: int
    end: int
    size: int

    @property
    def moved(self) -> int:
        """By how much what comes after it has moved."""
        return self.size - (self.end - self.start)

    def forward(self, offset: int) -> int:
        """Where an offset of the text before it is after it. What was replaced is at its start."""
        if offset <= self.start:
            return offset
        return offset + self.moved if offset >= self.end else self.start

    def back(self, offset: int) -> int:
        """Where an offset of the text after it was before it."""
        if offset <= self.start:
            return offset
        return offset - self.moved if offset >= self.start + self.size else self.start


def around(old: str, new: str) -> Edit:
    """The smallest edit that makes ``new`` of ``old``: of several far apart, one around them all."""
    before = _common(old, new)
    after = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - before)
    return Edit(before, len(old) - after, len(new) - after - before)


def between(old: str, new: str, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """The edits where they can have made ``new`` of ``old``, else the one around all changes."""
    if old is new or old == new:
        return ()
    given = tuple(edits)
    return given if given and len(old) + sum(e.moved for e in given) == len(new) else (around(old, new),)


@define(eq=False)
class Log:
    """The last edits of a document, with the version that each led to."""

    _edits: deque[tuple[int, Edit]] = field(factory=lambda: deque[tuple[int, Edit]](maxlen=MOST_KEPT))

    def add(self, version: int | None, edit: Edit) -> None:
        """An edit was made. Clients number their versions; where one doesn't, nothing is kept."""
        if version is not None:
            self._edits.append((version, edit))

    def since(self, version: int) -> tuple[Edit, ...]:
        """Those that made later versions, in order."""
        return tuple(edit for made, edit in self._edits if made > version)


def _common(first: str, second: str) -> int:
    """How many characters two texts begin with in common; by halves, since comparing slices is much faster than characters."""
    if first == second:
        return len(first)
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
