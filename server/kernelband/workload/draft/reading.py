"""A host function followed by its text: which of its arguments are tensors, of which shapes, and what reaches the kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from attrs import define, evolve, field, frozen

from kernelband.source.model import Place
from kernelband.source.syntax import all_nodes
from kernelband.workload.draft.code import Code, Definition
from kernelband.workload.draft.conditions import compared, require
from kernelband.workload.draft.kernel_use import Use, kernel_uses
from kernelband.workload.draft.torch_calls import ALIKE, attribute, binary, length, linear, made, method
from kernelband.workload.draft.values import (
    CEILING,
    POWER,
    Const,
    Dims,
    Instance,
    Linear,
    Param,
    Several,
    Size,
    Tensor,
    Value,
    size_of,
    tensor_of,
    whole,
)

DEEPEST = 5  # functions in functions
BLOCK = 128  # that a list of sizes is made of


@frozen(eq=False)
class Launch:
    """A launch of a kernel: what is passed, by the kernel's parameters, what it does with them, and the grid."""

    kernel: Definition
    uses: Mapping[str, Use]
    passed: Mapping[str, Value]
    grid: tuple[Value, ...]

    def pointers(self) -> list[tuple[Tensor, Use]]:
        """The tensors that it reads or writes."""
        found = [(tensor_of(value), self.uses[name]) for name, value in self.passed.items()]
        return [(tensor, use) for tensor, use in found if tensor is not None and use.pointer]

    def axis(self, at: int) -> Size | None:
        """How many programs there are along an axis of the grid."""
        return size_of(self.grid[at]) if at < len(self.grid) else None

    def size(self, name: str | None) -> Size | None:
        """That is passed for a parameter."""
        return size_of(self.passed.get(name or ""))


@define
class Reader:
    """Reads functions, and notes the launches that it meets."""

    code: Code
    launches: list[Launch] = field(factory=list[Launch])
    _uses: dict[Place, dict[str, Use]] = field(factory=dict[Place, "dict[str, Use]"])

    def follow(self, function: Definition, names: dict[str, Value], inside: tuple[Place, ...] = ()) -> Value:
        """Read its body with these arguments; what it returns. ``names`` has those of the end, then."""
        body = _Body(self, function.place.path, names, (*inside, function.place))
        body.statements(function.node.body)
        return body.result

    def launched(self, kernel: Definition, passed: Mapping[str, Value], grid: Value) -> None:
        """Note a launch, and what it says of the arguments' kinds."""
        if kernel.place not in self._uses:
            self._uses[kernel.place] = kernel_uses(self.code, kernel)
        uses = self._uses[kernel.place]
        for name, value in passed.items():
            if uses[name].pointer:
                tensor_of(value, "the kernel reads or writes it")
            elif isinstance(value, Param) and "count" in uses[name].marks:
                value.is_a("int", "the kernel counts with it")
            elif isinstance(value, Param) and "fraction" in uses[name].marks:
                value.fraction = True
        self.launches.append(Launch(kernel, uses, passed, grid.items if isinstance(grid, Several) else (grid,)))


@define
class _Body:
    """``names``: what each means; ``inside``: the functions that are being followed, so that none is in itself; ``kept``: parameters that
    are bound again only where they are None.
    """

    reader: Reader
    path: str
    names: dict[str, Value]
    inside: tuple[Place, ...]
    kept: tuple[str, ...] = ()
    result: Value = None

    # ------------------------------------------------------------ statements

    def statements(self, body: Iterable[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign():
                value = self.value(node.value)
                for target in node.targets:
                    self.bind(target, value)
            case ast.AnnAssign(value=ast.expr() as given):
                self.bind(node.target, self.value(given))
            case ast.AugAssign() | ast.Expr():
                self.value(node.value)
            case ast.Assert():
                require(node.test, self.value)
            case ast.If(body=[*_, ast.Raise()]):
                require(node.test, self.value, holds=False)
                self.statements(node.orelse)
            case ast.If():
                outer, self.kept = self.kept, (*self.kept, *self.tested(node.test))
                self.statements((*node.body, *node.orelse))
                self.kept = outer
            case ast.For():
                over = self.value(node.iter)
                many = over.tensor if isinstance(over, Param) and over.kind == "tensors" else None
                self.bind(node.target, over.items[0] if isinstance(over, Several) and over.items else many)
                self.statements((*node.body, *node.orelse))
            case ast.With() | ast.While():
                self.statements(node.body)
            case ast.Try():
                self.statements((*node.body, *node.orelse, *node.finalbody))
            case ast.Return(value=ast.expr() as given):
                value = self.value(given)
                self.result = value if self.result is None else self.result
            case _:
                pass

    def bind(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                if name in self.kept and isinstance(self.names.get(name), Param):
                    return
                if isinstance(value, Size):
                    value.call(name)
                self.names[name] = value
            case ast.Attribute():
                owner = self.value(target.value)
                if isinstance(owner, Instance):
                    owner.attributes[target.attr] = value
            case ast.Tuple() | ast.List():
                for inner, item in zip(target.elts, self.unpacked(target.elts, value), strict=True):
                    self.bind(inner.value if isinstance(inner, ast.Starred) else inner, item)
            case _:
                pass

    def unpacked(self, targets: Sequence[ast.expr], value: Value) -> list[Value]:
        """What each of several names gets."""
        count = len(targets)
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), count)
        if isinstance(value, Several) and star == count:
            return [*value.items[:count], *[None] * (count - len(value.items))]
        if isinstance(value, Dims):
            if star == count and value.whole:
                value.shape.set_rank(count)
            rest = evolve(value, start=0, stop=star - count + 1)
            return [value.at(i, count) if i < star else value.item(i - count) if i > star else rest for i in range(count)]
        return [Tensor(dtype=value.dtype) if isinstance(value, Tensor) else None for _ in targets]

    def tested(self, test: ast.expr) -> list[str]:
        """A parameter that decides by itself is a bool, or may be None. Answers the names that are compared with that."""
        self.value(test)
        value = self.value(test.operand if isinstance(test, ast.UnaryOp) else test)
        if isinstance(value, Param) and value.kind is None:
            value.choices = value.choices or (True, False)
        parts = [p for p in all_nodes(test) if isinstance(p, ast.Compare) and any(isinstance(op, (ast.Is, ast.IsNot)) for op in p.ops)]
        return [p.left.id for p in parts if isinstance(p.left, ast.Name)]

    # ------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Value:
        match node:
            case ast.Name():
                return self.named(node)
            case ast.Constant():
                return Const(node.value)
            case ast.Attribute():
                if isinstance(node.value, ast.Name) and node.value.id == "torch":
                    return Const(f"torch.{node.attr}")
                owner = self.value(node.value)
                if owner is None or isinstance(owner, Size):
                    return self.reader.code.meant(node, self.path)
                return attribute(owner, node.attr)
            case ast.Subscript():
                return self.subscript(self.value(node.value), node.slice)
            case ast.Call():
                return self.call(node)
            case ast.BinOp():
                return binary(node.op, self.value(node.left), self.value(node.right))
            case ast.Tuple() | ast.List() | ast.Set():
                return Several(tuple(self.value(e) for e in node.elts))
            case ast.UnaryOp():
                inner = self.value(node.operand)
                if isinstance(node.op, ast.USub) and isinstance(inner, Const) and isinstance(inner.value, (int, float)):
                    return Const(-inner.value)
                return inner if isinstance(inner, Tensor) else None
            case ast.IfExp():
                self.tested(node.test)
                first, second = self.value(node.body), self.value(node.orelse)
                if isinstance(first, Tensor) and isinstance(second, (Param, Tensor)) and first.of is tensor_of(second, ""):
                    return second  # x.unsqueeze(0) if x.ndim == 1 else x
                return second if first is None or (isinstance(first, Const) and first.value is None) else first
            case ast.BoolOp():
                found, *_ = [self.value(v) for v in node.values]
                return found if isinstance(found, (Param, Tensor, Size)) else None
            case ast.Compare():
                left = self.value(node.left)
                for comparator in node.comparators:
                    compared(left, self.value(comparator))
                return None
            case ast.NamedExpr():
                value = self.value(node.value)
                self.bind(node.target, value)
                return value
            case ast.Lambda():
                return self.value(node.body)
            case ast.ListComp(generators=[only]) | ast.GeneratorExp(generators=[only]):
                return self.each(node.elt, only)
            case _:
                return None

    def each(self, node: ast.expr, generator: ast.comprehension) -> Value:
        """``[t.contiguous() for t in (q, k, v)]``"""
        over = self.value(generator.iter)
        if not isinstance(over, Several):
            return None
        before, items = dict(self.names), list[Value]()
        for item in over.items:
            self.bind(generator.target, item)
            items.append(self.value(node))
        self.names.clear()
        self.names.update(before)
        return Several(tuple(items))

    def named(self, node: ast.Name) -> Value:
        if node.id in self.names:
            return self.names[node.id]
        constant = next((value for name, value in self.reader.code.constants(self.path) if name == node.id), None)
        if constant is not None and (
            isinstance(constant, (ast.Constant, ast.Tuple, ast.List, ast.Set)) or ast.unparse(constant).startswith("torch.")
        ):
            return self.value(constant)
        return self.reader.code.meant(node, self.path)

    def subscript(self, owner: Value, index: ast.expr) -> Value:
        if isinstance(index, ast.Slice) and isinstance(owner, Dims):
            first, last = (whole(self.value(e)) if e is not None else None for e in (index.lower, index.upper))
            return evolve(owner, start=first, stop=last) if owner.whole else None
        parts = isinstance(index, (ast.Slice, ast.Tuple))
        at = whole(self.value(index)) if not parts else None
        if isinstance(owner, Dims):
            if at is None or (at < 0 and owner.stop is not None):
                return None
            return owner.at(at, at + 1) if at >= 0 else owner.item(at)
        if isinstance(owner, Several) and at is not None:
            return owner.items[at] if -len(owner.items) <= at < len(owner.items) else None
        if isinstance(owner, Param) and owner.kind == "ints":
            return Const(BLOCK)
        tensor = tensor_of(owner, "parts of it are taken" if parts else None)
        if tensor is not None and isinstance(index, ast.Tuple):  # of None and ... there is no dimension
            there = [e for e in index.elts if not (isinstance(e, ast.Constant) and e.value in (None, ...))]
            tensor.shape.root.least = max(tensor.shape.root.least, len(there))
        return Tensor(dtype=tensor.dtype) if tensor is not None else None

    # ------------------------------------------------------------ calls

    def call(self, node: ast.Call) -> Value:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        owner = self.value(func.value) if isinstance(func, ast.Attribute) and ast.unparse(func.value) != "torch" else None
        tensor = tensor_of(owner, f"it has .{name}()" if name in ALIKE else None)
        given = self.arguments(node)
        named = {k.arg: self.value(k.value) for k in node.keywords if k.arg}
        if isinstance(func, ast.Subscript):
            return self.launch(func, given, named)
        if tensor is not None:
            return method(tensor, name, given, node.args)
        if isinstance(owner, Instance):
            layer = owner.attributes.get(name)
            if name in ("register_buffer", "register_parameter") and len(given) > 1 and isinstance(given[0], Const):
                owner.attributes[str(given[0].value)] = given[1]
            elif isinstance(layer, Linear):
                return linear(layer, given)
            elif owner.of is not None:
                return self.enter(owner.of.method(name), given, named, owner)
            return None
        if isinstance(owner, Definition) and name == "apply" and owner.is_autograd:
            return self.enter(owner.method("forward"), given, named)
        if name == "len" and given:
            return length(given[0])
        if name in ("int", "float", "max", "min") and given:
            return given[0] if len(given) == 1 else next((g for g in given if isinstance(g, Size)), None)
        if name in (CEILING, POWER):
            sizes = [s for g in given if (s := size_of(g)) is not None]
            fits = len(sizes) == len(given) == (2 if name == CEILING else 1) and sizes[0].root.value is None
            return Size(formula=(name, sizes[0], sizes[-1])) if fits else None
        if name in ("isinstance", "range", "print"):
            return None
        found = self.reader.code.meant(func, self.path)
        if found is not None and found.is_function and not found.is_kernel:
            return self.enter(found, given, named)
        return made(name, given)

    def arguments(self, node: ast.Call) -> list[Value]:
        """Those that are given by place, up to the first that nobody can count."""
        out: list[Value] = []
        for argument in node.args:
            several = self.value(argument.value) if isinstance(argument, ast.Starred) else Several((self.value(argument),))
            if isinstance(several, Several):
                out += several.items
            elif isinstance(several, Dims) and several.whole and several.shape.root.rank is not None:
                out += [several.item(i) for i in range(several.shape.root.rank)]
            else:
                break
        return out

    def enter(self, function: Definition | None, given: list[Value], named: dict[str, Value], owner: Instance | None = None) -> Value:
        """Follow a function of the workspace that is called here."""
        if function is None or not function.is_function or function.place in self.inside or len(self.inside) > DEEPEST:
            return None
        takes, inner = function.positional, dict[str, Value]()
        bound = owner is not None and "staticmethod" not in function.decorators
        if takes and "." in function.place.qualname and (takes[0][0] in ("self", "cls", "ctx") or bound):
            inner[takes.pop(0)[0]] = owner
        inner |= {name: Const(default.value) for name, default in takes if isinstance(default, ast.Constant)}
        inner |= dict(zip((name for name, _ in takes), given, strict=False))
        return self.reader.follow(function, inner | named, self.inside)

    def launch(self, func: ast.Subscript, given: Sequence[Value], named: Mapping[str, Value]) -> None:
        """Note it, where it is one of a kernel."""
        target = func.value
        if isinstance(target, ast.Call) and target.args:  # wrap_triton(kernel)
            target = target.args[0]
        kernel = self.value(target) if isinstance(target, ast.Name) else self.reader.code.meant(target, self.path)
        if isinstance(kernel, Definition) and kernel.is_kernel:
            passed = dict(zip(kernel.names, given, strict=False)) | {k: v for k, v in named.items() if k in kernel.names}
            self.reader.launched(kernel, passed, self.value(func.slice))
