"""Masks that a block which is full doesn't need: ``off + arange(0, BLOCK) < N`` in ``for off in range(0, N, BLOCK)`` and the like."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code import KernelView, Loop
from kernelband.strategies.code.linear import Term, definition, difference, dimension, flatten, index, vector
from kernelband.strategies.code.walking import number_of_blocks


@frozen(eq=False)
class Walk:
    """A loop over a size in blocks: ``range(0, size, block)`` or ``range(0, cdiv(size, block))``."""

    loop: Loop
    size: str
    block: str
    counted: bool  # the variable counts blocks, not elements

    @property
    def way(self) -> ast.expr:
        """Elements before the block at hand."""
        variable = ast.Name(self.loop.variable)
        return ast.BinOp(variable, ast.Mult(), ast.Name(self.block)) if self.counted else variable


def walk_of(kernel: KernelView, loop: Loop) -> Walk | None:
    """The loop as a walk over a parameter in blocks of a constexpr; None for any other loop, or one whose body binds these."""
    if loop.kind not in ("builtin", "range") or (loop.start is not None and ast.unparse(loop.start) != "0"):
        return None
    blocks = number_of_blocks(kernel, loop)
    if loop.step is not None and ast.unparse(loop.step) != "1":
        size, block, counted = loop.stop, loop.step, False
    elif blocks is not None:
        (size, block), counted = blocks, True
    else:
        return None
    if not isinstance(size, ast.Name) or not isinstance(block, ast.Name) or block.id not in kernel.constexprs or kernel.bindings(block.id):
        return None
    if size.id not in kernel.parameters or kernel.bindings(size.id) or _bound_inside(kernel, loop):
        return None
    return Walk(loop, size.id, block.id, counted)


def _bound_inside(kernel: KernelView, loop: Loop) -> bool:
    """The loop's variable gets another value in the body."""
    return any(b is not loop.node and loop.node in kernel.module.around(b) for b in kernel.bindings(loop.variable))


def always_in(kernel: KernelView, node: ast.expr, walk: Walk) -> bool:
    """``node`` compares the walk's index with its size: true for the whole of every block that is full."""
    return walk.loop.node in kernel.module.around(node) and _is_index(kernel, node, walk.size, walk.block, walk)


def holds_row(kernel: KernelView, node: ast.expr) -> tuple[str, str] | None:
    """(size, block) when ``node`` is ``arange(0, BLOCK) < SIZE``: true throughout when they are equal."""
    if not isinstance(node, ast.Compare) or not isinstance(node.comparators[0], ast.Name):
        return None
    size = node.comparators[0].id
    blocks = [t[1:] for t in kernel.tokens(node.left) if t.startswith("#")]
    if len(blocks) != 1 or blocks[0] not in kernel.constexprs or size not in kernel.parameters or kernel.bindings(size):
        return None
    return (size, blocks[0]) if _is_index(kernel, node, size, blocks[0], None) else None


def _is_index(kernel: KernelView, node: ast.expr, size: str, block: str, walk: Walk | None) -> bool:
    """``node`` is ``index < bound`` with the same meaning as ``way + arange(0, block) < size``; ``way`` is 0 without a walk."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Lt):
        return False
    inside = node.left
    placed = dimension(inside)
    found = index(kernel, placed[1] if placed is not None else inside, node)
    if found is None or found.wrap is not None or found.block != block or vector(kernel, node.comparators[0]):
        return False
    bound = flatten(kernel, node.comparators[0], node, frozenset())
    wanted = flatten(kernel, ast.Name(size), node, frozenset())
    walked = flatten(kernel, walk.way, node, frozenset()) if walk is not None else []
    behind = [part for term in found.origin for part in _behind(kernel, term)]
    if walk is not None and any(walk.loop.node not in kernel.module.around(t.read) for t in behind if walk.loop.variable in t.names()):
        return False  # the variable of a loop before this one
    return any(not difference([*bound, *walked], [*wanted, *origin]) for origin in (found.origin, behind))


def _behind(kernel: KernelView, term: Term) -> list[Term]:
    """What a term that is one name stands for: ``start`` after ``start = i * BLOCK``."""
    name = term.factors[0] if len(term.factors) == 1 else None
    bound = definition(kernel, name.id, term.read) if isinstance(name, ast.Name) else None
    return [term] if bound is None else flatten(kernel, bound.value, bound, frozenset(), term.sign)


def comparisons(kernel: KernelView, where: ast.AST) -> Iterator[ast.Compare]:
    """The comparisons in ``where`` that aren't switched off by a flag already."""
    for node in all_nodes(where):
        parent = kernel.module.parents.get(node)
        if isinstance(node, ast.Compare) and not (isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr)):
            yield node


def resolved(kernel: KernelView, node: ast.expr) -> ast.expr:
    """What a name stands for where ``node`` reads it."""
    bound = definition(kernel, node.id, node) if isinstance(node, ast.Name) else None
    return node if bound is None else bound.value
