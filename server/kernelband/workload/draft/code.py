"""The functions and classes of the workspace as trees, and what a name in one of them stands for."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from attrs import define, field, frozen

from kernelband.errors import SourceError
from kernelband.source import Workspace
from kernelband.source.model import Place
from kernelband.source.resolve import Resolver
from kernelband.source.scopes import LOCALS
from kernelband.source.syntax import all_nodes, syntax_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef


@frozen(eq=False)
class Definition:
    """A function or class with its place."""

    place: Place
    node: Function | ast.ClassDef

    @property
    def arguments(self) -> list[ast.arg]:
        """Of a function: all that it names."""
        args = None if isinstance(self.node, ast.ClassDef) else self.node.args
        return [*args.posonlyargs, *args.args, *args.kwonlyargs] if args is not None else []

    @property
    def positional(self) -> list[tuple[str, ast.expr | None]]:
        """Those of them that are given by place, with their defaults."""
        if isinstance(self.node, ast.ClassDef):
            return []
        names = [a.arg for a in (*self.node.args.posonlyargs, *self.node.args.args)]
        defaults = self.node.args.defaults
        return list(zip(names, [*[None] * (len(names) - len(defaults)), *defaults], strict=True))

    @property
    def names(self) -> list[str]:
        return [a.arg for a in self.arguments]

    @property
    def constants(self) -> frozenset[str]:
        """The constexprs of a kernel."""
        return frozenset(a.arg for a in self.arguments if a.annotation is not None and "constexpr" in ast.unparse(a.annotation))

    @property
    def decorators(self) -> list[str]:
        """As they are written, arguments included."""
        return [ast.unparse(d) for d in self.node.decorator_list]

    @property
    def is_kernel(self) -> bool:
        return self.is_function and any("jit" in d.partition("(")[0].rpartition(".")[2] for d in self.decorators)

    @property
    def is_function(self) -> bool:
        return not isinstance(self.node, ast.ClassDef)

    @property
    def bases(self) -> list[str]:
        """Of a class, as they are written."""
        return [ast.unparse(b) for b in self.node.bases] if isinstance(self.node, ast.ClassDef) else []

    @property
    def is_autograd(self) -> bool:
        """Whether a class is an ``autograd.Function``, by what its head says."""
        return any(b.rpartition(".")[2] == "Function" for b in self.bases)

    def method(self, name: str) -> Definition | None:
        """Of a class."""
        return next((m for m in self.methods() if m.place.name == name), None)

    def methods(self) -> Iterator[Definition]:
        for node in self.node.body if not self.is_function else ():
            if isinstance(node, ast.FunctionDef):
                yield Definition(Place(self.place.path, f"{self.place.qualname}.{node.name}"), node)


@define
class Code:
    """Reads texts, never runs them."""

    workspace: Workspace
    _resolver: Resolver = field(init=False)
    _trees: dict[str, ast.Module | None] = field(factory=dict[str, "ast.Module | None"], init=False)

    def __attrs_post_init__(self) -> None:
        self._resolver = Resolver(self.workspace)

    def tree(self, path: str) -> ast.Module | None:
        """Of a file; None where it is no Python of this interpreter's."""
        if path not in self._trees:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an invalid escape is the user's business
                    self._trees[path] = syntax_tree(self.workspace.read(path))
            except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[path] = None
        return self._trees[path]

    def top(self, path: str) -> list[ast.stmt]:
        """The statements of a file."""
        tree = self.tree(path)
        return tree.body if tree is not None else []

    def definition(self, place: Place) -> Definition | None:
        """The function or class at a place."""
        body, found = self.top(place.path), None
        for part in place.qualname.split("."):
            if part != LOCALS:
                found = next((n for n in reversed(list(_defined(body))) if n.name == part), None)
                if found is None:
                    return None
                body = found.body
        return Definition(place, found) if found is not None else None

    def meant(self, name: ast.expr, path: str) -> Definition | None:
        """What a name, or a chain of attributes, at the top of a file stands for, where that is a function or class of the workspace."""
        dotted = ast.unparse(name) if all(isinstance(n, (ast.Name, ast.Attribute, ast.Load)) for n in all_nodes(name)) else ""
        places = self._resolver.names(dotted, self._resolver.scopes(path).module, path) if dotted else []
        return next((found for place in places if (found := self.definition(place)) is not None), None)

    def functions(self, path: str) -> list[Definition]:
        """The functions at the top of a file, and the methods of its classes."""
        every = [Definition(Place(path, node.name), node) for node in _defined(self.top(path))]
        return [f for top in every for f in ([top] if top.is_function else top.methods())]

    def constants(self, path: str) -> Iterator[tuple[str, ast.expr]]:
        """What ``NAME = …`` at the top of a file gives names."""
        for node in self.top(path):
            if isinstance(node, ast.Assign):
                yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))


def _defined(body: list[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """Also those below an ``if`` or ``try``."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node
        elif isinstance(node, (ast.If, ast.With)):
            yield from _defined([*node.body, *(node.orelse if isinstance(node, ast.If) else [])])
        elif isinstance(node, ast.Try):
            yield from _defined([*node.body, *(s for h in node.handlers for s in h.body), *node.orelse])
