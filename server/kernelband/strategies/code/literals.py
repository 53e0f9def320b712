"""Whole numbers that are written down: alone, in an assignment, as a parameter's default."""

from __future__ import annotations

import ast

from kernelband.strategies.code.module import FunctionNode


def integer(node: ast.expr | None) -> int | None:
    """A literal integer's value."""
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def bound(statement: ast.stmt) -> tuple[ast.expr, ast.expr | None] | None:
    """What one plain assignment binds to what; None for a chain, which binds more than the one, and for any other statement."""
    if isinstance(statement, ast.AnnAssign):
        return statement.target, statement.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0], statement.value
    return None


def given(statement: ast.stmt, name: str) -> ast.expr | None:
    """The expression that ``name = x`` or ``a, name = y, x`` binds; None of any other statement."""
    target, value = bound(statement) or (None, None)
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        places = [v for t, v in zip(target.elts, value.elts, strict=True) if isinstance(t, ast.Name) and t.id == name]
        return places[0] if len(places) == 1 else None
    return value if isinstance(target, ast.Name) and target.id == name else None


def assigned(statement: ast.stmt, name: str) -> tuple[int, ast.expr] | None:
    """The literal that ``NAME = 64`` or ``A, NAME = 32, 64`` binds."""
    value = given(statement, name)
    literal = integer(value)
    return None if literal is None or value is None else (literal, value)


def default(function: FunctionNode, name: str) -> tuple[int, ast.expr] | None:
    """The literal that a parameter is by default."""
    positional = [*function.args.posonlyargs, *function.args.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = list(zip(positional[::-1], function.args.defaults[::-1], strict=False))
    pairs += list(zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True))
    for argument, value in pairs:
        literal = integer(value)
        if argument.arg == name and value is not None and literal is not None:
            return literal, value
    return None
