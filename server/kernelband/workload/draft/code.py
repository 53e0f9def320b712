"""The functions and classes of the workspace as trees, and what a name in one of them stands for."""

from __future__ import annotations

import ast
import warnings

from attrs import define, field, frozen

from kernelband.errors import SourceError
from kernelband.source import Workspace
from kernelband.source.model import Place
from kernelband.source.resolve import Resolver
from kernelband.source.scopes import LOCALS
from kernelband.source.syntax import syntax_tree

Function = ast.FunctionDef | ast.AsyncFunctionDef


@frozen(eq=False)
class Definition:
    """A function or class with its place."""

    place: Place
    node: Function | ast.ClassDef

    @property
    def function(self) -> Function | None:
        return None if isinstance(self.node, ast.ClassDef) else self.node

    @property
    def decorators(self) -> list[str]:
        """As they are written, arguments included."""
        return [ast.unparse(d) for d in self.node.decorator_list]

    @property
    def is_kernel(self) -> bool:
        return self.function is not None and any("jit" in d.partition("(")[0].rpartition(".")[2] for d in self.decorators)

    @property
    def is_autograd(self) -> bool:
        """Whether a class is an ``autograd.Function``, by what its head says."""
        return isinstance(self.node, ast.ClassDef) and any(ast.unparse(b).rpartition(".")[2] == "Function" for b in self.node.bases)

    def method(self, name: str) -> Definition | None:
        """Of a class."""
        for node in self.node.body if isinstance(self.node, ast.ClassDef) else ():
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return Definition(Place(self.place.path, f"{self.place.qualname}.{name}"), node)
        return None


@define
class Code:
    """Reads texts, never runs them."""

    workspace: Workspace
    _resolver: Resolver = field(init=False)
    _trees: dict[str, ast.Module | None] = field(factory=dict[str, "ast.Module | None"], init=False)

    def __attrs_post_init__(self) -> None:
        self._resolver = Resolver(self.workspace)

    def text(self, path: str) -> str:
        """Of a file of the workspace."""
        return self.workspace.read(path)

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

    def definition(self, place: Place) -> Definition | None:
        """The function or class at a place."""
        tree = self.tree(place.path)
        body: list[ast.stmt] = tree.body if tree is not None else []
        found: Function | ast.ClassDef | None = None
        for part in place.qualname.split("."):
            if part == LOCALS:
                continue
            found = None
            for node in _defined(body):
                if node.name == part:
                    found = node
            if found is None:
                return None
            body = found.body
        return Definition(place, found) if found is not None else None

    def meant(self, name: ast.expr, path: str) -> Definition | None:
        """What a name, or a chain of attributes, at the top of a file stands for, where that is a function or class of the workspace."""
        dotted = _dotted(name)
        if dotted is None:
            return None
        for place in self._resolver.names(dotted, self._resolver.scopes(path).module, path):
            found = self.definition(place)
            if found is not None:
                return found
        return None

    def functions(self, path: str) -> list[Definition]:
        """The functions and classes at the top of a file, and the methods of these classes."""
        tree = self.tree(path)
        out: list[Definition] = []
        for node in _defined(tree.body) if tree is not None else ():
            top = Definition(Place(path, node.name), node)
            out.append(top)
            if isinstance(node, ast.ClassDef):
                out += [Definition(Place(path, f"{node.name}.{n.name}"), n) for n in node.body if isinstance(n, ast.FunctionDef)]
        return out

    def constant(self, name: str, path: str) -> ast.expr | None:
        """What ``NAME = …`` at the top of a file gives that name."""
        tree = self.tree(path)
        for node in tree.body if tree is not None else ():
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
                return node.value
        return None


def _defined(body: list[ast.stmt]) -> list[Function | ast.ClassDef]:
    """Also those below an ``if`` or ``try``."""
    out: list[Function | ast.ClassDef] = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.append(node)
        elif isinstance(node, ast.If):
            out += _defined([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            out += _defined([*node.body, *(s for h in node.handlers for s in h.body), *node.orelse])
        elif isinstance(node, ast.With):
            out += _defined(node.body)
    return out


def _dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        left = _dotted(node.value)
        return None if left is None else f"{left}.{node.attr}"
    return None
