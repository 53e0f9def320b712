"""What a module binds and what it uses, read from its text: the names by which an edit of another module can reach it."""

from __future__ import annotations

import ast
import functools
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Set, Tuple


class Binding(NamedTuple):
    """How a name comes to its value. ``kind``: "from" (``from module import item``), "module" (``import module``), "name" (made of the name
    ``item`` of the same module) or "own" (made by what runs in the module).
    """

    kind: str
    module: str = ""
    item: str = ""


class Bound(NamedTuple):
    """``names``: of the top level, by what binds each. ``stars``: modules of ``from module import *``."""

    names: Dict[str, FrozenSet[Binding]]
    stars: FrozenSet[str]


class Use(NamedTuple):
    """What is read of an import: ``k.launch.grid`` after ``import k`` has the attributes ("launch", "grid"). Of a star everything is."""

    binding: Binding
    attributes: Tuple[str, ...] = ()


OWN = Binding("own")


def resolve(name: str, package: str, level: int) -> Optional[str]:
    """The absolute name of ``from ..name import``; None when it goes above the top package."""
    if level == 0:
        return name
    parts = package.split(".") if package else []
    if level > len(parts):
        return None
    base = ".".join(parts[: len(parts) - level + 1])
    return f"{base}.{name}" if name else base


@functools.lru_cache(maxsize=4096)
def bindings(text: str, package: str) -> Bound:
    """What the top level of a text binds, whichever of its branches runs."""
    tree = ast.parse(text)
    names: Dict[str, Set[Binding]] = {}
    stars: Set[str] = set()
    for statement, decided in _top(tree.body, ()):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for local, binding in _imported(statement, package):
                stars.add(binding.module) if local == "*" else names.setdefault(local, set()).add(binding)
            continue
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            made, targets = {OWN}, {statement.name}
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            # ``TABLE.update(...)`` and ``x.y = ...`` change what TABLE and x stand for
            read = {n.id for node in (statement, *decided) for n in ast.walk(node) if isinstance(n, ast.Name)}
            made, targets = {Binding("name", item=name) for name in read}, _changed(statement)
        else:
            made, targets = {OWN}, {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        for name in targets:
            names.setdefault(name, set()).update(made - {Binding("name", item=name)})
    for name in (name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names):
        names.setdefault(name, set()).add(OWN)
    return Bound({name: frozenset(found) for name, found in names.items()}, frozenset(stars))


@functools.lru_cache(maxsize=4096)
def uses(text: str, package: str) -> FrozenSet[Use]:
    """What a text reads of its imports, anywhere in it."""
    tree = ast.parse(text)
    bound: Dict[str, List[Binding]] = {}
    found: Set[Use] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for local, binding in _imported(node, package):
                found.add(Use(binding)) if local == "*" else bound.setdefault(local, []).append(binding)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)) and id(node) not in inner:
            root, attributes = _chain(node)
            found.update(Use(binding, attributes) for binding in bound.get(root, ()))
    return frozenset(found)


def _imported(statement: ast.stmt, package: str) -> Iterator[Tuple[str, Binding]]:
    """What an import binds: ``import a.b`` binds a, ``import a.b as c`` a.b. The name of a star is "*"."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, Binding("module", alias.name if alias.asname else top)
    elif isinstance(statement, ast.ImportFrom):
        base = resolve(statement.module or "", package, statement.level)
        for alias in statement.names if base is not None else ():
            yield alias.asname or alias.name, Binding("from", base or "", alias.name)


def _top(body: List[ast.stmt], decided: Tuple[ast.expr, ...]) -> Iterator[Tuple[ast.stmt, Tuple[ast.expr, ...]]]:
    """The statements of the top level, in branches as well, with what decides whether each runs."""
    for statement in body:
        if isinstance(statement, (ast.If, ast.Try, ast.With)):
            tests = (statement.test,) if isinstance(statement, ast.If) else ()
            for part in ("body", "orelse", "finalbody"):
                yield from _top(getattr(statement, part, []), (*decided, *tests))
            for handler in getattr(statement, "handlers", []):
                yield from _top(handler.body, decided)
            if isinstance(statement, ast.With):
                for item in statement.items:
                    if item.optional_vars is not None:
                        yield ast.Assign([item.optional_vars], item.context_expr), decided
        else:
            yield statement, decided


def _changed(statement: ast.stmt) -> Set[str]:
    """Names that a statement binds, or whose values it may change: the roots of its targets, and of the calls that stand by themselves."""
    if isinstance(statement, ast.Expr):
        return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} if isinstance(statement.value, ast.Call) else set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {n.id for target in targets if target is not None for n in ast.walk(target) if isinstance(n, ast.Name)}


def _chain(node: ast.expr) -> Tuple[str, Tuple[str, ...]]:
    """The name and the attributes of ``name.a.b``; no name for what isn't such."""
    parts: List[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), tuple(reversed(parts))
