"""What a kernel's name is used for besides launches: as long as it is only launched, all of its launches are known.

A kernel that is called by another one, chosen by a condition, kept in a table or passed on may be started, or inlined, by code that nobody
finds; and a launch that is reached in such a way may start other kernels too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from parso.tree import NodeOrLeaf

from kernelband.source.launches import WRAPPERS
from kernelband.source.made import made, making
from kernelband.source.model import Place
from kernelband.source.resolve import Resolver
from kernelband.source.scopes import IMPORTS, SCOPES, Scopes, absolute, dotted_chain, qualname
from kernelband.source.targets import UNWRAPPED
from kernelband.source.tree import ancestors, children, line_column, value, walk


def handed_on(path: str, kernel: Place, resolver: Resolver, names: frozenset[str]) -> list[int]:
    """Lines of a file, from 1, where the kernel is neither defined nor imported nor launched on the spot nor asked for an attribute.

    ``names``: its own, and those under which its module keeps it.
    """
    known = resolver.scopes(path)
    aliases = {alias for alias, dotted in known.imports() if dotted.rpartition(".")[2] in names}
    leaves = [leaf for name in sorted(names | aliases) for leaf in _named(name, known)]
    calls = made(known) if path == kernel.path else []
    own = names if any(qualname(m.function) == kernel.qualname for m in calls) else frozenset[str]()
    uses = [leaf for leaf in leaves if _means(leaf, kernel, path, resolver, names) and not making(leaf, known, own)]
    return sorted({leaf.start_pos[0] for leaf in uses if not _launched(leaf, known)})


def _named(name: str, known: Scopes) -> Iterator[NodeOrLeaf]:
    """The name leaves of that value: found by their characters, since a walk over the whole tree is slow."""
    module = cast("Any", known.module)
    for match in re.finditer(rf"\b{re.escape(name)}\b", known.text):
        line, column = line_column(known.text, match.start())
        leaf = cast("NodeOrLeaf | None", module.get_leaf_for_position((line, column + 1)))  # at a start, the leaf before is found
        if leaf is not None and leaf.type == "name" and value(leaf) == name and leaf.start_pos == (line, column):
            yield leaf


def _means(leaf: NodeOrLeaf, kernel: Place, path: str, resolver: Resolver, names: frozenset[str]) -> bool:
    """Whether the leaf may stand for the kernel. An attribute of who knows what does for a kernel that is one of a class."""
    around = leaf.parent
    if around is None or any(a.type in IMPORTS for a in ancestors(leaf)):
        return False
    if around.type in ("funcdef", "classdef", "param", "global_stmt", "nonlocal_stmt", "del_stmt"):
        return False
    if around.type == "argument" and children(around)[0] is leaf and len(children(around)) == 3:
        return False  # the name of a keyword
    if around.type != "trailer" or value(children(around)[0]) != "." or around.parent is None:
        known = resolver.scopes(path)
        kept = path == kernel.path and value(leaf) in names and [b.scope for b in known.lookup(value(leaf), leaf)][:1] == [known.module]
        return kept or kernel in resolver.names(value(leaf), leaf, path)
    chain = children(around.parent)
    dotted = dotted_chain(chain[: [c is around for c in chain].index(True) + 1])
    if dotted is not None and absolute(dotted, leaf, resolver.scopes(path)):
        return kernel in resolver.names(dotted, leaf, path)
    return "." in kernel.qualname


def _launched(leaf: NodeOrLeaf, known: Scopes, depth: int = 4) -> bool:
    """The mention is the kernel of a launch, or reads an attribute of it, or gives it a local name of which the same is true."""
    inner = leaf.parent if leaf.parent is not None and leaf.parent.type == "trailer" and value(children(leaf.parent)[0]) == "." else leaf
    around = inner.parent
    if around is None or around.type != "atom_expr":
        return _used(leaf, [], known, depth)
    return _used(around, _behind(inner), known, depth)


def _behind(part: NodeOrLeaf) -> list[NodeOrLeaf]:
    """The trailers behind a part of an expression such as ``a.b[c](d)``."""
    parts = children(part.parent) if part.parent is not None else []
    return parts[[p is part for p in parts].index(True) + 1 :]


def _used(whole: NodeOrLeaf, rest: list[NodeOrLeaf], known: Scopes, depth: int) -> bool:
    """``_launched`` of what the expression ``whole`` is without the trailers ``rest`` at its end."""
    while rest and value(children(rest[0])[0]) == "." and value(children(rest[0])[-1]) in UNWRAPPED:
        rest = rest[1:]
    if rest:
        first = value(children(rest[0])[0])
        return first == "." or (first == "[" and len(rest) > 1 and value(children(rest[1])[0]) == "(")
    trailer = _wrapping(whole)
    if trailer is not None and trailer.parent is not None:
        return _used(trailer.parent, _behind(trailer), known, depth)
    statement = whole.parent
    if statement is None or statement.type != "expr_stmt" or len(children(statement)) != 3 or not depth:
        return False
    target, _, bound = children(statement)
    scope = next(a for a in ancestors(statement) if a.type in SCOPES)
    if bound is not whole or target.type != "name" or scope.type != "funcdef" or len(known.bindings(scope, value(target))) != 1:
        return False
    reads = [n for n in walk(scope) if n.type == "name" and value(n) == value(target) and n is not target]
    return all(_launched(n, known, depth - 1) for n in reads)


def _wrapping(whole: NodeOrLeaf) -> NodeOrLeaf | None:
    """The parentheses of ``wrap_triton(...)`` around its only argument."""
    trailer = whole.parent
    if trailer is None or trailer.type != "trailer" or trailer.parent is None or value(children(trailer)[0]) != "(":
        return None
    parts = children(trailer.parent)
    dotted = dotted_chain(parts[: [p is trailer for p in parts].index(True)])
    return trailer if dotted is not None and dotted.rpartition(".")[2] in WRAPPERS else None
