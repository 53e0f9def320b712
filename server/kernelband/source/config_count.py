"""How many configurations an autotuner chooses from, as far as the text says it."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence

from kernelband.source.model import Kernel
from kernelband.source.syntax import expression_tree, syntax_tree

DEEP = 8  # names behind names


def config_count(kernel: Kernel, text: str) -> int | None:
    """Of a kernel in that text; 0 of one that isn't autotuned. None where only running it would tell: a function's list, a condition."""
    if not kernel.autotuned:
        return 0
    try:
        lists = [found for d in kernel.decorators if (found := _configs(expression_tree(d.text.strip().lstrip("@")).body)) is not None]
        known = _constants(syntax_tree(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # broken in the middle of an edit
        return None
    return _length(lists[0], known, DEEP) if len(lists) == 1 else None


def _configs(decorator: ast.expr) -> ast.expr | None:
    """What a decorator is given as its configurations."""
    if not isinstance(decorator, ast.Call):
        return None
    named = next((k.value for k in decorator.keywords if k.arg == "configs"), None)
    called = ast.unparse(decorator.func).rpartition(".")[2]
    return named or (decorator.args[0] if "autotune" in called and decorator.args else None)


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """What is bound once, by a plain assignment of the module, and touched by nothing else: no second binding, no ``append``."""
    bound = {s.targets[0].id: s.value for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)}
    stored = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    touched = {n.value.id for n in ast.walk(tree) if isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.value, ast.Name)}
    return {name: value for name, value in bound.items() if stored.count(name) == 1 and name not in touched}


def _length(node: ast.expr, known: Mapping[str, ast.expr], deep: int) -> int | None:
    """Of a list or tuple, or what is gone through; None where it isn't known."""
    if not deep:
        return None
    match node:
        case ast.List(elts) | ast.Tuple(elts):
            return _total([_length(e.value, known, deep - 1) if isinstance(e, ast.Starred) else 1 for e in elts])
        case ast.Name(name) if name in known:
            return _length(known[name], known, deep - 1)
        case ast.BinOp(left, ast.Add(), right):
            return _total([_length(left, known, deep - 1), _length(right, known, deep - 1)])
        case ast.ListComp(_, generators) | ast.GeneratorExp(_, generators) if not any(g.ifs for g in generators):
            own = {n.id for g in generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            outer = {name: value for name, value in known.items() if name not in own}
            counts = [_length(g.iter, outer, deep - 1) for g in generators]
            return None if None in counts else math.prod(c for c in counts if c is not None)
        case ast.Call(ast.Name("list" | "tuple"), [inside], []):
            return _length(inside, known, deep - 1)
        case ast.Call(ast.Name("range"), arguments, []):
            numbers = [a.value for a in arguments if isinstance(a, ast.Constant) and isinstance(a.value, int)]
            return len(range(*numbers)) if len(numbers) == len(arguments) and 0 < len(numbers) < 4 and 0 not in numbers[2:] else None
        case ast.IfExp(_, first, second):
            one, other = _length(first, known, deep - 1), _length(second, known, deep - 1)
            return one if one == other else None
        case _:
            return None


def _total(counts: Sequence[int | None]) -> int | None:
    return None if None in counts else sum(c for c in counts if c is not None)
