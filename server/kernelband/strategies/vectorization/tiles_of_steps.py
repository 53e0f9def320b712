"""A step's code for a block of steps: a side more to the left of everything that differs from step to step."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from copy import deepcopy

from attrs import frozen

from kernelband.source.syntax import all_nodes, expression_tree
from kernelband.strategies.code import KernelView
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import names_read
from kernelband.strategies.code.shapes import Shape, Shapes

Step = ast.Assign | ast.AugAssign
#: Reductions of a step's own elements.
LANES = frozenset({"sum", "max", "min"})
LOWEST = {"max": 'float("-inf")', "min": 'float("inf")', "sum": "0.0"}


@frozen
class Coefficients:
    """``factor * state + summand``. ``factor`` is None for 1, and so is ``summand`` for 0."""

    factor: ast.expr | None
    summand: ast.expr | None


@frozen(eq=False)
class State:
    """What a loop hands on. ``how``: "sum", "max" or "min" of all steps' ``made.summand``, which none of them reads; or "scan"."""

    name: str
    how: str
    made: Coefficients
    update: Step
    read: bool  # by the loop, behind the update


def states_of(kernel: KernelView, loop: ast.For, body: Sequence[ast.stmt], name: str) -> list[State] | None:
    """What a loop hands on by a name: one for each branch that makes it. None for what isn't of float32, is read before it is made, or is
    made in another way. ``body``: the loop's statements, in branches too.
    """
    updates = [s for s in body if name in bound_names(s)]
    apart = all(kernel.module.either(one, other) for n, one in enumerate(updates) for other in updates[:n])
    if not apart or not _is_float32(kernel, loop, name):
        return None
    found: list[State] = []
    for update in updates:
        at, rest = body.index(update), [s for s in body if s not in updates]
        before = any(name in names_read(s) for s in rest if s in body[:at])
        read = any(name in names_read(s) for s in rest if s in body[at:])
        if before or not isinstance(update, Step):
            return None  # of the step before
        state = _state(kernel, update, name, read=read)
        if state is None or (state.how == "scan" and update not in loop.body):
            return None  # not in every step
        found.append(state)
    return found if len({s.how for s in found}) == 1 else None


def _state(kernel: KernelView, update: Step, name: str, *, read: bool) -> State | None:
    highest = None if read else _highest(kernel, update, name)
    if highest is not None:
        return State(name, highest[0], Coefficients(None, highest[1]), update, read=False)
    made = coefficients(kernel, update, name)
    if made is None or made.summand is None:
        return None
    return State(name, "sum" if made.factor is None and not read else "scan", made, update, read=read)


def _highest(kernel: KernelView, update: Step, name: str) -> tuple[str, ast.expr] | None:
    """``m = tl.maximum(m, x)``."""
    value = update.value
    how = {"maximum": "max", "minimum": "min"}.get(kernel.tl(value) or "") if isinstance(update, ast.Assign) else None
    if how is None or not isinstance(value, ast.Call) or len(value.args) != 2 or value.keywords:
        return None
    rest = [a for a in value.args if not (isinstance(a, ast.Name) and a.id == name)]
    return (how, rest[0]) if len(rest) == 1 and name not in names_read(rest[0]) else None


def _is_float32(kernel: KernelView, loop: ast.For, name: str) -> bool:
    """A float, a block of float32, or what was converted to it, before the loop."""
    inside = set(all_nodes(loop))
    before = [b for b in kernel.bindings(name) if b.lineno < loop.lineno and b not in inside]
    values = [b.value for b in before if isinstance(b, ast.Assign | ast.AugAssign)]
    return len(values) == len(before) > 0 and isinstance(before[0], ast.Assign) and all(_floats(kernel, v) for v in values)


def _floats(kernel: KernelView, node: ast.expr) -> bool:
    called, tl = kernel.tl(node), kernel.language
    if called in ("zeros", "full") and isinstance(node, ast.Call):
        return ast.unparse(node).replace(" ", "").replace("dtype=", "").endswith(f",{tl}.float32)")
    infinite = ast.unparse(node).replace("'", "").replace(" ", "") in ("float(-inf)", "-float(inf)", "float(inf)")
    number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    plain = isinstance(number, ast.Constant) and type(number.value) is float and (number.value == 0.0 or 1e-37 < number.value < 3e38)
    return infinite or plain or ast.unparse(node).endswith(f".to({tl}.float32)")


@frozen
class _Linear:
    factor: ast.expr | None  # None where the state isn't in it
    summand: ast.expr | None


ONE = ast.Constant(1.0)


def coefficients(kernel: KernelView, step: Step, state: str) -> Coefficients | None:
    """Of a step that is linear in the state; None for any other."""
    value = step.value
    if isinstance(step, ast.AugAssign):
        value = ast.BinOp(ast.Name(state, ast.Load()), step.op, value)
    found = _Linearity(kernel, state, set()).of(value)
    if found is None or found.factor is None:
        return None
    return Coefficients(None if found.factor is ONE else found.factor, found.summand)


@frozen(eq=False)
class _Linearity:
    """``made``: ids of nodes that were put together here, of float32 as the state is; whatever type their parts had of their own."""

    kernel: KernelView
    state: str
    made: set[int]

    def of(self, node: ast.expr) -> _Linear | None:
        """The expression as a multiple of the state, and what is added to it."""
        if self.state not in names_read(node):
            return _Linear(None, node)
        match node:
            case ast.Name():
                return _Linear(ONE, None)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                found = self.of(operand)
                return None if found is None else _Linear(self._negative(found.factor), self._negative(found.summand))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                one, other = self.of(left), self.of(right)
                if one is None or other is None or (one.factor is not None and other.factor is not None):
                    return None
                minus = isinstance(op, ast.Sub)
                factor = one.factor if one.factor is not None else self._negative(other.factor) if minus else other.factor
                if one.summand is None or other.summand is None:
                    rest = one.summand if other.summand is None else self._negative(other.summand) if minus else other.summand
                else:
                    rest = self._put(ast.BinOp(self._float(one.summand), op, self._float(other.summand)))
                return _Linear(factor, rest)
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
                inside, by = (left, right) if self.state in names_read(left) else (right, left)
                if self.state in names_read(by) or (isinstance(op, ast.Div) and inside is right):
                    return None
                found = self.of(inside)
                return None if found is None else _Linear(self._times(found.factor, op, by), self._times(found.summand, op, by))
            case ast.Call(func=ast.Attribute(value=value, attr="to"), args=[kind]) if (
                ast.unparse(kind) == f"{self.kernel.language}.float32"
            ):
                return self.of(value)
            case _:
                return None

    def _put(self, node: ast.expr) -> ast.expr:
        self.made.add(id(node))
        return node

    def _float(self, node: ast.expr) -> ast.expr:
        """What it is where it meets the state: of float32."""
        if id(node) in self.made or isinstance(node, ast.Constant):
            return node
        return expression_tree(f"{self.kernel.language}.cast({ast.unparse(node)}, {self.kernel.language}.float32)").body

    def _negative(self, node: ast.expr | None) -> ast.expr | None:
        return None if node is None else self._put(ast.UnaryOp(ast.USub(), self._float(node)))

    def _times(self, node: ast.expr | None, op: ast.operator, by: ast.expr) -> ast.expr | None:
        if node is ONE and isinstance(op, ast.Mult):
            return by
        return None if node is None else self._put(ast.BinOp(self._float(node), op, self._float(by)))


@frozen(eq=False)
class Tiled:
    """``names``: what the first step, the rows, those that count, and rows of states and pointers are called there. ``states``: those that
    steps read.
    """

    kernel: KernelView
    known: Shapes
    shape: Shape
    pointers: frozenset[str]
    states: frozenset[str]
    names: Mapping[str, str]

    def code(self, node: ast.stmt | ast.expr) -> str:
        """The code for all steps of the block."""
        return ast.unparse(_Steps(self).visit(deepcopy(node)))

    def updated(self, state: State, size: int, then: str) -> list[str]:
        """The state after each step of the block, where steps read it, and after the last."""
        tl = self.kernel.language
        if state.how != "scan":
            made = self._whole(state.made.summand, LOWEST[state.how], size, self.known.get(state.name) or ())
            if state.how == "sum":
                return [f"{state.name} += {tl}.sum({made}.to({tl}.float32), axis=0)"]
            total = f"{tl}.{state.how}({made}, axis=0)"
            return [f"{state.name} = {tl}.{'maximum' if state.how == 'max' else 'minimum'}({state.name}, {total})"]
        after = self.names[f"{state.name}_rows"]
        added = f"{self._whole(state.made.summand, '0.0', size, self.shape)}.to({tl}.float32)"
        last = f"{state.name} = {tl}.sum({tl}.where({self.names['rows']} == {size - 1}, {after}, 0.0), axis=0)"
        if state.made.factor is None:
            return [f"{after} = {state.name} + {tl}.cumsum({added}, axis=0)", last]
        kept, more, factor, summand, step = (self.kernel.free_name(n) for n in ("kept", "more", "factor", "summand", "step"))
        return [
            f"{kept} = {self._whole(state.made.factor, '1.0', size, self.shape)}.to({tl}.float32)",
            f"{more} = {added}",
            f"{factor}, {summand} = {tl}.associative_scan(({kept}, {more}), 0, {then})",
            f"{after} = {factor} * {state.name} + {summand}",
            # the scan multiplies factors before they meet the state: 0 * infinity and its like come out otherwise
            f"if {tl}.max({tl}.where({tl}.abs({after}) <= 3.4e38, 0, 1)) > 0:  # not finite: one by one",
            f"    for {step} in range({size}):",
            f"        {state.name} = {tl}.sum({tl}.where({self.names['rows']} == {step}, {kept} * {state.name} + {more}, 0.0), axis=0)",
            f"        {after} = {tl}.where({self.names['rows']} == {step}, {state.name}, {after})",
            last,
        ]

    def _whole(self, node: ast.expr | None, otherwise: str, size: int, shape: Shape) -> str:
        """Of all steps that count, a side for the steps and the state's own."""
        tl = self.kernel.language
        where = f"{tl}.where({self.names['live']}, {otherwise if node is None else self.code(node)}, {otherwise})"
        if shape:
            return f"{tl}.broadcast_to({where}, [{size}, {shape[0]}])"
        return f"{tl}.sum({where}, axis=1)" if self.shape else where  # of one element


class _Steps(ast.NodeTransformer):
    def __init__(self, of: Tiled) -> None:
        self.of = of

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.of.pointers | self.of.states:
            return ast.Name(self.of.names[f"{node.id}_rows"], ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr != "dtype":
            self.generic_visit(node)
        return node  # the type of a pointer is that of all its steps

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called, tl = self.of.kernel.tl(node), self.of.kernel.language
        self.generic_visit(node)
        if called in LANES:
            return expression_tree(f"{tl}.{called}({ast.unparse(node.args[0])}, axis=1)[:, None]").body
        if called not in ("load", "store"):
            return node
        first = 1 if called == "load" else 2
        named = {k.arg: k.value for k in node.keywords}
        mask = named.get("mask", node.args[first] if len(node.args) > first else None)
        mask = None if isinstance(mask, ast.Constant) and mask.value is None else mask
        live: ast.expr = ast.Name(self.of.names["live"], ast.Load())
        keywords = [ast.keyword("mask", live if mask is None else ast.BinOp(mask, ast.BitAnd(), live))]
        if called == "load":
            other = named.get("other", node.args[2] if len(node.args) > 2 else None)
            keywords.append(ast.keyword("other", other if other is not None else ast.Constant(0)))
        rest = [k for k in node.keywords if k.arg not in ("mask", "other")]
        return ast.Call(node.func, node.args[:first], [*keywords, *rest])
