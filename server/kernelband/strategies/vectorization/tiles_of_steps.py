"""A step's code for a block of steps: a side more to the left of everything that differs from step to step."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import deepcopy

from attrs import frozen

from kernelband.strategies.code import KernelView
from kernelband.strategies.code.blocks import names_read
from kernelband.strategies.code.shapes import Shape, Shapes


@frozen
class Coefficients:
    """``factor * state + summand``. ``factor`` is None for 1, and so is ``summand`` for 0."""

    factor: ast.expr | None
    summand: ast.expr | None


@frozen
class _Linear:
    factor: ast.expr | None  # None where the state isn't in it
    summand: ast.expr | None


ONE = ast.Constant(1.0)


def coefficients(kernel: KernelView, step: ast.Assign | ast.AugAssign, state: str) -> Coefficients | None:
    """Of a step that is linear in the state; None for any other."""
    value = step.value
    if isinstance(step, ast.AugAssign):
        value = ast.BinOp(ast.Name(state, ast.Load()), step.op, value)
    found = _linear(kernel, value, state)
    if found is None or found.factor is None:
        return None
    return Coefficients(None if found.factor is ONE else found.factor, found.summand)


def _linear(kernel: KernelView, node: ast.expr, state: str) -> _Linear | None:
    if state not in names_read(node):
        return _Linear(None, node)
    match node:
        case ast.Name():
            return _Linear(ONE, None)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            found = _linear(kernel, operand, state)
            return None if found is None else _Linear(_negative(found.factor), _negative(found.summand))
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, other = _linear(kernel, left, state), _linear(kernel, right, state)
            if one is None or other is None or (one.factor is not None and other.factor is not None):
                return None
            minus = isinstance(op, ast.Sub)
            factor = one.factor if one.factor is not None else _negative(other.factor) if minus else other.factor
            if one.summand is None or other.summand is None:
                rest = one.summand if other.summand is None else _negative(other.summand) if minus else other.summand
            else:
                rest = ast.BinOp(one.summand, op, other.summand)
            return _Linear(factor, rest)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            inside, by = (left, right) if state in names_read(left) else (right, left)
            if state in names_read(by) or (isinstance(op, ast.Div) and inside is right):
                return None
            found = _linear(kernel, inside, state)
            return None if found is None else _Linear(_times(found.factor, op, by), _times(found.summand, op, by))
        case ast.Call(func=ast.Attribute(value=value, attr="to"), args=[kind]) if ast.unparse(kind) == f"{kernel.language}.float32":
            return _linear(kernel, value, state)
        case _:
            return None


def _negative(node: ast.expr | None) -> ast.expr | None:
    return None if node is None else ast.UnaryOp(ast.USub(), node)


def _times(node: ast.expr | None, op: ast.operator, by: ast.expr) -> ast.expr | None:
    if node is ONE and isinstance(op, ast.Mult):
        return by
    return None if node is None else ast.BinOp(node, op, by)


@frozen(eq=False)
class Tiled:
    """``names``: what is called first, rows, live and the state's rows there."""

    kernel: KernelView
    known: Shapes
    shape: Shape
    variable: str
    pointers: Mapping[str, str]
    state: str
    names: Mapping[str, str]

    def code(self, node: ast.stmt | ast.expr) -> str:
        """The code for all steps of the block."""
        return ast.unparse(_Steps(self).visit(deepcopy(node)))

    def scanned(self, made: Coefficients, size: int, then: str) -> list[str]:
        """The state after each step of the block, and after its last."""
        tl, rows = self.kernel.language, self.names["rows"]
        after = self.names[f"{self.state}_rows"]
        added = self._whole(made.summand, "0.0", size)
        last = f"{self.state} = {tl}.sum({tl}.where({rows} == {size - 1}, {after}, 0.0), axis=0)"
        if made.factor is None:
            return [f"{after} = {self.state} + {tl}.cumsum({added}, axis=0)", last]
        kept, more = (self.kernel.free_name(n) for n in ("kept", "more"))
        return [
            f"{kept} = {self._whole(made.factor, '1.0', size)}",
            f"{more} = {added}",
            f"{kept}, {more} = {tl}.associative_scan(({kept}, {more}), 0, {then})",
            f"{after} = {kept} * {self.state} + {more}",
            last,
        ]

    def _whole(self, node: ast.expr | None, otherwise: str, size: int) -> str:
        tl = self.kernel.language
        given = otherwise if node is None else self.code(node)
        where = f"{tl}.where({self.names['live']}, {given}, {otherwise})"
        if self.shape:
            where = f"{tl}.broadcast_to({where}, [{size}, {self.shape[0]}])"
        return f"{where}.to({tl}.float32)"


class _Steps(ast.NodeTransformer):
    def __init__(self, of: Tiled) -> None:
        self.of = of

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.of.pointers:
            return ast.Name(self.of.kernel.free_name(f"{node.id}_rows"), ast.Load())
        if isinstance(node.ctx, ast.Load) and node.id == self.of.state:
            return ast.Name(self.of.names[f"{node.id}_rows"], ast.Load())
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if node.attr != "dtype":
            self.generic_visit(node)
        return node  # the type of a pointer is that of all its steps

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = self.of.kernel.tl(node)
        self.generic_visit(node)
        if called not in ("load", "store"):
            return node
        first = 1 if called == "load" else 2
        named = {k.arg: k.value for k in node.keywords}
        mask = named.get("mask", node.args[first] if len(node.args) > first else None)
        live: ast.expr = ast.Name(self.of.names["live"], ast.Load())
        keywords = [ast.keyword("mask", live if mask is None else ast.BinOp(mask, ast.BitAnd(), live))]
        if called == "load":
            other = named.get("other", node.args[2] if len(node.args) > 2 else None)
            keywords.append(ast.keyword("other", other if other is not None else ast.Constant(0)))
        rest = [k for k in node.keywords if k.arg not in ("mask", "other")]
        return ast.Call(node.func, node.args[:first], [*keywords, *rest])
