"""What a module calls the packages that it imports, and what its names stand for."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator

LANGUAGE = "triton.language"
MATH = f"{LANGUAGE}.math"
#: What ``triton.language.math`` has that ``triton.language`` has too.
IN_MATH = frozenset({"exp", "exp2", "log", "log2", "sqrt", "sqrt_rn", "rsqrt", "abs", "sin", "cos", "erf", "floor", "ceil"}) | {
    *("fdiv", "div_rn", "fma", "umulhi"),
}


def module_alias(tree: ast.Module, package: str) -> str | None:
    """The name that ``import PACKAGE`` or ``import PACKAGE as NAME`` gives at the top of the module; None when it doesn't."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == package or (alias.asname is None and alias.name.startswith(f"{package}.")):
                    return alias.asname or package
    return None


def origins(nodes: Iterable[ast.AST], node: ast.expr, own: Container[str], through: frozenset[str] = frozenset()) -> Iterator[str]:
    """The dotted names that a name, or an attribute of one, may stand for in a module of these nodes; "?" for what can't be told.

    None of what is among ``own``, the names of the function that it stands in.
    """
    if isinstance(node, ast.Attribute):
        yield from (f"{o}.{node.attr}" for o in origins(nodes, node.value, own, through))
    if not isinstance(node, ast.Name) or node.id in own or node.id in through:
        return
    for statement in nodes:
        match statement:
            case ast.ImportFrom():
                package = "." * statement.level + (statement.module or "")
                yield from (f"{package}.{a.name}" for a in statement.names if (a.asname or a.name) == node.id)
            case ast.Import():
                named = [a for a in statement.names if (a.asname or a.name.partition(".")[0]) == node.id]
                yield from (a.name if a.asname else node.id for a in named)
            case ast.Assign() if any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets):
                yield from [*origins(nodes, statement.value, own, through | {node.id})] or ["?"]
            case ast.FunctionDef() if statement.name == node.id:
                yield "?"
            case _:
                pass


def of_language(names: Iterable[str]) -> str | None:
    """What the language calls the function that these dotted names all mean: "load" for ``triton.language.load``."""
    found = {_of_language(n) for n in names}
    return found.pop() if len(found) == 1 else None


def _of_language(dotted: str) -> str | None:
    package, _, name = dotted.rpartition(".")
    return name if package in (LANGUAGE, f"{LANGUAGE}.core", f"{LANGUAGE}.standard") or (package == MATH and name in IN_MATH) else None
