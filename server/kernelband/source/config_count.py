"""How many configurations an autotuner chooses from, as far as the text says it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

from parso.tree import NodeOrLeaf

from kernelband.source.constants import Constants
from kernelband.source.decorators import AUTOTUNE, HEURISTICS, JIT, called, callee, keyword, stands_for
from kernelband.source.model import Expression, Kernel
from kernelband.source.recovery import expression_at
from kernelband.source.scopes import Scopes, absolute, scopes
from kernelband.source.syntax import expression_tree, syntax_tree
from kernelband.source.tree import BOM, code, line_column

DEEP = 8  # names behind names


def config_count(kernel: Kernel, text: str) -> int | None:
    """Of a kernel in that text; 0 of one that isn't autotuned. None where only running it would tell: a function's list, a condition.

    Of a project's own tuner, too: it may add to the list that it gets, or leave some out.
    """
    if not kernel.autotuned:
        return 0
    try:
        known = Constants(syntax_tree(text.removeprefix(BOM)))
        lists = [found for d in kernel.decorators for found in _configs(d, scopes(text))]
        return _length(lists[0], known, DEEP) if len(lists) == 1 and lists[0] is not None else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # broken in the middle of an edit
        return None


def _configs(decorator: Expression, known: Scopes) -> Iterator[ast.expr | None]:
    """What a decorator that tunes is given as its configurations, None where that isn't told; nothing of other decorators."""
    node = expression_at(known.text, decorator.span)
    at = cast("NodeOrLeaf | None", cast("Any", known.module).get_leaf_for_position(line_column(known.text, decorator.span.start)))
    if node is None or at is None:
        return
    names, given = stands_for(node, known, at), [keyword(a) for a in called(node)[1]]
    named = [v for k, v in given if k == "configs"]
    if names & AUTOTUNE:
        itself = frozenset(absolute(callee(node) or "", at, known))  # none of what ``partial`` makes, which may have a list already
        first = named or [v for k, v in given[:1] if k is None]
        yield expression_tree(f"({code(first[0])}\n)").body if first and itself and names | itself <= AUTOTUNE else None
    elif named and not names & (JIT | HEURISTICS):
        yield None


def _length(node: ast.expr, known: Constants, deep: int) -> int | None:
    """Of a list or tuple, or what is gone through; None where it isn't known."""
    match node:
        case ast.List(elts) | ast.Tuple(elts):
            return _total([_length(e.value, known, deep) if isinstance(e, ast.Starred) else 1 for e in elts])
        case ast.Name(name) if name in known.values and deep:
            return _length(known.values[name], known, deep - 1)
        case ast.BinOp(left, ast.Add(), right):
            return _total([_length(left, known, deep), _length(right, known, deep)])
        case ast.ListComp(_, generators) | ast.GeneratorExp(_, generators) if not any(g.ifs for g in generators):
            counts = [_length(g.iter, known, deep) for g in generators]
            return None if None in counts else math.prod(c for c in counts if c is not None)
        case ast.Call(ast.Name("list" | "tuple" as name), [inside], []) if known.is_built_in(name):
            return _length(inside, known, deep)
        case ast.Call(ast.Name("range"), arguments, []) if known.is_built_in("range"):
            numbers = [n for a in arguments if (n := _number(a)) is not None]
            return len(range(*numbers)) if len(numbers) == len(arguments) and 0 < len(numbers) < 4 and 0 not in numbers[2:] else None
        case ast.IfExp(_, first, second):
            one, other = _length(first, known, deep), _length(second, known, deep)
            return one if one == other else None
        case _:
            return None


def _number(node: ast.expr) -> int | None:
    """A whole number that is written out, with its sign."""
    match node:
        case ast.Constant(int() as value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as value)):
            return -value
        case _:
            return None


def _total(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(c for c in counts if c is not None)
