"""Where the comparisons of a function cut the sizes in two, and by what it asks them to be divisible.

Harmless one by one: ``n <= 4096`` is a threshold and ``n % 16 == 0`` a kind of size. Close together they single out a size.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from itertools import pairwise

from kernelband.propose.model.literals import SMALL, Literals
from kernelband.propose.model.rules import Change, Refused

MAX_THRESHOLDS = 2  # three branches
NARROW = 1.5  # two thresholds closer than this single out a size
MAX_STEPS = 2_000
LARGE = 1 << 30  # above it a threshold guards the range of int32
_POWERS = ("triton.next_power_of_2",)
_ROUNDED = ("math.ceil", "math.floor", "math.trunc")
_CLAMPS = (*_ROUNDED, "min", "max", "int", "float", *_POWERS, "triton.language.minimum", "triton.language.maximum")
_CEILING = ("triton.cdiv", "triton.language.cdiv")
FORM = "compare with <= against one threshold, or use % for divisibility"


class Thresholds:
    """The thresholds and divisors of one function, the original's own among them. ``new``: whether what is looked at isn't."""

    def __init__(self, change: Change, literals: Literals) -> None:
        self.change, self.after, self.literals = change, change.after, literals
        self.new = False
        self.cuts: dict[float, ast.AST | None] = {}  # thresholds, with the node of the new ones
        self.branches: dict[str, set[float]] = {}  # new thresholds by what is compared with them
        self.divisors: dict[int, ast.AST | None] = {}
        self.steps = 0

    def _refused(self, node: ast.AST, why: str) -> Refused:
        return self.change.refused(node, why, "sizes")

    def cut(self, node: ast.AST, expression: ast.expr, at: float, counts: bool = True) -> None:
        """Keep in mind where a comparison cuts the sizes in two.

        Raises:
            Refused: it isn't plain where that is.
        """
        for position, base in list(self._positions(node, expression, at, frozenset())):
            if SMALL < position < LARGE:
                self.cuts[position] = node if self.new else self.cuts.get(position)
                if self.new and counts:
                    self.branches.setdefault(base, set()).add(round(position, 3))

    def _positions(self, node: ast.AST, expression: ast.expr, at: float, names: frozenset[str]) -> Iterator[tuple[float, str]]:
        expression = self.after.resolved(expression)
        facts = self.literals.of(expression)
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise self._refused(node, "its thresholds are too tangled to be followed")
        if facts.constant:
            return
        called = self.after.full(expression.func) if isinstance(expression, ast.Call) else ""
        method = expression.func.attr if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute) else ""
        if called in _POWERS and 1 <= at < LARGE:
            at = 2 ** math.floor(math.log2(at)) + 0.5  # a power of two is above it when the size is above the last one
        elif method == "bit_length" and at < 64:
            at = 2 ** math.floor(at) - 0.5
        elif (called.startswith("math.") and called not in _CLAMPS) or (
            isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Pow)
        ):
            raise self._refused(node, f"arithmetic decides: {FORM}")
        known = isinstance(expression, ast.Name) and (expression.id in names or expression.id in self.after.parameters)
        if not facts.large or not facts.size or known:
            yield at, self.after.key(expression)
            return
        if isinstance(expression, ast.Name):
            names |= {expression.id}
            inside = list(self.after.bound.get(expression.id, ()))
        elif isinstance(expression, ast.IfExp):
            inside = [expression.body, expression.orelse]
        elif isinstance(expression, ast.Call) and called in _CLAMPS:
            inside = list(expression.args)
        else:
            inside, at = self._moved(node, expression, at)
        for part in inside:
            yield from self._positions(node, part, at, names)

    def _moved(self, node: ast.AST, expression: ast.expr, at: float) -> tuple[list[ast.expr], float]:
        """Through one step of arithmetic: what is calculated with, and where the threshold is for it."""
        parts = self.quotient(expression)
        if parts is not None:
            by = self.literals.of(parts[1]).values or self.literals.written(parts[1])
            if by and min(by) > 0:
                return [parts[0]], at * max(by)
        if isinstance(expression, ast.BinOp):
            left, right = self.literals.of(expression.left), self.literals.of(expression.right)
            known = max(right.values) if right.values else max(left.values) if left.values else None
            base = expression.left if right.values else expression.right
            op = expression.op
            if known is None and not (left.constant or right.constant) and isinstance(op, (ast.Mult, ast.Add)):
                return [expression.left, expression.right], at
            if known is not None and isinstance(op, ast.Add):
                return [base], at - known
            if known is not None and isinstance(op, ast.Sub):
                return [base], at + known if right.values else known - at
            if known and isinstance(op, ast.Mult):
                return [base], at / known
            if known and right.values and isinstance(op, ast.Div):
                return [base], at * known
            if known is not None and right.values and isinstance(op, (ast.LShift, ast.RShift)) and 0 <= known <= 64:
                return [base], at / 2**known if isinstance(op, ast.LShift) else at * 2**known
        raise self._refused(node, f"arithmetic with a number that is written down decides: {FORM}")

    def quotient(self, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """What is divided, and by what, where the result is a whole number."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return node.left, node.right
        ceiling = isinstance(node, ast.Call) and self.after.full(node.func) in _CEILING and len(node.args) == 2
        return (node.args[0], node.args[1]) if ceiling and isinstance(node, ast.Call) else None

    def divides(self, node: ast.AST, divisor: int) -> None:
        """Keep in mind by what a size is asked to be divisible."""
        if divisor > SMALL:
            self.divisors[divisor] = node if self.new else self.divisors.get(divisor)

    def together(self) -> None:
        """Look at all that was kept in mind.

        Raises:
            Refused: together they single out a size, or are too many.
        """
        every = {c for b in self.branches.values() for c in b}
        if len(every) > 2 * MAX_THRESHOLDS or any(len(b) > MAX_THRESHOLDS for b in self.branches.values()):
            last = next((n for n in reversed(self.cuts.values()) if n is not None), self.after.function)
            raise self._refused(last, f"more than {MAX_THRESHOLDS + 1} branches by size")
        cuts = sorted(self.cuts)
        for low, high in pairwise(cuts):
            node = self.cuts[high] or self.cuts[low]
            if node is not None and high - low > 1e-3 and high / low < NARROW:
                raise self._refused(node, "two thresholds are so close that they single out a size")
        for divisor, node in self.divisors.items():
            for other in self.divisors:
                where = node or self.divisors[other]
                if where is not None and max(divisor, other) % min(divisor, other):
                    raise self._refused(where, "two divisors that don't divide each other single out a size")
            for low, high in zip([0.0, *cuts], cuts, strict=False):
                where = node or self.cuts[high] or self.cuts.get(low)
                if where is not None and high // divisor - low // divisor == 1:
                    raise self._refused(where, "a threshold and a divisor together single out a size")
