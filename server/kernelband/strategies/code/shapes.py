"""Shapes of a kernel's values, side by side as the code names them: ``("BLOCK_M", "BLOCK_N")``, ``()`` for a scalar.

Read from ``tl.arange``, indexing with None, broadcasting, element-wise functions and reductions. What isn't understood has no shape.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import bound_names, paired, target_names
from kernelband.strategies.code.kernel import block_shape

if TYPE_CHECKING:
    from kernelband.strategies.code.kernel import KernelView

Shape = tuple[str, ...]
ELEMENTWISE = frozenset(
    {"exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "abs", "sin", "cos", "erf", "floor", "ceil", "sigmoid", "fdiv", "div_rn"}
    | {"maximum", "minimum", "where", "fma", "clamp"}
)
ALIKE = frozenset({"cast", "multiple_of", "max_contiguous", "cumsum", "cumprod", "flip", "sort"})  # of their first argument's shape
OVER_AXIS = frozenset({"sum", "max", "min", "argmax", "argmin"})
MORE = frozenset({"keep_dims", "reverse", "dtype", "return_indices", "return_indices_tie_break_left", "tie_break_left"})
SCALARS = frozenset({"program_id", "num_programs", "cdiv"})


class Shapes(dict[str, Shape]):
    """Shapes by name, of names that have one throughout. A name that the kernel's top level binds anew may have another from there on, and
    so may one of each iteration's own: ``at`` knows which.
    """

    def __init__(self, cuts: dict[str, list[int]]) -> None:
        super().__init__()
        self._cuts, self._versions = cuts, dict[tuple[str, int], Shape | None]()

    def at(self, name: str, line: int) -> Shape | None:
        """The shape of what the name stands for at the beginning of that line."""
        return self._versions.get((name, self.version(name, line)))

    def version(self, name: str, line: int) -> int:
        """How often the name has been bound above that line."""
        return bisect_left(self._cuts.get(name, []), line)

    def bind(self, name: str, line: int, shape: Shape) -> bool:
        """Note what a statement that ends at that line makes of the name; whether that is new."""
        key = name, self.version(name, line + 1)
        if key not in self._versions:
            self._versions[key] = shape
            return True
        if self._versions[key] in (None, shape):
            return False
        self._versions[key] = None
        return True

    def settle(self) -> None:
        """Everything is bound."""
        found: dict[str, set[Shape | None]] = {}
        for (name, _), shape in self._versions.items():
            found.setdefault(name, set()).add(shape)
        self.update({name: shape for name, (shape, *more) in found.items() if not more and shape is not None})


def shapes(kernel: KernelView) -> Shapes:
    """Shapes of the kernel's names."""
    known = Shapes({**_cuts(kernel.node.body), **_cuts_of_iterations(kernel)})
    for parameter in kernel.parameters:
        known.bind(parameter, 0, ())
    statements = sorted(
        (n for n in all_nodes(kernel.node) if isinstance(n, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For)), key=lambda n: n.lineno
    )
    changed = True
    while changed:  # a loop's body may read what is bound further down
        changed = False
        for node in statements:
            end = node.lineno if isinstance(node, ast.For) else node.end_lineno or node.lineno
            for name, value in _made(kernel, node, known):
                changed |= value is not None and known.bind(name, end, value)
    known.settle()
    return known


def _cuts(body: Sequence[ast.stmt]) -> dict[str, list[int]]:
    """By name, the lines at whose end statements of a block bind it."""
    cuts: dict[str, list[int]] = {}
    for statement in body:
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for name in dict.fromkeys(bound_names(statement)):
                cuts.setdefault(name, []).append(statement.end_lineno or statement.lineno)
    return cuts


def _cuts_of_iterations(kernel: KernelView) -> dict[str, list[int]]:
    """Of names that live in one iteration: the loop's own block binds them and nothing else does, before anything reads them."""
    found: dict[str, list[int]] = {}
    for loop in (n for n in kernel.nodes if isinstance(n, ast.For | ast.While)):
        for name, lines in _cuts(loop.body).items():
            first = min(kernel.bindings(name), key=lambda n: n.lineno)
            reads = (n for n in kernel.nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
            own = {*kernel.bindings(name)} <= {*loop.body} and isinstance(first, ast.Assign)
            if own and name not in kernel.parameters and all(n.lineno > (first.end_lineno or first.lineno) for n in reads):
                found[name] = lines
    return found


def _made(kernel: KernelView, node: ast.stmt, known: Shapes) -> Iterator[tuple[str, Shape | None]]:
    """The names that a statement binds, with their shapes."""
    if isinstance(node, ast.For):
        yield from ((name, ()) for name in target_names(node.target))
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, broadcast(known.at(node.target.id, node.lineno), shape_of(kernel, node.value, known))
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target, value in (pair for t in targets for pair in paired(t, node.value)):
            told = isinstance(value, ast.Call) and any(k.arg == "return_indices" for k in value.keywords)  # two of one shape
            shape = shape_of(kernel, value, known) if isinstance(target, ast.Name) or told else None
            yield from ((name, shape) for name in target_names(target))


def broadcast(left: Shape | None, right: Shape | None) -> Shape | None:
    """The shape of an element-wise operation; None where the sides don't fit or aren't known."""
    if left is None or right is None:
        return None
    if not left or not right:
        return left or right
    sides = max(len(left), len(right))
    left, right = (("1",) * (sides - len(shape)) + shape for shape in (left, right))  # as the language does it
    out: list[str] = []
    for a, b in zip(left, right, strict=True):
        if a != b and "1" not in (a, b):
            return None
        out.append(b if a == "1" else a)
    return tuple(out)


def shape_of(kernel: KernelView, node: ast.expr, known: Mapping[str, Shape]) -> Shape | None:
    """The shape of an expression, given those of the names."""
    if isinstance(node, ast.Constant):
        return ()
    if isinstance(node, ast.Name):
        found = known.at(node.id, getattr(node, "lineno", 0)) if isinstance(known, Shapes) else known.get(node.id)
        return () if found is None and node.id in kernel.parameters and not kernel.bindings(node.id) else found
    if isinstance(node, ast.BinOp):
        return broadcast(shape_of(kernel, node.left, known), shape_of(kernel, node.right, known))
    if isinstance(node, ast.BoolOp):
        return reduce(broadcast, (shape_of(kernel, v, known) for v in node.values))
    if isinstance(node, ast.UnaryOp):
        return shape_of(kernel, node.operand, known)
    if isinstance(node, ast.IfExp):
        first, second = shape_of(kernel, node.body, known), shape_of(kernel, node.orelse, known)
        return first if first == second else None
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return broadcast(shape_of(kernel, node.left, known), shape_of(kernel, node.comparators[0], known))
    if isinstance(node, ast.Subscript):
        return _indexed(kernel, node, known)
    return _called(kernel, node, known) if isinstance(node, ast.Call) else None


def _indexed(kernel: KernelView, node: ast.Subscript, known: Mapping[str, Shape]) -> Shape | None:
    """``x[:, None]``."""
    inside = shape_of(kernel, node.value, known)
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if inside is None or sum(isinstance(i, ast.Slice) for i in items) != len(inside):
        return None
    sides = iter(inside)
    out: list[str] = []
    for item in items:
        if isinstance(item, ast.Slice) and item.lower is item.upper is item.step is None:
            out.append(next(sides))
        elif isinstance(item, ast.Constant) and item.value is None:
            out.append("1")
        else:
            return None
    return tuple(out)


def _called(kernel: KernelView, node: ast.Call, known: Mapping[str, Shape]) -> Shape | None:
    name = kernel.tl(node)
    if name is None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "cast"):
            return shape_of(kernel, node.func.value, known)
        plain = kernel.is_id(node) or (isinstance(node.func, ast.Name) and node.func.id in ("float", "int"))
        return () if plain else None
    if name == "arange" and len(node.args) == 2:
        return (ast.unparse(node.args[1]),)
    if name in SCALARS:
        return ()
    if name in ("zeros", "full") and node.args and isinstance(node.args[0], ast.Tuple | ast.List):
        return tuple(ast.unparse(e) for e in node.args[0].elts)
    if name in ("load", "advance") and node.args:
        return shape_of(kernel, node.args[0], known)
    if name == "make_block_ptr":
        block = block_shape(node)
        return tuple(ast.unparse(e) for e in block.elts) if isinstance(block, ast.Tuple | ast.List) else None
    if name == "dot" and len(node.args) >= 2:
        left, right = shape_of(kernel, node.args[0], known), shape_of(kernel, node.args[1], known)
        return (left[0], right[1]) if left is not None and right is not None and len(left) == len(right) == 2 else None
    if name in OVER_AXIS and node.args:
        return _reduced(shape_of(kernel, node.args[0], known), node)
    if name in ALIKE and node.args:
        return shape_of(kernel, node.args[0], known)
    if name in ELEMENTWISE and node.args:
        return reduce(broadcast, (shape_of(kernel, a, known) for a in node.args), ())
    return None


def axis_of(call: ast.Call, *, kept: bool = False) -> int | str | None:
    """The axis of a reduction; None for all, "?" where it isn't written as a number or more is asked for. ``kept``: the axis may stay,
    and what is told of it, or in which order, is anybody's choice.
    """
    if any(k.arg not in ("axis", "input", *(MORE if kept else [])) for k in call.keywords) or len(call.args) > 2:
        return "?"
    node = call.args[1] if len(call.args) == 2 else next((k.value for k in call.keywords if k.arg == "axis"), None)
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    sign, node = (-1, node.operand) if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else (1, node)
    return sign * node.value if isinstance(node, ast.Constant) and type(node.value) is int else "?"


def _reduced(inside: Shape | None, call: ast.Call) -> Shape | None:
    axis, kept = axis_of(call, kept=True), next((k.value for k in call.keywords if k.arg == "keep_dims"), ast.Constant(False))
    if inside is None or isinstance(axis, str) or not isinstance(kept, ast.Constant):
        return None
    if axis is None:
        return ("1",) * len(inside) if kept.value else ()
    axis += len(inside) if axis < 0 else 0
    return (*inside[:axis], *(["1"] if kept.value else []), *inside[axis + 1 :]) if 0 <= axis < len(inside) else None
