"""One text of a file, before or after: which statements a line is of, who binds a name and what is made from it, and what launches pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field

from kernelband.lsp.items import GRID, PARAMETER, Argument, Call, Name
from kernelband.lsp.units import Unit, Units

GRID_KEY = ""  # of what a launch passes: its grid
ANY = "*"  # a function that can't be told, or any parameter
DEEP = 8  # names behind a variable that is called

Parameters = Mapping[str, frozenset[tuple[str, ...]]]  # of functions by bare name, before and after
Flow = tuple[str, str]  # function and parameter


@define(eq=False)
class Side:
    """The text of a file before or after, with what is known of all functions."""

    units: tuple[Unit, ...]
    parameters: Parameters
    binders: dict[Name, list[int]] = field(init=False, factory=dict[Name, list[int]])
    places: set[Name] = field(init=False, factory=set[Name])  # what is nothing else than a program id
    made_from: dict[Name, set[Name]] = field(init=False, factory=dict[Name, set[Name]])
    launches: list[tuple[frozenset[str], dict[str, set[int]]]] = field(init=False, factory=list[tuple[frozenset[str], dict[str, set[int]]]])

    def __attrs_post_init__(self) -> None:
        for number, unit in enumerate(self.units):
            for item in unit.items:
                for name in item.binds:
                    self.binders.setdefault(name, []).append(number)
                for name in item.reads if not item.part else ():
                    self.made_from.setdefault(name, set()).update(item.binds)
                if GRID in item.reads and all(scope in ("", GRID[0]) for scope, _ in item.reads):
                    self.places |= item.binds
        for number, unit in enumerate(self.units):
            for call in (c for item in unit.items for c in item.calls if c.grid is not None):
                self.launches.append((self.callees(call), self._feeds(number, call)))

    def touched(self, lines: range) -> list[int]:
        """The units that lines are of; those that a place between two lines is inside of."""
        if lines.start == lines.stop:
            return [n for n, u in enumerate(self.units) if u.first < lines.start <= u.last]
        return [n for n, u in enumerate(self.units) if u.first < lines.stop and lines.start <= u.last]

    def reached(self, names: Iterable[Name]) -> frozenset[Name]:
        """The names, and all that is made from them."""
        found, todo = set[Name](), set(names)
        while todo:
            name = todo.pop()
            found.add(name)
            todo |= self.made_from.get(name, set[Name]()) - found
        return frozenset(found)

    def callees(self, call: Call) -> frozenset[str]:
        """The functions that may be called, by bare name; ``ANY`` where that can't be told."""
        if not call.callee:
            return frozenset({ANY})
        names, found, seen = {call.variable} if call.variable is not None else set[Name](), {call.callee}, set[Name]()
        for _ in range(DEEP):
            seen |= names
            behind = set[Name]()
            for name in names:
                for item in (i for n in self.binders.get(name, ()) for i in self.units[n].items if name in i.binds):
                    if item.code.startswith(PARAMETER):
                        found.add(ANY)
                    behind |= item.reads
            names = behind - seen
            found |= {name for _, name in names}
        return frozenset(found)

    def keys(self, function: str, key: int | str) -> Iterator[str]:
        """The parameters that an argument may be for."""
        if isinstance(key, str):
            yield ANY if key in ("*", "**") else key
        elif function == ANY or function not in self.parameters:
            yield ANY
        else:
            yield from (names[key] for names in self.parameters[function] if key < len(names))

    def passes(self, call: Call) -> Iterator[tuple[str, str, Argument]]:
        """Function, parameter and what is passed."""
        for function in self.callees(call):
            if call.grid is not None:
                yield function, GRID_KEY, call.grid
            for argument in call.arguments:
                for key in self.keys(function, argument.key):
                    yield function, key, argument

    def _feeds(self, number: int, call: Call) -> dict[str, set[int]]:
        """By parameter of a launch, the units besides its own that decide on what is passed."""
        out: dict[str, set[int]] = {}
        for _, key, argument in self.passes(call):
            found, names = set[int](), set(argument.reads)
            seen = set[Name]()
            while names:
                name = names.pop()
                seen.add(name)
                for n in self._deciding(name):
                    found.add(n)
                    names |= {r for i in self.units[n].items for r in i.reads} - seen
            out.setdefault(key, set()).update(found - {number})
        return out

    def _deciding(self, name: Name) -> Iterator[int]:
        """The units that bind a name; of a function also those in it."""
        for n in self.binders.get(name, ()):
            yield n
            unit = self.units[n]
            if unit.opens is not None and any(i.part == "signature" and i.of == name[1] and name in i.binds for i in unit.items):
                inner = f"{unit.function}.{name[1]}" if unit.function else name[1]
                yield from (m for m, u in enumerate(self.units) if u.function == inner)


def parameters_of(sides: Iterable[Units]) -> Parameters:
    """Of the functions of all texts."""
    out: dict[str, set[tuple[str, ...]]] = {}
    for units in sides:
        for name, parameters in units.parameters.items():
            out.setdefault(name, set()).add(parameters)
    return {name: frozenset(found) for name, found in out.items()}
