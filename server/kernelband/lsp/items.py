"""What expressions and simple statements say: the names that they bind and read, what they call and with what."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import cast

from attrs import field, frozen

#: A variable: the qualname of the scope that binds it ("" for a module, whichever it is) and what it is called.
Name = tuple[str, str]
GRID: Name = (".", "the grid")  # what a launch says by its grid, and a kernel reads by its program ids
ATTRIBUTE = "."  # scope of attributes that are assigned, whatever they are of
PARAMETER, DECORATOR = "parameter ", "decorator "  # what their code begins with

_MEMORY = frozenset({"cache_modifier", "eviction_policy"})
#: Keywords that decide on speed only, by the function that takes them.
HINTS = {
    "load": _MEMORY,
    "store": _MEMORY,
    "range": frozenset({"num_stages", "loop_unroll_factor", "flatten", "disallow_acc_multi_buffer", "warp_specialize", "disable_licm"}),
}

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PROGRAM = ("program_id", "num_programs")
_LAUNCHERS = ("run", "warmup")


@frozen
class Argument:
    """What a call passes: by position (int), by name, or unpacked ("*", "**")."""

    key: int | str
    code: str = field(repr=False)
    reads: frozenset[Name] = frozenset()


@frozen
class Call:
    """``callee``: the bare name of what is called, "" where it is no name. ``variable``: the same as a variable, where it is one."""

    callee: str
    variable: Name | None
    arguments: tuple[Argument, ...]
    grid: Argument | None = None


@frozen
class Item:
    """Something that a statement says. Two with the same ``code`` in one function say the same.

    ``part``: "signature" or "return", of the function ``of``; "" for all else. ``hints``: keywords that decide on speed only.
    """

    code: str = field(repr=False)
    binds: frozenset[Name] = frozenset()
    reads: frozenset[Name] = frozenset()
    calls: tuple[Call, ...] = ()
    part: str = ""
    of: str = ""
    hints: tuple[tuple[str, str], ...] = field(default=(), eq=False)


@frozen(eq=False)
class Scope:
    """``bound``: what it binds itself; ``passed``: its names that are those of the module or of a function around it."""

    name: str
    is_class: bool
    bound: frozenset[str]
    passed: frozenset[str]
    parent: Scope | None

    def resolve(self, name: str) -> Name:
        """The variable that a name is here."""
        at: Scope | None = self
        while at is not None:
            if name in at.bound and name not in at.passed and (at is self or not at.is_class):
                return at.name, name
            at = at.parent
        return "", name

    def inner(self, name: str) -> str:
        """The qualname of a definition in it, without ``<locals>``."""
        return f"{self.name}.{name}" if self.name else name


def bindings(body: Iterable[ast.AST]) -> tuple[frozenset[str], frozenset[str]]:
    """What a block binds in its own scope, and which names it declares to be of another."""
    bound, passed = set[str](), set[str]()
    for node in body:
        for kind, name in _bound(node):
            (passed if kind == "passed" else bound).add(name)
    return frozenset(bound), frozenset(passed)


def _bound(node: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(node, DEFINITIONS):
        yield "bound", node.name
        return
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from (("passed", name) for name in node.names)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield "bound", node.id
    elif isinstance(node, ast.alias):
        yield "bound", node.asname or node.name.partition(".")[0]
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield "bound", node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield "bound", node.rest
    skipped = node.target if isinstance(node, ast.comprehension) else None  # of its own scope
    for child in ast.iter_child_nodes(node):
        if child is not skipped:
            yield from _bound(child)


def item_of(scope: Scope, *nodes: ast.AST, code: str = "", part: str = "", of: str = "") -> Item:
    """What expressions, or a simple statement, say."""
    found = _Said(scope)
    for node in nodes:
        found.read(node, frozenset())
    said = " ".join([code, *map(_code, nodes)])
    return Item(said, frozenset(found.binds), frozenset(found.reads), tuple(found.calls), part, of, tuple(found.hints))


class _Said:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.binds, self.reads = set[Name](), set[Name]()
        self.calls: list[Call] = []
        self.hints: list[tuple[str, str]] = []

    def read(self, node: ast.AST, hidden: frozenset[str]) -> None:
        """A node and all under it; ``hidden``: the names of lambdas and comprehensions around it."""
        if isinstance(node, ast.Name):
            self._name(node, hidden)
            return
        if isinstance(node, ast.Lambda):
            arguments = node.args
            for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)):
                self.read(default, hidden)
            every = (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg)
            self.read(node.body, hidden | {a.arg for a in every if a is not None})
            return
        if isinstance(node, _COMPREHENSIONS):
            targets = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            hidden |= targets
        elif isinstance(node, ast.Call):
            self._call(node, hidden)
        elif isinstance(node, ast.Attribute):
            (self.reads if isinstance(node.ctx, ast.Load) else self.binds).add((ATTRIBUTE, node.attr))
            if node.attr in _PROGRAM:
                self.reads.add(GRID)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            self.binds.add(self.scope.resolve(node.value.id))  # ``options["BLOCK"] = 64``
        elif isinstance(node, ast.alias):
            self.reads.add(("", node.name.rpartition(".")[2]))  # what another file may define
            self.binds.add(self.scope.resolve(node.asname or node.name.partition(".")[0]))
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            self.binds.add(self.scope.resolve(node.name))
        elif isinstance(node, ast.MatchMapping) and node.rest:
            self.binds.add(self.scope.resolve(node.rest))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.reads.add(self.scope.resolve(node.target.id))
        for child in ast.iter_child_nodes(node):
            self.read(child, hidden)

    def _name(self, node: ast.Name, hidden: frozenset[str]) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id not in hidden:
                self.reads.add(self.scope.resolve(node.id))
            if node.id in _PROGRAM:
                self.reads.add(GRID)
        elif node.id not in hidden:
            self.binds.add(self.scope.resolve(node.id))

    def _call(self, node: ast.Call, hidden: frozenset[str]) -> None:
        base, grid = node.func, None
        launched = isinstance(base, ast.Attribute) and base.attr in _LAUNCHERS
        if launched:
            base = cast("ast.Attribute", base).value
        elif isinstance(base, ast.Subscript):
            grid = self._argument(0, base.slice, hidden)
            base = base.value
        if isinstance(base, ast.Attribute) and base.attr == "fn":
            base = base.value
        variable: Name | None = None
        callee = ""
        if isinstance(base, ast.Name):
            callee = base.id
            variable = self.scope.resolve(base.id) if base.id not in hidden else None
        elif isinstance(base, ast.Attribute):
            callee, variable = base.attr, (ATTRIBUTE, base.attr)
        passed: list[Argument] = []
        for at, argument in enumerate(node.args):
            key: int | str = "*" if any(isinstance(a, ast.Starred) for a in node.args[: at + 1]) else at
            passed.append(self._argument(key, argument, hidden))
        for keyword in _keywords(node):
            argument = self._argument(keyword.arg or "**", keyword.value, hidden)
            if launched and keyword.arg == "grid":
                grid = argument
            passed.append(argument)
        self.hints += [(k.arg or "", _code(k.value)) for k in node.keywords if k not in _keywords(node)]
        self.calls.append(Call(callee, variable, tuple(passed), grid))

    def _argument(self, key: int | str, node: ast.expr, hidden: frozenset[str]) -> Argument:
        inner = _Said(self.scope)
        inner.read(node, hidden)
        return Argument(key, _code(node), frozenset(inner.reads))


def _code(node: object) -> str:
    """What a node says, whatever it is written like and without hints: ``tl.range(n, num_stages=2)`` says ``range(n)``."""
    if isinstance(node, list):
        return f"[{', '.join(map(_code, cast('list[object]', node)))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    values = dict(ast.iter_fields(node))
    if isinstance(node, ast.Call):
        values["keywords"] = _keywords(node)
        values["func"] = ast.Name("range", ast.Load()) if _last_name(node.func) == "range" else node.func
    return f"{type(node).__name__}({', '.join(map(_code, values.values()))})"


def _keywords(node: ast.Call) -> list[ast.keyword]:
    """Without hints."""
    hints = HINTS.get(_last_name(node.func), frozenset())
    return [k for k in node.keywords if k.arg not in hints]


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
