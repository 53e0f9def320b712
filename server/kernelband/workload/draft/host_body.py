"""A host function followed by its text: which of its arguments are tensors, of which shapes, and what reaches the kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from attrs import define, field, frozen

from kernelband.source.model import Place
from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.conditions import require
from kernelband.workload.draft.expressions import Expressions
from kernelband.workload.draft.kernel_use import kernel_uses
from kernelband.workload.draft.kernel_value import Use
from kernelband.workload.draft.values import Param, Several, Value, tensor_of


@frozen(eq=False)
class Launched:
    """A launch of a kernel: what is passed, by the kernel's parameters, what it does with them, and the grid."""

    kernel: Definition
    uses: Mapping[str, Use]
    passed: Mapping[str, Value]
    grid: tuple[Value, ...]
    constants: frozenset[str] = frozenset()  # the kernel's constexprs


@define
class Followed:
    """Everything that was met on the way. ``names``: of the outermost function, at its end."""

    code: Code
    launches: list[Launched] = field(factory=list[Launched])
    names: dict[str, Value] = field(factory=dict[str, Value])
    _uses: dict[object, dict[str, Use]] = field(factory=dict[object, "dict[str, Use]"])

    def follow(self, function: Definition, given: Mapping[str, Value]) -> Value:
        """Read its body with these arguments; what it returns."""
        self.names = dict(given)
        return self.enter(function, self.names, ())

    def enter(self, function: Definition, names: dict[str, Value], inside: tuple[Place, ...]) -> Value:
        """The same of one that is called inside of others."""
        body = _Body(self, function.place.path, names, (*inside, function.place))
        body.statements(function.function.body if function.function is not None else ())
        return body.result

    def uses(self, kernel: Definition) -> dict[str, Use]:
        """Of the kernel's parameters."""
        if kernel.place not in self._uses:
            self._uses[kernel.place] = kernel_uses(self.code, kernel)
        return self._uses[kernel.place]

    def launched(self, kernel: Definition, passed: Mapping[str, Value], grid: Value) -> None:
        """Note a launch, and what it says of the arguments' kinds."""
        uses = self.uses(kernel)
        for name, value in passed.items():
            use = uses.get(name, Use())
            if use.pointer:
                tensor_of(value, "the kernel reads or writes it")
            elif isinstance(value, Param) and use.count:
                value.is_a("int", "the kernel counts with it")
            elif isinstance(value, Param) and use.fraction:
                value.fraction = True
        items = grid.items if isinstance(grid, Several) else (grid,)
        self.launches.append(Launched(kernel, uses, passed, items, frozenset(_constants(kernel))))


@define
class _Body(Expressions):
    result: Value = None

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.bind(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.bind(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self.value(node.value)
        elif isinstance(node, ast.Assert):
            require(node.test, self.value)
        elif isinstance(node, ast.If):
            self.branch(node)
        elif isinstance(node, ast.For):
            iterated = self.value(node.iter)
            self.bind(node.target, self.element(iterated))
            self.statements((*node.body, *node.orelse))
        elif isinstance(node, (ast.With, ast.While)):
            self.statements(node.body)
        elif isinstance(node, ast.Try):
            self.statements((*node.body, *node.orelse, *node.finalbody))
        elif isinstance(node, ast.Return) and node.value is not None:
            value = self.value(node.value)
            self.result = value if self.result is None else self.result
        elif isinstance(node, ast.Expr):
            self.value(node.value)

    def branch(self, node: ast.If) -> None:
        if node.body and isinstance(node.body[-1], ast.Raise):
            require(node.test, self.value, holds=False)
            self.statements(node.orelse)
            return
        self.tested(node.test)
        kept = _tested_for_none(node.test)
        self.kept += kept
        self.statements(node.body)
        self.statements(node.orelse)
        del self.kept[len(self.kept) - len(kept) :]


def _tested_for_none(test: ast.expr) -> list[str]:
    return [
        part.left.id
        for part in ast.walk(test)
        if isinstance(part, ast.Compare) and isinstance(part.left, ast.Name) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in part.ops)
    ]


def _constants(kernel: Definition) -> list[str]:
    args = kernel.function.args if kernel.function is not None else None
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs] if args is not None else []
    return [a.arg for a in every if a.annotation is not None and "constexpr" in ast.unparse(a.annotation)]
