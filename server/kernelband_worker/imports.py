"""What a module binds and what it uses, read from its text: the names by which an edit of another module can reach it."""

from __future__ import annotations

import ast
import functools
from typing import Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Set, Tuple


class Binding(NamedTuple):
    """How a name comes to its value. ``kind``: "from" (``from module import item``), "module" (``import module``), "name" (made of the name
    ``item`` of the same module), "decided" (whether it is bound there hangs on that name), "value" (written there) or "own" (made by what
    runs in the module).
    """

    kind: str
    module: str = ""
    item: str = ""


class Bound(NamedTuple):
    """``names``: of the top level, by what binds each; of "*", what decides about stars. ``stars``: modules of ``from module import *``."""

    names: Dict[str, FrozenSet[Binding]]
    stars: FrozenSet[str]


class Use(NamedTuple):
    """What is read of an import: ``k.launch.grid`` after ``import k`` has the attributes ("launch", "grid"). Of a star everything is."""

    binding: Binding
    attributes: Tuple[str, ...] = ()


OWN = Binding("own")
VALUE = Binding("value")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_CHANGING = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)


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
    for statement, deciding in _top(tree.body, ()):
        decided = {Binding("decided", item=name) for node in deciding for name in _read(node)}
        for node in ast.walk(statement) if not isinstance(statement, _DEFINITIONS) else ():
            for local, binding in _imported(node, package):
                if local == "*":
                    stars.add(binding.module)
                    names.setdefault("*", set()).update(decided)
                else:  # in a loop the module itself decides
                    names.setdefault(local, set()).update({binding} if node is statement else {binding, OWN})
            if isinstance(node, ast.Import):  # ``import a.b``: a, with b in it
                below = [alias.name for alias in node.names if "." in alias.name and not alias.asname]
                for name in below:
                    names[name.partition(".")[0]].add(Binding("module", name))
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            made, targets = set(), _brought(statement)
        elif isinstance(statement, _DEFINITIONS):
            made, targets = {OWN}, {statement.name}
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)):
            # ``TABLE.update(...)`` and ``x.y = ...`` change what TABLE and x stand for
            made, targets = {Binding("name", item=name) for name in _read(statement)}, _changed(statement)
        else:
            brought = {name for node in ast.walk(statement) for name in _brought(node)}
            inside = {name for node in ast.walk(statement) if isinstance(node, _CHANGING) for name in _changed(node)}
            made, targets = {OWN, *(Binding("name", item=name) for name in brought)}, _stored(statement) | inside
        for name in targets:
            itself = {Binding("name", item=name), Binding("decided", item=name)}
            value = {VALUE} if made <= itself and isinstance(statement, ast.Assign) else set()
            names.setdefault(name, set()).update((made | decided | value) - itself)
    for name in (name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names):
        names.setdefault(name, set()).add(OWN)
    for name in (name for node in ast.walk(tree) if isinstance(node, _DEFINITIONS) for name in _filled(node)):
        if name in names:  # a table that decorators or calls fill
            names[name].add(OWN)
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
        elif isinstance(node, (ast.Try, ast.With)) or type(node).__name__ == "TryStar":  # whether it is there may be what is asked
            body: List[ast.stmt] = getattr(node, "body", [])
            found |= {Use(b) for inner in body for n in ast.walk(inner) for local, b in _imported(n, package) if local != "*"}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)) and id(node) not in inner:
            root, attributes = _chain(node)
            found.update(Use(binding, attributes) for binding in bound.get(root, ()))
    return frozenset(found)


def _imported(statement: ast.AST, package: str) -> Iterator[Tuple[str, Binding]]:
    """What an import binds: ``import a.b`` binds a, ``import a.b as c`` a.b. The name of a star is "*"."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, Binding("module", alias.name if alias.asname else top)
    elif isinstance(statement, ast.ImportFrom):
        base = resolve(statement.module or "", package, statement.level)
        for alias in statement.names if base is not None else ():
            yield alias.asname or alias.name, Binding("from", base or "", alias.name)


def _top(body: List[ast.stmt], decided: Tuple[ast.AST, ...]) -> Iterator[Tuple[ast.stmt, Tuple[ast.AST, ...]]]:
    """The statements of the top level, in branches as well, with what decides whether each runs."""
    for statement in body:
        if isinstance(statement, ast.If):
            for part in (statement.body, statement.orelse):
                yield from _top(part, (*decided, statement.test))
        elif isinstance(statement, (ast.Try, ast.With)) or type(statement).__name__ == "TryStar":
            for item in getattr(statement, "items", ()):
                if item.optional_vars is not None:
                    yield ast.Assign([item.optional_vars], item.context_expr), decided
            # What fails in it, an import of a name that is gone for instance, ends it, and hands over to what catches the error.
            tried: List[ast.stmt] = getattr(statement, "body", [])
            for at, inner in enumerate(tried):
                yield from _top([inner], (*decided, *tried[:at]))
            for handler in getattr(statement, "handlers", ()):
                yield from _top(handler.body, (*decided, *tried))
            yield from _top(getattr(statement, "orelse", []), (*decided, *tried))
            yield from _top(getattr(statement, "finalbody", []), decided)
        else:
            yield statement, decided


def _read(node: ast.AST) -> Set[str]:
    """Names that stand in it, and those that it imports."""
    found: Set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        found |= _brought(inner)
    return found


def _brought(node: ast.AST) -> Set[str]:
    """Names that an import binds."""
    aliases = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return {alias.asname or alias.name.partition(".")[0] for alias in aliases if alias.name != "*"}


def _stored(statement: ast.stmt) -> Set[str]:
    """Names that a loop or the like binds, those that patterns capture among them."""
    found: Set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, _DEFINITIONS) or type(node).__name__ in ("MatchAs", "MatchStar"):
            found |= {name for name in [getattr(node, "name", None)] if name}
        elif type(node).__name__ == "MatchMapping":
            found |= {name for name in [getattr(node, "rest", None)] if name}
    return found


def _changed(statement: ast.stmt) -> Set[str]:
    """Names that a statement binds, or whose values it may change: the roots of its targets, and of the calls that stand by themselves."""
    if isinstance(statement, ast.Expr):
        return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} if isinstance(statement.value, ast.Call) else set()
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {n.id for target in targets if target is not None for n in ast.walk(target) if isinstance(n, ast.Name)}


def _filled(function: ast.AST) -> Set[str]:
    """Names in whose values a function puts something: ``TABLE[key] = value``, ``TABLE.append(value)``."""
    found: Set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
            found.add(_chain(node.value.func)[0])
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {n.id for t in targets if not isinstance(t, ast.Name) for n in ast.walk(t) if isinstance(n, ast.Name)}
    return found


def _chain(node: ast.expr) -> Tuple[str, Tuple[str, ...]]:
    """The name and the attributes of ``name.a.b``; no name for what isn't such."""
    parts: List[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), tuple(reversed(parts))
