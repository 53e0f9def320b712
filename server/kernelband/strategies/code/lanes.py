"""Whether something else than an element's own place is made of where it lies in its block: another size of the block puts it elsewhere.

Of a block that is dealt out to programs, ``pid * BLOCK + arange(0, BLOCK)`` is an element's place, whatever the size. The lane alone, where
the block begins, how large it is or how many there are say more. What an expression is made of is read twice in numbers, with the size of
the cases and with another one: it is a place where both say that programs are as far apart as the block has lanes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from functools import cached_property

from attrs import field, frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.affine import Numbers, Sum, known_in
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.block_pointers import beginnings
from kernelband.strategies.code.blocks import reads
from kernelband.strategies.code.kernel import REDUCTIONS, KernelView
from kernelband.strategies.code.numbering import SAYING_NOTHING
from kernelband.strategies.code.shapes import shape_of, shapes
from kernelband.strategies.code.view import View
from kernelband.strategies.code.walking import by_blocks, read_behind

#: Calls that say nothing of elements; of the others in the second set, only the first argument does.
SHAPES = frozenset({"arange", "zeros", "cdiv", "make_block_ptr"}) | SAYING_NOTHING
SHAPED = frozenset({"reshape", "view", "broadcast_to", "expand_dims", "permute", "trans", "cast", "multiple_of", "max_contiguous"})
LOOPS = frozenset({"range", "static_range"})
_END = "? end "


def laned(view: View, block: str, axes: Set[str], *, walked: bool = False, but: Set[ast.AST] = frozenset()) -> int | None:
    """The line where lanes, beginnings, the size or the number of blocks are read as anything but places of elements. What can't be read in
    numbers isn't looked at. ``axes``: of the grid (``@0``), along which the block is dealt out. ``walked``: loops step by it. ``but``:
    statements that are known to make places.
    """
    kernel, pointers = view.kernel, frozenset(t for x in view.target_launches for t in x["tensors"])
    launches = [
        tuple(_Numbers(kernel, {**known, block: times * known[block]}, block=block) for times in (1, 2))
        for known in known_in(view)
        if block in known
    ]
    told = (_Twice(kernel, here, there, block, axes, pointers, walked, but).told() for here, there in launches)
    return next((line for line in told if line is not None), None)


@frozen(eq=False)
class _Numbers(Numbers):
    """How programs are numbered isn't asked here: a number of blocks is one, whatever the size. Nor where helpers say that blocks end."""

    block: str = field(kw_only=True)
    _sums: dict[tuple[ast.AST, ast.AST, str], Sum | None] = field(factory=dict[tuple[ast.AST, ast.AST, str], "Sum | None"])

    def read(self, node: ast.AST, at: ast.AST, side: str = "") -> Sum | None:
        """As it is read in the launch; once."""
        if (node, at, side) not in self._sums:
            found = super().read(node, at, side)
            self._sums[node, at, side] = self._beside(node, at, side) if found is None else found
        return self._sums[node, at, side]

    def _beside(self, node: ast.AST, at: ast.AST, side: str) -> Sum | None:
        """Places beside what can't be read and tells nothing of blocks, a row that was looked up: that is a number of its own."""
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub) or self.kernel.calls({"num_programs"}):
            return None
        parts: list[tuple[int, Sum]] = []
        for sign, term in _terms(node, 1):
            found = super().read(term, at, side)
            if found is None and self._tells_blocks(term):
                return None
            parts.append((sign, {f"? {ast.unparse(term)} {getattr(at, 'lineno', 0)}": 1} if found is None else found))
        return _added(parts)

    def _tells_blocks(self, node: ast.expr) -> bool:
        return any(x.startswith("~") or x in (self.block, f"#{self.block}") for x in self.kernel.tokens(node))

    def _called(self, node: ast.Call, at: ast.AST, side: str) -> Sum | None:
        if self.kernel.tl(node) == "cdiv":
            return {f"?{node.lineno}:{node.col_offset}": 1}
        found = super()._called(node, at, side)
        ends = found is not None and self.kernel.tl(node) is None and all(k.startswith("?") for k in found)
        return {f"{_END}{k}": v for k, v in found.items()} if ends and found is not None and reads(node, self.kernel.aranges()) else found


@frozen(eq=False)
class _Twice:
    """A launch as it is, and with a block of twice the size."""

    kernel: KernelView
    here: Numbers
    there: Numbers
    block: str
    axes: Set[str]
    pointers: frozenset[str]  # parameters that get tensors
    walked: bool
    but: Set[ast.AST]
    _places: set[frozenset[str]] = field(factory=set[frozenset[str]])  # what numbers of blocks are called in sums

    def told(self) -> int | None:
        single = self.kernel.calls({"load", "full"})  # of one element, they are numbers themselves
        found = next((n for n in self.kernel.nodes if isinstance(n, ast.stmt) and n not in self.but and self._statement(n)), None)
        found = found or next((call for call in single for a in self._looked_at(call) if self._told(a, call)), None)
        pointed = beginnings(self.kernel, self.block)
        found = found or next((call for call, place in pointed if place is None or self._told(place, call)), None)
        # ``off // 64``: read in numbers it is one of its own, whatever is divided. What the block divides is told elsewhere.
        quotients = [n for n in self.kernel.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv | ast.Mod)]
        found = found or next((n for n in quotients if self.block not in self.kernel.tokens(n.right) and self._told(n.left, n)), None)
        found = found or next(read_behind(self.kernel, self.block, self._pointing), None) or next(self._counts(), None)
        return found.lineno if found is not None else self.kernel.node.lineno if len(self._places) > 1 else None

    def _counts(self) -> Iterator[ast.expr]:
        """What counts the block's lanes: its shape, a total of a block that is filled with numbers."""
        kernel, known, lanes = self.kernel, shapes(self.kernel), f"#{self.block}"
        yield from (
            n for n in kernel.nodes if isinstance(n, ast.Attribute) and n.attr in ("shape", "numel") and lanes in kernel.tokens(n.value)
        )
        for call in (c for c in kernel.calls(REDUCTIONS) if c.args and lanes not in kernel.tokens(c.args[0])):
            if self.block in (shape_of(kernel, call.args[0], known) or ()):
                yield call

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
                return any(self._told(v, node) for v in parts if self._read(v, node) is None or self._branches(node, v))
            case ast.AugAssign(target=ast.Name(id=name), value=value):
                moves_on = name in self._pointing or not self.kernel.depends.get(name, frozenset()) & self.pointers
                return self._strays(name, value, node) or (not moves_on and self._told(value, node))
            case ast.Expr(value=value) | ast.If(test=value):
                return self._told(value, node)
            case _:
                return False

    def _strays(self, name: str, value: ast.expr, at: ast.stmt) -> bool:
        """A pointer over the block goes on by blocks where no loop does, or by something else where one does."""
        if name not in self._pointing or f"#{self.block}" not in self.kernel.depends.get(name, frozenset()):
            return False
        around = next((n for n in self.kernel.module.around(at) if isinstance(n, ast.For | ast.While)), None)
        walks = any(x.node is around and by_blocks(self.kernel, x, self.block) for x in self.kernel.loops())
        return around is not None and walks != (self.block in self.kernel.tokens(value))

    def _branches(self, node: ast.Assign | ast.AnnAssign, value: ast.expr) -> bool:
        """Whether a vector of places gets a name that others get, too: where it is used nobody knows which. All else is looked at there."""
        read = None if self.walked else self._read(value, node)
        several = any(len(self.kernel.bindings(name)) > 1 for name in bound_names(node))
        return several and read is not None and any(v and k.startswith("#") and self._follows(k) for k, v in read[0].items())

    @cached_property
    def _pointing(self) -> frozenset[str]:
        """Names that pointers and block pointers are made of, which loops move on."""
        pointers = [a.pointer for a in self.kernel.accesses()] + [c.args[0] for c in self.kernel.calls({"advance"}) if c.args]
        return frozenset(n.id for p in pointers for n in all_nodes(p) if isinstance(n, ast.Name))

    # ------------------------------------------------------------ expressions

    def _read(self, node: ast.expr, at: ast.AST) -> tuple[Sum, Sum] | None:
        one, other = self.here.read(node, at), self.there.read(node, at)
        return None if one is None or other is None else (one, other)

    def _told(self, node: ast.expr, at: ast.AST) -> bool:
        """Whether an expression that something is made of tells more than the place."""
        if (found := self._read(node, at)) is not None:
            return not self._is_place(*found)
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                terms = [(sign, term, self._read(term, at) or self._product(term, at)) for sign, term in _terms(node, 1)]
                sums = [(sign, found) for sign, _, found in terms if found is not None]
                whole = tuple(_added([(sign, found[i]) for sign, found in sums]) for i in (0, 1))
                return not self._is_place(*whole) or any(self._told(term, at) for _, term, found in terms if found is None)
            case ast.Compare(left=left, comparators=[right], ops=[_]):
                both = [self._read(n, at) for n in (left, right)]
                if both[0] is None or both[1] is None:
                    return self._told(left, at) or self._told(right, at)
                apart = tuple(_added([(1, both[0][i]), (-1, both[1][i])]) for i in (0, 1))
                return not self._is_place(apart[0], apart[1])
            case ast.Call():
                return any(self._told(a, at) for a in self._looked_at(node))
            case ast.Subscript(value=value) | ast.Attribute(value=value) | ast.Starred(value=value):
                return self._told(value, at)
            case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.IfExp() | ast.Compare():
                return any(self._told(n, at) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))
            case _:
                return False

    def _product(self, node: ast.expr, at: ast.AST) -> tuple[Sum, Sum] | None:
        """So many of something that can't be read in numbers: ``group * BLOCK``."""
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            return None
        for factor, other in ((node.left, node.right), (node.right, node.left)):
            found, name = self._read(factor, at), ast.unparse(other)
            if isinstance(other, ast.Name) and found is not None and not (found[0].keys() | found[1].keys()) - {""}:
                return {f"? {name}": found[0].get("", 0)}, {f"? {name}": found[1].get("", 0)}
        return None

    def _looked_at(self, node: ast.Call) -> Iterator[ast.expr]:
        called = self.kernel.tl(node) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        if called in SHAPES or (isinstance(node.func, ast.Name) and node.func.id in LOOPS):
            return
        method = self.kernel.tl(node) is None and isinstance(node.func, ast.Attribute)
        if method and isinstance(node.func, ast.Attribute):
            yield node.func.value
        arguments = [*node.args, *(k.value for k in node.keywords if k.arg not in ("axis", "dtype"))]
        if called in SHAPED:
            arguments = [] if method else arguments[:1]
        yield from (a for a in arguments if not isinstance(a, ast.Tuple | ast.List))

    # ------------------------------------------------------------ sums

    def _is_place(self, one: Sum, other: Sum) -> bool:
        """Of lanes that count through with programs or iterations nothing is left, and the rest is the same for any size."""
        one, other = ({k: v for k, v in found.items() if v} for found in (one, other))
        for lane in [k for k in one if k.startswith("#") and self._follows(k)]:
            steps = [found.pop(lane, 0) * (x.ends[lane] + 1) for x, found in ((self.here, one), (self.there, other))]
            fits = [_counting(turns, found, by) for turns, found, by in zip(self._turns, (one, other), steps, strict=True)]
            if not all(fits):
                return False
            counted = next((k for k in fits[0] if k in fits[1]), fits[0][0])  # quotients may have other names with another size
            place = {counted}
            del one[counted], other[counted if counted in fits[1] else fits[1][0]]
            for key in one.keys() & other.keys() - {""}:  # a number that is made of several, ``(group * 8 + i) * BLOCK``
                times = one[key] // (steps[0] or 1)
                if times > 0 and (one[key], other[key]) == (times * steps[0], times * steps[1]):
                    del one[key], other[key]
                    place.add(key)
            if not counted.startswith((_END, "@", "~", "#")):
                self._places.add(frozenset(place))  # of a number that can't be read there is one: another one is another block's
        same = all(one.get(k, 0) == other.get(k, 0) for k in {"", *(one.keys() & other.keys())})
        here, there = self._turns
        begins = any(here[k] != there[k] or k in self._by_blocks for k in one.keys() & here.keys())
        return same and not begins and not self._counting & (one.keys() | other.keys())

    @cached_property
    def _turns(self) -> tuple[dict[str, int], dict[str, int]]:
        """Loops' steps, by what their variables are called in sums."""
        steps = [(f"~{x.node.lineno}:{x.node.col_offset}", self.here.step(x), self.there.step(x)) for x in self.kernel.loops()]
        return {k: one for k, one, _ in steps}, {k: other for k, _, other in steps}

    @cached_property
    def _by_blocks(self) -> set[str]:
        """Loops that have a turn for each block: which turn it is tells the block, ``tl.load(scale_ptr + i)``. Not those over tiles that
        programs share out: what those make of a tile's number is looked at where it is used.
        """
        kernel = self.kernel
        shared = [x for x in kernel.loops() if x.start is not None and any(t.startswith("@") for t in kernel.tokens(x.start))]
        found = [x.node for x in kernel.loops() if x not in shared and by_blocks(kernel, x, self.block)]
        return {f"~{x.lineno}:{x.col_offset}" for x in found}

    @cached_property
    def _counting(self) -> set[str]:
        """What ``tl.num_programs`` along the block's axes is called in sums."""
        return {k for c in self.kernel.calls({"num_programs"}) if self._along(c) for k in self.here.read(c, c) or {}}

    def _along(self, call: ast.Call) -> bool:
        given = [*call.args, *(k.value for k in call.keywords)]
        return not given or f"@{ast.unparse(given[0])}" in self.axes

    def _follows(self, lane: str) -> bool:
        """Whether there are as many as the block's size says."""
        return self.here.ends.get(lane) != self.there.ends.get(lane)


def _counting(turns: Mapping[str, int], found: Sum, by: int) -> list[str]:
    """What may count in steps of ``by``, the block's lanes. ``turns``: the loops' steps."""
    keys = [k for k, v in found.items() if k and k[0] != "*" and v * max(turns.get(k, 1), 1) == by]
    return keys + [k for k, v in found.items() if k.startswith(_END) and by % v == 0]


def _terms(node: ast.expr, sign: int) -> Iterator[tuple[int, ast.expr]]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        yield from _terms(node.left, sign)
        yield from _terms(node.right, -sign if isinstance(node.op, ast.Sub) else sign)
    else:
        yield sign, node


def _added(parts: list[tuple[int, Sum]]) -> Sum:
    found: Sum = {}
    for sign, part in parts:
        found = {k: found.get(k, 0) + sign * part.get(k, 0) for k in {**found, **part}}
    return found
