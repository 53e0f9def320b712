"""Kernels that a call makes: ``k = triton.jit(f)``, ``triton.jit(do_not_specialize=...)(f)``, and the names under which they are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen
from parso.tree import NodeOrLeaf

from kernelband.source.decorators import AUTOTUNE, HEURISTICS, JIT, arguments, keyword, means
from kernelband.source.model import Span
from kernelband.source.recovery import expression_at
from kernelband.source.scopes import Scopes, dotted_chain
from kernelband.source.tree import ancestors, children, node_span, value, walk

#: A call of something with jit in its name that is no decorator.
CALLED = re.compile(r"(?<![@\w.])[\w.]*jit\w*[ \t]*\(", re.IGNORECASE)
NEAR = re.compile(r"jit\w*[ \t]*\(", re.IGNORECASE)  # each CALLED has one, and it is found many times as fast
WRAP = JIT | AUTOTUNE | HEURISTICS
MOST = 8  # names and calls around each other


@frozen(eq=False)
class Made:
    """A plain function that calls make a kernel of."""

    function: NodeOrLeaf  # its funcdef
    wraps: list[NodeOrLeaf]  # what is called with it, innermost last, as decorators would stand


def made(known: Scopes) -> list[Made]:
    """The functions of a text that are given to ``triton.jit`` in a call, in the order of their calls."""
    found: dict[int, Made] = {}
    for chunk in known.chunks:
        if NEAR.search(chunk.text) is None or CALLED.search(chunk.text) is None:
            continue
        for node in walk(chunk.node):
            given = jitted(node, known)
            function = _function(given, known) if given is not None else None
            if function is not None:
                found.setdefault(id(function), Made(function, _wraps_of(node, known)))
    return list(found.values())


def kept_names(name: str, known: Scopes) -> frozenset[str]:
    """Module-level names of what calls make of a kernel: ``fast`` and ``entry`` of ``fast = tuned(kernel)``, ``entry = Entry(fast)``."""
    names = frozenset({name})
    for _ in range(MOST):
        more = {bound for node in _assigned(known) if inmost(node) in names and (bound := _bound(node)) is not None}
        if more <= names:
            break
        names |= more
    return names - {name}


def making(leaf: NodeOrLeaf, known: Scopes, names: frozenset[str]) -> bool:
    """Whether a kernel's name stands in a module-level ``name = triton.jit(f)``, or ``name = triton.heuristics(...)(name)``, of its own."""
    if value(leaf) not in names:
        return False
    node, at = leaf, leaf.parent
    if at is not None and at.type == "expr_stmt" and children(at)[0] is leaf:
        return inmost(children(at)[-1]) in names
    while (outer := _given_to(node)) is not None and _wraps(children(outer[0])[: outer[1]], leaf, known):
        node = outer[0]
    return node is not leaf and _bound(node) in names


def inmost(node: NodeOrLeaf) -> str | None:
    """``f`` of ``g(...)(h(f))``."""
    for _ in range(MOST):
        last = children(node)[-1] if node.type == "atom_expr" else node
        if last is node:
            break
        given = first(last) if _is_call(last) else None
        if given is None:
            return None
        node = given
    return value(node) or None


def first(trailer: NodeOrLeaf) -> NodeOrLeaf | None:
    """The first positional argument of a call."""
    return next((given for key, given in map(keyword, arguments(trailer)) if key is None), None)


def jitted(node: NodeOrLeaf, known: Scopes) -> NodeOrLeaf | None:
    """``f`` where the expression starts with ``triton.jit(f)`` or ``triton.jit(...)(f)``."""
    end = _jit(node, known)
    return _only(children(node)[end]) if end is not None else None


def _jit(node: NodeOrLeaf, known: Scopes) -> int | None:
    """Which part of the expression is the parenthesis with the function."""
    parts = children(node) if node.type == "atom_expr" else []
    at = next((i for i, part in enumerate(parts) if i and _is_call(part)), None)
    dotted = dotted_chain(parts[:at]) if at is not None else None
    if at is None or dotted is None or not means(dotted, arguments(parts[at]), known, node) & JIT:
        return None
    if _only(parts[at]) is not None:
        return at
    return at + 1 if at + 1 < len(parts) and _is_call(parts[at + 1]) and _only(parts[at + 1]) is not None else None


def _is_call(part: NodeOrLeaf) -> bool:
    return part.type == "trailer" and value(children(part)[0]) == "("


def _only(trailer: NodeOrLeaf) -> NodeOrLeaf | None:
    """The positional argument of a call that has one."""
    positional = [given for key, given in map(keyword, arguments(trailer)) if key in (None, "fn")]
    return positional[0] if len(positional) == 1 else None


def _function(given: NodeOrLeaf, known: Scopes) -> NodeOrLeaf | None:
    """The funcdef that a plain name stands for; of several the last one before, as Python would have it at the top level."""
    found = [b.statement for b in known.lookup(value(given), given) if b.kind == "def"] if given.type == "name" else []
    before = [f for f in found if f.start_pos < given.start_pos]
    return (before or found or [None])[-1]


def _wraps_of(node: NodeOrLeaf, known: Scopes) -> list[NodeOrLeaf]:
    """What is called with the function of ``triton.jit(f)``: jit, ``triton.heuristics(...)`` around it, and again with ``name = ...``."""
    end = _jit(node, known)
    assert end is not None
    wraps, rest = [_called(node, end, known)], children(node)[end + 1 :]
    while not rest and (outer := _given_to(node)) is not None:
        node, trailer = outer
        wraps.insert(0, _called(node, trailer, known))
        rest = children(node)[trailer + 1 :]
    name = _bound(node) if not rest else None
    while name is not None and (again := _wrapped_again(name, node, known)) is not None:
        node = again
        wraps.insert(0, _called(node, len(children(node)) - 1, known))
        name = _bound(node)
    return [w for w in wraps if w is not None]


def _called(whole: NodeOrLeaf, trailer: int, known: Scopes) -> NodeOrLeaf | None:
    """``triton.autotune(...)`` of ``triton.autotune(...)(f)``, as an expression of its own."""
    parts = children(whole)[:trailer]
    start, end = node_span(parts[0], known.text).start, node_span(parts[-1], known.text).end
    return expression_at(known.text, Span(start, end))


def _given_to(node: NodeOrLeaf) -> tuple[NodeOrLeaf, int] | None:
    """The expression that is a call with the node as its only argument, and which part of it is the parenthesis."""
    trailer = node.parent
    if trailer is None or trailer.type != "trailer" or not _is_call(trailer) or trailer.parent is None or _only(trailer) is not node:
        return None
    return trailer.parent, [p is trailer for p in children(trailer.parent)].index(True)


def _bound(node: NodeOrLeaf) -> str | None:
    """``name`` of ``name = NODE`` at module level."""
    statement = node.parent
    if statement is None or statement.type != "expr_stmt" or len(children(statement)) != 3 or children(statement)[2] is not node:
        return None
    if any(a.type in ("funcdef", "classdef") for a in ancestors(statement)):
        return None
    target = children(statement)[0]
    return value(target) if target.type == "name" else None


def _wrapped_again(name: str, at: NodeOrLeaf, known: Scopes) -> NodeOrLeaf | None:
    """A later ``... = triton.heuristics({...})(name)`` at module level."""
    for node in (n for n in _assigned(known) if n.start_pos > at.start_pos):
        parts = children(node)
        given = _only(parts[-1]) if _is_call(parts[-1]) else None
        if given is not None and given.type == "name" and value(given) == name and _wraps(parts[:-1], node, known):
            return node
    return None


def _wraps(function: list[NodeOrLeaf], at: NodeOrLeaf, known: Scopes) -> bool:
    inner = function[:-1] if _is_call(function[-1]) else function
    dotted = dotted_chain(inner)
    return dotted is not None and bool(means(dotted, [], known, at) & WRAP)


def _assigned(known: Scopes) -> Iterator[NodeOrLeaf]:
    """Calls whose results the module keeps under names, in source order."""
    for chunk in known.chunks:
        if chunk.node.type == "simple_stmt":
            first = children(chunk.node)[0]
            parts = children(first) if first.type == "expr_stmt" else []
            if len(parts) == 3 and parts[2].type == "atom_expr":
                yield parts[2]
