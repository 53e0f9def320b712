"""Nothing outlives a call: what a host function writes into, hands over or asks for, unless the original does."""

from __future__ import annotations

import ast

from kernelband.propose.model import allowed
from kernelband.propose.model.functions import chain
from kernelband.propose.model.rules import Change, launches, owners
from kernelband.propose.model.values import Root
from kernelband.source.syntax import all_nodes


def look(change: Change) -> None:
    """Look at a host function.

    Raises:
        Refused: it keeps something, or writes what the original leaves alone.
    """
    _State(change).all()


class _State:
    def __init__(self, change: Change) -> None:
        self.change, self.after = change, change.after
        self.tensors = change.tensors()
        self.written = change.rules.outputs | self._written_before()

    def all(self) -> None:
        for node in self.change.nodes():
            if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
                self._stores(node, node.value, isinstance(node, ast.Attribute))
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                self._grows(node, node.target)
            elif isinstance(node, ast.Attribute):
                self._named(node)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                self._function(node)
            if isinstance(node, ast.Call):
                self._called(node)
        for launch in launches(self.after):
            self._launched(launch)

    def _written_before(self) -> frozenset[Root]:
        """Arguments whose elements the original's own statements change."""
        before = self.change.before
        found: set[Root] = set()
        for node in all_nodes(before.function):
            if isinstance(node, (ast.Subscript, ast.Attribute)) and (
                not isinstance(node.ctx, ast.Load) if isinstance(node, ast.Subscript) else _in_place(node.attr)
            ):
                found |= {r for r in before.roots(node.value) if r.kind == "parameter" and r.name in self.tensors}
        return frozenset(found)

    def _lasting(self, node: ast.expr) -> set[Root]:
        return {r for r in self.after.roots(node) if r.outlives}

    def _stores(self, node: ast.expr, base: ast.expr, attribute: bool) -> None:
        lasting = self._lasting(base)
        if (not attribute and lasting <= self.written) or self._kept(node):
            return
        if attribute:
            raise self.change.refused(node, "it assigns to an attribute: nothing may outlive a call", "state")
        raise self._writes(node, lasting)

    def _grows(self, node: ast.AugAssign, target: ast.Name) -> None:
        """``x += 1`` changes a list or tensor in place; of numbers it makes new ones."""
        changed = {r for r in self._lasting(target) if r.kind == "global" or r.name in self.tensors} - self.written
        shared = {r for r in self._lasting(target) if isinstance(node.op, (ast.BitOr, ast.BitAnd)) and r not in self.written}
        if (changed or shared) and not self._kept(node):
            raise self._writes(node, changed | shared)

    def _writes(self, node: ast.AST, roots: set[Root]) -> Exception:
        name = min(r.name for r in roots)
        return self.change.refused(node, f"it stores into {name}, which the original doesn't: nothing may outlive a call", "state")

    def _kept(self, node: ast.AST) -> bool:
        """Whether the statement is the original's own, and puts no other memory away than there."""
        return self.change.as_before(self.after.statement(node))

    # ------------------------------------------------------------ methods and functions

    def _named(self, node: ast.Attribute) -> None:
        lasting = self._lasting(node.value)
        if node.attr in allowed.IDENTITY and not self._compared_as_before(node):
            raise self.change.refused(node, f"it uses {node.attr}: where memory lies may decide nothing", "state")
        if (node.attr in allowed.MUTATORS or _in_place(node.attr)) and lasting:
            fills = _in_place(node.attr) and lasting <= self.written
            if not fills and not self._kept(node):
                raise self._writes(node, lasting)
        if self._foreign(node) and not self.after.is_called(node) and self._only_called(node.attr) and not self._kept(node):
            raise self.change.refused(node, f"it hands {node.attr} on, which the original only calls", "state")
        self._surroundings(node)

    def _surroundings(self, node: ast.Attribute) -> None:
        """Streams, events, graphs, modes, what the allocator holds: as the original has it or not at all."""
        full = self.after.full(node)
        outside = full.startswith(allowed.SURROUNDINGS) or (full.startswith("torch.") and full.endswith("_enabled"))
        if not outside or any(d.startswith(full) for d in allowed.DOTTED) or any(full.startswith(f"{d}.") for d in allowed.DOTTED):
            return
        whole = next((n for n in self.after.around(node) if isinstance(n, (ast.Call, ast.stmt))), node)
        if not self.change.as_before(whole):
            raise self.change.refused(node, f"it uses {chain(node)} otherwise than the original", "state")

    def _compared_as_before(self, node: ast.AST) -> bool:
        inside = [n for n in self.after.around(node) if isinstance(n, (ast.Compare, ast.stmt))]
        return bool(inside) and self.change.as_before(inside[0])

    def _foreign(self, node: ast.Attribute) -> bool:
        """Whether an attribute is one of an object that others have, not known to be harmless."""
        owners_ = {r for r in self._lasting(node.value) if r.name not in self.tensors | self.change.rules.kernels}
        return bool(owners_) and node.attr not in allowed.HOST_ATTRIBUTES and node.attr not in allowed.FACTS

    def _only_called(self, name: str) -> bool:
        before = self.change.before
        found = [n for n in all_nodes(before.function) if isinstance(n, ast.Attribute) and n.attr == name]
        return bool(found) and all(before.is_called(n) for n in found)

    def _function(self, node: ast.Name) -> None:
        """A function of the file that this program doesn't hold is called as the original does, and goes nowhere else."""
        if not self._unknown(node.id) or self.after.is_called(node) or isinstance(self.after.parents.get(id(node)), ast.Attribute):
            return
        before = self.change.before
        found = [n for n in all_nodes(before.function) if isinstance(n, ast.Name) and n.id == node.id]
        if found and all(before.is_called(n) for n in found) and not self._kept(node):
            raise self.change.refused(node, f"it hands {node.id} on, which the original only calls", "state")

    def _unknown(self, name: str) -> bool:
        rules = self.change.rules
        return name in self.after.globals and name in rules.around.bound - rules.names - rules.kernels - rules.around.plain

    def _called(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            if keyword.arg == "out" and not isinstance(node.func, ast.Subscript) and not self._kept(node):
                lasting = self._lasting(keyword.value) - self.written
                if lasting:
                    raise self._writes(node, lasting)
        foreign = self._callee(node.func)
        if not foreign:
            return
        given = owners(frozenset(r for a in (*node.args, *(k.value for k in node.keywords)) for r in self.after.roots(a)))
        before = self.change.before
        known = owners(
            frozenset(
                r
                for n in all_nodes(before.function)
                if isinstance(n, ast.Call) and _last(n.func) == _last(node.func)
                for a in (*n.args, *(k.value for k in n.keywords))
                for r in before.roots(a)
            )
        )
        if not given <= known:
            raise self.change.refused(node, f"it hands to {foreign} what the original doesn't: it may be kept there", "state")

    def _callee(self, func: ast.expr) -> str:
        """The name of what is called, where nobody knows what it does with what it is given."""
        if isinstance(func, ast.Attribute):
            return func.attr if self._foreign(func) else ""
        if isinstance(func, ast.Name) and self._unknown(func.id):
            return func.id
        if isinstance(func, ast.Name) and func.id not in self.after.globals:
            base = self.after.resolved(func)
            return func.id if isinstance(base, ast.Attribute) and self._foreign(base) else ""
        return ""

    def _launched(self, node: ast.Call) -> None:
        """A kernel writes where it likes: it is given nothing of the file's that the original doesn't give to one."""
        before = self.change.before
        known = {r for n in launches(before) for a in (*n.args, *(k.value for k in n.keywords)) for r in before.roots(a)}
        for argument in (*node.args, *(k.value for k in node.keywords)):
            new = {r for r in self.after.roots(argument) if r.kind == "global"} - known
            if new:
                raise self._writes(node, new)


def _in_place(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
