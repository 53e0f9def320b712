"""``by_size``: the launch parameters of one variant up to a size, those of another above it, as host code that a reader would write.

Not a move that looks for something to do: two variants were measured, and the search knows that each is the better one on its side of a
size. This writes the program that has both, where they differ in nothing but launch parameters and the grid that follows from them;
``two_ways`` does where they differ in more.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from kernelband.source.model import Edit
from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies._base import Numerics, Proposal
from kernelband.strategies.code import At, Knob, LaunchView, Module
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import lines, removed, siblings
from kernelband.strategies.code.knob import Edits
from kernelband.strategies.code.literals import bound, integer
from kernelband.strategies.code.module import FunctionNode
from kernelband.strategies.tiling.parameters import Parameters

MOVE = "by_size"
WIDTH = 100  # of a line that holds both sides
MEASURED = "  # measured: each the faster on its side"


@frozen
class Sides:
    """Two variants, by their numbers, and what tells a call of one side from the other's: ``size``, as the host function calls it."""

    size: str
    up_to: int
    small: int
    large: int

    @property
    def parameters(self) -> dict[str, str | int]:
        """As the proposal has them."""
        return {"size": self.size, "up_to": self.up_to, "small": self.small, "large": self.large}


def by_size(own: Parameters, other: Parameters, sides: Sides, numerics: Numerics, why: str, *, small: bool) -> Proposal | None:
    """The program of ``own`` with the launch parameters of ``other`` on one side of a size.

    None where they differ in more, or where the host function has no place for the choice: the size is known after the parameters are
    used, or a parameter is a default that callers may pass.

    Args:
        own: of the program that is edited.
        other: of the other variant.
        sides: what the choice is between.
        numerics: the looser class of the two variants.
        why: the fact behind it.
        small: ``own`` is the one for the small sizes.
    """
    names = own.differing(other)
    if own.rest != other.rest or not names:
        return None
    first, second = (own, other) if small else (other, own)
    plan = _Plan.of(own, {name: (first.values[name], second.values[name]) for name in names})
    if plan is None:
        return None
    told = [" and ".join(_told(names, p)) for p in (first, second)]
    grid = ", with the grid" if any(n in own.knobs and own.knobs[n].in_grid for n in names) else ""
    what = f"Chooses by {sides.size}: {told[0]} up to {sides.up_to}, {told[1]} above{grid}."
    return At(own.view, "tiling", MOVE).proposal(dict(sides.parameters), plan.edits(sides), numerics, what, why)


def _told(names: Sequence[str], parameters: Parameters) -> list[str]:
    each = [f"{name} {parameters.values[name]}" for name in names]
    return [", ".join(each[:-1]), each[-1]] if len(each) > 1 else each


@frozen
class _Slot:
    """A variable of the host function, with its code on either side."""

    variable: str
    small: str
    large: str


@define(eq=False)
class _Plan:
    """What the choice sets, and what has to come after it (``uses``). ``old`` are assignments that it replaces."""

    launch: LaunchView
    host: FunctionNode
    slots: list[_Slot] = field(factory=list[_Slot])
    uses: list[ast.AST] = field(factory=list[ast.AST])
    old: list[ast.stmt] = field(factory=list[ast.stmt])
    replaced: list[Edit] = field(factory=list[Edit])
    missing: list[str] = field(factory=list[str])  # arguments that the launch doesn't pass yet

    @property
    def module(self) -> Module:
        return self.launch.module

    @classmethod
    def of(cls, own: Parameters, wanted: Mapping[str, tuple[int, int]]) -> _Plan | None:
        """For values by parameter; None when one of them has its place outside of the host function."""
        launch = own.launch
        if launch.host is None:
            return None
        plan = cls(launch, launch.host)
        variables: dict[str, tuple[int, int]] = {}
        for name, pair in wanted.items():
            passed = launch.arguments.get(name)
            if isinstance(passed, ast.Name) and variables.setdefault(passed.id, pair) != pair:
                return None
        for name, pair in wanted.items():
            passed = launch.arguments.get(name)
            if isinstance(passed, ast.Name):
                done = plan._assigned(passed.id, variables)
            else:
                knob = own.knobs.get(name)
                literals = [n for _, n in knob.places] if knob is not None else [x for x in (passed,) if x is not None]
                done = plan._written(name, pair, knob, literals)
            if not done:
                return None
        plan.uses.append(launch.call)
        return plan

    def _written(self, name: str, pair: tuple[int, int], knob: Knob | None, literals: Sequence[ast.expr]) -> bool:
        """A parameter that is written as a number, or not at all: it gets a variable."""
        variable, taken = name, _taken(self.host)
        while variable in taken or any(s.variable == variable for s in self.slots):
            variable += "_"
        self.slots.append(_Slot(variable, str(pair[0]), str(pair[1])))
        self.uses += literals
        self.replaced += [e for _, e in knob.edit(variable)] if knob is not None else [self.module.replace(n, variable) for n in literals]
        if not literals:
            self.missing.append(f"{name}={variable}")
        return all(self.host in self.module.around(n) for n in literals)

    def _assigned(self, name: str, wanted: Mapping[str, tuple[int, int]]) -> bool:
        """A variable that is bound once, by itself or with others in a tuple, all of which the choice then sets."""
        if any(s.variable == name for s in self.slots):
            return True
        bound = self.launch.bindings(name)
        if name in _parameters(self.host):
            return False  # callers may pass another
        statements = bound or [s for s in self.module.tree.body if name in bound_names(s)]
        if len(statements) != 1 or (pairs := _pairs(statements[0])) is None:
            return False
        for variable, value in pairs:
            small, large = wanted.get(variable, (None, None))
            same = self.module.code(value)
            self.slots.append(_Slot(variable, same if small is None else str(small), same if large is None else str(large)))
        names = {variable for variable, _ in pairs}
        reads = [n for n in all_nodes(self.module.tree) if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
        inside = [n for n in reads if self.host in self.module.around(n)]
        self.uses += inside
        self.old.append(statements[0])
        return bool(bound) or len(inside) == len(reads)

    # ------------------------------------------------------------ the text

    def edits(self, sides: Sides) -> Edits | None:
        """All edits; None where the choice can't stand before what it chooses for."""
        added = self.module.add_arguments(self.launch.call, self.missing) if self.missing else []
        if added is None:
            return None
        edits = [*self.replaced, *added]
        mine = sorted((s for s in self.old if self.host in self.module.around(s)), key=lambda s: s.lineno)
        taken: ast.stmt | None = None
        if mine and self._serves(mine[0], sides.size, after=True):
            taken = mine[0]
            indent = self.module.indent(taken)
            if indent is None or lines(self.module, taken) is None:
                return None
            text = f"{self.module.newline}{indent}".join(self._code(sides, len(indent)))
            edits.append(self.module.replace(taken, text))
        else:
            place = self._before()
            if place is None or not self._serves(place, sides.size, after=False):
                return None
            inserted = self.module.before(place, self._code(sides, len(self.module.indent(place) or "")))
            if inserted is None:
                return None
            edits.append(inserted)
        for statement in self.old:
            if statement is not taken:
                gone = removed(self.module, statement)
                if gone is None:
                    return None
                edits.append(gone)
        return [(self.module.path, e) for e in edits]

    def _code(self, sides: Sides, indent: int) -> list[str]:
        names, small, large = (", ".join(x) for x in zip(*((s.variable, s.small, s.large) for s in self.slots), strict=True))
        condition = f"{sides.size} <= {sides.up_to}"
        line = f"{names} = {small} if {condition} else {large}"
        if len(self.slots) > 1:
            line = f"{names} = ({small}) if {condition} else ({large})"
        if indent + len(line) <= WIDTH:
            return [f"{line}{MEASURED}" if indent + len(line + MEASURED) <= WIDTH else line]
        unit = self.module.unit
        return [f"if {condition}:{MEASURED}", f"{unit}{names} = {small}", "else:", f"{unit}{names} = {large}"]

    def _before(self) -> ast.stmt | None:
        """The first statement, of the innermost block that has all uses, that has one."""
        at: ast.AST = self.launch.call
        while at is not self.host:
            at = self.module.parents[at]
            if isinstance(at, ast.stmt) and at is not self.host:
                block = siblings(self.module, at)
                holders = [_holder(self.module, block, use) for use in self.uses]
                if all(i is not None for i in holders):
                    return block[min(i for i in holders if i is not None)]
        return None

    def _serves(self, place: ast.stmt, size: str, *, after: bool) -> bool:
        """Whether the choice may stand at ``place``: all uses come then (``after`` it, where it is replaced), and the size is known."""
        block = siblings(self.module, place)
        index = block.index(place)
        for use in self.uses:
            holder = _holder(self.module, block, use)
            if holder is None or holder < index + after:
                return False
        return known(self.launch, size, place)


def known(launch: LaunchView, size: str, place: ast.stmt) -> bool:
    """Whether the size has its last value before ``place``, however the host function got there."""
    names = {n.id for n in all_nodes(expression_tree(size)) if isinstance(n, ast.Name)} - {"len"}
    around = {place, *launch.module.around(place)}
    for name in names:
        bindings = launch.bindings(name)
        if any((s.end_lineno or s.lineno, s.end_col_offset or 0) > (place.lineno, place.col_offset) for s in bindings):
            return False
        parameter = launch.host is not None and name in _parameters(launch.host)
        if not parameter and not any(around & set(siblings(launch.module, s)) for s in bindings):
            return False
    return True


def _holder(module: Module, block: Sequence[ast.stmt], node: ast.AST) -> int | None:
    """Which statement of a block is ``node`` or has it inside."""
    around = {node, *module.around(node)}
    return next((i for i, s in enumerate(block) if s in around), None)


def _pairs(statement: ast.stmt) -> list[tuple[str, ast.expr]] | None:
    """Variables and values of ``NAME = 64`` or ``A, B = 32, 64``: numbers only."""
    target, value = bound(statement) or (None, None)
    if isinstance(target, ast.Name) and value is not None:
        return [(target.id, value)]
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple) or len(target.elts) != len(value.elts):
        return None
    pairs = [(t.id, v) for t, v in zip(target.elts, value.elts, strict=True) if isinstance(t, ast.Name) and integer(v) is not None]
    return pairs if len(pairs) == len(target.elts) else None


def _parameters(function: FunctionNode) -> set[str]:
    given = function.args
    return {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _taken(function: FunctionNode) -> set[str]:
    """Names that the function uses."""
    return {n.id if isinstance(n, ast.Name) else n.arg for n in all_nodes(function) if isinstance(n, ast.Name | ast.arg)}
