"""What lanes that a mask leaves out are worth to a reduction: nothing, or what the result then tells of how many of them there are.

A lane is followed from its load's ``other`` through what is computed of it. A sum takes in zeros for nothing, a maximum minus infinity
(or a zero where no element is below it), and so on. What can't be followed may be anything.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator

from attrs import define, field

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import binding, paired, target_names
from kernelband.strategies.code.kernel import KernelView
from kernelband.strategies.code.reaching import reaching
from kernelband.strategies.code.worth import FUNCTIONS, UNDEFINED, Worth, applied, combined, largest, number, worse

#: What changes no total, by the reduction.
NEUTRAL: dict[str, float] = {
    **dict.fromkeys(("sum", "xor_sum", "dot", "dot_scaled", "cumsum", "reduce_or"), 0.0),
    **dict.fromkeys(("max", "argmax", "cummax", "softmax"), -math.inf),
    **dict.fromkeys(("min", "argmin", "cummin"), math.inf),
}
#: Where products take what they multiply.
FACTORS = {"dot": (0, 1), "dot_scaled": (0, 3)}
#: What leaves an element as it is.
SAME = frozenset({"to", "cast", "broadcast_to", "reshape", "view", "trans", "expand_dims", "constexpr"})
#: Nothing that they give is below zero.
POSITIVE = frozenset({"exp", "exp2", "abs", "sqrt", "rsqrt", "sigmoid"})
UNKNOWN = ast.Constant(value=None)
LOOKS = 2000  # at names' bindings
DEEP = 40  # names behind names, and what they are made of


@define(eq=False)
class Outside:
    """Lanes of a block that lie behind an end. ``reduces``: which reduction over the block the code is."""

    kernel: KernelView
    block: str
    reduces: Callable[[ast.AST], str | None]
    _worth: dict[tuple[object, ...], Worth] = field(factory=dict[tuple[object, ...], Worth], init=False)
    _open: dict[tuple[object, ...], Worth] = field(factory=dict[tuple[object, ...], Worth], init=False)  # names that are asked for now
    _circles: set[tuple[object, ...]] = field(factory=set[tuple[object, ...]], init=False)  # of these, those that were read on the way
    _left: int = field(default=LOOKS, init=False)

    def neutral(self, reduction: str, call: ast.Call, operand: ast.expr) -> bool:
        """Whether the reduction over the block is the same, however many of its lanes lie outside."""
        if not self.masked(call):
            return True  # all lanes that it takes in are read
        if reduction in FACTORS:
            factors = [call.args[place] for place in FACTORS[reduction] if place < len(call.args)]
            return any(self.of(factor) == 0 for factor in factors)
        if reduction == "min" and self._place(operand):
            return True
        found = self.of(operand)
        if reduction not in NEUTRAL:
            return found != UNDEFINED
        return found == NEUTRAL[reduction] or (found == 0 and reduction in ("max", "argmax") and self.positive(operand))

    def _place(self, operand: ast.expr) -> bool:
        """``tl.where(x == largest, lanes, n)``: lanes behind the end are not before ``n``, and where they aren't asked for, it is ``n``."""
        for value in [*self._bindings(operand)] if isinstance(operand, ast.Name) else [operand]:
            where = isinstance(value, ast.Call) and self.kernel.tl(value) == "where" and len(value.args) == 3
            if not where or not isinstance(value, ast.Call) or self.masked(value.args[1]):
                return False
            if not (isinstance(value.args[2], ast.Name) and value.args[2].id in self.kernel.extents(self.block)):
                return False
        return True

    def masked(self, node: ast.AST) -> bool:
        """Whether lanes of the block that a load's mask leaves out are in what the code gives."""
        masks = (_given(call, 1, "mask") for call in self._loads(node, set()))
        return any(mask is not None and f"#{self.block}" in self.kernel.tokens(mask) for mask in masks)

    def _loads(self, node: ast.AST, seen: set[int]) -> Iterator[ast.Call]:
        """Loads in the code, and in what its names may stand for."""
        for part in all_nodes(node):
            if isinstance(part, ast.Call) and self.kernel.tl(part) == "load":
                yield part
            if isinstance(part, ast.Name):
                for statement in reaching(self.kernel, part.id, part) if self.kernel.bindings(part.id) else []:
                    if id(statement) not in seen and not isinstance(statement, ast.For):
                        seen.add(id(statement))
                        yield from self._loads(statement, seen)

    # ------------------------------------------------------------ what a lane is worth

    def of(self, node: ast.expr, depth: int = DEEP) -> Worth:
        """What the code gives for a lane outside."""
        if depth == 0:
            return None
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return number(float(value))
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value="inf" | "+inf" | "-inf" as text)]):
                return float(text)
            case ast.Name():
                return self._of_name(node, depth - 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                found = self.of(operand, depth - 1)
                return -found if isinstance(found, float) else found
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=ast.Compare() as operand):
                found = self.of(operand, depth - 1)
                return float(not found) if isinstance(found, float) else found
            case ast.Subscript(value=value) if all(_shapes(n) for n in _indices(node.slice)):
                return self.of(value, depth - 1)
            case ast.BinOp():
                return combined(node.op, self.of(node.left, depth - 1), self.of(node.right, depth - 1))
            case ast.BoolOp():
                return self._folded(ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr(), node.values, depth)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(op, left, right, depth)
            case ast.Call():
                return self._of_call(node, depth)
            case _:
                return self._unknown(node, depth)

    def _of_call(self, call: ast.Call, depth: int) -> Worth:
        name, operands = self._called(call)
        if name == "load":
            return self._loaded(call, depth)
        if name in ("zeros", "zeros_like"):
            return 0.0
        if name == "full":
            return self.of(value, depth - 1) if (value := _given(call, 1, "value")) is not None else None
        if name == "where" and len(call.args) == 3:
            test, (one, other) = self.of(call.args[0], depth - 1), (self.of(a, depth - 1) for a in call.args[1:])
            return other if test == 0 else one if isinstance(test, float) or one == other else worse(test, one, other)
        if name in ("maximum", "minimum") and len(call.args) == 2:
            return largest(*(self.of(a, depth - 1) for a in call.args), sign=1 if name == "maximum" else -1)
        if self.reduces(call):
            return None  # of all lanes
        if operands and name in SAME:
            return self.of(operands[0], depth - 1)
        if operands and name in NEUTRAL:  # over another axis: of as many of the same
            found = self.of(operands[0], depth - 1)
            return found if found in (UNDEFINED, 0.0) or name in ("max", "min") else None
        if name in FUNCTIONS and len(operands) == 1:
            found = self.of(operands[0], depth - 1)
            return applied(name, found) if isinstance(found, float) else found
        return self._unknown(call, depth)

    def _called(self, call: ast.Call) -> tuple[str, list[ast.expr]]:
        """The language's function and its operands: ``x.sum(0)`` is ``tl.sum(x, 0)``."""
        name = self.kernel.tl(call)
        if name is None and isinstance(call.func, ast.Attribute):
            return call.func.attr, [call.func.value, *call.args]
        return name or "", call.args

    def _loaded(self, call: ast.Call, depth: int) -> Worth:
        mask, other = _given(call, 1, "mask"), _given(call, 2, "other")
        if any(k.arg == "padding_option" and "zero" in ast.unparse(k.value) for k in call.keywords):
            return 0.0
        if mask is None or f"#{self.block}" not in self.kernel.tokens(mask):
            return None  # each of its lanes is read
        if self.masked(mask) and self.of(mask, depth - 1) != 0:
            return None  # what was loaded says which are
        return self.of(other, depth - 1) if other is not None else UNDEFINED

    def _compared(self, op: ast.cmpop, left: ast.expr, right: ast.expr, depth: int) -> Worth:
        """``lanes < n`` isn't so outside; of numbers that are known it is as they say."""
        tokens, token = self.kernel.tokens, f"#{self.block}"
        lanes, bound = (left, right) if isinstance(op, ast.Lt | ast.LtE) else (right, left)
        ordered = not isinstance(op, ast.Eq | ast.NotEq) and token in tokens(lanes) and token not in tokens(bound)
        if ordered and not any(token in tokens(load) for load in self._loads(lanes, set())):
            return 0.0
        one, other = self.of(left, depth - 1), self.of(right, depth - 1)
        if isinstance(one, float) and isinstance(other, float):
            signs: dict[type[ast.cmpop], bool] = {
                ast.Lt: one < other,
                ast.LtE: one <= other,
                ast.Gt: one > other,
                ast.GtE: one >= other,
                ast.Eq: one == other,
            }
            return float(signs[type(op)]) if type(op) in signs else None
        return UNDEFINED if UNDEFINED in (one, other) else None

    def _folded(self, op: ast.operator, nodes: list[ast.expr], depth: int) -> Worth:
        first, *more = (self.of(n, depth - 1) for n in nodes)
        for found in more:
            first = combined(op, first, found)
        return first

    def _unknown(self, node: ast.AST, depth: int) -> Worth:
        """What a rule isn't known for: of something undefined it is undefined."""
        inside = [self.of(n, depth - 1) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        return UNDEFINED if UNDEFINED in inside else None

    def _of_name(self, read: ast.Name, depth: int) -> Worth:
        """What each of the bindings that the name may stand for gives, if that is one number.

        Where it is read in a circle, as a total is that a loop adds to: what it is begun with, if the others keep it.
        """
        key = (read.id, *sorted(id(s) for s in reaching(self.kernel, read.id, read)))
        if key in self._open:
            self._circles.add(key)
            return self._open[key]
        if key in self._worth:
            return self._worth[key]
        self._left -= 1
        values = [*self._bindings(read)] if self._left > 0 and read.id not in self.kernel.parameters else []
        outer, self._circles = self._circles, set[tuple[object, ...]]()
        self._open[key] = None
        masked = [v for v in values if self.masked(v)]
        values = [v for v in values if v in masked or self._bound(v, depth) is not None] if masked else values
        first = {self._bound(v, depth) for v in values}
        found = UNDEFINED if UNDEFINED in first else next(iter(first)) if len(first) == 1 else None
        begun = first - {None}
        if found is None and len(begun) == 1 and key in self._circles:
            (self._open[key],) = begun
            found = self._open[key] if {self._bound(v, depth) for v in values} == begun else None
        del self._open[key]
        if not self._circles - {key}:
            self._worth[key] = found
        self._circles = outer | (self._circles - {key})
        return found

    def _bound(self, value: ast.expr | ast.AugAssign, depth: int) -> Worth:
        if isinstance(value, ast.AugAssign):
            return combined(value.op, self.of(value.target, depth), self.of(value.value, depth))
        return self.of(value, depth)

    def _bindings(self, read: ast.Name) -> Iterator[ast.expr | ast.AugAssign]:
        """Values that the name may be bound to where it is read; of a tuple that isn't taken apart nobody knows."""
        own = self.kernel.bindings(read.id)
        for statement in reaching(self.kernel, read.id, read) if own else binding(self.kernel.module.tree).get(read.id, []):
            if isinstance(statement, ast.AugAssign):
                yield statement
            elif isinstance(statement, ast.Assign):
                pairs = [each for t in statement.targets for each in paired(t, statement.value)]
                yield from (v if isinstance(t, ast.Name) else UNKNOWN for t, v in pairs if read.id in target_names(t))
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                yield statement.value
            elif isinstance(statement, ast.For):
                yield UNKNOWN

    # ------------------------------------------------------------ what is never below zero

    def positive(self, node: ast.expr, depth: int = DEEP) -> bool:
        """Whether no element is below zero."""
        if depth == 0:
            return False
        match node:
            case ast.Constant(value=int() | float() as value):
                return value >= 0
            case ast.Name():
                return self._all_positive(node, depth - 1)
            case ast.BinOp(op=ast.Mult(), left=left, right=right) if ast.dump(left) == ast.dump(right):
                return True
            case ast.BinOp(op=ast.Add() | ast.Mult() | ast.Div(), left=left, right=right):
                return self.positive(left, depth - 1) and self.positive(right, depth - 1)
            case ast.Subscript(value=value):
                return self.positive(value, depth - 1)
            case ast.Call():
                name, operands = self._called(node)
                if name in POSITIVE or name == "zeros":
                    return True
                if name == "where" and len(node.args) == 3:
                    return all(self.positive(a, depth - 1) for a in node.args[1:])
                if name in ("maximum", "max", "minimum", "min", "sum") or name in SAME:
                    found = [self.positive(a, depth - 1) for a in operands[: 2 if name.endswith("imum") else 1]]
                    return any(found) if name == "maximum" else bool(found) and all(found)
                return False
            case _:
                return False

    def _all_positive(self, read: ast.Name, depth: int) -> bool:
        """All that the name may stand for."""
        values = [*self._bindings(read)] if read.id not in self.kernel.parameters else []
        return bool(values) and all(not isinstance(v, ast.AugAssign) and self.positive(v, depth) for v in values)


def _given(call: ast.Call, place: int, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), call.args[place] if len(call.args) > place else None)


def _indices(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _shapes(index: ast.expr) -> bool:
    """``[:, None]``."""
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and index.value is None)
