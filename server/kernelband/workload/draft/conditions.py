"""What an assert, or an ``if`` that raises, says of shapes, dtypes and numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable

from kernelband.workload.draft.values import (
    Const,
    Dims,
    DtypeOf,
    Param,
    Rank,
    Several,
    Size,
    Value,
    size_of,
)

Evaluate = Callable[[ast.expr], Value]
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
DTYPE = "torch."


def require(test: ast.expr, evaluate: Evaluate, *, holds: bool = True) -> None:
    """Take it that a condition holds, or that it doesn't."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        require(test.operand, evaluate, holds=not holds)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == holds:
            for part in test.values:
                require(part, evaluate, holds=holds)
        else:  # one of them: the first that says what something is
            parts = [p for p in test.values if not _of_none(p)]
            if parts:
                require(parts[0], evaluate, holds=holds)
    elif isinstance(test, ast.Compare):
        left = test.left
        for op, right in zip(test.ops, test.comparators, strict=True):
            kind = type(op) if holds else OPPOSITE[type(op)]
            _compare(kind, left, right, evaluate)
            left = right
        _between(test, evaluate)
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance" and len(test.args) == 2 and holds:
        _is_instance(evaluate(test.args[0]), ast.unparse(test.args[1]))
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "all" and test.args and holds:
        inner = test.args[0]
        if isinstance(inner, (ast.GeneratorExp, ast.ListComp)):
            require(inner.elt, evaluate)
    else:
        evaluate(test)


def _of_none(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(isinstance(c, ast.Constant) and c.value is None for c in test.comparators)


def _is_instance(value: Value, kind: str) -> None:
    if not isinstance(value, Param):
        return
    said = "an assert"
    if "Tensor" in kind:
        value.is_a("tensor", said)
    elif "bool" in kind:
        value.is_a("bool", said)
    elif "int" in kind:
        value.is_a("int", said)
    elif "float" in kind:
        value.is_a("float", said)
    elif "str" in kind:
        value.is_a("str", said)


def _between(test: ast.Compare, evaluate: Evaluate) -> None:
    """``0 <= p <= 1``: a probability."""
    if len(test.ops) == 2 and isinstance(test.left, ast.Constant) and isinstance(test.comparators[1], ast.Constant):
        value = evaluate(test.comparators[0])
        if isinstance(value, Param) and test.left.value in (0, 0.0) and test.comparators[1].value in (1, 1.0):
            value.is_a("float", "an assert")
            value.fraction = True
            value.size.root.most = value.size.root.least = None


def _compare(op: type[ast.cmpop], left_node: ast.expr, right_node: ast.expr, evaluate: Evaluate) -> None:
    if op in (ast.In, ast.NotIn):
        if op is ast.In:
            _among(evaluate(left_node), evaluate(right_node))
        return
    if op is ast.Eq and isinstance(left_node, ast.BinOp) and isinstance(right_node, ast.Constant) and right_node.value == 0:
        _divisible(left_node, evaluate)
        return
    left, right = evaluate(left_node), evaluate(right_node)
    if op is ast.Eq:
        equal(left, right)
    elif op is ast.NotEq or op in (ast.Is, ast.IsNot):
        for one, other in ((left, right), (right, left)):
            if op is ast.IsNot and isinstance(one, Param) and isinstance(other, Const) and other.value is None:
                one.optional = False
    else:
        _bound(op, left, right)


def equal(left: Value, right: Value) -> None:
    """They are the same."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Dims) and isinstance(other, (Dims, Several)):
            _same_dims(one, other)
            return
        if isinstance(one, Rank):
            if isinstance(other, Const) and isinstance(other.value, int):
                one.shape.set_rank(other.value)
            elif isinstance(other, Rank) and other.shape.root.rank is not None:
                one.shape.set_rank(other.shape.root.rank)
            return
        if isinstance(one, DtypeOf):
            if isinstance(other, DtypeOf):
                one.dtype.merge(other.dtype)
            elif isinstance(other, Const) and isinstance(other.value, str) and other.value.startswith(DTYPE):
                one.dtype.set(other.value.removeprefix(DTYPE), "an assert")
            return
        if isinstance(one, Param) and isinstance(other, Const):
            one.choices = one.choices or (other.value,)
            if isinstance(other.value, str):
                one.is_a("str", "an assert")
            if isinstance(other.value, float):
                one.is_a("float", "an assert")
    a, b = size_of(left), size_of(right)
    if a is not None and b is not None:
        if a.root.numel is not None and b.root.numel is not None:
            a.root.numel.merge(b.root.numel)
            return
        for one, other in ((a, b), (b, a)):
            if one.root.numel is not None and not one.root.numel.known:  # as many as another thing has rows, say: a vector
                one.root.numel.set_rank(1)
                one.root.numel.dim(0).merge(other)
                return
        a.merge(b)
        a.root.exact = a.root.exact or a.root.value is not None


def _same_dims(one: Dims, other: Dims | Several) -> None:
    if isinstance(other, Dims):
        if (one.start, one.stop, other.start, other.stop) == (None,) * 4:
            one.shape.merge(other.shape)
            return
        ranks = [d.shape.root.rank for d in (one, other)]
        if one.stop == other.stop and one.start == other.start:
            rank = ranks[0] if ranks[0] is not None else ranks[1]
            if rank is not None and one.shape.set_rank(rank) and other.shape.set_rank(rank):
                for at in range(*slice(one.start, one.stop).indices(rank)):
                    one.shape.dim(at).merge(other.shape.dim(at))
            elif rank is None:  # until it is known
                one.shape.root.later.append((one, other))
        return
    if one.start is None and one.stop is None and not one.shape.set_rank(len(other.items)):
        return
    for at, item in enumerate(other.items):
        size = size_of(item)
        if size is not None:
            named_dim(one, at, len(other.items)).merge(size)


def named_dim(dims: Dims, at: int, count: int) -> Size:
    """The size at a place of a part of a shape that has so many."""
    if dims.start is not None and dims.start < 0:
        return dims.shape.dim(dims.start + at)
    if dims.start is None and dims.stop is not None and dims.stop < 0 and dims.shape.root.rank is None:
        dims.shape.set_rank(count - dims.stop)
    return dims.shape.dim((dims.start or 0) + at)


def _among(value: Value, group: Value) -> None:
    items = group.items if isinstance(group, Several) else ()
    consts = [i.value for i in items if isinstance(i, Const)]
    if not consts:
        return
    if isinstance(value, DtypeOf):
        names = [c.removeprefix(DTYPE) for c in consts if isinstance(c, str) and c.startswith(DTYPE)]
        if names:
            value.dtype.set(next((n for n in ("float16", "bfloat16") if n in names), names[0]), "an assert")
        return
    if isinstance(value, Rank) and isinstance(consts[0], int):
        value.shape.set_rank(consts[0])
        return
    if isinstance(value, Param):
        value.choices = tuple(consts)
        if all(isinstance(c, str) for c in consts):
            value.is_a("str", "an assert")
    size = size_of(value)
    if size is not None and all(type(c) is int for c in consts):
        size.root.allowed = tuple(c for c in consts if type(c) is int)


def _divisible(node: ast.BinOp, evaluate: Evaluate) -> None:
    """``D % 16 == 0`` and ``H % G == 0``; of ``D & (D - 1) == 0`` nothing has to be said: sizes are powers of two."""
    if not isinstance(node.op, ast.Mod):
        return
    size, by = size_of(evaluate(node.left)), size_of(evaluate(node.right))
    if size is None or by is None:
        return
    if by.root.value is not None:
        size.root.multiple = max(size.root.multiple, by.root.value)
    else:
        by.root.divides.append(size)


def _bound(op: type[ast.cmpop], left: Value, right: Value) -> None:
    if isinstance(left, Rank) or isinstance(right, Rank):
        rank, other = (left, right) if isinstance(left, Rank) else (right, left)
        if isinstance(rank, Rank) and isinstance(other, Const) and isinstance(other.value, int) and op in (ast.Gt, ast.GtE):
            rank.shape.root.least = max(rank.shape.root.least, other.value + (op is ast.Gt))
        return
    a, b = size_of(left), size_of(right)
    for value, other in ((left, right), (right, left)):
        if isinstance(value, Param) and isinstance(other, Const) and isinstance(other.value, float):
            value.is_a("float", "an assert")
    if a is None or b is None:
        return
    if op in (ast.Gt, ast.GtE):
        a, b, op = b, a, {ast.Gt: ast.Lt, ast.GtE: ast.LtE}[op]
    strict = op is ast.Lt
    if b.root.value is not None and a.root.value is None:
        most = b.root.value - strict
        a.root.most = most if a.root.most is None else min(a.root.most, most)
    elif a.root.value is not None and b.root.value is None:
        least = a.root.value + strict
        b.root.least = least if b.root.least is None else max(b.root.least, least)
