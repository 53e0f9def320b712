"""What numbers an expression holds, as far as the kernel's text and the cases' tensors tell: whether a selection changes them."""

from __future__ import annotations

import ast
from typing import Literal

from kernelband.strategies.code.linear import dimension
from kernelband.strategies.code.view import View

#: ``float``: of some width. None: whole numbers, or not known.
Kind = Literal["float32", "float"]
_SAME: Literal["same"] = "same"  # what a name is bound to adds nothing to what it is: the name itself

_Kind = Literal["float32", "float", "same"]

FLOATS = frozenset({"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "sigmoid", "erf", "fdiv", "div_rn"})
OF_ALL = frozenset({"max", "min", "sum", "abs", "trans", "reshape", "view", "broadcast_to", "expand_dims", "multiple_of", "max_contiguous"})
MADE = frozenset({"zeros", "full"})
DEEPEST = 12


def kind_of(view: View, node: ast.expr) -> Kind | None:
    """The kind of an expression of the kernel, whatever the way to it; of what a helper gives, nothing is known."""
    found = _kind(view, node, frozenset(), DEEPEST)
    return None if found == _SAME else found


def literal(node: ast.expr) -> bool:
    """A number that is written there, infinity too: it takes the type of what stands beside it, if that is of its kind."""
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and literal(node.operand)
    if isinstance(node, ast.Call):
        return (
            isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1 and isinstance(node.args[0], ast.Constant)
        )
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def whole(node: ast.expr) -> bool:
    """A whole number that is written there."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return literal(node) and isinstance(inner, ast.Constant) and type(inner.value) is int


def _kind(view: View, node: ast.expr, asked: frozenset[str], depth: int) -> _Kind | None:
    if depth == 0:
        return None
    placed = dimension(node)
    if placed is not None:
        return _kind(view, placed[1], asked, depth - 1)
    if isinstance(node, ast.UnaryOp):
        return _kind(view, node.operand, asked, depth - 1)
    if isinstance(node, ast.BinOp):
        sides: set[_Kind | None] = {_kind(view, side, asked, depth - 1) for side in (node.left, node.right) if not literal(side)}
        if isinstance(node.op, ast.Div):
            return "float32" if sides == {"float32"} else "float"
        return _widest(sides)
    if isinstance(node, ast.Name):
        return _named(view, node, asked, depth)
    return _called(view, node, asked, depth) if isinstance(node, ast.Call) else None


def _named(view: View, name: ast.Name, asked: frozenset[str], depth: int) -> _Kind | None:
    """All that is bound to it; what it is bound to by itself adds nothing."""
    kernel = view.kernel
    if name.id in kernel.parameters and not kernel.bindings(name.id):
        values = [x["scalars"].get(name.id) for x in view.target_launches]
        return "float" if values and all(type(v) is float for v in values) else None
    if name.id in asked:
        return _SAME
    found: set[_Kind | None] = set()
    for bound in kernel.bindings(name.id):
        if not isinstance(bound, ast.Assign | ast.AugAssign):
            return None
        if isinstance(bound, ast.AugAssign):
            continue  # it was something before, and stays that: a loop's variables keep their types
        plain = len(bound.targets) == 1 and isinstance(bound.targets[0], ast.Name)
        same = isinstance(bound.value, ast.Call) and kernel.tl(bound.value) == "where" and ast.unparse(bound.value.args[1]) == name.id
        if not same:
            found.add(_kind(view, bound.value, asked | {name.id}, depth - 1) if plain else None)
    found -= {_SAME}
    return next(iter(found)) if len(found) == 1 else "float" if found and None not in found else None


def _called(view: View, node: ast.Call, asked: frozenset[str], depth: int) -> _Kind | None:
    kernel, called = view.kernel, view.kernel.tl(node)
    if called is None:
        to = (
            ast.unparse(node.args[0]).rpartition(".")[2]
            if isinstance(node.func, ast.Attribute) and node.func.attr == "to" and node.args
            else ""
        )
        return "float32" if to == "float32" else "float" if to in ("float16", "bfloat16", "float64") else None
    dtype = next((ast.unparse(k.value).rpartition(".")[2] for k in node.keywords if k.arg == "dtype"), "")
    if called in MADE:
        dtype = dtype or (ast.unparse(node.args[-1]).rpartition(".")[2] if len(node.args) > 1 else "")
        return "float32" if dtype == "float32" else "float" if dtype in ("float16", "bfloat16", "float64") else None
    given = [a for a in node.args if not literal(a)]
    if called == "dot":
        plain = all(k.arg in ("acc", "allow_tf32", "input_precision") for k in node.keywords) and len(node.args) in (2, 3)
        return "float32" if plain and all(_kind(view, a, asked, depth - 1) in ("float32", "float") for a in node.args[:2]) else None
    if called == "load" and node.args:
        read = {t["dtype"] for x in view.target_launches for n, t in x["tensors"].items() if n in kernel.tokens(node.args[0])}
        floats = bool(read) and all(d.startswith(("float", "bfloat")) for d in read)
        return ("float32" if read == {"float32"} else "float") if floats else None
    if called in FLOATS and given:
        return "float32" if _kind(view, given[0], asked, depth - 1) == "float32" else "float"
    if called == "where" and len(node.args) == 3 and all(literal(a) for a in node.args[1:]):
        return None if all(whole(a) for a in node.args[1:]) else "float32"
    if called in ("maximum", "minimum", "where", "fma") or called in OF_ALL:
        asked_of = given[:1] if called in OF_ALL else given[1:] if called == "where" else given
        kinds: set[_Kind | None] = {_kind(view, a, asked, depth - 1) for a in asked_of}
        return _widest(kinds)
    return None


def _widest(sides: set[_Kind | None]) -> _Kind | None:
    if "float32" in sides:
        return "float32"
    return "float" if "float" in sides else _SAME if sides == {_SAME} else None
