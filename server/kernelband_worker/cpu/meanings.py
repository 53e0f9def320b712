"""What Python's own words mean in a kernel, where they meet tensors: ``range``, ``min`` and ``max``, ``and``, ``or`` and ``not``.

Triton's interpreter leaves them to Python, for which a block of elements is simply true: ``rows < m and columns < n`` was the mask of the
columns alone.
"""

from __future__ import annotations

import ast
from functools import reduce
from typing import Any, Callable, Dict, Iterator, List, cast

import triton.language as tl
from triton.runtime import interpreter

_AND, _OR, _NOT = "_kernelband_and", "_kernelband_or", "_kernelband_not"


def names() -> Dict[str, Callable[..., Any]]:
    """What a rewritten body calls, and in place of Python's functions what it calls them by."""
    chosen = {"min": _extreme(min, "minimum"), "max": _extreme(max, "maximum")}
    return {_AND: _all_of, _OR: _any_of, _NOT: _negated, "range": steps, **chosen}


class Operators(ast.NodeTransformer):
    """Makes calls of ``and``, ``or`` and ``not``; what stands right of the first two is computed only where it is wanted."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        later = [ast.Lambda(_no_arguments(), self.visit(value)) for value in node.values[1:]]
        return _call(node, _AND if isinstance(node.op, ast.And) else _OR, [self.visit(node.values[0]), *later])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call(node, _NOT, [node.operand]) if isinstance(node.op, ast.Not) else node


def steps(first: Any, end: Any = None, step: Any = None, **_: Any) -> Iterator[Any]:
    """``range`` in a kernel: its variable is a tensor, as in compiled code (``i.to(tl.int64)``), and of 64 bits where a bound is."""
    bounds = [first] if end is None else [first, end] if step is None else [first, end, step]
    wide = any(isinstance(bound, tl.tensor) and bound.dtype == tl.int64 for bound in bounds)
    convert = cast("Any", interpreter)._implicit_cvt
    for number in range(*bounds):
        yield convert(number).to(tl.int64) if wide else convert(number)


def _extreme(plain: Callable[..., Any], of_tensors: str) -> Callable[..., Any]:
    """``min`` or ``max`` in a kernel: of tensors a tensor, as in compiled code, where Python's gives back whichever it is."""

    def extreme(*given: Any) -> Any:
        if any(isinstance(value, tl.tensor) for value in given):
            return reduce(getattr(tl, of_tensors), given)
        return plain(*given)

    return extreme


def _all_of(first: Any, *later: Callable[[], Any]) -> Any:
    return _combined(first, later, ends=False, combine=lambda one, other: one & other)


def _any_of(first: Any, *later: Callable[[], Any]) -> Any:
    return _combined(first, later, ends=True, combine=lambda one, other: one | other)


def _combined(first: Any, later: Any, *, ends: bool, combine: Callable[[Any, Any], Any]) -> Any:
    """As compiled: constants may end it, all tensors are computed, scalars too, and combined element by element; a single one is itself."""
    value, tensors = first, cast("List[Any]", [])
    for index in range(len(later) + 1):
        value = first if index == 0 else later[index - 1]()
        if isinstance(value, tl.tensor):
            tensors.append(value)
        elif bool(value) is ends:
            return value
    return value if not tensors else tensors[0] if len(tensors) == 1 else reduce(combine, (tensor != 0 for tensor in tensors))


def _negated(value: Any) -> Any:
    return value == 0 if isinstance(value, tl.tensor) else not value


def _no_arguments() -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])


def _call(place: ast.expr, name: str, arguments: List[ast.expr]) -> ast.Call:
    return ast.copy_location(ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=arguments, keywords=[]), place)
