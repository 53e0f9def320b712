"""Sums of exponentials below a running maximum, from block to block: what another block's maximum scales, all alike, and back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard

from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import reads
from kernelband.strategies.code.reductions import PRODUCTS, Reduced, Step


class Rescaled(Reduced):
    """A block over which a loop keeps a maximum, and sums that are brought below it."""

    def highest(self, inside: Sequence[ast.AST]) -> set[str]:
        """Names of a running maximum: ``new = tl.maximum(old, tl.max(x))`` and ``old = new``."""
        for node in inside:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and self.kernel.tl(node.value) == "maximum":
                old = [a.id for a in node.value.args if isinstance(a, ast.Name) and not self._is_highest(a, inside)]
                if len(old) == 1 and len(node.value.args) == 2 and any(self._is_highest(a, inside) for a in node.value.args):
                    return {*bound_names(node), *(a.id for a in node.value.args if isinstance(a, ast.Name))}
        return set()

    def _is_highest(self, node: ast.expr, inside: Sequence[ast.AST]) -> bool:
        """The largest of a block's elements, times a number or not; of elements that are made of nothing that a whole block says."""
        node = self._value(node, inside)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides, below = ((node.left, node.right), (node.right, node.left)), [n for n in inside if self.kernel.tl(n) in ("exp", "exp2")]
            return bool(below) and any(self._is_highest(a, inside) and not self.tells([b], self.made(inside)) for a, b in sides)
        if not isinstance(node, ast.Call) or self.reduces(node) != "max":
            return False
        operands = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) and self.kernel.tl(node) is None else [])]
        return not self.tells(operands, self.made(inside))

    def rescaled(self, step: Step, name: str, inside: Sequence[ast.AST]) -> bool:
        """A sum that follows the running maximum: ``s = s * alpha + tl.sum(p)``, or ``s *= alpha`` and ``s += tl.dot(p, v)``."""
        value = step.value
        if self.scales(step, name, inside):
            added = [p for p in (value.left, value.right) if not self._scaled(p, name, inside)] if _is(value, ast.Add) else []
            return all(self._sum(p, name, inside) for p in added)
        if isinstance(step, ast.AugAssign):
            return isinstance(step.op, ast.Add) and self._sum(value, name, inside)
        if isinstance(value, ast.Call) and self.kernel.tl(value) in PRODUCTS:
            follow = self.made(inside, self.highest(inside)) - {name}
            return reads(value, {name}) and all(self._each_once(a, follow, inside) for a in given(value) if not reads(a, {name}))
        return False

    def scales(self, step: Step, name: str, inside: Sequence[ast.AST]) -> bool:
        """The step brings the sum below the new maximum."""
        value = step.value
        if isinstance(step, ast.AugAssign):
            return isinstance(step.op, ast.Mult) and self._is_scale(value, inside)
        if isinstance(value, ast.Call) and self.kernel.tl(value) in PRODUCTS:
            return any(self._scaled(a, name, inside) for a in given(value))
        sides = [value.left, value.right] if _is(value, ast.Add) else [value]
        return sum(self._scaled(x, name, inside) for x in sides) == 1

    def _scaled(self, node: ast.expr, name: str, inside: Sequence[ast.AST]) -> bool:
        """``s * tl.exp(old - new)``."""
        if not _is(node, ast.Mult):
            return False
        sides = ((node.left, node.right), (node.right, node.left))
        return any(isinstance(a, ast.Name) and a.id == name and self._is_scale(b, inside) for a, b in sides)

    def _is_scale(self, node: ast.expr, inside: Sequence[ast.AST]) -> bool:
        """``tl.exp(old - new)`` of the running maximum, its difference times what the exponentials' are, too."""
        node = self._value(node.value if isinstance(node, ast.Subscript) else node, inside)
        highest = self.highest(inside)
        calls = [n for n in inside if isinstance(n, ast.Call) and self.kernel.tl(n) in ("exp", "exp2") and reads(n, highest)]
        if node not in calls or len({(self.kernel.tl(c), self._factor(c, highest)) for c in calls}) != 1 or not isinstance(node, ast.Call):
            return False
        inner = node.args[0]
        for side in (inner.left, inner.right) if _is(inner, ast.Mult) else ():
            inner = side if reads(side, highest) else inner
        if not _is(inner, ast.Sub) or not isinstance(inner.left, ast.Name) or not isinstance(inner.right, ast.Name):
            return False
        old, new = inner.left, self.alone(inner.right.id, inside)
        ahead = [n for n in inside if isinstance(n, ast.stmt) and old.id in bound_names(n) and n.lineno < node.lineno]
        return old.id in highest and not ahead and new is not None and self.kernel.tl(new) == "maximum"

    def _factor(self, call: ast.Call, highest: set[str]) -> str:
        """What the difference from the maximum is multiplied by in an exponential."""
        inner = call.args[0] if call.args else call
        others = [s for s in (inner.left, inner.right) if not reads(s, highest)] if _is(inner, ast.Mult) else []
        return ast.unparse(others[0]) if others else ""

    def _sum(self, node: ast.expr, name: str, inside: Sequence[ast.AST]) -> bool:
        node = self._value(node, inside)
        follow = self.made(inside, self.highest(inside)) - {name}
        return self.reduces(node) in ("sum", *PRODUCTS) and not reads(node, {name}) and self._each_once(node, follow, inside)

    def _each_once(self, node: ast.expr, follow: set[str], inside: Sequence[ast.AST], above: frozenset[str] = frozenset()) -> bool:
        """What follows the maximum is in no product with itself, nor under a root and the like: another maximum scales all alike."""
        node = self._value(node, inside)
        if not reads(node, follow) or (isinstance(node, ast.Name) and node.id in above):
            return True
        if isinstance(node, ast.Name):  # bound several times, ``p = p.to(tl.float16)``: by each alike
            bound = [n for n in inside if isinstance(n, ast.stmt) and node.id in bound_names(n)]
            plain = [n.value for n in bound if isinstance(n, ast.Assign)]
            return len(plain) == len(bound) and all(self._each_once(v, follow, inside, above | {node.id}) for v in plain)
        if isinstance(node, ast.Subscript):
            return self._each_once(node.value, follow, inside, above)
        if isinstance(node, ast.BinOp):
            sides = [s for s in (node.left, node.right) if reads(s, follow)]
            single = len(sides) < 2 or isinstance(node.op, ast.Add | ast.Sub)
            known = isinstance(node.op, ast.Add | ast.Sub | ast.Mult) or (isinstance(node.op, ast.Div) and not reads(node.right, follow))
            return single and known and all(self._each_once(s, follow, inside, above) for s in sides)
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.USub) and self._each_once(node.operand, follow, inside, above)
        if not isinstance(node, ast.Call):
            return False  # a comparison, say
        name = self.kernel.tl(node) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        more = [a for a in given(node) if reads(a, follow)]
        if name in ("exp", "exp2"):
            return True
        return (
            name in ("sum", "trans", "where", *PRODUCTS) and len(more) < 2 and all(self._each_once(a, follow, inside, above) for a in more)
        )


def given(call: ast.Call) -> list[ast.expr]:
    """A call's arguments, by place and by name."""
    return [*call.args, *(k.value for k in call.keywords)]


def _is(node: ast.AST, op: type[ast.operator]) -> TypeGuard[ast.BinOp]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, op)
