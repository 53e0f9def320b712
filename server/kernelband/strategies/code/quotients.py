"""Numbers as hosts write them: the power of two that holds a size, and how many blocks a size has."""

from __future__ import annotations

import ast

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.literals import integer


def _power_of_two(node: ast.AST) -> ast.expr | None:
    """What n is in ``next_power_of_2(n)``, ``1 << (n - 1).bit_length()`` or ``2 ** (n - 1).bit_length()``."""
    if isinstance(node, ast.Call) and called(node) == "next_power_of_2" and len(node.args) == 1:
        return node.args[0]
    if not isinstance(node, ast.BinOp) or (integer(node.left), type(node.op)) not in ((1, ast.LShift), (2, ast.Pow)):
        return None
    bits = node.right.func if isinstance(node.right, ast.Call) and not node.right.args else None
    less = bits.value if isinstance(bits, ast.Attribute) and bits.attr == "bit_length" else None
    one = isinstance(less, ast.BinOp) and isinstance(less.op, ast.Sub) and integer(less.right) == 1
    return less.left if one and isinstance(less, ast.BinOp) else None


def holding(node: ast.expr) -> ast.expr | None:
    """What the code is the power of two to hold, itself or in a call such as ``min(4096, ...)``."""
    inside = all_nodes(node) if isinstance(node, ast.Call) else [node]
    return next((held for n in inside if (held := _power_of_two(n)) is not None), None)


def divisor(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """(n, block) of ``cdiv(n, block)``, ``(n + block - 1) // block`` or ``(n + 255) // 256``."""
    if isinstance(node, ast.Call) and called(node) == "cdiv" and len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and isinstance(node.left, ast.BinOp):
        block = ast.unparse(node.right)
        left = ast.unparse(node.left)
        for n in all_nodes(node.left):
            if isinstance(n, ast.expr) and left in (f"{ast.unparse(n)} + {block} - 1", f"{ast.unparse(n)} + ({block} - 1)"):
                return n, node.right
        added = rounding(node.left, integer(node.right) or 0)
        return None if added is None else (added[0], node.right)
    return None


def rounding(left: ast.expr, value: int) -> tuple[ast.expr, ast.expr] | None:
    """(n, 255) of ``n + 255``, what is divided by 256."""
    if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Add) or value < 2:
        return None
    if integer(left.right) == value - 1:
        return left.left, left.right
    return (left.right, left.left) if integer(left.left) == value - 1 else None


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""
