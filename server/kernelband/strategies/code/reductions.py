"""What a kernel's reductions make of a block's elements, and whose names carry that."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import dependent, reads
from kernelband.strategies.code.kernel import REDUCTIONS, KernelView
from kernelband.strategies.code.shapes import Shapes, axis_of, shape_of

#: Where the language's products take their right operand and their accumulator.
PRODUCTS = {"dot": (1, 2), "dot_scaled": (3, 6)}
#: What gives an element the value of another one in its block.
MOVING = frozenset({"flip", "gather"})
Step = ast.Assign | ast.AugAssign
Bound = ast.Assign | ast.AugAssign | ast.AnnAssign
DEEP = 6  # names behind names


@frozen(eq=False)
class Reduced:
    """A block of a kernel. ``known``: shapes of the kernel's names; ``pointers``: its parameters that get tensors."""

    kernel: KernelView
    block: str
    known: Shapes
    pointers: frozenset[str]

    def reduces(self, node: ast.AST) -> str | None:
        """The reduction or scan over the block's elements that the code is; None for what leaves each of them alone."""
        if not isinstance(node, ast.Call):
            return None
        method = self.kernel.tl(node) is None
        name = self.kernel.tl(node) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        token = f"#{self.block}"
        if name not in REDUCTIONS | MOVING or token not in self.kernel.tokens(node):
            return None
        if name in PRODUCTS:
            operands = [node.args[0], *node.args[PRODUCTS[name][0] : PRODUCTS[name][0] + 1]] if node.args else []
            return name if len(operands) < 2 or all(token in self.kernel.tokens(a) for a in operands) else None
        operand = node.func.value if method and isinstance(node.func, ast.Attribute) else node.args[0] if node.args else node
        shape, axis = shape_of(self.kernel, operand, self.known), axis_of(node, kept=True)
        if shape is None or isinstance(axis, str) or (axis is not None and not -len(shape) <= axis < len(shape)):
            return name  # it may be the block's axis
        return name if self.block in (shape if axis is None else (shape[axis],)) else None

    def made(self, nodes: Sequence[ast.AST], names: Iterable[str] = ()) -> set[str]:
        """Names that assignments among the nodes make of these names; of reductions of the block when there are none."""
        steps = [n for n in nodes if isinstance(n, Bound) and n.value is not None]
        reduced = {name for n in steps if n.value and self.tells([n.value], set()) for name in bound_names(n)}
        return dependent(steps, set(names) or reduced)

    def alone(self, name: str, nodes: Sequence[ast.AST]) -> ast.expr | None:
        """What the name is bound to among the nodes, where that is one assignment."""
        bound = [n for n in nodes if isinstance(n, ast.stmt) and name in bound_names(n)]
        return bound[0].value if len(bound) == 1 and isinstance(bound[0], ast.Assign) else None

    def tells(self, nodes: Iterable[ast.expr], tainted: set[str]) -> bool:
        """Whether the code has in it what is made of a whole block."""
        return any(reads(a, tainted) or any(self.reduces(n) for n in all_nodes(a)) for a in nodes)

    def decides(self, nodes: Sequence[ast.AST], tainted: set[str]) -> ast.expr | None:
        """Where what is done with elements hangs on a reduction of their block: ``if tl.max(x) > limit:``, as many turns as that says."""
        tests = [n.iter if isinstance(n, ast.For) else n.test for n in nodes if isinstance(n, ast.If | ast.While | ast.IfExp | ast.For)]
        return next((t for t in tests if self.tells([t], tainted)), None)

    def hidden_counts(self) -> ast.Call | None:
        """A reduction that takes in what a mask leaves out and no ``other`` fills: nobody knows what that is, once a block isn't full."""
        kernel, token = self.kernel, f"#{self.block}"
        masked = [a for a in kernel.accesses() if not a.store and a.other is None and a.mask is not None]
        open_loads = [a.call for a in masked if a.mask is not None and token in kernel.tokens(a.mask)]
        steps = [s for s in kernel.nodes if isinstance(s, Bound) and s.value is not None and not self._filled(s.value)]
        names: set[str] = set()
        while (
            more := {n for s in steps if s.value and (reads(s.value, names) or _holds(s.value, open_loads)) for n in bound_names(s)} - names
        ):
            names |= more
        calls = [n for n in kernel.nodes if isinstance(n, ast.Call) and self.reduces(n) and not any(map(self._filled, n.args))]
        return next((c for c in calls if reads(c, names) or _holds(c, open_loads)), None)

    def _filled(self, node: ast.expr) -> bool:
        """``tl.where(mask, x, 0.0)``."""
        where = isinstance(node, ast.Call) and self.kernel.tl(node) == "where" and len(node.args) == 3
        return where and isinstance(node, ast.Call) and f"#{self.block}" in self.kernel.tokens(node.args[0])

    def _value(self, node: ast.expr, inside: Sequence[ast.AST]) -> ast.expr:
        """The code behind a name of the iteration's and behind conversions."""
        for _ in range(DEEP):
            if isinstance(node, ast.Name) and (bound := self.alone(node.id, inside)) is not None:
                node = bound
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
                node = node.func.value
            else:
                break
        return node


def _holds(node: ast.AST, calls: Sequence[ast.Call]) -> bool:
    """Whether one of the calls is in the code."""
    return any(n in calls for n in all_nodes(node))
