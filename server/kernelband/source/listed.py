"""What a list of many files says of the kernels in one text: their names, lines and parameters.

``find_kernels`` reads any spelling, and text that is broken, at ten milliseconds a file. Nearly all kernels of a repository are written
``@triton.jit``, though, in files whose code says jit nowhere else: of those Python's own parser tells the same at a tenth of the cost.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from attrs import frozen
from parso.tree import NodeOrLeaf

from kernelband.source.kernels import kernels_of, may_have_kernels
from kernelband.source.model import Kernel
from kernelband.source.scopes import LOCALS, Scopes
from kernelband.source.syntax import all_nodes, syntax_tree, tolerant_grammar

QUICK = 32_000  # characters: no other thread runs while Python's parser reads, and an editor may wait for one
TRITON = "triton"
_JIT = re.compile("jit", re.IGNORECASE)
_BODIES = ("body", "handlers", "orelse", "finalbody", "cases")  # in source order


@frozen
class Listed:
    """A kernel. ``line``: of its name, from 1."""

    qualname: str
    line: int
    parameters: tuple[str, ...]
    constexprs: tuple[str, ...]


def list_kernels(path: str, text: str) -> tuple[Listed, ...]:
    """The kernels that ``find_kernels`` finds, in its order. Never raises, and nothing of the text is kept; text that is nested too deep to
    be read has none.
    """
    if not may_have_kernels(text):
        return ()
    found = _quick(text) if len(text) <= QUICK else None
    if found is not None:
        return found
    try:
        return tuple(_listed(k) for k in kernels_of(path, Scopes(text, _parsed)))
    except RecursionError:
        return ()


def _parsed(text: str) -> NodeOrLeaf:
    """As ``tree.parse``, which keeps the last trees: of a whole repository they are too much."""
    return cast("NodeOrLeaf", tolerant_grammar().parse(text))


def _listed(kernel: Kernel) -> Listed:
    names = [p.name for p in kernel.parameters]
    return Listed(kernel.place.qualname, kernel.line, tuple(names), tuple(p.name for p in kernel.parameters if p.constexpr))


# ------------------------------------------------------------ by Python's own parser


def _quick(text: str) -> tuple[Listed, ...] | None:
    """None where it can't be told: text that isn't Python, or whose code says jit elsewhere than in ``@triton.jit``, or triton of another
    thing.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is the user's business
            tree = syntax_tree(text)
        found = list(_functions(tree.body, ""))
    except (SyntaxError, ValueError, RecursionError, MemoryError, _Unclear):
        return None
    jitted = [(name, f) for name, f in found if any(map(_is_jit, f.decorator_list))]
    count = sum(_is_jit(d) for _, f in jitted for d in f.decorator_list)
    if count != len(_JIT.findall(text)) and count != sum(map(_says_jit, all_nodes(tree))):  # the second passes comments and strings over
        return None
    return tuple(_told(name, f) for name, f in jitted)


class _Unclear(Exception):
    """The name triton may stand for something else."""


_Function = ast.FunctionDef | ast.AsyncFunctionDef


def _functions(body: Sequence[ast.AST], outside: str) -> Iterator[tuple[str, _Function]]:
    """All functions below, with their qualnames, in source order."""
    for node in body:
        if _binds_triton(node):
            raise _Unclear
        if isinstance(node, _Function):
            yield outside + node.name, node
            yield from _functions(node.body, f"{outside}{node.name}.{LOCALS}.")
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{outside}{node.name}.")
        else:
            for name in _BODIES:
                if inside := getattr(node, name, None):
                    yield from _functions(inside, outside)


def _binds_triton(node: ast.AST) -> bool:
    """Whether a statement gives the name another meaning than ``import triton`` does."""
    if isinstance(node, ast.Import):
        return any(a.asname == TRITON for a in node.names)
    if isinstance(node, ast.ImportFrom):
        return any((a.asname or a.name) == TRITON for a in node.names)
    if isinstance(node, _Function):
        return node.name == TRITON or any(a.arg == TRITON for a in _arguments(node.args))
    if isinstance(node, ast.ClassDef):
        return node.name == TRITON
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    targets = [*targets, *(i.optional_vars for i in node.items)] if isinstance(node, ast.With | ast.AsyncWith) else targets
    return any(isinstance(n, ast.Name) and n.id == TRITON for target in targets if target is not None for n in _names(target))


def _names(target: ast.expr) -> Iterable[ast.AST]:
    return (target,) if isinstance(target, ast.Name) else all_nodes(target)


def _is_jit(decorator: ast.expr) -> bool:
    """``@triton.jit`` and ``@triton.jit(...)``."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(node, ast.Attribute) and node.attr == "jit" and isinstance(node.value, ast.Name) and node.value.id == TRITON


def _says_jit(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if isinstance(node, ast.alias):
        name = f"{node.name} {node.asname}"
    elif isinstance(node, ast.ImportFrom):
        name = node.module or ""
    return _JIT.search(name) is not None


def _told(name: str, function: _Function) -> Listed:
    given = _arguments(function.args)
    return Listed(name, function.lineno, tuple(a.arg for a in given), tuple(a.arg for a in given if _last(a.annotation) == "constexpr"))


def _arguments(given: ast.arguments) -> list[ast.arg]:
    """In source order."""
    every = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    return [a for a in every if a is not None]


def _last(annotation: ast.expr | None) -> str:
    """``constexpr`` of ``tl.constexpr``, of ``constexpr``, and of either in quotes."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value.rpartition(".")[2].strip()
    return annotation.attr if isinstance(annotation, ast.Attribute) else annotation.id if isinstance(annotation, ast.Name) else ""
