"""Names of a module that stand for one expression, and for what it says: bound once, and handed to nothing that may change it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from kernelband.source.syntax import all_nodes

Parents = dict[ast.AST, ast.AST]

#: Functions that leave what they get as it is, and those of their modules that do.
READERS = frozenset(
    {"all", "any", "enumerate", "filter", "iter", "len", "list", "map", "max", "min", "print", "range", "repr", "reversed", "set", "sorted"}
    | {"sum", "tuple", "zip", "triton.autotune", "autotune", "itertools.product", "itertools.chain", "copy.copy", "copy.deepcopy"}
)
#: What such an expression consists of where nothing can be put into it.
FIXED = ast.Constant | ast.Tuple | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop | ast.expr_context


class Constants:
    """The constants of one module. ``own``: every name that the text gives a meaning, anywhere in it."""

    def __init__(self, tree: ast.Module) -> None:
        self.own = Counter(name for node in all_nodes(tree) for name in _bound(node))
        self.stars = max((n.lineno for n in all_nodes(tree) if isinstance(n, ast.ImportFrom) and n.names[0].name == "*"), default=0)
        parents = {child: node for node in all_nodes(tree) for child in ast.iter_child_nodes(node)}
        self.values = {
            name: value
            for name, value, line in _assigned(tree)
            if self.own[name] == 1
            and self.stars < line  # of a later ``import *`` nobody can say what it brings
            and (all(isinstance(n, FIXED) for n in all_nodes(value)) or all(self._only_read(n, parents) for n in _loads(tree, name)))
        }

    def is_built_in(self, name: str) -> bool:
        """Whether a name has the meaning that Python gives it."""
        return not self.own[name] and not self.stars

    def _only_read(self, node: ast.expr, parents: Parents) -> bool:
        """Whether what is around a list leaves it alone, and gives it no other name."""
        around = parents[node]
        if isinstance(around, ast.IfExp):
            return node is around.test or self._only_read(around, parents)
        if isinstance(around, ast.Call):
            return node is not around.func and self._reads(around.func)
        if isinstance(around, ast.keyword):
            return around.arg == "configs"
        target = isinstance(around, ast.For) and node is around.target
        return not target and isinstance(around, ast.Starred | ast.BinOp | ast.Compare | ast.comprehension | ast.For | ast.Expr)

    def _reads(self, function: ast.expr) -> bool:
        name = ast.unparse(function)
        return name in READERS and (not self.own[name] or "autotune" in name)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr, int]]:
    """``NAME = x`` and ``NAME: type = x`` of the module itself."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value, statement.lineno
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None:
            yield statement.target.id, statement.value, statement.lineno


def _loads(tree: ast.Module, name: str) -> Iterator[ast.Name]:
    return (n for n in all_nodes(tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))


def _bound(node: ast.AST) -> list[str]:
    """Names that a node gives a meaning, or says to be another scope's."""
    match node:
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return [node.id]
        case ast.Import() | ast.ImportFrom():
            return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.arg():
            return [node.arg]
        case ast.Global() | ast.Nonlocal():
            return node.names
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            return [node.name] if node.name is not None else []
        case ast.MatchMapping():
            return [node.rest] if node.rest is not None else []
        case _:
            return []
