"""No special cases for single sizes: sizes are compared with each other, with thresholds, and for divisibility, not with what was seen."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from kernelband.propose.model.literals import Facts, Literals
from kernelband.propose.model.pointers import constexprs
from kernelband.propose.model.rules import Change, Refused
from kernelband.propose.model.thresholds import FORM, Thresholds
from kernelband.source.syntax import all_nodes

_Node = TypeVar("_Node", bound=ast.AST)


def look(change: Change) -> None:
    """Look at a kernel or a host function.

    Raises:
        Refused: something of it holds for single sizes only.
    """
    _Sizes(change).all()


class _Sizes:
    def __init__(self, change: Change) -> None:
        self.change, self.after = change, change.after
        self.literals, self.before = Literals(change.after), Literals(change.before)
        self.thresholds = Thresholds(change, self.literals)
        self.constexpr = constexprs(change.after)

    def all(self) -> None:
        for node in self.change.nodes():
            self._one(node, self._node)
            for condition in _conditions(node, self.after.full(node.func) if isinstance(node, ast.Call) else ""):
                self._one(condition, self._truth)
        self.thresholds.together()

    def _one(self, node: _Node, look_at: Callable[[_Node], None]) -> None:
        """Look at a node; what the original has as well is kept in mind only."""
        new = self.thresholds.new = not self._as_before(node)
        try:
            look_at(node)
        except Refused:
            if new:
                raise

    def _as_before(self, node: ast.AST) -> bool:
        if self.after.key(node) not in self.change.before.texts:
            return False
        names = [n for n in all_nodes(node) if isinstance(n, ast.Name)]
        return all(self.literals.of(n) == self.before.of(n) for n in names)

    def _refused(self, node: ast.AST, why: str) -> Refused:
        return self.change.refused(node, why, "sizes")

    def _node(self, node: ast.AST) -> None:
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
                if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
                    self._order(node, left, op, right)
                else:
                    self._equal(node, left, right)
        if isinstance(node, ast.BinOp):
            self._arithmetic(node)
        elif isinstance(node, (ast.Dict, ast.DictComp)):
            keys = node.keys if isinstance(node, ast.Dict) else [node.key]
            if any(self.literals.of(k).large for k in keys if k is not None):
                raise self._refused(node, f"a table with numbers as keys holds for these sizes only: {FORM}")
        elif isinstance(node, ast.Subscript):
            self._looked_up(node)
        elif isinstance(node, ast.Call):
            self._called(node)
        elif isinstance(node, ast.FormattedValue):
            self._text(node, node.value)

    # ------------------------------------------------------------ comparisons

    def _equal(self, node: ast.AST, left: ast.expr, right: ast.expr) -> None:
        one, other = self.literals.held(left), self.literals.held(right)
        if not (one.size or other.size):
            return
        if one.constant or other.constant:
            known, open_, expression = (one, other, right) if one.constant else (other, one, left)
            self._with_constant(node, known, open_, expression)
        elif (one.large and one.size) or (other.large and other.size) or one.large != other.large:
            raise self._refused(node, f"equality with a number that is written down: {FORM}")
        else:
            names = {
                n.id for n in (self.after.resolved(left), self.after.resolved(right)) if isinstance(n, ast.Name)
            } & self.after.parameters
            if self.change.rules.editable.device and len(names) == 2 and len(names & self.constexpr) == 1:
                raise self._refused(node, "a size is compared for equality with a constexpr: use % for divisibility")

    def _with_constant(self, node: ast.AST, known: Facts, facts: Facts, expression: ast.expr) -> None:
        if known.large:
            raise self._refused(node, f"equality with a number that is written down: {FORM}")
        expression = self.after.resolved(expression)
        if isinstance(expression, ast.BinOp) and self._parity(expression):
            return
        parts = self.thresholds.quotient(expression)
        if parts is not None and not self.literals.of(parts[0]).large and known.values:
            self._blocks(node, parts, [v + side for v in known.values for side in (-0.5, 0.5)], isinstance(expression, ast.BinOp))
            return
        shifted = isinstance(expression, ast.BinOp) and not isinstance(expression.op, ast.Mult)
        if facts.large or (
            shifted and any(self.literals.of(p).constant for p in ast.iter_child_nodes(expression) if isinstance(p, ast.expr))
        ):
            raise self._refused(node, f"equality with a number that is written down: {FORM}")

    def _blocks(self, node: ast.AST, parts: tuple[ast.expr, ast.expr], counts: list[float], floor: bool) -> None:
        """A number of blocks is compared: a threshold where the blocks' size is written down, or where it is clamped."""
        divisor = self.literals.of(parts[1])
        if divisor.constant and divisor.values is None:
            raise self._refused(node, "a size is divided by a number that isn't plainly written down")
        if divisor.values is not None:
            for at in (count * by for by in divisor.values for count in counts):
                self.thresholds.cut(node, parts[0], at)
        else:
            for by in self.literals.written(parts[1]):
                self.thresholds.cut(node, parts[0], by - 0.5 if floor else by + 0.5)

    def _parity(self, node: ast.BinOp) -> bool:
        """``n % 16`` or ``n & 15``: divisibility. The divisor is kept in mind."""
        left, right = self.literals.of(node.left), self.literals.of(node.right)
        if left.large:
            return False
        if isinstance(node.op, ast.Mod):
            for value in right.values or ():
                self.thresholds.divides(node, int(value))
            return right.values is not None or not right.constant
        if isinstance(node.op, ast.BitAnd):
            if right.values is None:
                return not right.large
            if all(v >= 0 and int(v) & (int(v) + 1) == 0 for v in right.values):
                for value in right.values:
                    self.thresholds.divides(node, int(value) + 1)
                return True
        return False

    def _order(self, node: ast.AST, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        one, other = self.literals.of(left), self.literals.of(right)
        if not (one.size or other.size) or not (one.large or other.large):
            return
        if one.constant or other.constant:
            known, expression, flipped = (one, right, True) if one.constant else (other, left, False)
            if known.values is None:
                raise self._refused(node, "a size is compared with a number that isn't plainly written down")
            above = isinstance(op, (ast.Lt, ast.GtE)) if flipped else isinstance(op, (ast.LtE, ast.Gt))
            for value in known.values:
                self.thresholds.cut(node, expression, value + 0.5 if above else value - 0.5, counts=len(known.values) == 1)
        elif self.change.rules.editable.device and (one.other or other.other):
            return  # an offset and its bound
        elif one.size and other.size and self._names(left) & self._names(right):
            raise self._refused(node, f"a size is compared with itself and a number: {FORM}")

    def _names(self, node: ast.expr) -> set[str]:
        """The sizes that an expression is made of, behind what is calculated with numbers."""
        found: set[str] = set()
        seen: set[str] = set()
        left: list[ast.AST] = [node]
        while left:
            part = left.pop()
            if isinstance(part, ast.Name) and self.literals.of(part).size:
                if not self.literals.of(part).large:
                    found.add(self.after.key(self.after.resolved(part)))
                elif part.id not in seen:
                    left += self.after.bound.get(part.id, ())
                seen.add(part.id)
            elif not isinstance(part, ast.Name):
                left += ast.iter_child_nodes(part)
        return found

    # ------------------------------------------------------------ truth, tables, texts

    def _truth(self, node: ast.expr) -> None:
        """An expression decides by being zero or not."""
        node = self.after.resolved(node)
        facts = self.literals.of(node)
        if isinstance(node, (ast.Compare, ast.BoolOp, ast.Constant)) or not facts.size:
            return
        if isinstance(node, ast.Name):
            for bound in self.after.bound.get(node.id, ()):
                if bound is not node and not isinstance(bound, ast.Name):
                    self._truth(bound)
        elif isinstance(node, (ast.BinOp, ast.Call)) and not (isinstance(node, ast.BinOp) and self._parity(node)):
            constant = isinstance(node, ast.BinOp) and any(self.literals.of(p).constant for p in (node.left, node.right))
            if facts.large or constant:
                self.thresholds.cut(node, node, 1e-6)
                if isinstance(node, ast.BinOp) and not isinstance(node.op, (ast.FloorDiv, ast.Mult)):
                    raise self._refused(node, f"arithmetic with a number that is written down decides: {FORM}")

    def _arithmetic(self, node: ast.BinOp) -> None:
        left, right = self.literals.of(node.left), self.literals.of(node.right)
        if isinstance(node.op, ast.BitXor) and (left.size or right.size) and (left.large or right.large):
            raise self._refused(node, "a size is compared bit by bit with a number that is written down")
        if isinstance(node.op, ast.Pow) and left.constant and left.values != frozenset({2}) and right.size:
            raise self._refused(node, "a power of this base tells single sizes apart")
        if isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
            self._text(node, node.right)

    def _looked_up(self, node: ast.Subscript) -> None:
        index, table = self.literals.of(node.slice), self.literals.of(node.value)
        if self.after.roots(node.value):  # of a tensor or an argument: elements, not a table
            return
        flag = isinstance(self.after.resolved(node.slice), (ast.Compare, ast.BoolOp))
        if isinstance(node.ctx, ast.Load):
            if index.size and not flag and (index.large or table.large):
                raise self._refused(node, f"a table is looked up by a size: {FORM}")
        elif index.constant and index.large:
            raise self._refused(node, f"a table with numbers as keys holds for these sizes only: {FORM}")

    def _called(self, node: ast.Call) -> None:
        full = self.after.full(node.func)
        facts = self.literals.of(node)
        if full == "abs" and facts.size and facts.large:
            raise self._refused(node, "a distance to a number that is written down tells single sizes apart")
        if full == "str":
            for argument in node.args:
                self._text(node, argument)
        if full == "dict" and any(self.literals.of(a).large for a in node.args):
            raise self._refused(node, f"a table with numbers as keys holds for these sizes only: {FORM}")
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "index", "setdefault", "pop") and node.args:
            key, base = self.literals.of(node.args[0]), self.literals.of(node.func.value)
            if (key.size or base.size) and (key.large or base.large):
                raise self._refused(node, f"a table is looked up by a size: {FORM}")
        if full in ("range", "triton.language.range") and node.args and not isinstance(node.args[0], ast.Starred):
            stop = node.args[min(1, len(node.args) - 1)]
            start = self.literals.of(node.args[0]) if len(node.args) > 1 else Facts()
            counted = self.literals.of(stop).large and isinstance(self.after.resolved(stop), ast.BinOp)
            if self.literals.of(stop).size and (counted or (start.constant and start.large)):
                self.thresholds.cut(node, stop, max(start.values or {0}) + 1e-6)

    def _text(self, node: ast.AST, value: ast.expr) -> None:
        """A size as text could be compared as text: only words of an error may hold one."""
        if self.literals.of(value).size and not self.after.within(node, ast.Raise) and not self._said(node):
            raise self._refused(node, "a size is made a text, which only an error may say")

    def _said(self, node: ast.AST) -> bool:
        inner = node
        for outer in self.after.around(node):
            if isinstance(outer, ast.Assert):
                return outer.msg is inner
            inner = outer
        return False


def _conditions(node: ast.AST, called: str) -> list[ast.expr]:
    """Expressions of a node that decide by being zero or not."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return list(node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.comprehension):
        return list(node.ifs)
    return list(node.args) if isinstance(node, ast.Call) and called in ("bool", "any", "all") else []
