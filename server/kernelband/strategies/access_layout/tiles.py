"""A load of a two-dimensional tile inside a loop, taken apart: base, strides, bounds and where the tile is in each iteration."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from attrs import evolve, frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import Access, KernelView, Loop
from kernelband.strategies.code.linear import Index, Term, atom, difference, dimension, flatten, index, joined, vector


@frozen(eq=False)
class Side:
    """One dimension of a tile: ``bound`` elements ``stride`` apart, of which the tile has ``block`` from ``origin`` on."""

    stride: str | None  # None: neighbours
    block: str
    origin: tuple[Term, ...]
    wrap: ast.expr | None
    bound: str = ""
    bound_terms: tuple[Term, ...] = ()


@frozen(eq=False)
class Tile:
    """``load`` reads ``sides[0].block`` by ``sides[1].block`` elements of ``base`` (a pointer argument) plus ``offset``."""

    access: Access
    loop: Loop
    base: str
    offset: tuple[Term, ...]
    sides: tuple[Side, Side]


def read_tile(kernel: KernelView, access: Access, loop: Loop) -> Tile | None:
    """The tile that a load of the loop reads; None when it isn't one of consecutive rows and columns, zero outside its bounds."""
    if access.store or loop.kind == "static_range" or (access.other is not None and ast.unparse(access.other) not in ("0", "0.0")):
        return None
    terms = _pointer(kernel, access, loop)
    bases = [t for t in terms or [] if len(t.factors) == 1 and _pointer_argument(kernel, t.factors[0])]
    if terms is None or len(bases) != 1 or bases[0].sign != 1:
        return None
    vectors = [t for t in terms if any(vector(kernel, f) for f in t.factors)]
    sides: dict[int, Side] = {}
    for term in vectors:
        found = _side(kernel, term)
        if found is None or found[0] in sides:
            return None
        sides[found[0]] = found[1]
    if set(sides) != {0, 1} or len({s.stride for s in sides.values()}) != 2:
        return None
    offset: list[Term] = []
    for term in terms:
        if term in vectors or term in bases:
            continue
        place = next((d for d, s in sides.items() if s.stride is not None and term.without(s.stride) is not None), None)
        unit = next((d for d, s in sides.items() if s.stride is None), None)
        if place is not None and (moved := term.without(sides[place].stride or "")) is not None:
            sides[place] = evolve(sides[place], origin=(*sides[place].origin, moved))
        elif unit is not None and not any(_is_stride(f) for f in term.factors):
            sides[unit] = evolve(sides[unit], origin=(*sides[unit].origin, term))
        else:
            offset.append(term)
    bounded = _bounded(kernel, access, loop, sides)
    if bounded is None or any(loop.variable in t.names() for t in offset):
        return None
    return Tile(access, loop, ast.unparse(bases[0].factors[0]), tuple(offset), bounded)


def _is_stride(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and "stride" in node.id.lower()


def _pointer_argument(kernel: KernelView, node: ast.expr) -> bool:
    """As it was passed: of one that the kernel moves on, the host can't tell whether it is aligned."""
    passed = isinstance(node, ast.Name) and node.id in kernel.parameters and node.id not in kernel.constexprs
    return passed and isinstance(node, ast.Name) and not kernel.bindings(node.id)


def _pointer(kernel: KernelView, access: Access, loop: Loop) -> list[Term] | None:
    """Terms of the address in the iteration at hand. A pointer that the loop moves on is its start and the way that it has come."""
    node = access.pointer
    if not isinstance(node, ast.Name):
        return _expanded(kernel, node, access.call)
    bindings = kernel.bindings(node.id)
    if len(bindings) == 1:
        return _expanded(kernel, node, access.call)
    first, step = (bindings[0], bindings[1]) if len(bindings) == 2 else (None, None)
    if not isinstance(first, ast.Assign) or step is None or step not in loop.node.body or step.lineno < access.call.lineno:
        return None
    outside = [n for n in kernel.module.around(loop.node) if isinstance(n, ast.For | ast.While)]
    if loop.node in kernel.module.around(first) or any(n not in kernel.module.around(first) for n in outside):
        return None
    if isinstance(step, ast.AugAssign) and isinstance(step.op, ast.Add):
        moves = flatten(kernel, step.value, step, frozenset())
    elif isinstance(step, ast.Assign):
        moves = flatten(kernel, step.value, step, frozenset())
        itself = [t for t in moves if t.key == (node.id,) and t.sign == 1]
        if len(itself) != 1:
            return None
        moves = [t for t in moves if t is not itself[0]]
    else:
        return None
    start = _expanded(kernel, first.value, first)
    way = [_repeated(kernel, t, loop) for t in moves]
    return None if start is None or any(t is None for t in way) else [*start, *(t for t in way if t is not None)]


def _expanded(kernel: KernelView, node: ast.expr, read: ast.AST) -> list[Term] | None:
    """Names that hold a pointer, a vector or a sum of strides are followed; plain numbers of the kernel stay as they are called."""
    names = {n.id for n in all_nodes(kernel.node) if isinstance(n, ast.Name)}
    follow = frozenset(n for n in names if n not in kernel.parameters and _addresses(kernel, n))
    terms = flatten(kernel, node, read, follow)
    return None if any(t.sign < 0 for t in terms) else terms


def _addresses(kernel: KernelView, name: str) -> bool:
    reads = kernel.depends.get(name, frozenset())
    return any(t.startswith("#") or "stride" in t.lower() or (t in kernel.parameters and t.lower().endswith("ptr")) for t in reads)


def _repeated(kernel: KernelView, move: Term, loop: Loop) -> Term | None:
    """What a step has added up to when the loop's variable has its value: ``range(0, n)`` k steps, ``range(0, n, BLOCK)`` k / BLOCK."""
    if vector(kernel, loop.stop) or (loop.start is not None and ast.unparse(loop.start) != "0") or move.sign < 0:
        return None
    variable = ast.Name(loop.variable)
    if loop.step is None or ast.unparse(loop.step) == "1":
        return Term(1, (variable, *move.factors), loop.node.body[0])
    left = move.without(ast.unparse(loop.step))
    if left is None:
        return None
    rest = tuple(f for f in left.factors if not isinstance(f, ast.Constant))
    return Term(1, (variable, *rest), loop.node.body[0])


def _side(kernel: KernelView, term: Term) -> tuple[int, Side] | None:
    """The dimension that a term of the address runs along."""
    placed = [(d, f) for f in term.factors if (d := dimension(f)) is not None and vector(kernel, f)]
    if len(placed) != 1 or sum(vector(kernel, f) for f in term.factors) != 1 or len(term.factors) > 2 or term.sign < 0:
        return None
    (where, inside), factor = placed[0]
    factors = [f for f in term.factors if f is not factor]
    if factors and not (isinstance(factors[0], ast.Name) and factors[0].id in kernel.parameters):
        return None
    found = index(kernel, inside, term.read)
    if found is None or (found.block not in kernel.constexprs and not found.block.isdigit()):
        return None
    return where, Side(ast.unparse(factors[0]) if factors else None, found.block, found.origin, found.wrap)


def _bounded(kernel: KernelView, access: Access, loop: Loop, sides: dict[int, Side]) -> tuple[Side, Side] | None:
    """The sides with where each ends: the mask's bound, what the index wraps round at, or exactly what an unmasked access reaches."""
    bounds: dict[int, Term] = {}
    for compare in _conjuncts(kernel, access.mask):
        found = _bound(kernel, compare, sides)
        if found is None or found[0] in bounds:
            return None
        bounds[found[0]] = found[1]
    out: list[Side] = []
    for where in (0, 1):
        side = sides[where]
        moves = any(loop.variable in t.names() for t in side.origin)
        if side.wrap is not None and (moves or where in bounds or not isinstance(side.wrap, ast.Name)):
            return None
        if side.wrap is not None:
            out.append(evolve(side, bound=ast.unparse(side.wrap), bound_terms=(Term(1, (side.wrap,), access.call),)))
        elif where in bounds:
            out.append(evolve(side, bound=bounds[where].code, bound_terms=(bounds[where],)))
        elif not moves:
            end = (*side.origin, Term(1, (ast.Name(side.block),), access.call))
            out.append(evolve(side, bound=joined(end), bound_terms=end))
        else:
            stop = _reached(loop, side)
            if stop is None:
                return None
            out.append(evolve(side, bound=stop, bound_terms=(Term(1, (loop.stop,), loop.node),)))
    return out[0], out[1]


def _reached(loop: Loop, side: Side) -> str | None:
    """Where an unmasked walk over whole blocks ends."""
    if len(side.origin) != 1 or (any(isinstance(n, ast.Call) for n in all_nodes(loop.stop)) and loop.step is not None):
        return None
    keys = side.origin[0].key
    if loop.step is None and keys == tuple(sorted((loop.variable, side.block))):
        return f"{atom(loop.stop)} * {side.block}"
    if loop.step is not None and keys == (loop.variable,) and ast.unparse(loop.step) == side.block:
        return f"({ast.unparse(loop.stop)} + {side.block} - 1) // {side.block} * {side.block}"
    return None


def _conjuncts(kernel: KernelView, mask: ast.expr | None) -> Iterable[ast.expr]:
    if mask is None:
        return
    if isinstance(mask, ast.BinOp) and isinstance(mask.op, ast.BitAnd):
        yield from _conjuncts(kernel, mask.left)
        yield from _conjuncts(kernel, mask.right)
    elif isinstance(mask, ast.Name) and len(found := kernel.bindings(mask.id)) == 1 and isinstance(found[0], ast.Assign):
        yield from _conjuncts(kernel, found[0].value)
    else:
        yield mask


def _bound(kernel: KernelView, node: ast.expr, sides: dict[int, Side]) -> tuple[int, Term] | None:
    """(dimension, n) when ``node`` says that the index of the dimension is below n."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt):
        return None
    left: list[Term] = []
    where: int | None = None
    inside: Index | None = None
    for term in flatten(kernel, node.left, node, frozenset()):
        placed = dimension(term.factors[0]) if len(term.factors) == 1 else None
        if placed is not None and vector(kernel, term.factors[0]):
            if inside is not None or term.sign < 0:
                return None
            where, inside = placed[0], index(kernel, placed[1], node)
            if inside is None:
                return None
        elif not any(vector(kernel, f) for f in term.factors):
            left.append(term)
        else:
            return None
    if where is None or inside is None or where not in sides or inside.wrap is not None or inside.block != sides[where].block:
        return None
    right = flatten(kernel, node.comparators[0], node, frozenset())
    bound = difference([*right, *sides[where].origin], [*left, *inside.origin])
    return (where, bound[0]) if len(bound) == 1 and bound[0].sign == 1 and not any(vector(kernel, f) for f in bound[0].factors) else None
