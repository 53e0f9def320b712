"""Branches of a kernel that none of its launches takes. Constexprs decide them, so they aren't compiled: an edit there changes nothing."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kernelband.source.model import Patch, Program, Span
from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import binding
from kernelband.strategies.code.module import FunctionNode, Module

_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_KNOWN = (bool, int, float)  # texts stand for what isn't JSON, a dtype for one


def untaken(program: Program, constants: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    """Where in the kernel's file they are. ``constants``: constexprs of each of its launches; of none, nothing is known."""
    kernel = program.kernel
    module = Module.read(kernel.place.path, program.texts[kernel.place.path])
    node = module.function(kernel.place.qualname) if module is not None else None
    if not constants or module is None or node is None:
        return ()
    names = {p.name for p in kernel.parameters if p.constexpr} - binding(node).keys()  # those that are in the body what the launch gives
    decided = [{n: v for n, v in given.items() if n in names and isinstance(v, _KNOWN)} for given in constants]
    return tuple(_span(module, branch) for branch in _branches(node, decided))


def is_inside(patch: Patch, path: str, spans: Sequence[Span]) -> bool:
    """Whether all that the patch changes lies in one or another of them."""
    edits = [(file.path, edit.span) for file in patch.files for edit in file.edits]
    return bool(spans) and all(p == path and any(s.start <= e.start and e.end <= s.end for s in spans) for p, e in edits)


def _branches(node: FunctionNode, decided: Sequence[Mapping[str, Any]]) -> Iterator[list[ast.stmt]]:
    for branch in all_nodes(node):
        if isinstance(branch, ast.If):
            found = {_truth(branch.test, constants) for constants in decided}
            if found == {False}:
                yield branch.body
            elif found == {True} and branch.orelse:
                yield branch.orelse


def _span(module: Module, body: list[ast.stmt]) -> Span:
    return Span(module.span(body[0]).start, module.span(body[-1]).end)


def _truth(test: ast.expr, constants: Mapping[str, Any]) -> bool | None:
    """What the compiler decides it to; None where it can't be told."""
    match test:
        case ast.BoolOp(op=op, values=values):
            ends = isinstance(op, ast.Or)  # what decides the whole, whatever the others are
            parts = [_truth(v, constants) for v in values]
            return ends if ends in parts else None if None in parts else not ends
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inside = _truth(operand, constants)
            return None if inside is None else not inside
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
            one, other = _value(left, constants), _value(right, constants)
            return None if one is None or other is None else bool(_COMPARISONS[type(op)](one, other))
        case _:
            value = _value(test, constants)
            return None if value is None else bool(value)


def _value(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """A number; None for anything else."""
    match node:
        case ast.Name(id=name):
            return constants.get(name)
        case ast.Constant(value=value) if isinstance(value, _KNOWN):
            return value
        case _:
            return None
