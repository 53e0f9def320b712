"""Addresses as sums: what a pointer's tile is made of, term by term, so that a move can say the same thing in another way.

``ptr + offs_m[:, None] * stride + offs_k[None, :]`` is a base and, for each dimension, an index times a stride. Names are followed to
the one statement that binds them; where there are several, or anything else than sums and products, the reader gives up (None).
"""

from __future__ import annotations

import ast
from collections import Counter

from attrs import field, frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.blocks import suites
from kernelband.strategies.code.kernel import KernelView

ALIGNMENT_HINTS = frozenset({"multiple_of", "max_contiguous", "max_constancy"})


@frozen(eq=False)
class Term:
    """A product in a sum. ``read`` is where its names have the values meant."""

    sign: int
    factors: tuple[ast.expr, ...]
    read: ast.AST = field(repr=False)

    @property
    def code(self) -> str:
        """The product as code, without its sign."""
        return " * ".join(atom(f) for f in self.factors)

    @property
    def key(self) -> tuple[str, ...]:
        """Equal for equal products, whatever the order of their factors."""
        return tuple(sorted(ast.unparse(f) for f in self.factors))

    def names(self) -> set[str]:
        """The names that it reads."""
        return {n.id for f in self.factors for n in all_nodes(f) if isinstance(n, ast.Name)}

    def without(self, factor: str) -> Term | None:
        """The product without one factor of that code; None when it has none. What is left of ``stride`` alone is 1."""
        codes = [ast.unparse(f) for f in self.factors]
        if factor not in codes:
            return None
        at = codes.index(factor)
        left = self.factors[:at] + self.factors[at + 1 :]
        return Term(self.sign, left or (ast.Constant(1),), self.read)


@frozen(eq=False)
class Index:
    """A vector of indices: ``origin + arange(0, block)``, perhaps ``% wrap``."""

    block: str
    origin: tuple[Term, ...]
    wrap: ast.expr | None = None


def atom(node: ast.expr) -> str:
    """Code of an expression as an operand of a product."""
    code = ast.unparse(node)
    return code if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Subscript | ast.Attribute) else f"({code})"


def joined(terms: tuple[Term, ...] | list[Term]) -> str:
    """The sum as code; ``0`` for none."""
    out = ""
    for term in sorted(terms, key=lambda t: t.sign < 0):
        sign = "-" if term.sign < 0 else "+"
        out = f"{out} {sign} {term.code}" if out else (f"-{term.code}" if term.sign < 0 else term.code)
    return out or "0"


def difference(plus: list[Term], minus: list[Term]) -> list[Term]:
    """``plus - minus`` with what cancels left out."""
    left = [*plus, *(Term(-t.sign, t.factors, t.read) for t in minus)]
    balance: Counter[tuple[str, ...]] = Counter()
    for term in left:
        balance[term.key] += term.sign
    out: list[Term] = []
    for term in left:
        if balance[term.key] * term.sign > 0 and term.key != ("0",):
            balance[term.key] -= term.sign
            out.append(term)
    return out


def flatten(kernel: KernelView, node: ast.expr, read: ast.AST, expand: frozenset[str], sign: int = 1) -> list[Term]:
    """The terms of a sum; names of ``expand`` are followed where one statement binds them."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        second = -sign if isinstance(node.op, ast.Sub) else sign
        return [*flatten(kernel, node.left, read, expand, sign), *flatten(kernel, node.right, read, expand, second)]
    if isinstance(node, ast.Name) and node.id in expand:
        bound = definition(kernel, node.id, read)
        if bound is not None:
            return flatten(kernel, bound.value, bound, expand - {node.id}, sign)
    return [Term(sign, tuple(_factors(node)), read)]


def definition(kernel: KernelView, name: str, read: ast.AST) -> ast.Assign | None:
    """The ``NAME = ...`` whose value the name has at ``read``; None when that depends on the way there."""
    bindings = kernel.bindings(name)
    found = [b for b in bindings if b is not read]
    if name in kernel.parameters or not found:
        return None
    inner: ast.AST = read
    for around in kernel.module.around(read):
        for suite in suites(around):
            if inner not in suite:
                continue
            before = suite[: [s is inner for s in suite].index(True)]
            last = next((s for s in reversed(before) if any(b is s or s in kernel.module.around(b) for b in found)), None)
            if last is not None:
                plain = isinstance(last, ast.Assign) and len(last.targets) == 1 and isinstance(last.targets[0], ast.Name)
                return last if plain and isinstance(last, ast.Assign) else None
        if isinstance(around, ast.For | ast.While) and any(around in kernel.module.around(b) or b is around for b in bindings):
            return None
        if around is kernel.node:
            return None
        inner = around
    return None


def index(kernel: KernelView, node: ast.expr, read: ast.AST) -> Index | None:
    """A vector of consecutive indices as origin and block; None for any other vector."""
    return _index(kernel, node, read, 8)


def _index(kernel: KernelView, node: ast.expr, read: ast.AST, depth: int) -> Index | None:
    if depth == 0:
        return None
    if isinstance(node, ast.Call):
        called = kernel.tl(node)
        if called in ALIGNMENT_HINTS and node.args:
            return _index(kernel, node.args[0], read, depth - 1)
        if isinstance(node.func, ast.Attribute) and widens(node):
            return _index(kernel, node.func.value, read, depth - 1)
        if called == "arange" and len(node.args) == 2 and ast.unparse(node.args[0]) == "0":
            return Index(ast.unparse(node.args[1]), ())
        return None
    if isinstance(node, ast.Name):
        bound = definition(kernel, node.id, read)
        return None if bound is None else _index(kernel, bound.value, bound, depth - 1)
    if not isinstance(node, ast.BinOp):
        return None
    if isinstance(node.op, ast.Mod) and not vector(kernel, node.right):
        inside = _index(kernel, node.left, read, depth - 1)
        return None if inside is None or inside.wrap is not None else Index(inside.block, inside.origin, node.right)
    if not isinstance(node.op, ast.Add | ast.Sub):
        return None
    vectors = [s for s in (node.left, node.right) if vector(kernel, s)]
    if len(vectors) != 1 or (isinstance(node.op, ast.Sub) and vectors[0] is node.right):
        return None
    inside = _index(kernel, vectors[0], read, depth - 1)
    if inside is None or inside.wrap is not None:
        return None
    other = node.right if vectors[0] is node.left else node.left
    more = flatten(kernel, other, read, frozenset(), -1 if isinstance(node.op, ast.Sub) else 1)
    return Index(inside.block, (*inside.origin, *more))


def widens(node: ast.Call) -> bool:
    """``x.to(tl.int64)``: an index stays what it is. Not so without a sign, or in fewer bits."""
    to = isinstance(node.func, ast.Attribute) and node.func.attr == "to" and len(node.args) == 1 and not node.keywords
    return to and ast.unparse(node.args[0]).rpartition(".")[2] in ("int32", "int64")


def dimension(node: ast.expr) -> tuple[int, ast.expr] | None:
    """(0, x) of ``x[:, None]`` and (1, x) of ``x[None, :]``."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple) or len(node.slice.elts) != 2:
        return None
    kinds = ["all" if isinstance(e, ast.Slice) and ast.unparse(e) == ":" else ast.unparse(e) for e in node.slice.elts]
    return {("all", "None"): (0, node.value), ("None", "all"): (1, node.value)}.get((kinds[0], kinds[1]))


def vector(kernel: KernelView, node: ast.AST) -> bool:
    """An ``arange`` reaches it."""
    return any(t.startswith("#") for t in kernel.tokens(node))


def _factors(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [*_factors(node.left), *_factors(node.right)]
    return [node]
