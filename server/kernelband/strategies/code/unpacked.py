"""``kernel[grid](x, y, **settings)``: what is passed by a dictionary that stands in the host function as it is."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.literals import bound
from kernelband.strategies.code.module import Module


def keywords_of(
    module: Module, call: ast.Call, scope: ast.AST, assigned: Mapping[str, Sequence[ast.stmt]]
) -> tuple[ast.keyword, ...] | None:
    """All keywords of a launch, those of its dictionaries among them; None where one may hold what isn't written there.

    Args:
        module: in which the launch is.
        call: the launch.
        scope: its host function, or the module.
        assigned: for each name that it unpacks, the statements that may bind it for the launch.
    """
    found: list[ast.keyword] = []
    for keyword in call.keywords:
        if keyword.arg is not None:
            found.append(keyword)
            continue
        value = keyword.value
        if isinstance(value, ast.Name):
            own = assigned.get(value.id, ())
            target, made = (bound(own[0]) if len(own) == 1 else None) or (None, None)
            if not isinstance(target, ast.Name) or made is None or not _only_unpacked(module, value.id, own[0], call, scope):
                return None
            value = made
        settings = _settings(value)
        if settings is None:
            return None
        found += settings
    return tuple(found)


def _settings(value: ast.expr) -> list[ast.keyword] | None:
    """The items of ``{"BLOCK": 64, "num_warps": 4}`` or ``dict(BLOCK=64)``; None where one isn't a plain value: it may change meanwhile."""
    if isinstance(value, ast.Dict):
        keys = [k.value if isinstance(k, ast.Constant) else None for k in value.keys]
        items = [ast.keyword(k, v) for k, v in zip(keys, value.values, strict=True) if isinstance(k, str)]
        if len({k.arg for k in items}) != len(keys):
            return None
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "dict" and not value.args:
        items = value.keywords
    else:
        return None
    return items if all(k.arg is not None and isinstance(k.value, ast.Constant) for k in items) else None


def _only_unpacked(module: Module, name: str, made: ast.stmt, call: ast.Call, scope: ast.AST) -> bool:
    """Launches of this one kernel unpack the dictionary, and nothing else reads it, or writes into it."""
    kernel = ast.unparse(call.func.value) if isinstance(call.func, ast.Subscript) else ""
    reads = [n for n in all_nodes(scope) if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Store)]
    own = {
        k.value
        for n in all_nodes(scope)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Subscript) and ast.unparse(n.func.value) == kernel
        for k in n.keywords
        if k.arg is None
    }
    return all(n in own for n in reads if not module.either(n, made))
