"""The place of a largest or smallest element, kept from block to block: the same wherever blocks end."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from attrs import frozen

from kernelband.source.syntax import all_nodes
from kernelband.strategies.code.binding import bound_names
from kernelband.strategies.code.blocks import dependent, exposed, names_bound, reads, siblings
from kernelband.strategies.code.literals import integer
from kernelband.strategies.code.reductions import Reduced, Step
from kernelband.strategies.code.shapes import axis_of, shape_of

#: How a block's extremum is compared with the one so far, strictly: of equal ones the first stays.
STRICT: dict[str, tuple[type[ast.cmpop], type[ast.cmpop]]] = {"max": (ast.Gt, ast.Lt), "min": (ast.Lt, ast.Gt)}


@frozen(eq=False)
class Replaced:
    """``name = tl.where(later, new, name)``, the name's only statement in the loop."""

    name: str
    later: ast.expr
    new: ast.expr
    step: ast.stmt


@frozen(eq=False)
class Extremum:
    """A loop's body, and the names that it keeps the largest or smallest element and its index in.

    ::

        new, at = tl.max(x, axis=0, return_indices=True)       at = tl.min(tl.where(x == new, cols, n))
        later = new > largest
        largest = tl.where(later, new, largest)
        place = tl.where(later, off + at, place)               place = tl.where(later, at, place)

    Of equal elements a block's first is taken, and one of a later block never is; both hang on the elements' order alone.
    """

    block: Reduced
    body: Sequence[ast.stmt]

    @cached_property
    def inside(self) -> list[ast.AST]:
        return [n for s in self.body for n in all_nodes(s)]

    @cached_property
    def kept(self) -> dict[str, ast.stmt]:
        """By name, the statement that keeps it."""
        if any(isinstance(n, ast.For | ast.While) for n in self.inside):
            return {}  # the elements' order is another one
        carried = exposed(self.body) & names_bound(self.body)
        return {x.name: x.step for x in self._replaced() if x.name in carried and self._is_kept(x, carried)}

    @cached_property
    def places(self) -> frozenset[ast.stmt]:
        """The statements that keep them, and those that make a place for nothing else."""
        keeping = {x.step: x.new.id for x in self._replaced() if x.step in self.kept.values() and isinstance(x.new, ast.Name)}
        reads_of = [n.id for n in self.block.kernel.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        names = {name for name in keeping.values() if reads_of.count(name) == 1}
        making = [n for n in self.inside if isinstance(n, ast.Assign) and names & set(bound_names(n))]
        return frozenset({*self.kept.values(), *making})

    def _is_kept(self, x: Replaced, carried: set[str]) -> bool:
        fresh, so_far = self._compared(x.later) or ("", "")
        if x.name == so_far:
            return isinstance(x.new, ast.Name) and x.new.id == fresh
        return so_far in carried and self._goes_on(fresh, so_far, x) and self._is_place(x.new, fresh)

    def _replaced(self) -> Iterator[Replaced]:
        for step in self.inside:
            value = step.value if isinstance(step, ast.Assign) else None
            if (
                isinstance(step, ast.stmt)
                and isinstance(value, ast.Call)
                and self.block.kernel.tl(value) == "where"
                and len(value.args) == 3
            ):
                names, (later, new, old) = list(bound_names(step)), value.args
                single = len(names) == 1 and isinstance(old, ast.Name) and old.id == names[0]
                if single and sum(isinstance(n, Step) and names[0] in bound_names(n) for n in self.inside) == 1:
                    yield Replaced(names[0], later, new, step)

    def _compared(self, later: ast.expr) -> tuple[str, str] | None:
        """``new > largest``: the block's extremum and the one so far."""
        test = self.block.alone(later.id, self.inside) if isinstance(later, ast.Name) else later
        if not isinstance(test, ast.Compare) or len(test.ops) != 1:
            return None
        sides = [n.id for n in (test.left, test.comparators[0]) if isinstance(n, ast.Name)]
        for one, other, at in ((sides[0], sides[1], 0), (sides[1], sides[0], 1)) if len(sides) == 2 else ():
            kind = self._kind(one)
            if kind is not None and isinstance(test.ops[0], STRICT[kind][at]):
                return one, other
        return None

    def _goes_on(self, fresh: str, so_far: str, x: Replaced) -> bool:
        """The extremum so far takes the block's in whenever the place does, and nothing else: by ``later``, or by ``tl.maximum``."""
        mine = [n for n in self.inside if isinstance(n, ast.stmt) and so_far in bound_names(n)]
        if len(mine) != 1 or not any(mine[0] in block for block in (self.body, siblings(self.block.kernel.module, x.step))):
            return False
        for replaced in self._replaced():
            if replaced.step is mine[0]:
                same = ast.unparse(replaced.later) == ast.unparse(x.later)
                return same and isinstance(replaced.new, ast.Name) and replaced.new.id == fresh
        value = mine[0].value if isinstance(mine[0], ast.Assign) else None
        value = self.block.alone(value.id, self.body) if isinstance(value, ast.Name) else value
        combined = isinstance(value, ast.Call) and self.block.kernel.tl(value) == f"{self._kind(fresh)}imum"
        return combined and isinstance(value, ast.Call) and {a.id for a in value.args if isinstance(a, ast.Name)} == {so_far, fresh}

    # ------------------------------------------------------------ the block's own

    def _made(self, name: str) -> tuple[ast.Call, int | None] | None:
        """The one call that makes the name, and which of its results it is; None for a call's only one."""
        steps = [n for n in self.inside if isinstance(n, Step) and name in bound_names(n)]
        step = steps[0] if len(steps) == 1 else None
        if not isinstance(step, ast.Assign) or len(step.targets) != 1 or not isinstance(step.value, ast.Call):
            return None
        target = step.targets[0]
        if isinstance(target, ast.Name):
            return step.value, None
        at = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Name) and e.id == name] if isinstance(target, ast.Tuple) else []
        return (step.value, at[0]) if len(at) == 1 else None

    def _kind(self, name: str) -> str | None:
        """``max`` or ``min`` where the name is that of the block's elements."""
        call, which = self._made(name) or (None, None)
        if call is None or not self._over_block(call) or not self._of_elements(call.args[0]):
            return None
        how = self.block.reduces(call)
        indices = next((k.value for k in call.keywords if k.arg == "return_indices"), call.args[2] if len(call.args) > 2 else None)
        told = isinstance(indices, ast.Constant) and indices.value is True
        return how if how in STRICT and (told if which == 0 else which is None and indices is None) else None

    def _of_elements(self, operand: ast.expr) -> bool:
        """Each is made of its own element, not of what the block or the blocks before say."""
        carried = exposed(self.body) & names_bound(self.body)
        return not self.block.tells([operand], dependent(self.inside, carried) | self.block.made(self.inside))

    def _over_block(self, call: ast.Call) -> bool:
        """The reduction is over the block's axis alone: an index in it is one of the block."""
        shape = shape_of(self.block.kernel, call.args[0], self.block.known) if call.args else None
        axis = axis_of(call, kept=True)
        if shape is None or isinstance(axis, str) or (axis is not None and not -len(shape) <= axis < len(shape)):
            return False
        return (shape[axis] if axis is not None else shape[0] if len(shape) == 1 else None) == self.block.block

    # ------------------------------------------------------------ its place

    def _is_place(self, new: ast.expr, fresh: str) -> bool:
        """The index in the whole axis of the first element in the block that is ``fresh``."""
        if isinstance(new, ast.Name):
            made = self.block.alone(new.id, self.inside)  # ``at = off + tl.argmax(x, axis=0)``
            return self._is_place(made, fresh) if isinstance(made, ast.BinOp) else self._first_equal(new.id, fresh)
        if not isinstance(new, ast.BinOp) or not isinstance(new.op, ast.Add):
            return False
        return any(
            self._begins(base) and self._index(at, fresh)  # ``off + at``, in a block that begins at off
            for base, at in ((new.left, new.right), (new.right, new.left))
        )

    def _index(self, index: ast.expr, fresh: str) -> bool:
        """What the reduction that made ``fresh`` tells beside it, or ``tl.argmax`` of the same elements: of equal ones the first."""
        own = (index, None) if isinstance(index, ast.Call) else None
        call, which = (self._made(index.id) if isinstance(index, ast.Name) else own) or (None, None)
        reduction, _ = self._made(fresh) or (None, None)
        if call is None or reduction is None:
            return False
        left = "return_indices_tie_break_left" if call is reduction else "tie_break_left"
        behind = 3 if call is reduction else 2
        first = next((k.value for k in call.keywords if k.arg == left), call.args[behind] if len(call.args) > behind else None)
        if first is not None and not (isinstance(first, ast.Constant) and first.value is True):
            return False
        if call is reduction:
            return which == 1
        alike = self._over_block(call) and self.block.reduces(call) == f"arg{self._kind(fresh)}"
        return alike and which is None and self._same(call.args[0], call, reduction)

    def _first_equal(self, name: str, fresh: str) -> bool:
        """``tl.min(tl.where(x == new, cols, n))``."""
        alone = self.block.alone
        call, which = self._made(name) or (None, None)
        reduction, _ = self._made(fresh) or (None, None)
        if call is None or reduction is None or which is not None or self.block.reduces(call) != "min" or not self._over_block(call):
            return False
        where = alone(call.args[0].id, self.inside) if isinstance(call.args[0], ast.Name) else call.args[0]
        if not isinstance(where, ast.Call) or self.block.kernel.tl(where) != "where" or len(where.args) != 3:
            return False
        equal, cols = (alone(a.id, self.inside) if isinstance(a, ast.Name) else a for a in where.args[:2])
        if not isinstance(equal, ast.Compare) or len(equal.ops) != 1 or not isinstance(equal.ops[0], ast.Eq):
            return False
        sides = [equal.left, equal.comparators[0]]
        elements = [s for s in sides if ast.unparse(s) != fresh]
        behind = where.args[2]
        outside = isinstance(behind, ast.Name) and behind.id in self.block.kernel.ends.get(self.block.block, ())  # no index is larger
        return outside and self._begun(cols) is not None and len(elements) == 1 and self._same(elements[0], equal, reduction)

    def _same(self, operand: ast.expr, code: ast.expr, reduction: ast.Call) -> bool:
        """The code reads what the reduction does: no name of it is bound anew between them."""
        if not reduction.args or ast.unparse(operand) != ast.unparse(reduction.args[0]):
            return False
        low, high = sorted((code.lineno, reduction.lineno))
        between = [n for n in self.inside if isinstance(n, ast.stmt) and low < n.lineno < high]
        return not any(reads(operand, set(bound_names(n))) for n in between)

    def _begins(self, base: ast.expr) -> bool:
        """``base + tl.arange(0, BLOCK)`` are the block's indices."""
        again = [n for n in self.inside if isinstance(n, ast.stmt) and reads(base, bound_names(n))]
        return len(again) < 2 and any(self._begun(n) == ast.unparse(base) for n in self.inside)

    def _begun(self, node: ast.AST | None) -> str | None:
        """What stands beside ``tl.arange(0, BLOCK)``."""
        if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
            return None
        for base, lanes in ((node.left, node.right), (node.right, node.left)):
            of_block = isinstance(lanes, ast.Call) and self.block.kernel.tl(lanes) == "arange" and len(lanes.args) == 2
            if isinstance(lanes, ast.Call) and of_block and integer(lanes.args[0]) == 0 and ast.unparse(lanes.args[1]) == self.block.block:
                return ast.unparse(base)
        return None
