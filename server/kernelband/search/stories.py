"""What was tried from each program, and how it came to be: for authors that learn from it."""

from __future__ import annotations

from attrs import define, field

from kernelband.propose import Story, Tried


@define
class Stories:
    """Of a run. Variants are numbered as in history; 0 is the original."""

    _tried: dict[int, list[Tried]] = field(factory=dict[int, list[Tried]])
    _origin: dict[int, tuple[int, str]] = field(factory=dict[int, tuple[int, str]])

    def add(self, parent: int, tried: Tried) -> None:
        """What became of a proposal for ``parent``; said again, the later word counts."""
        found = self._tried.setdefault(parent, [])
        found[:] = [t for t in found if t.key != tried.key]
        found.append(tried)

    def born(self, variant: int, parent: int, what: str) -> None:
        """A variant that may be a parent itself."""
        self._origin[variant] = (parent, what)

    def of(self, parent: int) -> Story:
        """The story of a program."""
        lineage: list[str] = []
        at = parent
        while at in self._origin:
            at, what = self._origin[at]
            lineage.insert(0, what)
        return Story(tuple(lineage), tuple(self._tried.get(parent, ())))
