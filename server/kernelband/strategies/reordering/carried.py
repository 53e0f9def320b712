"""What a loop carries from step to step, where parts of the loop can be put together again: totals, and sums under a running maximum.

A softmax that goes along (Milakov and Gimelshein, https://arxiv.org/abs/1805.02867) keeps the highest value so far and sums of exponentials
below it: ``l = l * exp(m - new) + sum(exp(x - new))``. Two parts' sums add up once both are brought below the higher of their maxima.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import KernelView, Loop
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import exposed, names_bound, names_read, siblings, unconverted
from kernelband.strategies.code.shapes import Shape, shapes
from kernelband.strategies.fusion.accumulate_late import is_zero, reduction
from kernelband.strategies.fusion.partial_sums import added_to

PRODUCTS = {"dot": 2}  # where it takes its accumulator
EXPONENTIALS = frozenset({"exp", "exp2"})


@frozen(eq=False)
class Carry:
    """``how``: "sum", "max" or "min"; "highest", the maximum that others follow; "below", a sum of exponentials below it."""

    name: str
    how: str
    shape: Shape

    @property
    def pointer(self) -> str:
        """The kernel's parameter for the parts' values."""
        return f"{self.name.strip('_')}_parts_ptr"


@frozen(eq=False)
class Carried:
    """All that a loop carries. ``exponential``: the language's function, as the kernel spells it, that sums below a maximum are made of."""

    carries: list[Carry]
    exponential: str = ""


def carried(kernel: KernelView, loop: Loop) -> Carried | None:
    """None where the loop carries anything else, or a value whose shape or type isn't known to be one of float32."""
    known, block, within = shapes(kernel), siblings(kernel.module, loop.node), set(all_nodes(loop.node))
    names = (exposed(loop.node.body) - {loop.variable}) & names_bound(loop.node.body)
    found: list[Carry] = []
    begun: dict[str, ast.expr] = {}
    follower = _follower(kernel, loop, names)
    for name in sorted(names, key=lambda n: (kernel.bindings(n)[0].lineno, n)):
        begins, steps = ([s for s in kernel.bindings(name) if (s in within) == inside] for inside in (False, True))
        begin, shape = begins[0] if len(begins) == 1 else None, known.get(name)
        before = isinstance(begin, ast.Assign) and begin in block and begin.lineno < loop.node.lineno
        if shape is None or not before or not isinstance(begin, ast.Assign) or len(shape) > 2 or not all(map(str.isidentifier, shape)):
            return None
        how = follower.how(name, steps) if follower is not None else None
        if how is None and (follower is None or not any(follower.follows(s) for s in steps)):
            how = _total(kernel, name, steps, within)
        if how is None or not (is_zero(kernel, begin.value) if how == "sum" else single(kernel, begin.value)):
            return None
        found.append(Carry(name, how, shape))
        begun[name] = begin.value
    highest = next((begun[c.name] for c in found if c.how == "highest"), None)
    # Below a maximum that begins at a number of its own, each part would add what the sums begin with.
    if highest is not None and "-inf" not in _plain(highest) and not all(is_zero(kernel, begun[c.name]) for c in found if c.how == "below"):
        return None
    return Carried(found, follower.exponential if follower is not None else "") if found else None


def _total(kernel: KernelView, name: str, steps: Sequence[ast.stmt], within: set[ast.AST]) -> str | None:
    ways = {_combined(kernel, s, name) for s in steps}
    reads = sum(isinstance(n, ast.Name) and n.id == name for n in within)
    return ways.pop() if len(ways) == 1 and reads == sum(1 if isinstance(s, ast.AugAssign) else 2 for s in steps) else None


def _combined(kernel: KernelView, statement: ast.stmt, name: str) -> str | None:
    total = reduction(kernel, statement)
    if total is not None and total.name == name:
        return total.combined
    if added_to(kernel, statement) == name:
        return "sum"
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or value.keywords or len(value.args) != 2:
        return None
    own = [a for a in value.args if isinstance(a, ast.Name) and a.id == name]
    return {"maximum": "max", "minimum": "min"}.get(kernel.tl(value) or "") if len(own) == 1 else None


def single(kernel: KernelView, node: ast.expr) -> bool:
    """A float, or one or a block of them that is said to be of float32."""
    if isinstance(node, ast.Call) and kernel.tl(node) in ("full", "zeros"):
        at = 2 if kernel.tl(node) == "full" else 1
        kinds = [*node.args[at : at + 1], *(k.value for k in node.keywords if k.arg == "dtype")]
        return [ast.unparse(k) for k in kinds] == [f"{kernel.language}.float32"]
    if isinstance(node, ast.BinOp):  # zeros from which infinity is taken
        return any(single(kernel, x) for x in (node.left, node.right)) and all(
            single(kernel, x) or isinstance(x, ast.Constant) for x in (node.left, node.right)
        )
    if isinstance(node, ast.UnaryOp):
        return single(kernel, node.operand)
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float" and not kernel.bindings("float")
    return made or (isinstance(node, ast.Constant) and type(node.value) is float)


def _plain(node: ast.expr) -> str:
    """Code without blanks and quotes, and the lowest number in one spelling: ``float("-inf")`` for ``-float("inf")``."""
    code = ast.unparse(node).replace(" ", "").replace("'", "")
    return code.replace("-float(inf)", "float(-inf)")


@frozen(eq=False)
class Follower:
    """``new = tl.maximum(highest, ...)``, ``scale = tl.exp(highest - new)`` and ``highest = new`` of a loop."""

    kernel: KernelView
    body: Sequence[ast.stmt]
    highest: str
    new: str
    scales: frozenset[str]  # the code that a sum is brought below the new maximum with
    weights: frozenset[str]  # names made of the exponentials below it
    exponential: str

    def how(self, name: str, steps: Sequence[ast.stmt]) -> str | None:
        """What a name of the loop is; None where it has nothing to do with the maximum, or isn't understood."""
        if name == self.highest:
            return "highest"
        states = [self._step(name, s) if s in self.body else None for s in steps]
        return "below" if sorted(map(str, states)) in (["added", "scaled"], ["both"]) and states[-1] != "scaled" else None

    def follows(self, step: ast.stmt) -> bool:
        """Whether a statement reads the maximum, or what the step has made of it."""
        made, grown = {self.highest, self.new}, True
        while grown:
            fresh = {n for s in self.body for n in bound_names(s) if names_read(s) & made} - made
            made, grown = made | fresh, bool(fresh)
        return bool(names_read(step) & (made - set(bound_names(step))))

    def _step(self, name: str, step: ast.stmt) -> str | None:
        value = step.value if isinstance(step, ast.Assign | ast.AugAssign) else None
        if value is None:
            return None
        if isinstance(step, ast.AugAssign):
            if isinstance(step.op, ast.Mult) and self._scale(value):
                return "scaled"
            return "added" if isinstance(step.op, ast.Add) and self._linear(value) else None
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            return "scaled" if self._scaled(name, value) else None
        if isinstance(value, ast.Call) and (at := PRODUCTS.get(self.kernel.tl(value) or "")) is not None:
            into = [*value.args[at : at + 1], *(k.value for k in value.keywords if k.arg == "acc")]
            own = len(into) == 1 and isinstance(into[0], ast.Name) and into[0].id == name
            return "added" if own and self._linear(ast.Call(value.func, value.args[:at], [])) else None
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
            return None
        for old, more in ((value.left, value.right), (value.right, value.left)):
            if name in names_read(more) or not self._linear(more):
                continue
            if isinstance(old, ast.Name) and old.id == name:
                return "added"
            return "both" if self._scaled(name, old) else None
        return None

    def _scaled(self, name: str, node: ast.expr) -> bool:
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            return False
        sides = (node.left, node.right)
        return any(isinstance(a, ast.Name) and a.id == name and self._scale(b) for a, b in (sides, sides[::-1]))

    def _scale(self, node: ast.expr) -> bool:
        inner = node.value if isinstance(node, ast.Subscript) else node
        return ast.unparse(inner) in self.scales

    def _linear(self, node: ast.expr) -> bool:
        """A sum of the exponentials, each times something that doesn't follow the maximum."""
        follows = {*self.weights, *self.scales, self.highest, self.new}
        if isinstance(node, ast.Name):
            return node.id in self.weights
        if isinstance(node, ast.Subscript):
            return self._linear(node.value)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            return any(self._linear(a) and not follows & names_read(b) for a, b in (sides, sides[::-1]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return self._linear(node.func.value)
        called = self.kernel.tl(node)
        if isinstance(node, ast.Call) and called in ("sum", "dot", "trans") and node.args:
            rest = [*node.args[1:], *(k.value for k in node.keywords)]
            return self._linear(node.args[0]) and not any(follows & names_read(a) for a in rest)
        return isinstance(node, ast.Call) and _below(node, self.highest, self.new, self.exponential)


def _follower(kernel: KernelView, loop: Loop, names: set[str]) -> Follower | None:
    """The one running maximum that others of the names follow; None where there is none, or something else is made of it."""
    body = loop.node.body
    assigned = {name: value for name in names_bound(body) if (value := _made(loop, name)) is not None}
    moved = [(h, v.id) for h, v in assigned.items() if h in names and isinstance(v, ast.Name)]
    pairs = [(h, new) for h, new in moved if new in assigned and kernel.tl(assigned[new]) == "maximum"]
    if len(pairs) != 1:
        return None
    highest, new = pairs[0]
    scale = [n for s in body for n in all_nodes(s) if _is_scale(kernel, n, highest, new)]
    spelled = {ast.unparse(n.func) for n in scale if isinstance(n, ast.Call)}
    if len(spelled) != 1 or sum(isinstance(n, ast.Name) and n.id == highest for n in all_nodes(loop.node)) != len(scale) + 2:
        return None
    exponential = spelled.pop()
    scales = {ast.unparse(n) for n in scale if isinstance(n, ast.Call)}
    scales |= {name for name, value in assigned.items() if ast.unparse(value) in scales}
    below = [n for s in body for n in all_nodes(s) if isinstance(n, ast.Call) and _below(n, highest, new, exponential)]
    # Each mention of the new maximum is where it is made, where it becomes the old one, or in one of those exponentials.
    if sum(isinstance(n, ast.Name) and n.id == new for n in all_nodes(loop.node)) != 2 + len(scale) + len(below) or not below:
        return None
    weights = _weights(assigned, below)
    return Follower(kernel, body, highest, new, frozenset(scales), frozenset(weights), exponential)


def _weights(assigned: dict[str, ast.expr], below: Sequence[ast.Call]) -> set[str]:
    """Names that are one of the exponentials, converted or not."""
    return {name for name, value in assigned.items() if unconverted(value) in below}


def _made(loop: Loop, name: str) -> ast.expr | None:
    """What the loop's own block makes the name of, once: it may be another type of the same then, ``p = p.to(tl.float16)``."""
    body = loop.node.body
    steps = sorted((n for n in all_nodes(loop.node) if isinstance(n, ast.stmt) and name in bound_names(n)), key=lambda n: n.lineno)
    for step in steps[1:]:
        inner = unconverted(step.value) if isinstance(step, ast.Assign) and step in body else None
        if not isinstance(inner, ast.Name) or bound_names(step) != [inner.id]:
            return None
    first = steps[0] if steps else None
    return first.value if isinstance(first, ast.Assign) and first in body and bound_names(first) == [name] else None


def _is_scale(kernel: KernelView, node: ast.AST, highest: str, new: str) -> bool:
    """``tl.exp(highest - new)``."""
    return kernel.tl(node) in EXPONENTIALS and isinstance(node, ast.Call) and [ast.unparse(a) for a in node.args] == [f"{highest} - {new}"]


def _below(node: ast.Call, highest: str, new: str, exponential: str) -> bool:
    """``tl.exp(x - new)``, ``tl.exp(x - new[:, None])``."""
    if ast.unparse(node.func) != exponential or len(node.args) != 1 or node.keywords:
        return False
    inside = node.args[0]
    if not isinstance(inside, ast.BinOp) or not isinstance(inside.op, ast.Sub) or names_read(inside.left) & {highest, new}:
        return False
    right = inside.right.value if isinstance(inside.right, ast.Subscript) else inside.right
    return isinstance(right, ast.Name) and right.id == new
