"""No result depends on memory that nothing of the call wrote: what is read on the host, and what a kernel loads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernelband.propose.model import allowed
from kernelband.propose.model.pointers import Access, accesses, numbers, operation
from kernelband.propose.model.rules import Change, launches, owners
from kernelband.propose.model.values import Root, Values
from kernelband.source.syntax import all_nodes


def look(change: Change) -> None:
    """Look at a kernel or a host function.

    Raises:
        Refused: it reads what it shouldn't, or a kernel stores to an input.
    """
    if change.rules.editable.device:
        _kernel(change)
    else:
        _Host(change).all()


# ---------------------------------------------------------------- kernels


def _kernel(change: Change) -> None:
    kernels = change.rules.kernels
    before, after = accesses(change.before, kernels), accesses(change.after, kernels)
    plain = numbers(change.before)
    gone = _of(before, "stores") - _of(before, "loads") - change.after.parameters  # renamed, or no longer written
    for access in after:
        name = access.parameter
        if name in change.before.parameters:
            if name not in plain and name not in _of(before, "hands on"):
                _known(change, access, before)
        elif gone and name in _of(after, "loads") & _of(after, "stores"):
            raise change.refused(
                access.node, f"it loads from {name} and stores to it; {min(gone)} was only stored to: keep its name", "memory"
            )
    for node in change.nodes():
        if isinstance(node, (ast.Name, ast.Attribute)) and operation(change.after, node) and not change.after.is_called(node):
            raise change.refused(node, f"it names {ast.unparse(node)} without calling it", "memory")


def _known(change: Change, access: Access, before: tuple[Access, ...]) -> None:
    """A parameter that the original has is used as the original uses it."""
    name = access.parameter
    if access.how == "loads" and name in _of(before, "stores") - _of(before, "loads"):
        raise change.refused(access.node, f"it loads from {name}, which the original only stores to", "memory")
    if access.how == "stores" and name not in _of(before, "stores"):
        raise change.refused(access.node, f"it stores to {name}, which the original doesn't", "state")
    if access.how == "hands on":
        raise change.refused(access.node, f"it hands {name} to {access.to}, which the original doesn't", "memory")


def _of(every: tuple[Access, ...], how: str) -> frozenset[str]:
    return frozenset(a.parameter for a in every if a.how == how)


# ---------------------------------------------------------------- host functions


class _Host:
    def __init__(self, change: Change) -> None:
        self.change, self.after = change, change.after
        self.tensors = change.tensors()
        self.decided = {change.before.key(t) for n in all_nodes(change.before.function) for t in _decided(n)}

    def all(self) -> None:
        for node in self.change.nodes():
            for read in _reads(node, self.after):
                if self._tensors(read) and not self._known(node, read) and not self._said(node):
                    raise self.change.refused(node, "it reads elements of a tensor, or tells tensors apart, on the host", "memory")
            if isinstance(node, ast.Attribute):
                self._method(node)
        for launch in launches(self.after):
            self._twice(launch)
        self._scratch()

    def _known(self, node: ast.AST, read: ast.AST) -> bool:
        if _decided(node):  # the original decides by the same, whatever follows from it
            return self.after.key(read) in self.decided and self.change.as_before(read)
        return self.change.as_before(node)

    def _tensors(self, node: ast.AST) -> set[Root]:
        return {r for r in self.after.roots(node) if r.kind == "made" or (r.kind == "parameter" and r.name in self.tensors)}

    def _said(self, node: ast.AST) -> bool:
        """Whether it is only words of an error."""
        return isinstance(node, ast.FormattedValue) and self.after.within(node, ast.Raise)

    def _method(self, node: ast.Attribute) -> None:
        """What else the user's text calls on tensors computes something: on tensors of the function's own it reads what they hold."""
        made = {r for r in self.after.roots(node.value) if r.kind == "made"}
        if not made or node.attr in allowed.HOST_ATTRIBUTES or node.attr in allowed.FACTS:
            return
        whole = next((n for n in self.after.around(node) if isinstance(n, (ast.Call, ast.stmt))), node)
        if not self.change.as_before(whole):
            raise self.change.refused(node, f"it calls {node.attr} of a tensor that it has allocated, as the original doesn't", "memory")

    def _twice(self, launch: ast.Call) -> None:
        """One tensor under two names of a kernel: then it could be loaded by the one and stored to by the other."""
        for root, often in self._given(self.after, launch).items():
            before = [self._given(self.change.before, n) for n in launches(self.change.before)]
            known = max((n for b in before for r, n in b.items() if owners(frozenset({r})) == owners(frozenset({root}))), default=1)
            if often > max(known, 1):
                raise self.change.refused(launch, "it gives one tensor to a kernel more often than the original", "memory")

    def _given(self, side: Values, launch: ast.Call) -> dict[Root, int]:
        found: dict[Root, int] = {}
        for argument in (*launch.args, *(k.value for k in launch.keywords)):
            for root in side.roots(argument):
                if root.kind == "made" or root.name in self.tensors:
                    found[root] = found.get(root, 0) + 1
        return found

    def _scratch(self) -> None:
        """Memory that is allocated as it comes, goes to one launch, and nowhere else: only what that launch stored could be read there."""
        new, old = list(_single(self.after)), list(_single(self.change.before))
        if len(new) > len(old):
            made = new[-1]
            node = next((n for n in self.change.nodes() if getattr(n, "lineno", 0) == made.line), self.after.function)
            raise self.change.refused(
                node, "what is allocated empty goes to one launch only and is not its result: use torch.zeros", "memory"
            )


def _single(side: Values) -> Iterator[Root]:
    every = launches(side)
    inside = {id(n) for launch in every for n in all_nodes(launch)}
    away: set[Root] = set()
    for node in all_nodes(side.function):
        if isinstance(node, ast.Return):
            away |= side.roots(node.value)
        elif isinstance(node, ast.Call) and id(node) not in inside and not side.full(node.func).startswith(("torch.", "triton.")):
            away |= {r for a in node.args for r in side.roots(a)}
        elif isinstance(node, ast.Assign) and any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in node.targets):
            away |= side.roots(node.value)
    counts: dict[Root, int] = {}
    for launch in every:
        often = 2 if side.within(launch, ast.For, ast.While) else 1
        for root in {r for a in (*launch.args, *(k.value for k in launch.keywords)) for r in side.roots(a)}:
            counts[root] = counts.get(root, 0) + often
    return (r for r, n in counts.items() if r.kind == "made" and r.name == "empty" and r not in away and n == 1)


def _decided(node: ast.AST) -> list[ast.expr]:
    """What a node decides by."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    return list(node.ifs) if isinstance(node, ast.comprehension) else []


def _reads(node: ast.AST, after: Values) -> list[ast.expr]:
    """The parts of a node whose elements, or whose identity, decide what comes of it."""
    if isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
        nothing = all(isinstance(o, (ast.Is, ast.IsNot)) for o in node.ops) and any(_is_none(p) for p in parts)
        return [] if nothing else parts
    if isinstance(node, ast.BoolOp):
        return node.values[:-1]
    if isinstance(node, ast.BinOp):
        return [] if any(isinstance(p, (ast.List, ast.Tuple)) for p in (node.left, node.right)) else [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.FormattedValue):
        return [node.value]
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Dict):
        return [k for k in node.keys if k is not None]
    if isinstance(node, ast.Set):
        return node.elts
    if isinstance(node, (ast.SetComp, ast.DictComp)):
        return [node.elt if isinstance(node, ast.SetComp) else node.key]
    return _arguments(node, after) if isinstance(node, ast.Call) else _decided(node)


def _arguments(node: ast.Call, after: Values) -> list[ast.expr]:
    full = after.full(node.func)
    if full in allowed.READERS or full.startswith("math."):
        return node.args
    by_key = isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "setdefault", "pop", "index")
    return node.args[:1] if by_key else []


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
