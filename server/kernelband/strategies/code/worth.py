"""Arithmetic on numbers of which some aren't known: what a lane is worth that nobody reads."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

#: Of what nobody filled: not even a product with zero is known.
UNDEFINED = "undefined"
#: A number (a truth is 0 or 1), UNDEFINED, or None for one that isn't known.
Worth = float | str | None
#: From here on a number stands for an infinity, as kernels write it.
HUGE = 1e8
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "abs": abs,
    "sqrt": math.sqrt,
    "sin": math.sin,
    "cos": math.cos,
    "floor": math.floor,
}


def number(value: float) -> float:
    """The number, or the infinity that it stands for."""
    return math.copysign(math.inf, value) if abs(value) >= HUGE else value


def worse(*found: Worth) -> Worth:
    """What is known of something made of these by no rule."""
    return UNDEFINED if UNDEFINED in found else None


def largest(one: Worth, other: Worth, sign: int) -> Worth:
    """The larger of the two, or the smaller where the sign is -1: an infinity is it whatever the other is."""
    if isinstance(one, float) and isinstance(other, float):
        return sign * max(sign * one, sign * other)
    most = sign * math.inf
    return most if most in (one, other) else worse(one, other)


def applied(name: str, value: float) -> Worth:
    """What one of FUNCTIONS gives; None where it gives nothing."""
    if name in ("exp", "exp2") and math.isinf(value):
        return 0.0 if value < 0 else math.inf
    try:
        return number(float(FUNCTIONS[name](value)))
    except (ValueError, OverflowError):
        return None


def combined(op: ast.operator, one: Worth, other: Worth) -> Worth:
    """Of a number and one that isn't known: zero times anything is zero, and an infinity stays one, less anything or times a scale."""
    if UNDEFINED in (one, other):
        return 0.0 if isinstance(op, ast.BitAnd) and 0.0 in (one, other) else UNDEFINED
    if isinstance(one, float) and isinstance(other, float):
        return _computed(op, one, other)
    if isinstance(op, ast.BitAnd | ast.Mult) and 0.0 in (one, other):
        return 0.0
    if isinstance(op, ast.Div | ast.FloorDiv) and one == 0:
        return 0.0
    if isinstance(op, ast.BitOr) and 1.0 in (one, other):
        return 1.0
    if isinstance(one, float) and math.isinf(one) and isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return one
    if isinstance(other, float) and math.isinf(other) and isinstance(op, ast.Add | ast.Sub | ast.Mult):
        return -other if isinstance(op, ast.Sub) else other
    return None


def _computed(op: ast.operator, one: float, other: float) -> Worth:
    match op:
        case ast.Add():
            found = one + other
        case ast.Sub():
            found = one - other
        case ast.Mult():
            found = one * other
        case ast.Div() if other != 0:
            found = one / other
        case ast.Pow() if other in (2, 3, 4):
            found = one**other
        case ast.BitAnd():
            found = float(bool(one) and bool(other))
        case ast.BitOr():
            found = float(bool(one) or bool(other))
        case _:
            return None
    return None if math.isnan(found) else found
