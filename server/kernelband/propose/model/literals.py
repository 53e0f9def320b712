"""What is known of a number in a function: whether it comes from sizes, and whether numbers that are written down are part of it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from attrs import frozen

from kernelband.propose.model import allowed
from kernelband.propose.model.values import Values

SMALL = 3  # numbers of axes, flags and strides; more may be a size that was seen
MAX_SIZE = 1 << 63
MAX_VALUES = 16
MAX_SWEEPS = 64
_INDICES = ("triton.language.program_id", "triton.language.arange", "triton.language.load", "torch.", "triton.runtime.")
_CALCULATED = ("math.", "triton.cdiv", "triton.next_power_of_2", "triton.language.cdiv")
_RANGES = ("range", "triton.language.range", "triton.language.static_range")
_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.BitAnd: lambda a, b: int(a) & int(b),
    ast.BitOr: lambda a, b: int(a) | int(b),
    ast.BitXor: lambda a, b: int(a) ^ int(b),
    ast.LShift: lambda a, b: int(a) << int(b),
    ast.RShift: lambda a, b: int(a) >> int(b),
    ast.Pow: lambda a, b: a**b,
}
_SIGNS: dict[type[ast.unaryop], Callable[[float], float]] = {ast.USub: lambda a: -a, ast.UAdd: lambda a: a, ast.Invert: lambda a: ~int(a)}


@frozen
class Facts:
    """Of one expression."""

    size: bool = False  # it may depend on a size: an argument, a shape, what is computed of them
    other: bool = False  # it depends on something else that isn't written down: the device, an index, an element, a name of the file
    large: bool = False  # a number above ``SMALL`` that is written down is part of it
    values: frozenset[float] | None = None  # all that it can be, where that is written down

    @property
    def constant(self) -> bool:
        return not (self.size or self.other)

    @property
    def small(self) -> bool:
        """Whether it is one of 0 to ``SMALL``, as written down."""
        return self.constant and self.values is not None and all(abs(v) <= SMALL for v in self.values)


BOTTOM = Facts(values=frozenset())  # nothing is known yet
SIZE = Facts(size=True)
OTHER = Facts(other=True)


class Literals:
    """What is known of the numbers of one function."""

    def __init__(self, its: Values) -> None:
        self.its = its
        self._settled = False
        self._known = dict.fromkeys(its.bound, BOTTOM)
        self._seen: dict[int, tuple[ast.AST | None, Facts]] = {}  # by ids; with the node, so that no other gets its id
        self._settle()
        self._settled = True

    def _settle(self) -> None:
        """Work out the names all together, for they may stand for each other."""
        order = list(self.its.bound)
        for _ in range(MAX_SWEEPS):
            changed = False
            for name in order:
                new = self._either(self.its.bound[name])
                changed |= new != self._known[name]
                self._known[name] = new
            if not changed:
                return
            order.reverse()
        self._known = {name: Facts(size=True, other=True, large=True) for name in self.its.bound}  # too tangled: anything may be anything

    def of(self, node: ast.AST | None) -> Facts:
        """The facts of an expression."""
        if not self._settled:
            return self._of(node)
        if id(node) not in self._seen:
            self._seen[id(node)] = node, self._of(node)
        return self._seen[id(node)][1]

    def _of(self, node: ast.AST | None) -> Facts:
        if isinstance(node, ast.Constant):
            return _written(node.value)
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Compare):  # judged where it stands; what comes of it is a flag
            return Facts(size=any(self.of(n).size for n in (node.left, *node.comparators)), other=True)
        if isinstance(node, (ast.BinOp, ast.UnaryOp)):
            return self._computed(node)
        if isinstance(node, ast.IfExp):
            return self._either([node.body, node.orelse])
        if isinstance(node, ast.NamedExpr):
            return self.of(node.value)
        if isinstance(node, ast.Attribute):
            return OTHER if node.attr in allowed.NO_SIZES or self.its.full(node).startswith(("torch.", "triton.")) else self.of(node.value)
        if isinstance(node, ast.Subscript):
            return self._all([node.value] if self.of(node.slice).constant else [node.value, node.slice])
        if isinstance(node, ast.Call):
            return self._called(node)
        return self._all(ast.iter_child_nodes(node)) if node is not None else Facts()

    def held(self, node: ast.expr) -> Facts:
        """The facts of what a container holds, where a value is looked for in it; of another value its own."""
        node = self.its.resolved(node)
        return self._all(node.args) if isinstance(node, ast.Call) and self.its.full(node.func) in _RANGES else self.of(node)

    def written(self, node: ast.expr) -> frozenset[float]:
        """All large numbers that an expression is made of, through names."""
        found: set[float] = set()
        names: set[str] = set()
        left: list[ast.AST] = [node]
        while left:
            part = left.pop()
            values = self.of(part).values if isinstance(part, ast.expr) else None
            if values is not None:
                found |= {v for v in values if v > SMALL}
            elif isinstance(part, ast.Name):
                left += self.its.bound.get(part.id, ()) if part.id not in names else ()
                names.add(part.id)
            else:
                left += ast.iter_child_nodes(part)
        return frozenset(found)

    def _all(self, nodes: Iterable[ast.AST]) -> Facts:
        found = [self.of(n) for n in nodes]
        all_ = Facts(any(f.size for f in found), any(f.other for f in found), any(f.large for f in found))
        return BOTTOM if all_.constant and BOTTOM in found else all_

    def _either(self, nodes: Iterable[ast.AST]) -> Facts:
        """Of what is one of several."""
        found = [self.of(n) for n in nodes]
        values: set[float] | None = set()
        for one in found:
            values = None if values is None or one.values is None else values | one.values
        few = frozenset(values) if values is not None and len(values) <= MAX_VALUES else None
        grown = values is not None and few is None
        return Facts(any(f.size for f in found), any(f.other for f in found), grown or any(f.large for f in found), few)

    def _named(self, name: str) -> Facts:
        found = self._known.get(name, Facts())
        if name in self.its.globals:  # a constant of the file may be any number
            return OTHER if name in self.its.imports else Facts(other=True, large=True)
        inside = name not in self.its.bound
        return Facts(True, found.other, found.large) if inside or name in self.its.parameters else found

    def _computed(self, node: ast.BinOp | ast.UnaryOp) -> Facts:
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        found = [self.of(p) for p in parts]
        if any(not f.constant for f in found):
            return self._all(parts)
        values = _folded(node, [f.values for f in found])
        return Facts(large=values is None or any(SMALL < abs(v) <= MAX_SIZE for v in values), values=values)

    def _called(self, node: ast.Call) -> Facts:
        full = self.its.full(node.func)
        given = [*node.args, *(k.value for k in node.keywords)]
        if full in _RANGES:  # what a loop counts: from where it starts
            return self._all(given[:1]) if len(given) > 1 and self.of(given[0]).size else OTHER
        made = (full.rpartition(".")[2] or getattr(node.func, "attr", "")) in allowed.MAKERS
        if made and full.startswith("triton."):  # of a shape, which isn't what it holds
            return self._all(given[1:2]) if full.endswith(".full") else OTHER
        if made or full == "torch.Size":
            return self._all(given)
        if full.startswith(_INDICES) or (full == "len" and isinstance(given[0] if given else None, ast.Attribute)):
            return OTHER
        if isinstance(node.func, ast.Attribute) and not full:
            if node.func.attr in allowed.NO_SIZES:
                return OTHER
            return self._all([node.func.value, *(g for g in given if not self.of(g).constant)])
        found = self._all(given)
        if isinstance(node.func, ast.Name) and not full:
            found = self._all([node.func, *given])
        if found == BOTTOM:
            return BOTTOM
        if found.constant and (full in allowed.BUILTINS or full.startswith(_CALCULATED)):  # a number that is written in a roundabout way
            return Facts(large=not (full == "float" and _no_number(given)))
        return SIZE if found.constant else found


def _no_number(given: list[ast.expr]) -> bool:
    return all(isinstance(g, ast.Constant) and isinstance(g.value, str) and not any(c.isdigit() for c in g.value) for g in given)


def _written(value: object) -> Facts:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return Facts()
    whole = isinstance(value, int) or value.is_integer()
    return Facts(large=whole and SMALL < abs(value) <= MAX_SIZE, values=frozenset({float(value) if isinstance(value, float) else value}))


def _folded(node: ast.BinOp | ast.UnaryOp, parts: list[frozenset[float] | None]) -> frozenset[float] | None:
    """All that comes of all values; None where one isn't known or the result is beyond what a size can be."""
    known = [p for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    try:
        if isinstance(node, ast.UnaryOp):
            return frozenset(_SIGNS[type(node.op)](v) for v in known[0])
        out = frozenset(_bounded(node.op, a, b) for a in known[0] for b in known[1])
        return out if len(out) <= MAX_VALUES else None
    except (ArithmeticError, TypeError, ValueError, KeyError):
        return None


def _bounded(op: ast.operator, a: float, b: float) -> float:
    if isinstance(op, (ast.Pow, ast.LShift)) and (abs(b) > 64 or abs(a) > 1 << 32):
        raise ValueError("too large to be a size")
    return _OPERATIONS[type(op)](a, b)
