"""Whether a program's number says more than where its block begins: another size of the block gives the same number other elements.

``pid * BLOCK`` says where, and so do the digits of ``pid``, ``pid % cdiv(n, BLOCK)`` and the like. A table that is read at ``pid``, a seed
made of it, a loop that it counts say more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import paired, target_names
from kernelband.strategies.code.blocks import reads
from kernelband.strategies.code.kernel import KernelView

#: What numbers of programs are computed with.
ARITHMETIC = frozenset({"num_programs", "cdiv", "minimum", "maximum", "where", "cast", "swizzle2d", "min", "max"})
PLAIN = ast.BinOp | ast.UnaryOp | ast.Name | ast.Constant | ast.Attribute | ast.IfExp | ast.Compare
SAYING_NOTHING = frozenset({"assume", "multiple_of", "static_assert", "device_assert", "static_print", "device_print"})


def numbered(kernel: KernelView, block: str, axes: Set[str]) -> int | None:
    """The line that reads numbers of programs along those axes (``@0``) as anything else than places in blocks."""
    numbers = _Numbers(kernel, block, frozenset(axes), frozenset())
    while True:
        more = numbers.names | {name for name, value in _bound(kernel) if numbers.is_one(value)}
        if more == numbers.names:
            break
        numbers = _Numbers(kernel, block, frozenset(axes), frozenset(more))
    return next((getattr(n, "lineno", kernel.node.lineno) for n in kernel.nodes if numbers.is_read(n) and not numbers.is_place(n)), None)


def other_side(kernel: KernelView, node: ast.expr) -> bool:
    """``pid // cdiv(D, BLOCK)``, the program's place along another side of the grid: the same for blocks of any size."""
    node, numbers = _converted(node), _Numbers(kernel, "", frozenset(), frozenset())
    divided = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod)
    return divided and isinstance(node, ast.BinOp) and numbers.is_whole(node.left) and numbers.counts(node.right) is not None


@frozen(eq=False)
class _Numbers:
    kernel: KernelView
    block: str
    axes: frozenset[str]
    names: frozenset[str]  # of numbers

    def is_one(self, node: ast.expr) -> bool:
        """A number of a program, or of a group of such; what is left of it for another side of the grid isn't."""
        node = _converted(node)
        if not self._is_arithmetic(node) or not any(self.is_read(n) for n in all_nodes(node)):
            return False
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
            counted = self.counts(node.right)
            if counted is not None and self.is_whole(node.left):
                return counted != isinstance(node.op, ast.FloorDiv)
            return self.is_one(node.left) or self.is_one(node.right)  # a digit of what is left of it
        return True

    def is_read(self, node: ast.AST) -> bool:
        """Whether a number is read there."""
        if isinstance(node, ast.Name):
            return isinstance(node.ctx, ast.Load) and node.id in self.names
        return isinstance(node, ast.Call) and self.kernel.is_id(node) and bool(self.axes & self.kernel.tokens(node))

    def is_whole(self, node: ast.expr) -> bool:
        """The program's own number, not yet taken apart."""
        bound = self.kernel.bindings(node.id) if isinstance(node, ast.Name) else []
        pairs = [p for b in bound if isinstance(b, ast.Assign) for p in paired(b.targets[0], b.value)] if len(bound) == 1 else []
        values = [v for t, v in pairs if isinstance(t, ast.Name) and isinstance(node, ast.Name) and t.id == node.id]
        return self.kernel.is_id(_converted(values[0] if len(values) == 1 else node))

    def _shares(self, node: ast.AST) -> bool:
        """``pid // 2`` where nothing reads the rest: programs share their blocks."""
        divided = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod)
        if not divided or not isinstance(node, ast.BinOp) or self.counts(node.right) is not None or not self.is_whole(node.left):
            return False
        return isinstance(node.right, ast.Constant) and self._is_alone(node.left)

    def _is_alone(self, node: ast.expr) -> bool:
        """Whether the number is read nowhere else."""
        kernel = self.kernel
        named = isinstance(node, ast.Name)
        same = [n for n in kernel.nodes if (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)) == named and self.is_read(n)]
        code = ast.unparse(_converted(node))
        return sum(ast.unparse(n) == code for n in same) == 1 and (not named or len(kernel.bindings(code)) == 1)

    def counts(self, node: ast.expr) -> bool | None:
        """Whether a number of blocks, or a product of such, follows from this block's size; None for what isn't such a number."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = [self.counts(n) for n in (node.left, node.right)]
            return None if None in sides else any(sides)
        if isinstance(node, ast.Name):
            values = [v for name, v in _bound(self.kernel) if name == node.id]
            return self.counts(values[0]) if len(values) == 1 and not isinstance(values[0], ast.Name) else None
        return reads(node, {self.block}) if isinstance(node, ast.Call) and self.kernel.tl(node) == "cdiv" else None

    def _is_arithmetic(self, node: ast.expr) -> bool:
        """Made of names and numbers by nothing but arithmetic, and not the place of a block yet."""
        for inner in all_nodes(node):
            if isinstance(inner, ast.Call):
                called = self.kernel.tl(inner) or (inner.func.id if isinstance(inner.func, ast.Name) else "")
                helper = inner.func.attr if isinstance(inner.func, ast.Attribute) else ""  # what a project calls by the language's name
                if not ({called, helper} & ARITHMETIC or self.kernel.is_id(inner) or _converted(inner) is not inner):
                    return False
            elif isinstance(inner, ast.expr) and not isinstance(inner, PLAIN):
                return False
            if self._places(inner):
                return False
        return True

    def _places(self, node: ast.AST) -> bool:
        """``pid * BLOCK``."""
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
            return False
        sides = (node.left, node.right)
        return any(isinstance(s, ast.Name) and s.id in self.kernel.constexprs and s.id in self._blocks for s in sides)

    @property
    def _blocks(self) -> Set[str]:
        return {*self.kernel.aranges(), self.block}

    def is_place(self, node: ast.AST) -> bool:
        """What is read there goes into a place of a block, into another number, or says which block is the first or the last."""
        parents = self.kernel.module.parents
        above = parents.get(node)
        while above is not None:
            if self._places(above):
                return self._is_whole_place(node, above)
            if self._shares(above):
                return False
            if isinstance(above, ast.Call) and self.kernel.tl(above) in SAYING_NOTHING:
                return True
            if isinstance(above, ast.Compare):
                return self._tells_ends(above)
            if isinstance(above, ast.stmt):
                return self._binds(above)
            node, above = above, parents.get(above)
        return False

    def _is_whole_place(self, side: ast.AST, place: ast.AST) -> bool:
        """``pid * BLOCK`` and not ``(pid - 1) * BLOCK``; ``(pid + 1) * BLOCK`` where something ends there."""
        if not isinstance(side, ast.expr):
            return False
        side = _converted(side)
        if isinstance(side, ast.Name | ast.Call):
            return True
        if not isinstance(side, ast.BinOp):
            return False
        if isinstance(side.op, ast.FloorDiv | ast.Mod):
            return self.counts(side.right) is not None and self.is_whole(side.left)
        next_one = isinstance(side.op, ast.Add) and isinstance(side.right, ast.Constant) and side.right.value == 1
        around = [place, *self.kernel.module.around(place)]
        ends = [n for n in around if isinstance(n, ast.Compare | ast.For) or self.kernel.tl(n) in ("minimum", "range") or _is_min(n)]
        return next_one and bool(ends)

    def _tells_ends(self, compare: ast.Compare) -> bool:
        """A program behind the last returns, the first one does something that isn't of its block; or another number is made."""
        sides, parents = (compare.left, *compare.comparators), self.kernel.module.parents
        statement = next((n for n in self.kernel.module.around(compare) if isinstance(n, ast.stmt)), None)
        if self.kernel.tl(parents.get(compare, compare)) in SAYING_NOTHING:
            return True
        if not all(self._is_bound(side) for side in sides):
            return False
        if isinstance(statement, ast.If) and parents.get(compare) is statement:
            inside = [n for s in (*statement.body, *statement.orelse) for n in all_nodes(s)]
            first = any(isinstance(side, ast.Constant) for side in sides)
            if not first:
                return not statement.orelse and all(isinstance(s, ast.Return) for s in statement.body)
            alone = any(self.is_whole(side) for side in sides) and isinstance(compare.ops[0], ast.Eq)
            of_block = any(isinstance(n, ast.expr) and f"#{self.block}" in self.kernel.tokens(n) for n in inside)
            return alone and not of_block and not any(isinstance(n, ast.Return) for n in inside)
        return isinstance(statement, ast.Assign) and self._binds(statement)

    def _is_bound(self, node: ast.expr) -> bool:
        """A number, a number of blocks, or 0."""
        if isinstance(node, ast.Name):
            values = [v for name, v in _bound(self.kernel) if name == node.id]
            node = values[0] if len(values) == 1 else node
        named = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        first = isinstance(node, ast.Constant) and node.value == 0
        return first or named == "num_programs" or self.counts(node) is not None or self.is_one(node)

    def _binds(self, statement: ast.stmt) -> bool:
        """It makes another number, or a digit, or walks over numbers."""
        if isinstance(statement, ast.For):
            first, *more = statement.iter.args if isinstance(statement.iter, ast.Call) and statement.iter.args else (statement.iter,)
            return len(more) == 2 and self._is_arithmetic(first) and not any(self.is_read(n) for a in more for n in all_nodes(a))
        if isinstance(statement, ast.AugAssign):
            return self._is_arithmetic(statement.value) and isinstance(statement.target, ast.Name)
        if not isinstance(statement, ast.Assign):
            return False
        pairs = [p for t in statement.targets for p in paired(t, statement.value)]
        return all(self._is_arithmetic(_converted(v)) for _, v in pairs if any(self.is_read(n) for n in all_nodes(v)))


def _bound(kernel: KernelView) -> Iterator[tuple[str, ast.expr]]:
    """Every name with what it is bound to; a loop's with where it begins."""
    for node in kernel.nodes:
        if isinstance(node, ast.Assign):
            for target, value in (p for t in node.targets for p in paired(t, node.value)):
                yield from ((name, value) for name in target_names(target))
        elif isinstance(node, ast.AugAssign):
            yield from ((name, node.value) for name in target_names(node.target))
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            yield from ((name, argument) for name in target_names(node.target) for argument in node.iter.args)


def _converted(node: ast.expr) -> ast.expr:
    """What ``x.to(tl.int64)`` converts."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        node = node.func.value
    return node


def _is_min(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "range")
