"""What a kernel's reductions make of a block's elements, and whose names carry that."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import dependent, reads
from kernelband.strategies.code.kernel import REDUCTIONS, KernelView
from kernelband.strategies.code.outside import Outside
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
        name = self.kernel.tl(node) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        token = f"#{self.block}"
        if name not in REDUCTIONS | MOVING or token not in self.kernel.tokens(node):
            return None
        if name in PRODUCTS:
            operands = [node.args[0], *node.args[PRODUCTS[name][0] : PRODUCTS[name][0] + 1]] if node.args else []
            return name if len(operands) < 2 or all(token in self.kernel.tokens(a) for a in operands) else None
        shape, axis = shape_of(self.kernel, self._operand(node), self.known), axis_of(node, kept=True)
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

    def hidden_counts(self, *, undefined: bool) -> ast.Call | None:
        """A reduction to which elements that a mask leaves out count for something: its result tells how many of these there are.
        ``undefined``: also where what they count for isn't known, because no ``other`` fills them, say.
        """
        outside = Outside(self.kernel, self.block, self.reduces)
        for call in (n for n in self.kernel.nodes if isinstance(n, ast.Call)):
            reduction = self.reduces(call)
            operand = self._operand(call)
            if reduction and not outside.neutral(reduction, call, operand) and (undefined or isinstance(outside.of(operand), float)):
                return call
        return None

    def _operand(self, call: ast.Call) -> ast.expr:
        """What the reduction is over."""
        if self.kernel.tl(call) is None and isinstance(call.func, ast.Attribute):
            return call.func.value
        return call.args[0] if call.args else call

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
