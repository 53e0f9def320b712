"""Which names statements bind, and what to."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from kernelband.source.syntax import all_nodes


def paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is given to what: of ``i, j = a, b`` each by itself."""
    match target, value:
        case ((ast.Tuple(elts=names) | ast.List(elts=names)), (ast.Tuple(elts=given) | ast.List(elts=given))) if len(names) == len(given):
            if any(isinstance(e, ast.Starred) for e in (*names, *given)):
                yield target, value
            else:
                for one, its in zip(names, given, strict=True):
                    yield from paired(one, its)
        case _:
            yield target, value


def target_names(target: ast.expr) -> list[str]:
    """Names that an assignment target binds."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [n for e in target.elts for n in target_names(e)]
    return target_names(target.value) if isinstance(target, ast.Starred) else []


def bound_names(statement: ast.AST) -> list[str]:
    """Names that a statement itself binds (not the statements in it)."""
    if isinstance(statement, ast.Assign):
        return [n for t in statement.targets for n in target_names(t)]
    if isinstance(statement, ast.AnnAssign | ast.AugAssign | ast.For):
        return target_names(statement.target)
    if isinstance(statement, ast.With):
        return [n for i in statement.items if i.optional_vars is not None for n in target_names(i.optional_vars)]
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    return []


@lru_cache(maxsize=64)
def binding(scope: ast.AST) -> dict[str, list[ast.stmt]]:
    """The statements of a function or module that bind each name, found once: trees never change."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in all_nodes(scope):
        if isinstance(statement, ast.stmt) and statement is not scope:
            for name in dict.fromkeys(bound_names(statement)):
                found.setdefault(name, []).append(statement)
    return found
