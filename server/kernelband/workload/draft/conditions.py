"""What an assert, or an ``if`` that raises, says of shapes, dtypes and numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernelband.workload.draft.values import Const, Dims, Dtype, Kind, Param, Rank, Several, Size, Value, size_of, whole

Evaluate = Callable[[ast.expr], Value]
Operator = type[ast.cmpop]
_PAIRS: list[tuple[Operator, Operator]] = [
    (ast.Eq, ast.NotEq),
    (ast.Lt, ast.GtE),
    (ast.Gt, ast.LtE),
    (ast.In, ast.NotIn),
    (ast.Is, ast.IsNot),
]
OPPOSITE = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
INSTANCES: dict[str, Kind] = {"Tensor": "tensor", "bool": "bool", "int": "int", "float": "float", "str": "str"}
TORCH = "torch."
ASSERT = "an assert"


def require(test: ast.expr, evaluate: Evaluate, *, holds: bool = True) -> None:
    """Take it that a condition holds, or that it doesn't."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            require(test.operand, evaluate, holds=not holds)
        case ast.BoolOp():
            parts = test.values
            if isinstance(test.op, ast.And) != holds:  # one of them: the first that says what something is
                parts = [p for p in parts if not _of_none(p)][:1]
            for part in parts:
                require(part, evaluate, holds=holds)
        case ast.Compare():
            sides = [test.left, *test.comparators]
            for op, left, right in zip(test.ops, sides, sides[1:], strict=False):
                _compare(type(op) if holds else OPPOSITE[type(op)], left, right, evaluate)
        case ast.Call(func=ast.Name(id="isinstance"), args=[what, types]) if holds:
            value, said = evaluate(what), ast.unparse(types)
            for word, kind in INSTANCES.items():
                if isinstance(value, Param) and word in said:
                    value.is_a(kind, ASSERT)
        case _:
            evaluate(test)


def _of_none(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(isinstance(c, ast.Constant) and c.value is None for c in test.comparators)


def _compare(op: Operator, left_node: ast.expr, right_node: ast.expr, evaluate: Evaluate) -> None:
    if op is ast.Eq and isinstance(left_node, ast.BinOp) and isinstance(left_node.op, ast.Mod):
        if isinstance(right_node, ast.Constant) and right_node.value == 0:
            size, by = size_of(evaluate(left_node.left)), size_of(evaluate(left_node.right))
            if size is not None and by is not None and by.root.value is not None:
                size.root.multiple = max(size.root.multiple, by.root.value)
            elif size is not None and by is not None:
                by.root.divides.append(size)
        return
    left, right = evaluate(left_node), evaluate(right_node)
    if op is ast.In:
        _among(left, right)
    elif op is ast.Eq:
        equal(left, right)
    elif op is ast.IsNot and isinstance(left, Param) and isinstance(right, Const) and right.value is None:
        left.optional = False
    elif op in (ast.Lt, ast.LtE):
        _below(left, right, strict=op is ast.Lt)
    elif op in (ast.Gt, ast.GtE):
        _below(right, left, strict=op is ast.Gt)


def compared(left: Value, right: Value) -> None:
    """A parameter that is compared with a string or a number is one; with None, may be that."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Param) and isinstance(other, Const):
            if isinstance(other.value, str):
                one.is_a("str", "it is compared with strings")
                one.choices = (*one.choices, other.value)
            elif other.value is None:
                one.optional = True


def equal(left: Value, right: Value) -> None:
    """They are the same."""
    compared(left, right)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Dims) and not one.strides and isinstance(other, (Dims, Several)):
            _same_dims(one, other)
            return
        if isinstance(one, Rank):
            rank = other.shape.root.rank if isinstance(other, Rank) else whole(other)
            if rank is not None:
                one.shape.set_rank(rank)
            return
        if isinstance(one, Dtype):
            if isinstance(other, Dtype):
                one.merge(other)
            elif isinstance(other, Const) and isinstance(other.value, str) and other.value.startswith(TORCH):
                one.set(other.value.removeprefix(TORCH), ASSERT)
            return
    a, b = size_of(left), size_of(right)
    if a is None or b is None:
        return
    shapes = a.root.numel, b.root.numel
    if shapes[0] is not None and shapes[1] is not None:
        shapes[0].merge(shapes[1])
        return
    for shape, other in zip(shapes, (b, a), strict=True):
        if shape is not None and not shape.known:  # as many as another thing has rows, say: a vector
            shape.set_dims([other])
            return
    a.merge(b)


def _same_dims(one: Dims, other: Dims | Several) -> None:
    if isinstance(other, Several):
        if not one.whole or one.shape.set_rank(len(other.items)):
            for at, item in enumerate(other.items):
                size = size_of(item)
                if size is not None and isinstance(own := one.at(at, len(other.items)), Size):
                    own.merge(size)
    elif one.whole and other.whole:
        one.shape.merge(other.shape)
    elif (one.start, one.stop) == (other.start, other.stop):
        rank = one.shape.root.rank if one.shape.root.rank is not None else other.shape.root.rank
        if rank is None:  # until it is known
            one.shape.root.later.append((one, other))
        elif one.shape.set_rank(rank) and other.shape.set_rank(rank):
            for at in range(*slice(one.start, one.stop).indices(rank)):
                one.shape.dim(at).merge(other.shape.dim(at))


def _among(value: Value, group: Value) -> None:
    consts = [i.value for i in group.items if isinstance(i, Const)] if isinstance(group, Several) else []
    numbers = [c for c in consts if type(c) is int]
    if isinstance(value, Dtype):
        names = [c.removeprefix(TORCH) for c in consts if isinstance(c, str) and c.startswith(TORCH)]
        if names:
            value.set(next((n for n in ("float16", "bfloat16") if n in names), names[0]), ASSERT)
    elif isinstance(value, Rank) and numbers:
        value.shape.set_rank(numbers[0])
    elif consts:
        if isinstance(value, Param):
            value.choices = tuple(consts)
            if all(isinstance(c, str) for c in consts):
                value.is_a("str", ASSERT)
        size = size_of(value)
        if size is not None and len(numbers) == len(consts):
            size.root.allowed = tuple(numbers)


def _below(small: Value, large: Value, *, strict: bool) -> None:
    size, most = size_of(small), whole(large)
    if size is not None and most is not None and size.root.value is None:
        size.root.most = min(most - strict, size.root.most or most)
