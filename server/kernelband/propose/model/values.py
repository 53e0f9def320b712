"""What the names of one function may stand for: every expression that is bound to a name counts, in whatever order it comes.

Too much rather than too little: a name stands for all that it is ever bound to, and scopes inside of the function are one.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from attrs import field, frozen

from kernelband.propose.model import allowed
from kernelband.propose.model.functions import Around, chain
from kernelband.source.syntax import all_nodes

Function = ast.FunctionDef | ast.Lambda


@frozen
class Root:
    """Where the memory of a value comes from: an argument, a name of the file, or an allocation of the function itself."""

    kind: Literal["parameter", "global", "made"]
    name: str  # of an allocation: what makes it, "empty" where it holds what was there before
    line: int = 0  # of an allocation: two on different lines are two
    column: int = 0

    @property
    def outlives(self) -> bool:
        return self.kind != "made"


@frozen(eq=False)
class Values:
    """The names of a function, what they are bound to, and what stands around each expression."""

    function: ast.FunctionDef
    imports: Mapping[str, str]
    plain: frozenset[str]  # names of the file that hold no memory
    globals: frozenset[str]
    parameters: frozenset[str]
    bound: Mapping[str, Sequence[ast.expr]]
    parents: Mapping[int, ast.AST]
    keys: Mapping[int, str]  # by the ids of nodes: the same for the same text
    texts: frozenset[str]  # of all expressions and statements, as keys
    _resolved: dict[str, ast.expr] = field(factory=dict[str, ast.expr])
    _roots: dict[str, frozenset[Root]] = field(factory=dict[str, frozenset[Root]])

    def full(self, node: ast.expr) -> str:
        """The dotted name behind an expression, with what an import makes of its beginning; nothing for a name of the function's own."""
        root, _, rest = chain(node).partition(".")
        if not root or root not in self.globals:
            return ""
        return ".".join(x for x in (self.imports.get(root, root), rest) if x)

    def key(self, node: ast.AST) -> str:
        """What two nodes of the same text share; a node that was made up has one of its own."""
        return self.keys.get(id(node), f"#{id(node)}")

    def resolved(self, node: ast.expr) -> ast.expr:
        """The expression behind a name that is bound once, and is no parameter."""
        seen: list[str] = []
        while isinstance(node, ast.Name) and node.id not in self.parameters and len(self.bound.get(node.id, ())) == 1:
            if node.id in self._resolved:
                node = self._resolved[node.id]
                break
            if node.id in seen:
                break
            seen.append(node.id)
            node = self.bound[node.id][0]
        self._resolved.update(dict.fromkeys(seen, node))
        return node.value if isinstance(node, ast.NamedExpr) else node

    def roots(self, node: ast.AST | None) -> frozenset[Root]:
        """Whose memory an expression may be, hold, or be a view of. Numbers, types and shapes are nobody's."""
        if not self._roots:
            self._settle()
        return self._sum(node)

    def _settle(self) -> None:
        """Work out what the names stand for: all together, for they may stand for each other."""
        self._roots.update({name: self._own(name) for name in {*self.bound, *self.parameters, *self.globals}})
        order, changed = list(self.bound), True
        while changed:
            changed = False
            for name in order:
                new = self._roots[name].union(*(self._sum(e) for e in self.bound[name]))
                changed |= new != self._roots[name]
                self._roots[name] = new
            order.reverse()

    def _sum(self, node: ast.AST | None) -> frozenset[Root]:
        found: set[Root] = set()
        left: list[ast.AST] = [node] if node is not None else []
        while left:
            part = left.pop()
            if isinstance(part, ast.Name):
                found |= self._roots.get(part.id, frozenset())
            elif isinstance(part, ast.Call):
                left += self._called(part, found)
            else:
                left += _parts(part)
        return frozenset(found)

    def _own(self, name: str) -> frozenset[Root]:
        if name in self.parameters:
            return frozenset({Root("parameter", name)})
        lasting = name in self.globals - self.plain and not hasattr(builtins, name)
        return frozenset({Root("global", name)}) if lasting else frozenset()

    def _called(self, node: ast.Call, found: set[Root]) -> list[ast.AST]:
        """What a call's result may be a part of; an allocation is put with what was found."""
        full = self.full(node.func)
        last = full.rpartition(".")[2] or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
        if last in allowed.MAKERS and (full.startswith("torch.") or not full):
            found.add(Root("made", "empty" if "empty" in last else last, node.lineno, node.col_offset))
            return []
        plain = isinstance(node.func, ast.Attribute) and node.func.attr in allowed.FACTS
        if plain or isinstance(node.func, ast.Subscript) or full in allowed.NUMBERS:  # a launch gives back no memory
            return []
        known = full in allowed.DOTTED or full in allowed.BUILTINS or full.startswith("itertools.")
        return [*([] if known else [node.func]), *node.args, *(k.value for k in node.keywords)]

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What stands around a node, from the inside."""
        while id(node) in self.parents:
            node = self.parents[id(node)]
            yield node

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement that a node belongs to."""
        return node if isinstance(node, ast.stmt) else next((n for n in self.around(node) if isinstance(n, ast.stmt)), node)

    def is_called(self, node: ast.expr) -> bool:
        """Whether an expression stands for the function of a call."""
        parent = self.parents.get(id(node))
        return isinstance(parent, ast.Call) and parent.func is node

    def within(self, node: ast.AST, *kinds: type[ast.AST]) -> bool:
        return any(isinstance(n, kinds) for n in self.around(node))


def values(function: ast.FunctionDef, globals_: frozenset[str], around: Around) -> Values:
    """What the names of a function stand for."""
    binding = _Binding()
    for node in all_nodes(function):
        binding.see(node)
    binding.calls(function)
    nodes = list(all_nodes(function))
    keys: dict[int, str] = {}
    _key(function, keys)
    return Values(
        function,
        imports=around.imports,
        plain=around.plain,
        globals=globals_,
        parameters=frozenset(a.arg for a in _arguments(function)),
        bound=binding.bound,
        parents={id(child): node for node in nodes for child in ast.iter_child_nodes(node)},
        keys=keys,
        texts=frozenset(keys[id(n)] for n in nodes if isinstance(n, (ast.expr, ast.stmt))),
    )


def _key(node: ast.AST, keys: dict[int, str]) -> str:
    """A hash of a node's text, put with those of all its parts: dumps of all parts would take too long where they are nested."""
    parts: list[str] = [type(node).__name__]
    for name, value in ast.iter_fields(node):
        several: list[object] = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]
        parts.append(f"{name}{len(several)}")
        parts += [_key(v, keys) if isinstance(v, ast.AST) else f"{type(v).__name__} {v!r}" for v in several]
    keys[id(node)] = key = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return key


def _arguments(function: Function) -> list[ast.arg]:
    a = function.args
    return [*a.posonlyargs, *a.args, *(x for x in (a.vararg,) if x), *a.kwonlyargs, *(x for x in (a.kwarg,) if x)]


@frozen
class _Binding:
    bound: dict[str, list[ast.expr]] = field(factory=dict[str, list[ast.expr]])
    inner: dict[str, list[Function]] = field(factory=dict[str, list[Function]])  # functions inside, by name

    def bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.bound.setdefault(target.id, []).append(value)
            if isinstance(value, ast.Lambda):
                self.inner.setdefault(target.id, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            given = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            plain = len(given) == len(target.elts) and not any(isinstance(e, ast.Starred) for e in (*given, *target.elts))
            for at, part in enumerate(target.elts):
                self.bind(part, given[at] if plain else ast.copy_location(ast.Subscript(value, ast.Constant(at), ast.Load()), value))
        elif isinstance(target, (ast.Starred, ast.Attribute, ast.Subscript)):  # what a thing holds is part of it
            self.bind(target.value, value)

    def see(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.bind(target, node.value)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            self.bind(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            left = ast.Name(node.target.id, ast.Load())
            self.bind(node.target, ast.copy_location(ast.BinOp(left, node.op, node.value), node))
        elif isinstance(node, ast.AugAssign):
            self.bind(node.target, node.value)
        elif isinstance(node, (ast.For, ast.comprehension)):
            for value in _items(node.iter):
                self.bind(node.target, value)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self.bind(node.optional_vars, node.context_expr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in allowed.MUTATORS:
            for argument in (*node.args, *(k.value for k in node.keywords)):
                self.bind(node.func.value, argument)

    def calls(self, function: ast.FunctionDef) -> None:
        """Arguments of functions inside: what they are called with, or what is handed on beside them. Their results by their names."""
        for node in all_nodes(function):
            if isinstance(node, ast.FunctionDef) and node is not function:
                self.inner.setdefault(node.name, []).append(node)
                for part in all_nodes(node):
                    if isinstance(part, ast.Return) and part.value is not None:
                        self.bound.setdefault(node.name, []).append(part.value)
                self._defaults(node)
            elif isinstance(node, ast.Lambda):
                self._defaults(node)
        for node in all_nodes(function):
            if not isinstance(node, ast.Call):
                continue
            for called in self._functions(node.func):
                self._arguments(called, node)
            given = [*node.args, *(k.value for k in node.keywords)]
            for one in given:
                for called in self._functions(one):
                    for argument in _arguments(called):
                        self.bound.setdefault(argument.arg, []).extend(i for x in given if x is not one for i in _items(x))

    def _functions(self, node: ast.expr) -> list[Function]:
        return [node] if isinstance(node, ast.Lambda) else self.inner.get(node.id, []) if isinstance(node, ast.Name) else []

    def _defaults(self, function: Function) -> None:
        a = function.args
        plain = [*a.posonlyargs, *a.args]
        pairs = [*zip(plain[len(plain) - len(a.defaults) :], a.defaults, strict=True), *zip(a.kwonlyargs, a.kw_defaults, strict=True)]
        for argument, default in pairs:
            if default is not None:
                self.bound.setdefault(argument.arg, []).append(default)

    def _arguments(self, function: Function, call: ast.Call) -> None:
        arguments = _arguments(function)
        plain = not any(isinstance(a, ast.Starred) for a in call.args) and all(k.arg for k in call.keywords)
        for at, argument in enumerate(arguments):
            own = [*call.args[at : at + 1], *(k.value for k in call.keywords if k.arg == argument.arg)]
            every = [*call.args, *(k.value for k in call.keywords)]
            exact = plain and function.args.vararg is None and function.args.kwarg is None
            self.bound.setdefault(argument.arg, []).extend(own if exact else every)


def _parts(node: ast.AST) -> list[ast.AST]:
    """The parts of an expression that its value may be made of."""
    if isinstance(node, (ast.Constant, ast.Compare, ast.JoinedStr)):
        return []
    if isinstance(node, ast.Attribute):
        return [] if node.attr in allowed.FACTS else [node.value]
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        return [node.elt]
    return [node.body] if isinstance(node, ast.Lambda) else list(ast.iter_child_nodes(node))


def _items(node: ast.expr) -> list[ast.expr]:
    """What a loop over an expression goes through: the parts of a display, else the thing itself."""
    return list(node.elts) if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and node.elts else [node]
